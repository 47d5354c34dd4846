"""Code over numbers: every operator on every pair of types, at the values where NumPy's scalars warn, wrap or round."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import BACKEND
from ufuse.backends.numpy.rules import plan_of
from ufuse.backends.numpy.scalars import ARITHMETIC, COMPARISONS, UNARY, operands_of
from ufuse.backends.protocol import Options
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.text import parse
from ufuse.graph.types import NumberType, array
from ufuse.graph.typing.infer import CannotInfer, operand_of, result_type, scalar_function

DTYPES = "?bBhHiIlLfd"
PLAIN = Options(native=False)
DEFAULT: dict[str, Any] = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    0.1,
    -7.25,
    1e300,
    -1e300,
    3e38,
    1e-310,
    1e-40,
    np.inf,
    -np.inf,
    2.0**53,
    np.nan,
    -np.nan,
)
WHOLE = (
    0,
    1,
    -1,
    2,
    3,
    -7,
    8,
    63,
    64,
    100,
    127,
    -128,
    255,
    2**31 - 1,
    -(2**31),
    2**63 - 1,
    -(2**63),
    2**64 - 1,
)
PYTHON: dict[str, Sequence[Any]] = {
    "float": FLOATS,
    "int": (*WHOLE, 2**70, -(2**64)),
    "bool": (True, False),
}
UFUNCS = "sqrt exp sin log floor square maximum hypot power arctan2 copysign add divide floor_divide isnan".split()


def values_of(kind: str) -> Sequence[Any]:
    """Numbers of a type, given by its letter or, of Python's own, by its name."""
    if kind in PYTHON:
        return PYTHON[kind]
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(FLOATS, dtype)
    limits = np.iinfo(dtype)
    return np.array([v for v in WHOLE if limits.min <= v <= limits.max], dtype)


def node_of(op: ops.Op, inputs: tuple[Node, ...], **attributes: Any) -> Node:
    """A node, its type inferred."""
    return Node(
        op, inputs, result_type(op, [operand_of(n) for n in inputs], attributes), attributes
    )


def program_of(op: ops.Op, kinds: Sequence[str], **attributes: Any) -> Callable[..., Any] | None:
    """A program that reads one element for each operand, or takes a Python number; None: it is no code over numbers."""
    inputs, operands, nodes = [], [], []
    for kind in kinds:
        python = kind in PYTHON
        inputs.append(Node(ops.INPUT, (), NumberType(kind) if python else array(kind, (2,))))
        operands.append(inputs[-1] if python else node_of(ops.ELEMENT, (inputs[-1],), index=(1,)))
        nodes += [] if python else [operands[-1]]
    try:
        result = node_of(op, tuple(operands), **attributes)
    except CannotInfer:
        return None
    if operands_of(result) is None:
        return None
    graph = Graph(tuple(inputs), (*inputs, *nodes, result), (result,))
    assert [step.kind for step in plan_of(graph).steps] == ["scalars"]
    return BACKEND.compile(graph, PLAIN)


def examples(kinds: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Combinations of values: all of few; of many one in seven, and the last, which have NaN on the left."""
    combined = list(itertools.product(*map(values_of, kinds)))
    return iter(combined[::7] + combined[-20:] if len(combined) > 100 else combined)


def as_given(value: Any) -> Any:
    """An array around a NumPy scalar."""
    return value if type(value) in (int, float, bool) else np.array([0, value], value.dtype)


def plain(function: Callable[..., Any], values: tuple[Any, ...], mode: str) -> Any:
    """What NumPy gives, or None where it warns or raises."""
    state: Any = dict.fromkeys(("divide", "over", "invalid"), mode)
    with np.errstate(under="ignore", **state), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return function(*values)
        except (ArithmeticError, ValueError, Warning):
            return None


def check(function: Callable[..., Any], program: Callable[..., Any], kinds: Sequence[str]) -> int:
    """Compare a program with NumPy's scalars; how many values were computed where NumPy is silent."""
    computed = 0
    for values in examples(kinds):
        given = tuple(map(as_given, values))
        expected = plain(function, values, "raise")
        with np.errstate(**DEFAULT):
            found = program(*given)
        assert expected is not None or found is NotImplemented, values
        if found is not NotImplemented:
            computed += 1
            assert type(found) is type(expected), values
            assert repr(found) == repr(expected), values
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), values
        quiet = plain(function, values, "ignore")
        with np.errstate(all="ignore"):
            found = program(*given)
        if found is not NotImplemented:
            assert np.asarray(found).tobytes() == np.asarray(quiet).tobytes(), values
    return computed


