"""Nests as text that reads back, their laws, and how they are drawn."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests import random_maps, random_nests
from tests.support.nests.nest_code import RANGE, Code, array, number
from ufuse.graph.nest import Map, Nest, Step, View
from ufuse.graph.nest_slots import ARRAYS, MARKS, OBJECTS, ArraySlot, NumberSlot
from ufuse.graph.nest_types import F32, F64
from ufuse.graph.semantics.check import GraphError
from ufuse.graph.semantics.check_nest import LAWS, check_nest
from ufuse.graph.text import TextError
from ufuse.graph.text.nest_drawing import nest_to_dot, nest_to_svg
from ufuse.graph.text.nest_listing import listing
from ufuse.graph.text.nest_parser import parse_nest


def same(nest: Nest) -> None:
    """The text reads back to the same nest, and writes the same text."""
    found = parse_nest(str(nest))
    assert str(found) == str(nest)
    for part in ("name", "slots", "others", "temporaries", "views"):
        assert getattr(found, part) == getattr(nest, part)


@pytest.mark.parametrize("seed", range(60))
def test_random_nests_read_back_and_keep_the_laws(seed: int) -> None:
    """Every op of numbers and elements, and array statements."""
    for nest in (random_nests.Draw(seed, 0.2).nest(), random_maps.Draw(seed).nest()):
        check_nest(nest)
        same(nest)
        nest_to_dot(nest)


NUMBERS = (
    0.0,
    -0.0,
    0.1,
    1e308,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
    -math.nan,
    1e16,
    2.0**-1022,
)


def test_a_nest_is_named_in_short() -> None:
    """Whatever its size."""
    nest = random_nests.Draw(1, 0.2).nest()
    assert re.fullmatch(r"<nest test: \d+ slots, \d+ instructions>", repr(nest))


def test_constants_to_the_bit() -> None:
    """NaNs of every sign and payload among them."""
    odd = np.array([0x7FF8000000000001, 0xFFF0000000000007], np.uint64).view(float).tolist()
    code = Code(number("x", "float"), RANGE)
    code.header("i", "body")
    for real in (*NUMBERS, *odd):
        code.set("x", code.constant(F64, real))
    code.set("single", code.constant(F32, float(np.float32(0.1))))
    for whole in (0, -1, -(2**63), 2**63 - 1):
        code.set("n", code.whole(whole))
    code.set("p", code.truth(True))
    code.end("jump", "header")
    nest = code.nest()
    check_nest(nest)
    same(nest)
    pairs = zip(nest.blocks, parse_nest(str(nest)).blocks, strict=True)
    for one, other in pairs:
        for before, after in zip(one.instructions, other.instructions, strict=True):
            for a, b in zip(before.attributes, after.attributes, strict=True):
                assert type(a) is type(b)
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_names_that_are_no_words() -> None:
    """An array may be called as the program writes it; locals may be called as numbers are."""
    code = Code(
        ArraySlot("self.tables['a, b: c']", np.dtype(float), 2, True, True, True),
        NumberSlot("nan", "float", True), NumberSlot("inf", "int", False), NumberSlot("é", "uint8", False), RANGE,
    )  # fmt: skip
    code.header("i", "body")
    code.set("nan", code.get("nan"))
    code.end("jump", "header")
    same(code.nest())


def test_attributes_of_objects() -> None:
    """They name their list; a field of named tuples has its place, and is not written (law 10)."""
    for is_written in (False, True):
        code = Code(
            ArraySlot("the items", np.dtype(bool), 1, False, items=OBJECTS, lacked=("a b", "c"), nothing=("d", "e f"), is_apart=True),
            ArraySlot("v", np.dtype(float), 1, True, items="python", owner="the items", attribute="a, b"),
            ArraySlot(
                "x", np.dtype(int), 1, is_written, items="numpy", owner="the items", attribute="x", field=12
            ),
            RANGE,
        )  # fmt: skip
        code.header("i", "body")
        code.end("jump", "header")
        nest = code.nest()
        same(nest)
        if is_written:
            with pytest.raises(GraphError, match="x: a field of named tuples is written"):
                check_nest(nest)
        else:
            check_nest(nest)


def test_arrays_of_objects() -> None:
    """They have an axis more than each; marks name an attribute before them that is written (law 10)."""

    def nest(*, is_written: bool, ndim: int = 3, field: int | None = None) -> Nest:
        code = Code(
            ArraySlot("items", np.dtype(bool), 1, False, items=OBJECTS, is_apart=True),
            ArraySlot(
                "p", np.dtype("f4"), ndim, is_written, items=ARRAYS, owner="items", attribute="a b", field=field
            ),
            ArraySlot("new p", np.dtype(bool), 1, True, items=MARKS, owner="items", attribute="a b", is_apart=True),
            RANGE,
        )  # fmt: skip
        code.header("i", "body")
        code.end("jump", "header")
        return code.nest()

    check_nest(nest(is_written=True))
    same(nest(is_written=True))
    for broken in (
        nest(is_written=False),
        nest(is_written=True, field=2),
    ):
        same(broken)
        with pytest.raises(GraphError, match=r"\(law 10\)"):
            check_nest(broken)


def statement() -> Nest:
    """`a[1:] = a[:-1] < x` in a loop."""
    code = Code(array("a", bool, 1, is_written=True), number("x", "float"), RANGE)
    code.header("i", "body")
    row = ((0, 1),)
    steps = (
        Step("cast", (np.dtype(bool), np.dtype(float)), (0,)),
        Step("less", (np.dtype(float),) * 2 + (np.dtype(bool),), (1, 1)),
    )
    one, zero = code.whole(1), code.whole(0)
    length = code.op("sub", code.dim(0, 0), one)
    code.map(Map(1, (View(0, row),), steps, View(0, row)), length, zero, one)
    code.end("jump", "header")
    return code.nest()


BROKEN = [
    ("sub.i64 %20, %18", "sub.f64 %20, %18", "(law 3)"),
    ("%20, %18", "%20, %1", "no value of this block"),
    ("#0[0:+1] = ", "#0[0:+1 0:+1] = ", "(law 6)"),
    ("#0[0:+1] = ", "#3[0:+1] = ", "(law 5)"),
    (", written", "", "not marked as written (law 5)"),
    ("less.float64/float64/bool(1 1)", "less.float64/float64/bool(1 2)", "(law 6)"),
    ("jump header", "jump nowhere", "nowhere, which is no block (law 1)"),
    ("set i.next", "set j", "the variable j is not declared (law 4)"),
    ("  leave", "  doubt", "no block leaves"),
    ("  set .turns", "  set i.left", "no turn is taken off (law 7)"),
]


@pytest.mark.parametrize(("before", "after", "law"), BROKEN)
def test_a_broken_law_is_named(before: str, after: str, law: str) -> None:
    """The checker names the block, the instruction and the law; a value of another block cannot be read."""
    nest = statement()
    check_nest(nest)
    text = str(nest)
    assert before in text, text
    with pytest.raises((GraphError, TextError), match=re.escape(law)):
        check_nest(parse_nest(text.replace(before, after)))


def test_every_law_is_stated() -> None:
    """Their numbers are those of the messages."""
    stated = set(re.findall(r"^(\d)\.", LAWS, re.MULTILINE))
    assert {law[-2] for _, _, law in BROKEN if law.endswith(")")} <= stated


@pytest.mark.parametrize("text", ["", "graph f", "nest f\n  a: 1-d list", "nest f\nb:\n  jump", "nest f\nb:\n  %1 = add.i64 %7, %8\n  leave"])  # fmt: skip
def test_what_is_no_nest(text: str) -> None:
    """The text is refused, or breaks a law."""
    with pytest.raises((TextError, GraphError)):
        check_nest(parse_nest(text))


def test_statements_are_listed_as_python_writes_them() -> None:
    """What is used once stands where it is used."""
    lines = [line for _, statements in listing(statement()) for line in statements]
    assert any(line.startswith("a[1:1 + ") for line in lines), lines


def test_drawings() -> None:
    """A box for each block, an arrow for each way on."""
    nest = statement()
    dot, svg = nest_to_dot(nest), nest_to_svg(nest)
    assert dot.count(" -> ") == sum(len(block.end.targets) for block in nest.blocks)
    ET.fromstring(svg)  # noqa: S314  our own text
    assert svg.count("<rect") == len(nest.blocks)
