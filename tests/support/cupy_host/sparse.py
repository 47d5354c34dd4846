"""In place of cuSPARSE: what CuPy's modules ask of it as they are imported. Its functions are not there."""

from __future__ import annotations

import sys
import types
from typing import Any


class Cusparse(types.ModuleType):
    """cuSPARSE as CuPy's Python module has it: constants are numbers."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.isupper():
            return 0

        def missing(*_: Any) -> None:
            raise NotImplementedError(f"cuSPARSE's {name} is not on the test device")

        return missing


def install() -> None:
    """Put it in the place of the library, for which other libraries would be loaded."""
    from cupy_backends.cuda import libs  # noqa: PLC0415 - only where CuPy is installed

    made: Any = Cusparse("cupy_backends.cuda.libs.cusparse")
    sys.modules[made.__name__] = libs.cusparse = made
