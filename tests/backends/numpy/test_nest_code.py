"""Machine code of nests against the reference executor: bits, doubts, what is written back, and floating-point flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests import RANGE, Code, Machine, array, number
from ufuse.graph.nest import TURNS, Nest
from ufuse.graph.semantics.nest_reference import UnlikeNansError, bits, execute


def check(nest: Nest, arrays: Sequence[np.ndarray], cells: dict[str, Any]) -> bool:
    """Whether the nest was left: by the machine code, which must do all that the reference does."""
    copies = [one.copy() for one in arrays]
    wanted, found = dict(cells), dict(cells)
    logged: set[str] = set()
    with np.errstate(all="call", call=lambda kind, _: logged.add(kind.split()[0])):
        is_left = execute(nest, copies, wanted)
    machine_left, flags = Machine(nest).execute(arrays, found)
    assert machine_left == is_left, nest
    if is_left:
        assert flags == frozenset("divide" if one == "divide" else one for one in logged), nest
        for one, copy in zip(arrays, copies, strict=True):
            assert one.tobytes() == copy.tobytes(), nest
    assert {name: _exact(value) for name, value in found.items()} == {
        name: _exact(value) for name, value in wanted.items()
    }, nest
    return is_left


def _exact(value: Any) -> Any:
    return bits(value) if isinstance(value, float) else value


def over(rest: range, turns: int | None = None, **cells: Any) -> dict[str, Any]:
    """Cells at the header of a loop over a range."""
    start = {"i.next": rest.start, "i.step": rest.step, "i.left": len(rest)}
    return {**cells, **start, TURNS: len(rest) if turns is None else turns}


def total() -> Nest:
    """The sum of the elements of an array, at the numbers of a range."""
    code = Code(array("a"), number("s"), RANGE)
    index = code.header("i", "body")
    code.set("s", code.op("add", code.get("s"), code.load(0, index)))
    code.end("jump", "header")
    return code.nest()


def test_a_sum_of_elements() -> None:
    """A carried float, forwards, backwards and with negative indices."""
    a = np.random.default_rng(0).standard_normal(100)
    for rest in (range(100), range(99, -1, -3), range(-100, 0), range(0)):
        assert check(total(), [a], over(rest, s=0.5, **{"s.numpy": True}))
    assert check(total(), [a[::-2]], over(range(50), s=0.5, **{"s.numpy": True}))


def test_only_the_turns_given_are_done() -> None:
    """The nest is left at its header where no turn may begin."""
    a = np.random.default_rng(0).standard_normal(100)
    assert check(total(), [a], over(range(100), turns=7, s=0.5, **{"s.numpy": False}))


@pytest.mark.parametrize("k", [0, 1, 5, 99])
def test_an_index_out_of_range_is_a_doubt(k: int) -> None:
    """At a doubt `turns` tells the turn, and nothing else is written back."""
    a = np.arange(k, dtype=float)
    cells = over(range(100), s=0.5, **{"s.numpy": False})
    assert not check(total(), [a], cells)


def test_seidel() -> None:
    """A stencil in place, in two loops."""
    code = Code(array("a", ndim=2, is_written=True), RANGE)
    i = code.header("i", "body")
    code.set("row", i)
    code.loop("j", code.whole(1), code.op("sub", code.dim(0, 1), code.whole(1)), "header")
    i, j, one = code.get("row"), code.get("j"), code.whole(1)
    rows = [code.op("sub", i, one), i, code.op("add", i, one)]
    columns = [code.op("sub", j, one), j, code.op("add", j, one)]
    parts = [code.load(0, row, column) for row in rows for column in columns]
    result = parts[0]
    for part in parts[1:]:
        result = code.op("add", result, part)
    code.store(0, i, j, code.op("div", result, code.real(9.0)))
    code.again("j")
    a = np.random.default_rng(1).standard_normal((20, 30))
    assert check(code.nest(), [a], over(range(1, 19)))
    assert check(code.nest(), [a.T], over(range(1, 29)))
    assert not check(code.nest(), [a], over(range(1, 20)))
    assert UnlikeNansError
