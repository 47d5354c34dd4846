"""What every backend offers, and how one is found by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, cast, runtime_checkable

from ufuse.graph.node import Graph
from ufuse.graph.records import record


@record
class Options:
    """How to compile; every backend takes what it knows of."""

    native: bool = True  # machine code through LLVM, where it pays
    hot: int = 50_000  # element-operations after which native code is worth its compilation
    exact: bool = True  # with CuPy's arrays: the order in which CuPy sums floats


DEFAULT = Options()


class Backend(Protocol):
    """A compiler of graphs.

    The callable that `compile` returns takes the graph's inputs by position. It returns the output itself
    where the graph has exactly one, else a tuple; or `NotImplemented` where it has done nothing visible and
    plain Python is to run instead.
    """

    name: str

    def compile(self, graph: Graph, options: Options = DEFAULT) -> Callable[..., object]:
        """The callable that computes `graph`."""

    def source(self, graph: Graph, options: Options = DEFAULT) -> str:
        """What is made of `graph`, as text for people."""


@runtime_checkable
class NeedsDevice(Protocol):
    """A backend whose programs run on a device, which may be missing."""

    def why_unavailable(self) -> str | None:
        """What is missing, or None."""


@runtime_checkable
class Placing(Protocol):
    """A backend that runs some graphs on a device and others elsewhere."""

    def place(self, graph: Graph, options: Options = DEFAULT) -> str:
        """Where a graph runs, and why not on the device."""


class UnknownBackend(ValueError):  # noqa: N818  ufuse turns it into its own public error
    """No backend has this name."""


class BackendUnavailable(RuntimeError):  # noqa: N818  as above
    """The backend exists, but something that it needs is missing on this machine."""


# fmt: off
#            name         module                        what it needs
BACKENDS = {
    "numpy":     ("ufuse.backends.numpy",     "NumPy and the C extension of ufuse"),
    "cupy":      ("ufuse.backends.cupy",      "CuPy: `pip install ufuse[cuda12]` or `ufuse[cuda13]`"),
    "reference": ("ufuse.backends.reference", "NumPy"),
}
# fmt: on


def backend_named(name: str) -> Backend:
    """The backend of this name.

    Raises:
        UnknownBackend: there is none; the text lists those there are.
        BackendUnavailable: what it needs cannot be imported.

    """
    if name not in BACKENDS:
        known = ", ".join(sorted(BACKENDS))
        raise UnknownBackend(f"there is no backend {name!r}; the backends are {known}")
    module, needs = BACKENDS[name]
    try:
        return cast("Backend", cast("Any", import_module(module)).BACKEND)
    except ImportError as error:
        ours = (error.name or "").startswith("ufuse.")
        detail = "; this version of ufuse does not have it yet" if ours else f" ({error})"
        raise BackendUnavailable(f"the backend {name!r} needs {needs}{detail}") from error
