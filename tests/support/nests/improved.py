"""The NumPy backend, with the better code of native loops from their first turn on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from ufuse.backends.numpy import BACKEND, nests
from ufuse.backends.numpy.llvm.background import Work
from ufuse.graph.nest import Nest


class Improved:
    """Native loops do not begin with their first code: that made with more effort, and the better one, are made at once."""

    name = "improved"
    compile = staticmethod(BACKEND.compile)
    nest_seconds = staticmethod(BACKEND.nest_seconds)

    begin_nest = staticmethod(BACKEND.begin_nest)

    @staticmethod
    def compile_nest(nest: Nest) -> Callable[..., object] | None:
        """What runs a nest."""
        made: Any = nests.nest_object(nest)
        if made is not None:
            made.tuner = made.improver = None
            # In a thread of its own: an interrupt in the midst of llvmlite would leave its lock taken.
            # That may hit the thread, too: the nest then keeps its own code.
            with suppress(TimeoutError):
                Work(partial(nests._tune, nest, made)).result()
                Work(partial(nests._improve, nest, made)).result()
        return made  # type: ignore[no-any-return]
