"""What array statements of nests mean: loops written by hand, against the same loops in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code, array, number
from tests.support.tiles import assert_same
from ufuse.graph.nest import Map, Nest, Scalar, Step, View
from ufuse.graph.nest_types import Value
from ufuse.graph.semantics.nest_reference import execute, run

D, L, B = np.dtype(float), np.dtype(int), np.dtype(bool)
ROW = ((0, 1),)


def jacobi() -> Nest:
    """`b[1:-1] = (a[:-2] + a[2:]) * 0.5; a, b = b, a`: two headers, one for each way round."""
    code = Code(array("a", is_written=True, is_rebound=True), array("b", is_written=True, is_rebound=True), RANGE)  # fmt: skip
    for (a, b), label, other in (((0, 1), "header", "body"), ((1, 0), "header2", "body2")):
        code.begin(label)
        left, turns, zero = code.get("i.left"), code.get(".turns"), code.whole(0)
        more = code.op("and", code.op("igt", left, zero), code.op("igt", turns, zero))
        code.end("branch", other, f"out{label}", condition=more)
        code.begin(f"out{label}")
        code.set("a.array", code.whole(a))
        code.set("b.array", code.whole(b))
        code.end("leave")
        code.begin(other)
        one = code.whole(1)
        for name in (".turns", "i.left"):
            code.set(name, code.op("sub", code.get(name), one))
        length = code.op("sub", code.dim(a, 0), code.whole(2))
        steps = (Step("add", (D, D, D), (0, 1)), Step("multiply", (D, D, D), (3, 2)))
        what = Map(1, (View(a, ROW), View(a, ROW), Scalar(D)), steps, View(b, ROW))
        code.map(what, length, code.whole(0), code.whole(2), code.real(0.5), code.whole(1))
        code.end("jump", "header2" if label == "header" else "header")
    return code.nest()


@pytest.mark.parametrize("turns", range(4))
def test_a_stencil_between_two_arrays(turns: int) -> None:
    """The arrays change places in each turn."""
    rng = np.random.default_rng(turns)
    a, b = rng.standard_normal(9), np.zeros(9)
    given = a.copy(), b.copy()
    found = run(jacobi(), (*given, iter(range(turns))))
    for _ in range(turns):
        b[1:-1] = (a[:-2] + a[2:]) * 0.5
        a, b = b, a
    if turns == 0:
        assert found is NotImplemented
        return
    assert found[turns % 2] is given[0]
    assert_same(found[0], a)
    assert_same(found[1], b)


def statement(what: Map, lengths: tuple[int, ...], *inputs: Any, slots: Any) -> Nest:
    """A loop of one statement."""
    code = Code(*slots, RANGE)
    code.header("i", "body")
    values: list[Value] = [code.whole(length) for length in lengths]
    values += [code.real(one) if isinstance(one, float) else code.whole(one) for one in inputs]
    code.map(what, *values)
    code.end("jump", "header")
    return code.nest()


def test_everything_is_read_before_anything_is_written() -> None:
    """`x[1:] = x[:-1]` and `x[:] = x[::-1]`."""
    for step, target, length, place in ((1, 1, 8, 0), (-1, 0, 9, 8)):
        x = np.arange(9.0)
        y = x.copy()
        copy = Map(1, (View(0, ((0, step),)),), (Step("copy", (D, D), (0,)),), View(0, ROW))
        nest = statement(copy, (length,), place, target, slots=(array("x", is_written=True),))
        assert run(nest, (x, iter(range(1)))) is None
        if step == 1:
            y[1:] = y[:-1].copy()
        else:
            y[:] = y[::-1].copy()
        assert_same(x, y)


def test_broadcast_transposed_and_of_other_dtypes() -> None:
    """`x[:, 1:] = where(m.T, k[:, None] * 2, 7.5)`."""
    x, m, k = np.zeros((3, 5)), np.arange(12).reshape(4, 3) % 3 == 0, np.arange(3)
    steps = (
        Step("multiply", (L, L, L), (1, 2)),
        Step("cast", (L, D), (4,)),
        Step("where", (B, D, D, D), (0, 5, 3)),
    )
    views = (View(1, ((1, 1), (0, 1))), View(2, ((0, 1), None)), Scalar(L), Scalar(D))
    what = Map(2, views, steps, View(0, ((0, 1), (1, 1))))
    slots = (array("x", ndim=2, is_written=True), array("m", bool, 2), array("k", int))
    nest = statement(what, (3, 4), 0, 0, 0, 2.0, 7.5, 0, 1, slots=slots)
    assert run(nest, (x, m, k, iter(range(2)))) is None
    expected = np.zeros((3, 5))
    expected[:, 1:] = np.where(m.T, k[:, None] * 2, 7.5)
    assert_same(x, expected)


def test_views_that_leave_their_array_are_no_doubt() -> None:
    """Who writes a nest checks what is sliced: it is an error here."""
    for lengths, places in (((9,), (1, 0)), ((2,), (-1, 0)), ((1,), (9, 0))):
        copy = Map(1, (View(0, ROW),), (Step("copy", (D, D), (0,)),), View(0, ROW))
        nest = statement(copy, lengths, *places, slots=(array("x", is_written=True),))
        with pytest.raises(IndexError):
            run(nest, (np.zeros(9), iter(range(1))))
    for place in (0, 9):
        nest = statement(copy, (0,), place, 9, slots=(array("x", is_written=True),))
        assert run(nest, (np.zeros(9), iter(range(1)))) is None


def reduced() -> Nest:
    """`t = x[i:] * x[i:]; s = t.sum() + x @ x[::-1]; y = t` where `y` is an array from before."""
    code = Code(array("x"), array("y", is_rebound=True), number("s"), RANGE)
    code.temporaries.append(array(".t"))
    index = code.header("i", "body")
    length = code.op("sub", code.dim(0, 0), index)
    code.alloc(2, length)
    square = Map(1, (View(0, ROW), View(0, ROW)), (Step("multiply", (D, D, D), (0, 1)),), View(2, ROW))  # fmt: skip
    code.map(square, length, index, index, code.whole(0))
    total = code.fold("add", View(2, ROW), code.dim(2, 0), code.whole(0))
    last = code.op("sub", code.dim(0, 0), code.whole(1))
    views = View(0, ROW), View(0, ((0, -1),))
    product = code.dot("matmul", *views, code.dim(0, 0), code.whole(0), last)
    code.set("s", code.op("add", total, product))
    code.set("y.array", code.whole(2))
    code.end("jump", "header")
    return code.nest()


def test_temporaries_and_reductions() -> None:
    """A temporary that a variable is behind the loop is an array of its own."""
    x, y = np.linspace(0, 1, 1000), np.zeros(3)
    found = run(reduced(), (x, y, 0.5, iter(range(3, 7))))
    t = x[6:] * x[6:]
    assert_same(found[0], t)
    assert found[1] == float(t.sum() + x @ x[::-1])
    temporaries: list[np.ndarray] = []
    cells = {"y.array": 1, "s": 0.5, "s.numpy": False, "i.next": 5, "i.step": 1, "i.left": 1, ".turns": 1}  # fmt: skip
    assert execute(reduced(), (x, y), cells, temporaries)
    assert cells["y.array"] == 2
    assert_same(temporaries[0], x[5:] * x[5:])


def test_the_largest_of_nothing_is_a_doubt() -> None:
    """As NumPy raises."""
    code = Code(array("x"), number("s"), RANGE)
    code.header("i", "body")
    code.set("s", code.fold("maximum", View(0, ROW), code.dim(0, 0), code.whole(0)))
    code.end("jump", "header")
    assert run(code.nest(), (np.zeros(0), 0.5, iter(range(1)))) is NotImplemented
    assert run(code.nest(), (np.arange(3.0), 0.5, iter(range(1)))) == 2.0


def test_text() -> None:
    """Array statements are written so that they can be read."""
    text = str(reduced())
    assert "map #2[0:+1] = multiply.float64(0 1) of #0[0:+1] #0[0:+1] over 1-d" in text
    assert "fold.f64 add, #2[0:+1]" in text
    assert ".t: 1-d array of float64, temporary" in text
    assert "y: 1-d array of float64, bound again" in text