KINDS = (*DTYPES, *PYTHON)
PAIRS = list(itertools.product(KINDS, repeat=2))


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
def test_operators_of_two_numbers(name: str) -> None:
    """The bits and the class of NumPy's result; what would warn or raise is refused."""
    programs = 0
    for kinds in PAIRS:
        program = program_of(ops.SCALAR, kinds, operator=name)
        if program is not None:
            programs += 1
            assert check(getattr(operator, name), program, kinds) > 0
    assert programs > 10


@pytest.mark.parametrize("name", ["floordiv", "mod"])
def test_a_number_without_room_is_not_divided(name: str) -> None:
    """The code goes on behind what is refused, and the processor stops at the least number divided by -1."""
    program = program_of(ops.SCALAR, ("int", "b"), operator=name)
    assert program is not None
    assert program(-(2**63), np.array([0, -1], np.int8)) is NotImplemented


@pytest.mark.parametrize("name", [*UNARY, "float", "int", "bool"])
def test_operators_of_one_number(name: str) -> None:
    """The same of one operand."""
    programs = [(kind, program_of(ops.SCALAR, (kind,), operator=name)) for kind in KINDS]
    checked = [check(scalar_function(name), made, (kind,)) for kind, made in programs if made]
    assert len(checked) > 1
    assert all(checked)


@pytest.mark.parametrize("name", UFUNCS)
def test_functions_of_numbers(name: str) -> None:
    """NumPy's inner loop for one element gives the bits of the function called with scalars."""
    op = ops.UFUNCS[name]
    assert op.arity is not None
    kinds = [*DTYPES, "float", "int"]
    made = 0
    for chosen in itertools.product(kinds, repeat=op.arity):
        if not set(chosen) & set(DTYPES):
            continue
        program = program_of(op, chosen)
        if program is not None:
            made += 1
            check(getattr(np, name), program, chosen)
    assert made > 1


@pytest.mark.parametrize("target", DTYPES)
def test_stores_and_casts(target: str) -> None:
    """A number of every type is stored as item assignment stores it, and cast as `astype` casts it."""
    made = 0
    for kind in [*DTYPES, *PYTHON]:
        made += _check_stores(kind, target)
        if kind in DTYPES:
            program = program_of(ops.CAST, (kind,), dtype=np.dtype(target))
            if program is not None:
                check(lambda value: value.astype(target), program, (kind,))
    assert made > 1


