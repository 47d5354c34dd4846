# Runs kernels and programs: docs/design/0002-kernels-and-programs.md; the docstrings are in C.

from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias, final

import numpy as np

_DType: TypeAlias = np.dtype[Any]
_Values: TypeAlias = tuple[int, ...]
_Kind: TypeAlias = str  # "map", "map_row", "reduce" or "total"
_Segment: TypeAlias = (
    tuple[Loop, _Values, _Values, _Kind, int]
    | tuple[Loop, _Values, _Values, _Kind, int, bytes | None]
)
_How: TypeAlias = (
    tuple[str]
    | tuple[str, tuple[int, ...] | Literal["C"] | int | bool | None]
    | tuple[str, int, bool]  # "into", whose last says whether the operation itself writes there
)
_Slot: TypeAlias = (
    # the dtype's character, axes, whether it is written, whether the variable is bound again
    tuple[Literal["array"], str, int, bool]
    | tuple[Literal["array"], str, int, bool, bool]
    | tuple[Literal["float", "int", "bool"], bool]  # whether it is changed
    | tuple[Literal["range"]]
)
_Flags: TypeAlias = tuple[tuple[int, int], ...]

@final
class Loop:
    @property
    def raises(self) -> bool: ...
    @property
    def is_quick(self) -> bool: ...

def numpy_loop(
    ufunc: np.ufunc, dtypes: tuple[_DType, ...], depends_on_strides: bool = False, /
) -> Loop: ...
def chosen(array: Any, mask: Any, /) -> Any: ...
def window_fold(name: str, vector: Any, width: int, less: int, /) -> Any: ...
def searched(among: Any, values: Any, is_right: bool, /) -> Any: ...
def running(array: Any, is_product: bool, /) -> Any: ...
def selected(array: Any, places: tuple[int, ...], /) -> Any: ...
def argmax(array: Any, axis: int) -> Any: ...
def argmin(array: Any, axis: int) -> Any: ...
def sorted_rows(array: Any, /) -> Any: ...
def count_in_bins(values: Any, edges: Any, /) -> Any: ...
def put_chosen(array: Any, mask: Any, values: Any, /) -> None: ...
def nonzero(array: Any, /) -> tuple[Any, ...]: ...
def flat_nonzero(array: Any, /) -> Any: ...
def small_function(
    loop: Loop, function: Callable[..., Any], signature: str, is_dot: bool, /
) -> Callable[..., Any]: ...
def small_norm(loop: Loop, function: Callable[..., Any], /) -> Callable[..., Any]: ...
def small_total(
    loop: Loop,
    function: Callable[..., Any],
    more: tuple[Any, ...],
    start: bytes | None,
    is_array: bool,
    axis: int,
    kept: int,
    /,
) -> Callable[..., Any]: ...
def native_loop(address: int, owner: object, n_inputs: int, n_outputs: int, /) -> Loop: ...
def cast_loop(from_: _DType, to: _DType, /) -> Loop: ...
def where_loop(dtype: _DType, /) -> Loop: ...
def copy_loop(dtype: _DType, /) -> Loop: ...

@final
class Kernel:
    cost: float  # nanoseconds an element, about: decides when work is shared

    def __new__(
        cls,
        operands: tuple[_DType, ...],
        temporaries: tuple[tuple[_DType, bool], ...],
        segments: tuple[_Segment, ...],
        results: tuple[tuple[int, _How], ...],
        *,
        rows: bool = False,
        native: tuple[_Segment, ...] | None = None,
        cost: float = 1.0,
        on_hot: Callable[[Kernel], object] | None = None,
        hot: int = 0,
        rolls: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = (),
    ) -> Kernel: ...
    @property
    def runs(self) -> int: ...
    @property
    def elements(self) -> int: ...
    @property
    def flagged(self) -> int: ...
    @property
    def native(self) -> bool: ...
    @native.setter
    def native(self, segments: tuple[_Segment, ...] | None) -> None: ...
    def set_native(self, segments: tuple[_Segment, ...] | None, /) -> None: ...
    def run(
        self, arguments: tuple[object, ...], mask: int = 15, /
    ) -> tuple[tuple[Any, ...], _Flags | None]: ...

@final
class Scalars:
    def __new__(
        cls,
        inputs: int,
        registers: tuple[Any, ...],  # types, or (type, number)
        takes: tuple[tuple[int, int], ...],
        places: tuple[tuple[int, np.dtype[Any], int, tuple[int, ...] | int], ...],
        code: tuple[tuple[Any, ...], ...],
        gives: tuple[int, ...],
    ) -> Self: ...

@final
class Nest:
    budget: float  # seconds a call may take, about

    def __new__(
        cls,
        address: int,
        owner: object,
        slots: tuple[_Slot, ...],
        # The dtype's character, axes, and of what it is given back as a view: 1: an array like it, 2: one whose only
        # column it is.
        temporaries: tuple[tuple[str, int] | tuple[str, int, int], ...] = (),
        scratches: int = 0,
        views: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = (),  # array; axis and step
        exits: int = 0,
        parts: tuple[tuple[int, int, int, int], ...]
        | None = None,  # NestPart, of each array that is written
        rows: tuple[tuple[int, int, int, int, int], ...] = (),  # NestRows, of some of these
    ) -> Self: ...
    @property
    def runs(self) -> int: ...
    @property
    def turns(self) -> int: ...
    @property
    def doubts(self) -> int: ...
    @property
    def shared_turns(self) -> int: ...
    @property
    def awaited(self) -> int: ...
    @property
    def call_ns(self) -> float: ...
    @property
    def saved_bytes(self) -> int: ...
    @property
    def takes_contents(self) -> bool: ...
    def __call__(self, *objects: object, contents: bytes = ...) -> Any: ...
    def tune(self, address: int, owner: object, /) -> None: ...
    def answered(self) -> None: ...

@final
class Program:
    def __new__(
        cls,
        n_inputs: int,
        n_slots: int,
        constants: tuple[tuple[int, object], ...],
        steps: tuple[tuple[Any, ...], ...],
        outputs: tuple[int, ...],
        report: Callable[[int, _Flags], object] | None = None,
        fallback: Callable[[int, tuple[Any, ...]], tuple[Any, ...]] | None = None,
        in_order: Callable[[], Callable[[], object]] | None = None,
        late: bool = False,
        errors: tuple[tuple[int, int], ...] = (),
    ) -> Self: ...
    @property
    def steps(self) -> int: ...
    def __call__(self, *inputs: object) -> Any: ...

class Drawing:
    def __new__(cls, program: Callable[..., object], places: tuple[int, ...], /) -> Self: ...
    def __call__(self, *inputs: object) -> Any: ...

def nest_helpers() -> dict[str, int]: ...  # addresses of what machine code calls
def share_statements(elements: int, nanoseconds: float, /) -> tuple[int, float]: ...
def compiled_object(functions: bytes, tools: bytes, text: bytes, /) -> bytes: ...
def load_object(data: bytes, symbols: dict[str, int], /) -> dict[str, int]: ...
def undefined_symbols(data: bytes, /) -> list[str]: ...
def call_as_thread(
    function: Callable[[Any], object], argument: object, starter: int, /
) -> object: ...
def threads() -> int: ...
def set_threads(count: int, /) -> None: ...
def set_pool_limit(limit: int, /) -> None: ...  # bytes of dead arrays' memory
def pool_state() -> dict[Literal["limit", "kept", "taken", "reused"], int]: ...
