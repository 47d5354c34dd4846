"""A real GPU in place of the test device, for `make gpu-check`: the same tests, but for what only a test device tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest


class Compiler:
    """NVRTC as CuPy calls it: nothing is gathered."""

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Kernels are compiled one by one."""
        yield


@dataclass
class RealDevice:
    """CuPy on a GPU, with what tests use of `cupy_host.Host`; its threads run in an order of their own."""

    cupy: Any
    driver: Any = field(default_factory=lambda: SimpleNamespace(order=None))
    compiler: Compiler = field(default_factory=Compiler)

    @property
    def device(self) -> Any:
        """What is counted; a real device counts nothing."""
        pytest.skip("the rest of it is about the test device")


def real_device() -> RealDevice:
    """CuPy as it is installed."""
    import cupy  # noqa: PLC0415  only where it is asked for

    return RealDevice(cupy)
