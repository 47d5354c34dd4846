# Launches kernels on CUDA devices: docs/design/0010-cupy.md; the docstrings are in C.

from collections.abc import Callable
from typing import Any, TypeAlias, final

import numpy as np

_DType: TypeAlias = np.dtype[Any]
_Slots: TypeAlias = tuple[int, ...]
_Operand: TypeAlias = tuple[str, int | _DType | bytes]
# kind, what is called, names of keywords, slots that are read, filled, cleared
_Step: TypeAlias = tuple[str, Any, tuple[str, ...], _Slots, _Slots, _Slots]
_Shaped: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int]  # shape, strides, itemsize

@final
class Kernel:
    def __new__(
        cls,
        operands: tuple[_Operand, ...],
        results: tuple[_DType, ...] | int,
        maker: Callable[..., Any],
        few: int = 1,
        tile: int = 1,
        takes_few: int = 0,
        warps: int = 1,
        rooms: tuple[int, ...] = ...,
        condition: Callable[[], bool] | None = None,
    ) -> Kernel: ...

@final
class Program:
    def __new__(
        cls,
        inputs: int,
        slots: int,
        constants: tuple[tuple[int, Any], ...],
        numbers: tuple[tuple[int, _DType], ...],
        steps: tuple[_Step, ...],
        outputs: _Slots,
        committed: int,
        refused: Callable[[Exception, bool], Any],
        otherwise: Callable[..., Any] | None = None,
    ) -> Program: ...
    def __call__(self, *inputs: Any) -> Any: ...
    @property
    def steps(self) -> int: ...

def use(
    array: type,
    offsets: tuple[int, ...],
    capsules: dict[str, Any],
    driver: dict[str, int],
    early: Callable[[int], bool],
    failed: Callable[[int], Any],
    refusal: type[Exception],
    check: Callable[[Any, _DType], Any],
    errors: tuple[type[Exception], ...],
) -> None: ...
def replay(mode: str, /) -> None: ...
def replays() -> tuple[int, int]: ...
def signatures() -> dict[str, str]: ...
def view(array: Any, /) -> tuple[Any, ...] | None: ...
def walk(arrays: tuple[_Shaped, ...], /) -> tuple[Any, ...]: ...
def packed(value: Any, dtype: _DType, /) -> bytes: ...
