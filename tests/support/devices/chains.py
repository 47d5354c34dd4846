"""Chains of loops with operands of exactly their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.cupy_host.loops import NOT_CAPTURED, SMALL, Loop, loops
from tests.support.cupy_host.loops import values as values_of
from ufuse.graph import ops

SIZE = 37


class Typed:
    """The text of a function in which each of some loops has operands of exactly its types.

    An operand is an earlier result, cast where that loses nothing, or an argument: `x` and its type, or `s` for numbers
    that stay small; sometimes from behind.
    """

    def __init__(self, chosen: list[Loop], rng: np.random.Generator) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.arguments: dict[str, np.ndarray] = {}
        self.results: list[tuple[str, np.dtype]] = []
        self.unused: list[str] = []
        for loop in chosen:
            operands = [self.operand(loop, place) for place in range(len(loop.inputs))]
            self.lines.append(f"v{len(self.lines)} = cupy.{loop.name}({', '.join(operands)})")
            self.results.append((f"v{len(self.results)}", np.dtype(loop.outputs)))
            self.unused.append(self.results[-1][0])

    def operand(self, loop: Loop, place: int) -> str:
        """The text of a loop's operand."""
        wanted = np.dtype(loop.inputs[place])
        small = loop.name in SMALL and place > 0
        fitting = [one for one in self.results if np.can_cast(one[1], wanted, "safe")]
        if fitting and not small and self.rng.random() < 0.8:
            name, dtype = fitting[-1 - int(self.rng.integers(min(3, len(fitting))))]  # a late one
            self.unused = [one for one in self.unused if one != name]
            return name if dtype == wanted else f"{name}.astype({wanted.char!r})"
        name = ("s" if small else "x") + ("bool" if wanted.char == "?" else wanted.char)
        self.arguments[name] = values_of(self.rng, wanted, SIZE, small)
        return f"{name}[::-1]" if self.rng.random() < 0.3 else name

    def function(self, cupy: Any) -> Callable[..., Any]:
        """The function of the arguments, which returns all results that nothing else uses."""
        lines = [
            f"def typed({', '.join(self.arguments)}):",
            *self.lines,
            f"return {', '.join(self.unused)},",
        ]
        namespace: dict[str, Any] = {"cupy": cupy}
        exec("\n    ".join(lines), namespace)
        return namespace["typed"]


def typed_chains(cupy: Any, seed: int) -> list[Typed]:
    """Chains of two to twelve loops, with every loop that a kernel may have in one of them."""
    from ufuse.graph.typing.library import cupy as library  # noqa: PLC0415  CuPy may be imported now

    rng = np.random.default_rng(seed)
    every = [
        loop
        for loop in loops(cupy)
        if loop.compiles and len(loop.outputs) == 1 and not set(loop.inputs) & NOT_CAPTURED
        if library().op_of(loop.ufunc) is not None
    ]
    rows = [library().op_of(loop.ufunc) for loop in every]
    chains = []
    for own in (False, True):  # CuPy's alone come last
        chosen = [
            loop
            for loop, row in zip(every, rows, strict=True)
            if (row is None or row.name not in ops.OPS) is own
        ]
        order = rng.permutation(len(chosen))
        while len(order):
            count = int(rng.integers(2, 13))
            chains.append(Typed([chosen[place] for place in order[:count]], rng))
            order = order[count:]
    return chains
