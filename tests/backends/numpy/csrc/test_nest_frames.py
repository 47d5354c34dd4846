"""The frames of functions that call themselves: what was put behind them comes back, of every type, however many there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ArraySlot, NumberSlot
from ufuse.graph.nest_types import F32, F64, I8, I64, U64
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check import GraphError
from ufuse.graph.semantics.check_nest import check_nest

REALS, WHOLES = (0.1, -0.0, 2.0**-140, 1e38), (-(2**62), 2**62, 0, -1)


def frames(counted: int, dropped: int = 5) -> Nest:
    """In each turn so many frames of a number of each type are pushed, and looked at from the last to the first."""
    code = Code(
        NumberSlot("x", "float", is_changed=True), NumberSlot("k", "int", is_changed=True), RANGE
    )
    code.temporaries.append(ArraySlot(".frames", np.dtype(np.int64), 1, is_written=True))
    code.header("i", "body")
    code.alloc(0, code.whole(0))
    small = code.append("wrap_i8", (code.get("k"),), I8)
    long = code.append("wrap_u64", (code.get("k"),), U64)
    single = code.append("to_f32", (code.get("x"),), F32)
    is_less = code.op("ilt", code.get("k"), code.whole(0))
    for _ in range(counted):
        code.append("push", (code.get("x"), small, long, single, is_less), None, 0)
    room = code.append("room", (), I64)
    for _ in range(counted - 1):
        code.append("drop", (), None, 0, dropped)
    one = code.append("peek", (), I8, 0, 4)
    other = code.append("peek", (), U64, 0, 3)
    half = code.append("to_f64", (code.append("peek", (), F32, 0, 2),), F64)
    truth = code.append("peek", (), is_less.type, 0, 1)
    real = code.append("peek", (), F64, 0, 5)
    code.set("x", code.select(truth, half, real))
    whole = code.append("to_i64", (one,), I64)
    same = code.op("ieq", code.append("wrap_i64", (other,), I64), code.get("k"))
    code.doubt_if(code.op("not", same))
    code.doubt_if(code.op("ile", room, code.whole(0)))
    code.set("k", code.op("add", whole, code.dim(0, 0)))
    code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("counted", [1, 3, 200])
@pytest.mark.parametrize("x", REALS)
@pytest.mark.parametrize("k", WHOLES)
def test_what_was_pushed_comes_back(counted: int, x: float, k: int) -> None:
    """Signs, the smallest and largest numbers, and truths; where memory has to grow, too; as the definition says."""
    nest = frames(counted)
    check_nest(nest)
    made: Any = nest_object(nest)
    expected = (float(np.float32(x)) if k < 0 else x, int(np.int8(k & 0x7F)) - (k & 0x80) + 5)
    for run in (made, lambda *given: nest_reference.run(nest, given)):
        assert repr(run(x, k, iter(range(1)))) == repr(expected)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [("peek", (0, 0)), ("drop", (0, -1)), ("drop", (3, 1)), ("peek", (0, 1, 2))],
)
def test_frames_that_are_none(op: str, attributes: tuple[int, ...]) -> None:
    """Words that are not from the end, and memory that there is not, break a law."""
    code = Code(RANGE)
    code.temporaries.append(ArraySlot(".frames", np.dtype(np.int64), 1, is_written=True))
    code.header("i", "body")
    code.append(op, (), I64 if op == "peek" else None, *attributes)
    code.end("jump", "header")
    with pytest.raises(GraphError, match="law"):
        check_nest(code.nest())
