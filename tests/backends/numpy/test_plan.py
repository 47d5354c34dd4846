"""Compiled graphs against the reference executor: values, layouts, scalars, what was written, what is warned."""

from __future__ import annotations

import copy
import itertools
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest

import ufuse

pytest.importorskip("ufuse.backends.numpy._tiles")

from ufuse.backends.numpy.listing import listing
from ufuse.backends.numpy.llvm import compiler
from ufuse.backends.numpy.rules import plan_of
from ufuse.backends.planning import groups
from ufuse.backends.protocol import Options, UnknownBackend, backend_named
from ufuse.graph import ops
from ufuse.graph.node import Graph, Location, Node
from ufuse.graph.ops import Kind, Op
from ufuse.graph.semantics import reference
from ufuse.graph.size import symbol
from ufuse.graph.text import parse, to_text
from ufuse.graph.types import ArrayType, NumberType, Span, array
from ufuse.graph.typing.infer import CannotInfer, operand_of, result_type

BACKEND = backend_named("numpy")
TIERS = (Options(native=False), Options(hot=0))
rng = np.random.default_rng(7)
x, y = rng.normal(size=3000), rng.normal(size=3000)
matrix = rng.normal(size=(70, 90))


def difference(one: Any, other: Any) -> str | None:
    """How two results differ for a program that looks closely, or None."""
    if type(one) is not type(other):
        return f"{type(one).__name__} is not {type(other).__name__}"
    if isinstance(one, tuple):
        if len(one) != len(other):
            return "another number of results"
        found = [difference(a, b) for a, b in zip(one, other, strict=True)]
        return next((f"[{place}] {why}" for place, why in enumerate(found) if why), None)
    if isinstance(one, (np.ndarray, np.generic)):
        for name in (
            "dtype",
            "shape",
            *(("strides", "flags") if isinstance(one, np.ndarray) and one.size else ()),
        ):
            if str(getattr(one, name)) != str(getattr(other, name)):
                return f"{name} {getattr(one, name)} is not {getattr(other, name)}"
        return None if one.tobytes() == other.tobytes() else f"bits: {one!r} is not {other!r}"
    return None if repr(one) == repr(other) else f"{one!r} is not {other!r}"


