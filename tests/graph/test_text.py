"""Graphs as text, and back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, scalar_dtypes

from ufuse.graph import size
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import CONST, OPS, REDUCTIONS, UFUNCS
from ufuse.graph.text import TextError, parse, parse_type, to_text, type_text
from ufuse.graph.text.drawing import to_dot
from ufuse.graph.text.values import read_size, read_value, value_text

# Every op that has a form of its own; the plain ones are tested all together.
EXAMPLES = {
    "input": "x_w_0: f8[n] 'x.w[0]'\nreturn x_w_0",
    "const": "t0 = const 2.5\nreturn t0",
    "size": "a: f8[n]\nt0 = size n-1\nreturn t0",
    "cast": "a: f8[n]\nt0 = cast a dtype=f4\nreturn t0",
    "where": "a: b1[n]\nt0 = where a 1 0.5\nreturn t0",
    "copy": "a: f8[n, m] order(1,0) strided\nt0 = copy a order='C'\nreturn t0",
    "index": "a: f8[n, m, 4]\nt0 = index a [1:n-1, :, new, 0]\nt1 = index a [n-1:-1:-1, 0:(m // 2), 3]\nreturn t0, t1",
    "transpose": "a: f8[n, m]\nt0 = transpose a axes=(1, 0)\nreturn t0",
    "reshape": "a: f8[n, m]\nt0 = reshape a shape=(m*n,)\nreturn t0",
    "part": "a: c16[n]\nt0 = part a of='imag'\nt1 = store a 1.0 at part(real) [1:n] casting='unsafe'\nreturn t1",
    "windows": "a: f8[n]\nt0 = windows a widths=(3,) axes=(0,)\nreturn t0",
    "diagonal": "a: f8[n, n]\nt0 = diagonal a offset=0 axes=(0, 1) length=n\nt1 = store a 1.0 at diagonal(0, (0, 1), n) casting='unsafe'\nreturn t0, t1",
    "retype": "a: f8[n]\nt0 = retype a dtype=i8\nt1 = store a 1 at retype(i8) casting='unsafe'\nreturn t1",
    "broadcast": "a: f8[n]@cuda\nt0 = broadcast a shape=(3, n)\nreturn t0",
    "empty": "a: f8[n]\nt0 = empty shape=(n, 3) dtype=f8 order=(1, 0)\nreturn t0",
    "zeros": "t0 = zeros shape=() dtype=i4\nreturn t0",
    "ones": "a: f8[n]\nt0 = ones shape=(n+1,) dtype=c16\nreturn t0",
    "full": "a: f8[n]\nt0 = full 1.5 shape=(n,) dtype=f8\nreturn t0",
    "store": "a: f8[n, m]\nt0 = store a 3.0 at transpose(1, 0) [1:m, 0] casting='same_kind'\nreturn t0",
    "element": "a: f8[n, m]\nt0 = element a [n-1, 0]\nreturn t0",
    "scalar": "a: float\nt0 = scalar.mul a 2.0\nreturn t0",
    "call": "a: f8[n]\nt0 = call numpy.concatenate((a, a), axis=0)\nt1 = call numpy.clip(t0, 0.0, 1.0)\nreturn t1",
    "check": "a: f8[n]\nt0 = reduce_add a axis=None keepdims=False dtype=None\nt1 = check t0 expected=True\nreturn a",
    "item": "a: f8[n]\nt0 = call numpy.ndarray.sort(a) writes=(0,)\nt1 = item t0 index=1\nreturn t1",
    "loop": (
        "x: f8[n]\ni: int k\nt0 = loop x i condition={\n  x: f8[n]\n  i: int k\n  t0 = scalar.lt i 10\n  return t0\n} "
        "body={\n  x: f8[n]\n  i: int k\n  t0 = scalar.add i 1\n  t1 = add x 1.0\n  return t1, t0\n}\n"
        "t1 = item t0 index=0\nreturn t1"
    ),
    "branch": (
        "c: bool\nx: f8[n]\nt0 = branch c x then={\n  x: f8[n]\n  t0 = exp x\n  return t0\n} otherwise={\n  x: f8[n]\n"
        "  t0 = negative x\n  return t0\n}\nt1 = item t0 index=0\nreturn t1"
    ),
}


def plain_example(name: str) -> str | None:
    """The text of a ufunc or reduction, on the first dtype that it takes."""
    for dtype in ("f8", "i8", "b1"):
        names = ["a", "b", "c", "d"][: OPS[name].arity]
        lines = [f"{one}: {dtype}[n]" for one in names] + [
            f"t0 = {name} {' '.join(names)}",
            "return t0",
        ]
        try:
            parse("\n".join(lines))
        except TextError:
            continue
        return "\n".join(lines)
    return None


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_reads_back(name: str) -> None:
    """Text that was written reads back to the same text."""
    text = EXAMPLES.get(name) or plain_example(name)
    if text is None:
        assert OPS[name].ufunc is not None
        pytest.skip("its dtypes are left to NumPy")
    assert to_text(parse(text)) == text


def test_every_op_is_in_a_table() -> None:
    """An op is a ufunc, a reduction, or has an example above."""
    assert set(OPS) == set(EXAMPLES) | set(UFUNCS) | set(REDUCTIONS)


def test_short_form() -> None:
    """Statements may stand on one line, with names of one's own."""
    graph = parse(
        "graph step; a: f8[n, m]; v = index a [1:n-1, 0]  # a comment\ns = reduce_add v axis=(0,); return s"
    )
    assert graph.name == "step"
    assert [node.op.name for node in graph.nodes] == ["input", "index", "reduce_add"]
    assert type_text(graph.outputs[0].type) == "f8"


