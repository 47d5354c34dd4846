"""ufuse makes existing NumPy code fast, and changes nothing else about it.

Example:
    >>> import numpy as np
    >>> import ufuse
    >>> @ufuse.compile
    ... def softmax(x):
    ...     e = np.exp(x - x.max(axis=1, keepdims=True))
    ...     return e / e.sum(axis=1, keepdims=True)
    >>> softmax(np.zeros((1, 2)))
    array([[0.5, 0.5]])

"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ufuse import decorator as _decorator
from ufuse.compiled import CompiledFunction
from ufuse.decorator import compile, eager, set_eager
from ufuse.diagnostics.graphs import Graph
from ufuse.diagnostics.report import Report
from ufuse.errors import BackendUnavailable, GraphBreakError, UfuseError
from ufuse.everywhere import everywhere
from ufuse.explain import explain
from ufuse.frame_hook.code.markers import disable, graph_break, is_tracing
from ufuse.frame_hook.entries.learned import Retrace
from ufuse.frame_hook.trace.reasons import Break
from ufuse.log import set_log
from ufuse.settings import from_environment as _from_environment
from ufuse.spec import Spec

__version__ = "0.1.0.dev0"
__all__ = [
    "BackendUnavailable", "Break", "CompiledFunction", "Graph", "GraphBreakError", "Report", "Retrace", "Spec",
    "UfuseError", "compile", "disable", "eager", "everywhere", "explain", "graph_break", "is_tracing", "set_eager",
    "set_log",
]  # fmt: skip

# What other compilers call `compile`.
_ELSEWHERE = ("jit", "njit", "optimize", "function", "script", "fuse")


if not _TYPE_CHECKING:  # to a type checker no other name is there

    def __getattr__(name: str) -> object:
        hint = ": ufuse.compile is what makes a function fast" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'ufuse' has no attribute {name!r}{hint}")

    def __dir__() -> list[str]:
        return [*__all__, "__version__"]  # what an editor offers


_settings = _from_environment()
set_log(_settings.log)
_decorator.configure(_settings)