def duplicated(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs with their strides in memory of their own."""
    return tuple(
        _strided_copy(value) if isinstance(value, np.ndarray) and value.size else value
        for value in inputs
    )


def _strided_copy(value: np.ndarray) -> np.ndarray:
    low = sum(min((n - 1) * step, 0) for n, step in zip(value.shape, value.strides, strict=True))
    high = sum(max((n - 1) * step, 0) for n, step in zip(value.shape, value.strides, strict=True))
    if high - low + value.itemsize == value.nbytes and low == 0:
        return value.copy("K")
    memory = np.zeros(high - low + value.itemsize, np.uint8)
    made: np.ndarray = np.ndarray(value.shape, value.dtype, memory.data, -low, value.strides)
    made[...] = value
    return made


def check(graph: Graph | str, *inputs: Any, may_refuse: bool = False) -> None:
    """The backend does what the reference executor does, plainly and natively, at the first call and at the next.

    With `may_refuse` it may also do nothing at all (unlike NaN met, and NumPy's choice is not known).
    """
    if isinstance(graph, str):
        graph = parse(graph)
    for options in TIERS:
        program = BACKEND.compile(graph, options)
        for _ in range(2):
            mine, theirs = duplicated(inputs), duplicated(inputs)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.resetwarnings()  # a filter that makes errors would stop what writes in place
                expected = reference.run(graph, *theirs)
                found = program(*mine)
            if may_refuse and found is NotImplemented:
                assert difference(mine, duplicated(inputs)) is None
                continue
            if len(expected) == 1:
                found = (found,)
            why = difference(found, expected) or difference(mine, theirs)
            assert why is None, f"{why}\n{to_text(graph)}\n{listing(plan_of(graph), native=False)}"


def kernels(text: str) -> list[str]:
    """For every kernel of the plan the names of its loops and where its results go."""
    plan = plan_of(parse(text))
    found = []
    for step in plan.steps:
        if step.kernel is not None:
            names = [segment.loop.name for segment in step.kernel.segments]
            found.append(
                " ".join([*names, "->", *(str(result.how[0]) for result in step.kernel.results)])
            )
    return found


def test_a_chain_is_one_kernel() -> None:
    """Elementwise operations on one space fuse, constants are run-time operands."""
    text = "a: f8[n]; b: f8[n]; c = multiply a b; d = add c 1.5; e = divide d a; return e"
    assert kernels(text) == ["multiply add divide -> new"]
    check(text, x, y)


def test_softmax_is_one_kernel_by_rows() -> None:
    """Two reductions along rows and the operations around them are one pass over memory."""
    text = """a: f4[n, m]; t = reduce_maximum a axis=1 keepdims=True; d = subtract a t; e = exp d
    s = reduce_add e axis=1 keepdims=True; o = divide e s; return o"""
    assert kernels(text) == ["maximum subtract exp add divide -> new"]
    check(text, matrix.astype("f4"))


def test_standardised_rows_with_numpys_own_variance() -> None:
    """The in-place steps of np.var's helper on fresh buffers are forwarded, and all of it is one kernel."""
    text = """a: f8[n, m]; c = size m; s = reduce_add a axis=1 keepdims=True; q = divide s c; mu = store s q
    d = subtract a mu; z = multiply d d; d2 = store d z; v = reduce_add d2 axis=1; w = divide v c; v2 = store v w
    s2 = sqrt v2; k = index s2 [:, new]; t = subtract a mu; o = divide t k; return o"""
    assert len(kernels(text)) == 1
    check(text, matrix)


def test_what_is_overwritten_is_not_computed() -> None:
    """A buffer of the graph's own that is written as a whole before anybody reads it holds nothing before."""
    text = """a: i8[n, m]; b: i8[n]; s = reduce_maximum a axis=1; t = reduce_multiply a axis=1
    u = store t b; v = add s u; return u, v"""
    assert not any("multiply" in one for one in kernels(text))
    check(text, rng.integers(0, 9, (7, 5)), np.arange(7))


def test_a_row_value_that_is_broadcast_along_rows_is_another_kernel() -> None:
    """`a - a.max(axis=1)` of a square array subtracts by columns."""
    text = "a: f8[n, n]; r = reduce_maximum a axis=1; d = subtract a r; return d"
    assert len(kernels(text)) == 2
    check(text, rng.normal(size=(33, 33)))


def test_a_total_ends_its_kernel() -> None:
    """What needs a total runs after it."""
    text = "a: f8[n]; b: f8[n]; c = subtract a b; s = reduce_add c; d = divide c s; return d, s"
    assert kernels(text) == ["subtract add -> new scalar", "divide -> new"]
    check(text, x, y)


def test_integer_totals() -> None:
    """Integers fold in any order."""
    check(
        "a: i4[n]; b = multiply a a; s = reduce_add b; t = reduce_maximum b; return s, t",
        np.arange(5000, dtype="i4"),
    )


def test_in_place_on_an_argument() -> None:
    """A store into an argument is written by the kernel; the buffer itself is the result."""
    text = (
        "a: f8[n]; b = add a 1.0; a2 = store a b; c = multiply a2 a2; a3 = store a2 c; return a3, c"
    )
    assert kernels(text) == ["add multiply copy -> new into"]
    check(text, x)
    program = BACKEND.compile(parse("a: f8[n]; b = add a 1.0; a2 = store a b; return a2"))
    mine = x.copy()
    with warnings.catch_warnings():
        warnings.resetwarnings()
        assert program(mine) is mine


def test_a_stencil_is_made_before_it_is_written() -> None:
    """The neighbours of an element are read before any is overwritten."""
    text = """u: f8[n]; l = index u [0:n-2]; r = index u [2:n]; s = add l r; h = multiply s 0.5
    u2 = store u h at [1:n-1]; return u2"""
    assert len(kernels(text)) == 2
    check(text, x)


def test_memory_moved_onto_itself() -> None:
    """`a[1:] = a[:-1]` acts as if copied first."""
    check("a: f8[n]; v = index a [0:n-1]; a2 = store a v at [1:n]; return a2", x)


def test_red_and_black_do_not_wait() -> None:
    """Even and odd elements share no memory, so a kernel may read the ones and write the others."""
    text = """a: f8[n]; o = index a [1:n-1:2]; k = multiply o 2.0; a2 = store a k at [0:n-2:2]; return a2"""
    assert kernels(text) == ["multiply -> into"]
    check(text, x)


def test_rows_of_a_matrix_are_apart() -> None:
    """A store into one row does not disturb another."""
    text = """a: f8[n, m]; v = index a [0, :]; w = multiply v 2.0; a2 = store a w at [1, :]; q = index a2 [1, :]
    r = add q w; a3 = store a2 r at [1, :]; return a3"""
    assert kernels(text) == ["multiply add -> into"]
    check(text, matrix)


def test_stores_cast_as_eager() -> None:
    """A value is cast to the buffer's dtype; reading it back gives what was stored."""
    check(
        "a: f4[n]; b: f8[n]; c = exp b; a2 = store a c; d = add a2 b; return a2, d",
        x.astype("f4"),
        y,
    )


def test_casts_choices_and_numbers() -> None:
    """Mixed dtypes, a number known only at run time, a choice, a cast result, a truth result."""
    text = """a: i4[n]; b: f8[n]; f: float; c = greater b f; d = where c b 0.0; e = add a b
    k = cast e dtype=f4; return d, k, c"""
    assert len(kernels(text)) == 1
    check(text, np.arange(3000, dtype="i4"), x, 0.25)


def test_memory_orders() -> None:
    """Results have the order of eager's."""
    check(
        "a: f8[n, m]; t = transpose a axes=(1, 0); k = add t 1.0; z = negative k; return z, t",
        matrix,
    )


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_zeros_have_the_layout_of_what_they_stand_for(order: tuple[int, ...]) -> None:
    """Where operands are converted, NumPy's loops give an axis of length 1 another stride than a new array has."""
    compiled = ufuse.compile(lambda x: (x * 0, x ^ x))
    shapes = [(3, 2, 1), (3, 1, 2), (1, 3, 2), (2, 3, 4)]
    for shape, dtype in itertools.product(shapes, ["b1", "i8"]):
        given = np.ones([shape[axis] for axis in order], dtype).transpose(np.argsort(order))
        for _ in range(2):
            zeros, others = compiled(given)
            assert zeros.strides == (given * 0).strides
            assert others.strides == (given ^ given).strides


def test_views_and_calls_in_between() -> None:
    """Everything that is no kernel is NumPy's own call."""
    check(
        """a: f8[n]; v = index a [0:n//2]; c = call numpy.cumsum(a); q = call numpy.concatenate((v, c))
        e = element q [n]; p = scalar.mul e 2.0; z = add q p; return z, v, p""",
        x,
    )


def test_a_call_that_writes() -> None:
    """The new version of what a call wrote is the same array."""
    text = """a: f8[n]; s = call numpy.ndarray.sort(a) writes=(0,); a2: f8[n] = item s index=1
    k = add a2 1.0; return k, a2"""
    check(text, x)


def test_fresh_buffers() -> None:
    """Buffers made in the graph, partly written."""
    check(
        """a: f8[n]; z = zeros shape=(n, 3) dtype=f4 order=(1, 0); v = index a [:, new]; z2 = store z v at [:, 0:1]
        z3 = store z2 7.0 at [0, :]; o = empty shape=(n,) dtype=f8; e = exp a; o2 = store o e; return z3, o2""",
        x,
    )


def test_scalars_stay_scalars() -> None:
    """Operations on NumPy scalars are NumPy's own."""
    check(
        "a: f8; b: float; c = add a b; d = exp c; e = scalar.truediv d 3; return c, d, e",
        np.float64(0.3),
        1.5,
    )


def test_loops_and_branches() -> None:
    """They run by their definition; what a body stores is visible."""
    check(
        """x: f8[n]; i: int k; y = multiply x 2.0
        t = loop x i condition={x: f8[n]; i: int k; c = scalar.lt i 4; return c} body={
          x: f8[n]; i: int k; e = element x [k]; s = store x e at [k+1]; j = scalar.add i 1; return s, j
        }
        r = item t index=0; j = item t index=1; z = add r y; return r, j, z, y""",
        np.arange(9.0),
        1,
    )
    text = (
        "c: bool; x: f8[n]; t = branch c x then={x: f8[n]; y = exp x; return y} "
        "otherwise={x: f8[n]; y = negative x; return y}; r = item t index=0; return r"
    )
    check(text, True, x)
    check(text, False, x)


def test_arrays_that_loops_and_branches_give_back() -> None:
    """What is stored into a result after a swap, or into one of two arrays, waits for readers of both, and is visible."""
    turn = (
        "condition={x: f8[n]; y: f8[n]; k: int k; c = scalar.gt k 0; return c} "
        "body={x: f8[n]; y: f8[n]; k: int k; s = store x 3.0; l: int = scalar.sub k 1; return y, s, l}"
    )
    swap = (
        f"x: f8[n]; y: f8[n]; k: int; e = add x y; t: (f8[n], f8[n], int) = loop x y k {turn}; "
        "a: f8[n] = item t index=0; b: f8[n] = item t index=1; f = multiply a b; s = store a 5.0; return e, f, s"
    )
    choice = (
        "x: f8[n]; y: f8[n]; c: bool; e = add x y; t: (f8[n]) = branch c x y "
        "then={x: f8[n]; y: f8[n]; return x} otherwise={x: f8[n]; y: f8[n]; return y}; "
        "a: f8[n] = item t index=0; s = store a 5.0; f = add s 1.0; return e, f"
    )
    for turns in (0, 1, 2):
        check(swap, x, y, turns)
    for chosen in (True, False):
        check(choice, x, y, chosen)


def test_nothing_to_do() -> None:
    """No outputs give an empty tuple; an input may be an output."""
    assert BACKEND.compile(parse("a: f8[n]; return a"))(x) is x
    assert BACKEND.compile(Graph((), (), ()))() == ()


LENGTHS = (0, 1, 2, 7, 64, 65, 1000, 20_000)


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(length: int) -> None:
    """Empty, one, odd and large spaces."""
    a, b = rng.normal(size=length), rng.normal(size=length)
    check(
        "a: f8[n]; b: f8[n]; c = subtract a b; d = square c; s = reduce_add d; t = exp d; return s, t",
        a,
        b,
    )


@pytest.mark.parametrize("length", LENGTHS[1:-1])
def test_row_lengths(length: int) -> None:
    """Rows of every length, also with one row."""
    text = """a: f8[n, m]; t = reduce_maximum a axis=1 keepdims=True; d = subtract a t; e = exp d
    s = reduce_add e axis=1 keepdims=True; o = divide e s; q = reduce_add o axis=1; return o, q, t"""
    for rows in (1, 3, 50):
        check(text, rng.normal(size=(rows, length)))


# Warnings


def located(text: str, line: int = 5) -> Graph:
    """The graph with every operation on its own line of a user's file."""
    graph = parse(text)
    replaced: dict[Node, Node] = {}
    nodes = []
    for place, node in enumerate(graph):
        inputs = tuple(replaced[source] for source in node.inputs)
        new = Node(
            node.op,
            inputs,
            node.type,
            node.attributes,
            Location("user.py", "f", line + place, __name__),
        )
        replaced[node] = new
        nodes.append(new)
    return Graph(
        tuple(replaced[n] for n in graph.inputs),
        tuple(nodes),
        tuple(replaced[n] for n in graph.outputs),
    )


def test_a_flag_before_anything_visible_gives_the_work_back() -> None:
    """Plain Python then warns by itself; nothing was written."""
    graph = parse("a: f8[n]; b = divide 1.0 a; return b")
    for options in TIERS:
        program = BACKEND.compile(graph, options)
        assert program(np.zeros(100)) is NotImplemented
        with np.errstate(divide="ignore"):
            assert np.isinf(program(np.zeros(100))).all()


def test_a_flag_after_a_visible_write_is_told_for_the_users_line() -> None:
    """One warning per operation and kind, in order, with the operation's name."""
    graph = located("a: f8[n]; b: f8[n]; c = divide b a; e = sqrt c; a2 = store a e; return a2")
    for options in TIERS:
        program = BACKEND.compile(graph, options)
        a, b = np.zeros(100), np.ones(100)
        b[3] = -1.0
        with warnings.catch_warnings(record=True) as told:
            warnings.resetwarnings()
            warnings.simplefilter("always")
            found = program(a, b)
        assert found is a
        assert [(str(w.message), w.filename, w.lineno) for w in told] == [
            ("divide by zero encountered in divide", "user.py", 7),
            ("invalid value encountered in sqrt", "user.py", 8),
        ]


def test_warnings_stand_in_the_order_of_the_program() -> None:
    """Operations that became one kernel on either side of a call of NumPy's own warn before and after it."""
    graph = located(
        "a: f8[n]; b: f8[n]; s = add a 1.0; a2 = store a s; c = divide b a2; d = call numpy.cumsum(a2);"
        " e = reduce_add b; return a2, c, d, e"
    )
    b = np.array([1.0, 1.0, np.inf, -np.inf] * 25)
    for options in TIERS:
        program = BACKEND.compile(graph, options)
        for _ in range(2):
            a = np.array([-1.0, np.inf, -np.inf, 0.0] * 25)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                program(a, b)
            assert [str(w.message) for w in told] == [
                "divide by zero encountered in divide",
                "invalid value encountered in divide",
                "invalid value encountered in accumulate",
                "invalid value encountered in reduce",
            ]


def test_what_would_raise_does_not_start() -> None:
    """Where a flag is an error, a program that writes in place leaves it to plain Python."""
    graph = located("a: f8[n]; c = divide 1.0 a; a2 = store a c; return a2")
    program = BACKEND.compile(graph)
    a = np.zeros(100)
    with np.errstate(all="raise"):
        assert program(a) is NotImplemented
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert program(a) is NotImplemented
    assert not a.any()


# Random graphs

n, m, k = symbol("n"), symbol("m"), symbol("k")
SIZES = {"n": 9, "m": 130}
PLACE = 50  # which `k` is
UNARY = "exp sqrt negative absolute square floor sin isnan reciprocal logical_not sign tanh positive rint".split()
BINARY = """add subtract multiply divide maximum minimum less equal greater_equal logical_and arctan2 power fmax
    copysign hypot floor_divide bitwise_and""".split()
DTYPES = "f8 f8 f8 f4 f4 i8 i4 u1 ? f2 c16".split()


class Maker:
    """Builds a random graph; `current` are the values that a program could still name."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  no secrets
        self.rng = np.random.default_rng(seed)
        self.nodes: list[Node] = []
        self.current: list[Node] = []
        self.arrays: list[Any] = []
        self.root: dict[Node, Node] = {}

    def add(self, op: Op, *inputs: Node, **attributes: Any) -> Node | None:
        """Append an operation if its type can be inferred."""
        try:
            type_ = result_type(op, [operand_of(node) for node in inputs], attributes)
        except CannotInfer:
            return None
        node = Node(
            op, inputs, type_, attributes, Location("user.py", "f", len(self.nodes), __name__)
        )
        self.nodes.append(node)
        self.current.append(node)
        self.root[node] = self.root[inputs[0]] if op.kind in (Kind.VIEW, Kind.STORE) else node
        return node

    def place(self) -> None:
        """An argument that says where parts of arrays lie."""
        self.nodes.append(Node(ops.INPUT, (), NumberType("int", k)))
        self.arrays.append(PLACE)

    def input(self) -> None:
        """An argument: an array of some order, with special values, or a number."""
        shape = self.random.choice([(n, m), (n, m), (m,), (n, 1), (n, m), ()])
        dtype = np.dtype(self.random.choice(DTYPES))
        if not shape and self.random.random() < 0.5:
            node = Node(ops.INPUT, (), NumberType("float"))
            value: Any = self.random.choice([0.0, 1.5, -2.0, float("nan")])
        else:
            real = tuple(size if isinstance(size, int) else SIZES[str(size)] for size in shape)
            order = tuple(range(len(shape)))
            if self.random.random() < 0.2:
                order = order[::-1]
            type_ = array(dtype, shape, order)
            value = np.empty([real[axis] for axis in order], dtype).transpose(np.argsort(order))
            value[...] = self.values(dtype, real)
            if shape and shape[-1] != 1 and self.random.random() < 0.2:
                wide = np.repeat(value, 2, axis=-1)  # an argument with gaps, perhaps backwards
                backwards = self.random.random() < 0.3
                value = wide[..., ::-2] if backwards else wide[..., ::2]
                type_ = ArrayType(
                    dtype, shape, None if backwards else type_.order, contiguous=False
                )
                if not backwards and order != tuple(range(len(shape))):
                    type_ = ArrayType(dtype, shape, tuple(range(len(shape))), contiguous=False)
            node = Node(ops.INPUT, (), type_)
        self.nodes.append(node)
        self.current.append(node)
        self.arrays.append(value)
        self.root[node] = node

    def values(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Small numbers with a few special ones."""
        if dtype.kind in "fc":
            found = self.rng.normal(size=shape) * 3
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1.0]
            if self.random.random() < 0.5:
                return np.where(
                    self.rng.random(shape) < 0.03, self.rng.choice(special, shape), found
                ).astype(dtype)
            return np.asarray(found).astype(dtype)
        return self.rng.integers(0, 100, shape).astype(dtype)

    def pick(self) -> Node:
        """A value, the newest preferred."""
        if self.random.random() < 0.6:
            return self.random.choice(self.current[-4:])
        return self.random.choice(self.current)

    def step(self) -> None:
        """One more operation."""
        choice = self.random.random()
        node = self.pick()
        if choice < 0.3:
            self.add(ops.UFUNCS[self.random.choice(UNARY)], node)
        elif choice < 0.65:
            self.add(ops.UFUNCS[self.random.choice(BINARY)], node, self.pick())
        elif choice < 0.69:
            self.add(ops.WHERE, node, self.pick(), self.pick())
        elif choice < 0.73:
            self.add(ops.CAST, node, dtype=np.dtype(self.random.choice(DTYPES)))
        elif choice < 0.81:
            name = self.random.choice(["add", "maximum", "add", "multiply", "logical_and"])
            axis = self.random.choice([None, -1, 1, 0, (0, 1)])
            ndim = len(getattr(node.type, "shape", ()))
            if ndim and (axis is None or (max(axis) if isinstance(axis, tuple) else axis) < ndim):
                axis = ndim - 1 if axis == -1 else axis
                self.add(
                    ops.REDUCTIONS[f"reduce_{name}"],
                    node,
                    axis=axis,
                    keepdims=self.random.random() < 0.5,
                )
        elif choice < 0.9:
            self.view(node)
        else:
            self.store(node)

    def index(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        """A random normalised index."""
        entries: list[Any] = []
        window = Span(k + self.random.randrange(-3, 3), 4)  # several of them overlap
        for length in shape:
            kinds = [Span(0, length)] * 2 + [window] * (6 if length == m else 0)
            if length != 1:
                kinds += [
                    Span(1, length - 1),
                    Span(0, length - 1),
                    Span(length - 1, length, -1),
                    Span(0, length // 2, 2),
                ]
                kinds += [Span(1, length - 2)] + ([0, length - 1] if len(shape) > 1 else [])
            entries.append(self.random.choice(kinds))
        if all(not isinstance(entry, Span) for entry in entries):
            entries[0] = Span(0, shape[0])
        if len(shape) == 1 and self.random.random() < 0.3:
            entries.insert(self.random.choice([0, 1]), None)
        return tuple(entries)

    def view(self, node: Node) -> None:
        """A view of a value."""
        if not isinstance(node.type, ArrayType) or node.type.scalar or not node.type.shape:
            return
        if self.random.random() < 0.2:
            self.add(ops.TRANSPOSE, node, axes=tuple(reversed(range(node.type.ndim))))
        else:
            self.add(ops.INDEX, node, index=self.index(node.type.shape))

    def store(self, value: Node) -> None:
        """Write into a whole buffer or a part; older versions and their views can no longer be named."""
        buffers = [node for node in self.current if self.root[node] is node or node.op is ops.STORE]
        buffers = [
            node
            for node in buffers
            if isinstance(node.type, ArrayType) and not node.type.scalar and node.type.shape
        ]
        if not buffers:
            return
        buffer = self.random.choice(buffers)
        path = (
            ()
            if self.random.random() < 0.5
            else (("index", {"index": self.index(buffer.type.shape)}),)
        )
        made = self.add(ops.STORE, buffer, value, path=path)
        if made is not None:
            root = self.root[made]
            self.current = [
                node for node in self.current if node is made or self.root[node] is not root
            ]

    def graph(self) -> Graph:
        """The graph, with some of the values that can be named as outputs."""
        outputs = [node for node in self.current[-6:] if node.op is not ops.INPUT]
        outputs = [node for node in outputs if self.random.random() < 0.7] or outputs[-1:]
        inputs = tuple(node for node in self.nodes if node.op is ops.INPUT)
        return Graph(inputs, tuple(self.nodes), tuple(outputs))


@pytest.mark.parametrize("seed", range(200))
def test_random_graphs(seed: int) -> None:
    """Random programs with views, stores, reductions and special values."""
    maker = Maker(seed)
    maker.place()
    for _ in range(3):
        maker.input()
    for _ in range(maker.random.choice([6, 12, 25])):
        maker.step()
    graph = maker.graph()
    try:
        with np.errstate(all="ignore"):
            reference.run(graph, *copy.deepcopy(maker.arrays))
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(
            "negative integer powers|zero-size|out of bounds|cannot convert|too large", str(error)
        ):
            return
        raise
    check(graph, *maker.arrays, may_refuse=True)


def test_what_nobody_takes_may_still_warn() -> None:
    """An unused logarithm of a negative number gives the work back to plain Python, which warns."""
    whole = parse("a: f8[n]; b = log a; return b")
    graph = Graph(whole.inputs, whole.nodes, whole.inputs)
    for options in TIERS:
        program = BACKEND.compile(graph, options)
        one = np.ones(10)
        assert program(one) is one
        assert program(-one) is NotImplemented


def test_the_source_shows_steps_segments_and_machine_text() -> None:
    """The text names the loops and has the LLVM function of what is native."""
    text = BACKEND.source(
        parse("a: f8[n]; b = add a 1.0; c = multiply b a; s = reduce_add c; return s")
    )
    assert "kernel(" in text
    assert "add[dd->d]" in text
    assert "define i32 @segment" in text


def test_unknown_backends_are_named() -> None:
    """The error lists the backends there are."""
    with pytest.raises(UnknownBackend, match="cupy, numpy, reference"):
        backend_named("nupmy")


def test_the_reference_is_a_backend() -> None:
    """Any graph may be run by its definition."""
    assert (
        backend_named("reference").compile(parse("a: f8[n]; b = add a 1.0; return b"))(x).tobytes()
        == (x + 1).tobytes()
    )


def test_a_read_only_argument_is_left_to_plain_python() -> None:
    """Eager raises by itself; nothing was written."""
    program = BACKEND.compile(parse("a: f8[n]; b = add a 1.0; a2 = store a b; return a2"))
    one = np.ones(10)
    one.flags.writeable = False
    with warnings.catch_warnings():
        warnings.resetwarnings()
        assert program(one) is NotImplemented


def test_a_failing_compiler_leaves_the_plain_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without machine code the results are the same, and nothing is said."""

    def broken(_: object) -> None:
        raise OSError("no LLVM today")

    monkeypatch.setattr(compiler, "compiled", broken)
    check("a: f8[n]; b = add a 1.0; c = multiply b a; return c", x)


@pytest.mark.parametrize("name", "exp exp2 cbrt log1p arcsin tanh sin".split())
@pytest.mark.parametrize("step", [-1, -2, 2, 3])
def test_functions_whose_bits_depend_on_strides(name: str, step: int) -> None:
    """Where memory is strided NumPy may run scalar code with other bits; a kernel must not make it contiguous."""
    one = np.abs(rng.normal(size=900))[::step]
    order = (0,) if step > 0 else None
    source = Node(ops.INPUT, (), ArrayType(np.dtype("f8"), (n,), order, contiguous=False))
    maps = [Node(ops.UFUNCS[name], (source,), array("f8", (n,)))]
    maps.append(Node(ops.UFUNCS["negative"], (maps[0],), array("f8", (n,))))
    check(Graph((source,), (source, *maps), tuple(maps)), one)


def test_a_kernel_of_many_values() -> None:
    """As many members as a kernel may have, which take one array in common and two of their own each."""
    count = groups.LARGEST
    given = ";".join(f"a{i}: f8[n]; b{i}: f4[n]" for i in range(count))
    nodes = ";".join(f"r{i} = where c a{i} b{i}" for i in range(count))
    results = ", ".join(f"r{i}" for i in range(count))
    graph = parse(f"c: bool[n]; {given}; {nodes}; return {results}")
    rng = np.random.default_rng(5)
    pairs = [(rng.random(9), rng.random(9).astype("f4")) for _ in range(count)]
    check(graph, rng.random(9) > 0.5, *(array for pair in pairs for array in pair))
    assert len(plan_of(graph).steps) == 1