def _check_stores(kind: str, target: str) -> bool:
    python = kind in PYTHON
    value = Node(ops.INPUT, (), NumberType(kind) if python else array(kind, (2,)))
    read = value if python else node_of(ops.ELEMENT, (value,), index=(1,))
    into = Node(ops.INPUT, (), array(target, (3, 2)))
    path = (("index", {"index": (1, 1)}),)
    store = Node(ops.STORE, (into, read), into.type, {"path": path})
    graph = Graph((value, into), (value, into, *([] if python else [read]), store), (store,))
    if [step.kind for step in plan_of(graph).steps] != ["scalars"]:
        return False
    program = BACKEND.compile(graph, PLAIN)

    def stored(one: Any) -> Any:
        place = np.zeros((3, 2), target)
        place[1, 1] = one
        return place

    for one in values_of(kind):
        expected = plain(stored, (one,), "raise")
        place = np.zeros((3, 2), target)
        with (
            np.errstate(all="ignore", divide="warn", over="warn", invalid="warn"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("default")
            found = program(as_given(one), place)
        assert expected is not None or found is NotImplemented
        assert (
            place.tobytes()
            == (np.zeros_like(place) if found is NotImplemented else expected).tobytes()
        ), one
    return True


class Scalars:
    """Statements about elements behind a write, each a test of its own."""

    @staticmethod
    def operators(t: Any, x: Any, n: Any) -> Any:
        """Results that leave, results that are stored, results of results."""
        t[0] = 1
        a = x[0] * x[1]
        b = x[1] + n
        t[1] = a - b
        c = a / x[-1]
        x[-1] += a
        return a, b, c < a, -c, abs(b), x[0]

    @staticmethod
    def in_order(t: Any, x: Any, n: Any) -> Any:
        """Arrays, numbers and NumPy's own calls warn in turn."""
        t[0] = 1
        x += n
        a = x[0] / x[1]
        t[1] = np.sqrt(x[2])
        y = x / x[1]
        b = x[0] * x[0]
        x[2] = b - a
        z = np.median(y)
        return a, y, b, z, x.sum() * a, np.cumsum(y)

    @staticmethod
    def a_recurrence(t: Any, x: Any, n: Any) -> Any:
        """Each element follows from the one before."""
        for i in range(1, 4):
            x[i] = x[i - 1] * n - x[i]
            t[0] = x[i]
        return t[0]

    @staticmethod
    def through_views(t: Any, x: Any, n: Any) -> Any:
        """Elements of views, from the end, and of two axes."""
        m = x.reshape(2, 2)
        t[1:][0] = m[1, 0]
        m[0, -1] *= n
        m.T[1, 1] = m[0, 1] + x[::-1][0]
        x[::-1][1] -= m[0, 0]
        return m[:, 1][0]

    @staticmethod
    def an_exponent(t: Any, x: Any, n: Any) -> Any:
        """The C library's powers, not those of NumPy's loops."""
        t[0] = x[0]
        t[1] = x[1] ** n
        return x[2] ** x[1], x[3] ** 0.5

    @staticmethod
    def quietly(t: Any, x: Any, n: Any) -> Any:
        """States that the program enters itself."""
        t[0] = 1
        with np.errstate(all="ignore"):
            a = x[0] * x[1]
            t[1] = a / x[2]
        with np.errstate(over="raise", invalid="raise"):
            try:
                a = a * x[1]
            except FloatingPointError as error:
                return a, str(error)
        return a


VALUES: dict[str, Sequence[Sequence[Any]]] = {
    "f8": (
        (1, 2, 3, 4),
        (1e300, 1e300, -1, 0.0),
        (np.inf, 0.0, np.nan, -1),
        (1e-310, 3e-310, 0.0, 2),
    ),
    "f4": ((1, 2, 3, 4), (1e38, 1e38, -1, 0.0), (np.inf, 0.0, np.nan, -1)),
    "i8": ((1, 2, 3, 4), (2**62, 2**62, -1, 0), (-(2**63), -1, 0, 5)),
    "u1": ((1, 2, 3, 4), (200, 100, 0, 255)),
    "?": ((True, False, True, True),),
}
PROGRAMS = [vars(Scalars)[name].__func__ for name in vars(Scalars) if name[0] != "_"]


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numbers_behind_a_write(program: Any, dtype: str) -> None:
    """Values, warnings with their order and lines, and errors are those of plain NumPy, in every mode."""
    for number in (3, 0.5, np.float64(1e10)):
        following = itertools.cycle(VALUES[dtype])
        check_same(
            program,
            ufuse.compile(program),
            lambda number=number, following=following: (
                np.zeros(2),
                np.array(next(following), dtype),
                number,
            ),
            calls=2 * len(VALUES[dtype]),
        )


GUARDED = """a: f8[n]
t0 = element a [0]
t1 = scalar.gt t0 9
t2 = check t1 expected=False
t3 = add a t0
return t3"""


def test_a_check_is_part_of_the_code_of_its_condition() -> None:
    """No object is made of the condition, and none of the constant that it is compared with."""
    plan = plan_of(parse(GUARDED))
    code, _ = plan.steps
    assert [one.node.op.name for one in code.numbers] == ["element", "scalar", "check"]
    assert (code.reads, len(code.outs), plan.slots) == ((0,), 1, 3)
    program = BACKEND.compile(parse(GUARDED), PLAIN)
    assert program(np.array([1.0, 2.0])).tolist() == [2.0, 3.0]
    assert program(np.array([10.0, 2.0])) is NotImplemented


@pytest.mark.parametrize("kind", ["float", "int", "f8", "f4", "i8", "u1"])
@pytest.mark.parametrize("constant", [2, -1, 2**53 + 1, 100])
def test_whole_constants_beside_numbers(kind: str, constant: int) -> None:
    """They become numbers of the other operand's kind before a run, where they are exactly such."""
    value = {"float": 2.5, "int": 3}.get(kind) or np.dtype(kind).type(3)
    compiled = 0
    for name in {*ARITHMETIC, *COMPARISONS} - {"pow", "lshift"}:
        try:
            graph = parse(f"h: {kind}; t = scalar.{name} h {constant}; return t")
        except (CannotInfer, ValueError):
            continue
        found = BACKEND.compile(graph, PLAIN)(value)
        if found is NotImplemented:
            continue  # what warns or raises is plain Python's
        wanted = scalar_function(name)(value, constant)
        assert (type(found), repr(found)) == (type(wanted), repr(wanted))
        compiled += 1
    assert compiled or kind == "u1"