def test_types_that_cannot_be_inferred_are_written() -> None:
    """A type that the tracer's guards gave is in the text."""
    text = "a: f8[n]\nb: f8[m]\nt0: f8[n] = add a b\nreturn t0"
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    "text",
    "f8[n, 3]|f8|f8[]|i4[n] strided|f8[n, m] order(1,0)|f8[n, m] order(?) strided|int|int n-1|float|nothing|(f8[n], int)".split(
        "|"
    ),
)
def test_types(text: str) -> None:
    """Types read back."""
    assert type_text(parse_type(text)) == text


@given(
    st.one_of(
        st.floats(),
        st.complex_numbers(),
        st.integers(),
        st.booleans(),
        st.text(),
        st.tuples(st.floats(), st.none()),
        scalar_dtypes()
        .filter(lambda d: d.char in "?bBhHiIqQefdFD" and d.isnative)
        .flatmap(lambda d: arrays(d, ()).map(lambda a: a[()])),
    )
)
def test_constants_read_back_to_the_bit(value: object) -> None:
    """NaN payloads and signed zeros too."""
    again = read_value(value_text(value))
    assert type(again) is type(value)
    if isinstance(value, (float, complex, np.generic)):
        assert np.asarray(again).tobytes() == np.asarray(value).tobytes()
    else:
        assert repr(again) == repr(value)


N, M = size.symbol("n"), size.symbol("m")
DIVISIONS = [
    (N + 1, 2, "((n+1) // 2)"),
    (2 * N, 3, "(2*n // 3)"),
    (-N, 2, "(-n // 2)"),
    (N, M + 1, "(n // (m+1))"),
    (N, 2 * M, "(n // (2*m))"),
    (3, N * M, "(3 // (m*n))"),
    (N, -2, "(n // -2)"),
    (size.divide("//", N + 1, 2) + 1, 2, "((((n+1) // 2)+1) // 2)"),
]


@pytest.mark.parametrize(("left", "right", "text"), DIVISIONS, ids=str)
def test_sizes_read_back(left: size.Size, right: size.Size, text: str) -> None:
    """What is divided, and by what, stands in brackets where Python would take less of it."""
    quotient = size.divide("//", left, right)
    assert str(quotient) == text
    assert read_size(text) == quotient


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: f8[n]; b = nothing_such a; return b", "no operation is called 'nothing_such'"),
        ("a: f8[n]; b = add a c; return b", "no node is called 'c'"),
        ("a: f8[n]; a = add a a; return a", "the name 'a' is taken"),
        ("a: f8[n]", "ends with a return"),
        ("a: f8[n]; return a; b = add a a", "after the return"),
        ("a: f8[n]; b: f8[m]; c = add a b; return c", "must be written"),
        ("a: q9[n]; return a", "not a dtype"),
        ("a f8[n]; return a", "not a statement"),
    ],
)
def test_faults_are_named(text: str, reason: str) -> None:
    """What is no graph says where."""
    with pytest.raises(TextError, match=re.escape(reason)):
        parse(text)


def test_what_has_no_text_says_so() -> None:
    """An object without a text form is not written wrongly."""
    node = Node(CONST, (), parse_type("nothing"), {"value": object()})
    with pytest.raises(TextError, match="has no text"):
        to_text(Graph((), (node,), (node,)))


def test_drawing() -> None:
    """The DOT text names every node, and groups bodies."""
    drawn = to_dot(parse(EXAMPLES["branch"]))
    assert drawn.startswith('digraph "graph" {')
    assert drawn.count("subgraph") == 2
    assert "f8[n]" in drawn
