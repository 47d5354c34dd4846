"""Places and lengths that values decide: the functions that give them, and who waits for whom."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ufuse.graph import ops
from ufuse.graph.made import makers, named_by
from ufuse.graph.memory.accesses import Memory
from ufuse.graph.memory.dependence import dependences
from ufuse.graph.node import Graph, Node
from ufuse.graph.passes.dead import without_dead
from ufuse.graph.semantics.reference import run
from ufuse.graph.size import symbol
from ufuse.graph.types import ArrayType, NumberType, Span
from ufuse.graph.typing import bounds
from ufuse.graph.typing.calls import function_named
from ufuse.graph.typing.raising import WouldWarnError


def test_slices_are_pythons() -> None:
    """A slice begins and ends where Python's does, whatever its bounds are."""
    whole = list(range(5))
    numbers = [None, *range(-7, 8), np.int64(2), 2**70, -(2**70)]
    for start, stop in itertools.product(numbers, numbers):
        begin, count = bounds.begin(start, stop, 5), bounds.extent(start, stop, 5)
        assert whole[begin : begin + count] == whole[start:stop]
        assert 0 <= begin <= begin + count <= 5


def test_places_and_amounts() -> None:
    """Places count from either end; what is out of bounds raises, and so does a length that is none."""
    assert [bounds.place(at, 3) for at in (0, 2, -1, np.int8(-3))] == [0, 2, 2, 0]
    for at in (3, -4):
        with pytest.raises(IndexError):
            bounds.place(at, 3)
    assert bounds.amount(np.uint8(7), 10) == 7
    for number in (-1, 11):
        with pytest.raises(ValueError, match="no length"):
            bounds.amount(number, 10)
    with pytest.raises(TypeError):
        bounds.amount(1.5, 10)


def slicing() -> tuple[Graph, Node, Node]:
    """A graph that gives `x[i:]`, the node that makes its length, and the view."""
    n, u = symbol("n"), symbol("u")
    x = Node(ops.INPUT, (), ArrayType(np.dtype(float), (n,)), {"name": "x"})
    i = Node(ops.INPUT, (), NumberType("int"), {"name": "i"})
    length = Node(ops.SIZE, (), NumberType("int", n), {"value": n})
    given = {
        "function": bounds.BOUNDS + "extent",
        "arguments": (0, ("const", None), 1),
        "keywords": (),
        "sizes": ("u",),
    }
    made = Node(ops.CALL, (i, length), NumberType("int", u), given)
    view = Node(ops.INDEX, (x,), ArrayType(np.dtype(float), (u,)), {"index": (Span(n - u, u),)})
    twice = Node(ops.UFUNCS["add"], (view, view), ArrayType(np.dtype(float), (u,)), {})
    return Graph((x, i), (x, i, length, made, view, twice), (twice,)), made, view


def test_what_names_a_size_needs_its_maker() -> None:
    """No value of the maker is taken; it stays, and what takes the view waits for it."""
    graph, made, view = slicing()
    assert makers(graph) == {"u": made}
    assert named_by(view) == {"u", "n"}
    assert made in without_dead(graph).nodes
    twice = graph.outputs[0]
    assert made in dependences(graph, Memory()).waits[twice]


def test_such_a_size_has_a_meaning() -> None:
    """The definition of graphs gives the symbol the number that its maker returns."""
    graph, _, _ = slicing()
    x = np.arange(4.0)
    for i in (0, 3, -1, 9):
        (found,) = run(graph, x, i)
        assert found.tobytes() == (x[i:] * 2).tobytes()


@pytest.mark.parametrize(
    "name", ["numpy.nanmean", "numpy.nanstd", "numpy.nanmax", "numpy.nanmedian"]
)
def test_functions_raise_in_place_of_warning(name: str) -> None:
    """In a graph NumPy's function raises where it would warn, and elsewhere gives what it gives."""
    function, own = function_named(name), getattr(np, name.removeprefix("numpy."))
    x = np.array([1.0, np.nan, 3.0])
    assert function(x) == own(x)
    assert type(function(x)) is type(own(x))
    with pytest.raises(WouldWarnError):
        function(x * np.nan)


def test_so_do_those_of_other_modules_that_they_call() -> None:
    """`nanmean` and `nanvar` of whole numbers are `mean` and `var`, which other modules have, and warn there."""
    x = np.arange(3)
    for name in ("nanvar", "nanstd"):
        function, own = function_named(f"numpy.{name}"), getattr(np, name)
        assert function(x, ddof=2) == own(x, ddof=2)
        with pytest.raises(WouldWarnError):
            function(x, ddof=3)
    for name in ("nanmean", "nanmedian"):
        assert function_named(f"numpy.{name}")(x) == 1
        with pytest.raises(WouldWarnError):
            function_named(f"numpy.{name}")(x[:0])
    assert function_named("numpy.nanquantile")(x, 0.5) == 1
    with pytest.raises(WouldWarnError):
        function_named("numpy.nanquantile")(x[:0], 0.5)
