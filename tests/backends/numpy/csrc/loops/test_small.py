"""Products and totals of small arrays, which C has from NumPy's own loops: NumPy's bits, layouts, warnings and errors."""

from __future__ import annotations

import itertools
import struct
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles, small
from ufuse.graph.node import Node

RNG = np.random.default_rng(11)
BEGIN = RNG.bit_generator.state
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, 1e300, -1e300, 5e-324, 1.0])


@pytest.fixture(autouse=True)
def _the_same_numbers() -> None:
    """In each test, whichever ran before."""
    RNG.bit_generator.state = BEGIN


def nan_of(payload: int) -> float:
    """A quiet NaN that can be told from others."""
    (found,) = struct.unpack("d", struct.pack("Q", 0x7FF8000000000000 | payload))
    return float(found)


def numbers(shape: tuple[int, ...], dtype: str, *, special: bool = False) -> np.ndarray:
    """Random ones, some of which are special."""
    kind = np.dtype(dtype).kind
    if kind in "biu":
        return RNG.integers(0, 100, shape).astype(dtype)
    found = RNG.normal(size=shape)
    if special:
        chosen = RNG.random(shape) < 0.3
        found[chosen] = RNG.choice(SPECIAL, int(chosen.sum()))
    with np.errstate(all="ignore"):
        made = found.astype(dtype)
    return made + 1j * RNG.normal(size=shape).astype(made.real.dtype) if kind == "c" else made


def layouts(array: np.ndarray) -> Iterator[np.ndarray]:
    """The same numbers, laid out in other ways."""
    yield array
    yield np.asfortranarray(array)
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    yield wide[..., ::2]
    yield np.ascontiguousarray(array[::-1])[::-1]
    frozen = array.copy()
    frozen.flags.writeable = False
    yield frozen


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """What a call gives, to the bit, or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*arguments)
        except Exception as error:  # noqa: BLE001
            result: tuple[Any, ...] = (type(error), str(error))
        else:
            layout = found.strides if isinstance(found, np.ndarray) else None
            result = (type(found), found.dtype, found.shape, layout, found.tobytes())
    return (*result, [(one.category, str(one.message)) for one in caught])


# Products ---------------------------------------------------------------------------------------------------------

SHAPES = [
    ((1,), (1,)), ((1,), (1, 1)), ((1, 1), (1, 4)), ((4, 1), (1,)), ((4, 1), (1, 4)), ((2, 3), (3, 4)), ((3,), (3, 2)), ((4, 3), (3,)), ((1, 1), (1, 1)), ((1, 5), (5, 1)), ((5, 1), (1, 5)), ((7, 7), (7, 7)),
    ((3,), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((2, 3), (4, 2)), ((2, 2, 2), (2, 2)), ((30, 20), (20, 40)), ((17, 9), (9, 33)),
]  # fmt: skip


def own(name: str, dtype: str, *axes: int) -> Any:
    """C's function, for arrays of one dtype."""
    return small.function(name, small.SMALL[(name, *axes)], np.dtype(dtype))


def own_product(dtype: str) -> Any:
    """Of two matrices."""
    return own("numpy.matmul", dtype, 2, 2)


@pytest.mark.parametrize(
    ("name", "dtype"), [*(("matmul", one) for one in "fdFD"), ("dot", "f"), ("dot", "d")]
)
@pytest.mark.parametrize("special", [False, True])
def test_products(name: str, dtype: str, special: bool) -> None:
    """Of every layout, and of what no such product is."""
    for (one, other), axes in itertools.product(SHAPES, small.PRODUCTS):
        if (len(one), len(other)) != axes and (RNG.random() < 0.9 or one == (2, 2, 2)):
            continue
        product = own(f"numpy.{name}", dtype, *axes)
        left, right = numbers(one, dtype, special=special), numbers(other, dtype, special=special)
        for a, b in itertools.product(layouts(left), layouts(right)):
            with np.errstate(all="warn"):
                assert outcome(product, a, b) == outcome(getattr(np, name), a, b)


@pytest.mark.parametrize("key", [key for key in small.SMALL if "linalg" in key[0]])
def test_solvers(key: tuple[Any, ...]) -> None:
    """Of regular, singular and other matrices, in every layout."""
    name, *axes = key
    numpys = getattr(np.linalg, name.rpartition(".")[2])
    solver = own(name, "d", *axes)
    for size in (1, 2, 3, 5, 8, 24, 40, 0):
        for kind in ("regular", "singular", "special", "large"):
            matrix = numbers((size, size), "d", special=kind == "special")
            matrix *= 1e200 if kind == "large" else 1
            if kind == "singular" and size:
                matrix[-1] = matrix[0] * (size > 1)
            for one in layouts(matrix) if size else [matrix]:
                if len(axes) == 1:
                    assert outcome(solver, one) == outcome(numpys, one)
                    continue
                for shape in ((size,), (size, 3), (size + 1,)):
                    right = numbers(shape, "d")
                    if len(shape) == axes[1]:
                        assert outcome(solver, one, right) == outcome(numpys, one, right)


@pytest.mark.parametrize("dtype", list(small.NORMS))
def test_norms(dtype: str) -> None:
    """Of vectors; of all else as NumPy has it."""
    norm = small._norm(np.dtype(dtype))
    assert norm is not None
    for length, special in itertools.product([*LENGTHS, 0], (False, True)):
        for x in (
            layouts(numbers((length,), dtype, special=special)) if length else [np.zeros(0, dtype)]
        ):
            assert outcome(norm, x) == outcome(np.linalg.norm, x)
    for x in (
        np.ones((3, 2), dtype),
        [1.0, 2.0],
        np.arange(3),
        np.array([1e300, 1e300]),
        np.ones((2, 2, 2)),
    ):
        assert outcome(norm, x) == outcome(np.linalg.norm, x)


@pytest.mark.parametrize("how", ["ignore", "warn", "raise"])
def test_what_numpy_says_of_a_product(how: Any) -> None:
    """What overflows is computed anew by NumPy, which warns or raises."""
    big = np.full((2, 2), 1e300)
    tiny = np.full((2, 2), 1e-300)
    infinite = np.array([[np.inf, 1.0], [2.0, -np.inf]])
    for a, b in ((big, big), (tiny, tiny), (infinite, infinite), (big, tiny)):
        with np.errstate(all=how):
            assert outcome(own_product("d"), a, b) == outcome(np.matmul, a, b)


def test_products_of_two_nan() -> None:
    """Which of the two is left depends on steps along axes of one element."""
    for one, other in SHAPES:
        if (len(one), len(other)) in small.PRODUCTS and one[-1] == other[0]:
            a, b = np.full(one, nan_of(1)), np.full(other, nan_of(2))
            for name in ("matmul", "dot"):
                function = own(f"numpy.{name}", "d", len(one), len(other))
                assert outcome(function, a, b) == outcome(getattr(np, name), a, b)


def test_results_that_are_doubted_again_and_again() -> None:
    """Then NumPy is called at once, and C tries ever more seldom; whatever is computed, it is the same."""
    big, little = np.full((3, 3), 1e300), np.eye(3)
    product, dot, total = own_product("d"), own("numpy.dot", "d", 2, 2), own_total("multiply", "d")
    for a in [big] * 40 + [little] * 60 + [big, little] * 40:
        assert outcome(product, a, a) == outcome(np.matmul, a, a)
        assert outcome(dot, a, a) == outcome(np.dot, a, a)
        assert outcome(total, a) == outcome(np.multiply.reduce, a, None)


class Sub(np.ndarray):
    """A subclass, which may have operators of its own."""


def test_other_operands_are_numpys() -> None:
    """Another dtype, byte order, class, or a list."""
    a = numbers((3, 3), "d")
    unaligned = np.frombuffer(b"x" + a.tobytes(), dtype="u1")[1:].view("f8").reshape(3, 3)
    others = [
        a.astype("f"), a.astype(">f8"), a.view(Sub), a.tolist(), a.astype(int), unaligned, np.float64(2), 3, None, "text",
    ]  # fmt: skip
    for other in others:
        assert outcome(own_product("d"), a, other) == outcome(np.matmul, a, other)
        assert outcome(own_product("d"), other, a) == outcome(np.matmul, other, a)


# Totals -----------------------------------------------------------------------------------------------------------


def own_total(name: str, dtype: str, given: tuple[Any, ...] = (None,)) -> Any:
    """C's function for a reduction of everything."""
    return small.total_of(getattr(np, name), np.dtype(dtype), given, len(given) == 4)


TOTALS = [(name, dtype) for name, dtypes in small.TOTALS.items() for dtype in dtypes]
LENGTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 1000, 8192, 8193]


@pytest.mark.parametrize(("name", "dtype"), TOTALS)
def test_totals(name: str, dtype: str) -> None:
    """Of one axis and of several; signs of zeros, and of two NaN the same one."""
    ufunc = getattr(np, name)
    for length, special in itertools.product(LENGTHS, (False, True)):
        x = numbers((length,), dtype, special=special)
        if special and x.dtype.kind == "f":
            with np.errstate(all="ignore"):
                x[RNG.integers(0, length, 2)] = [nan_of(1), nan_of(2 << 40)]
        for array in (x, x.reshape(1, -1), x.reshape(-1, 1), x[::-1]):
            assert outcome(own_total(name, dtype), array) == outcome(ufunc.reduce, array, None)
            kept = (tuple(range(array.ndim)), None, None, True)
            assert outcome(own_total(name, dtype, kept), array) == outcome(
                ufunc.reduce, array, *kept
            )
    deep = numbers((3, 4, 5), dtype, special=True)
    for array in (deep, deep.transpose(2, 0, 1), deep[:0]):
        assert outcome(own_total(name, dtype), array) == outcome(ufunc.reduce, array, None)


@pytest.mark.parametrize(("name", "dtype"), TOTALS)
def test_totals_along_an_axis(name: str, dtype: str) -> None:
    """Of matrices of all shapes."""
    ufunc = getattr(np, name)
    shapes = [
        (1, 2),
        (2, 1),
        (1, 1),
        (2, 2),
        (3, 7),
        (8, 8),
        (9, 17),
        (33, 5),
        (5, 130),
        (130, 9),
        (64, 128),
        (65, 128),
        (0, 3),
        (3, 0),
    ]
    for shape, axis, special in itertools.product(shapes, (0, 1), (False, True)):
        x = numbers(shape, dtype, special=special)
        if special and x.dtype.kind == "f" and x.size:
            with np.errstate(all="ignore"):
                x.flat[RNG.integers(0, x.size, 3)] = [nan_of(1), nan_of(2 << 40), nan_of(7)]
        for array in (x, x.T, x[::-1], x[None]):
            for keeps in (False, True):
                given = (axis, None, None, keeps) if keeps else (axis,)
                function = small.total_of(ufunc, np.dtype(dtype), given, keeps, axis)
                assert outcome(function, array) == outcome(ufunc.reduce, array, *given)


@pytest.mark.parametrize("how", ["ignore", "warn", "raise"])
def test_what_numpy_says_of_a_total(how: Any) -> None:
    """Overflow, and infinities of both signs."""
    for x in ([1e308, 1e308, 1e308], [np.inf, -np.inf], [1e-200] * 3, [np.nan, 1.0]):
        for name in ("add", "multiply", "maximum"):
            with np.errstate(all=how):
                found = outcome(own_total(name, "d"), np.array(x))
                assert found == outcome(getattr(np, name).reduce, np.array(x), None)


def test_other_arrays_are_numpys() -> None:
    """Of another dtype, of no axes, a list, nothing."""
    for x in (np.float32([1, 2]), np.array(3.0), [1.0, 2.0], 5, "text", np.ones(3, ">f8")):
        assert outcome(own_total("add", "d"), x) == outcome(np.add.reduce, x, None)


# Both -------------------------------------------------------------------------------------------------------------


def test_they_take_what_they_are_for() -> None:
    """Other counts of arguments, and loops that are none, are named."""
    loop = own_product("d")
    assert repr(loop).endswith(" of small arrays>")
    names = [
        loop,
        own("numpy.linalg.inv", "d", 2),
        own_total("add", "d"),
        small._norm(np.dtype("d")),
    ]
    assert [one.__name__ for one in names] == ["matmul", "inv", "ufunc.reduce", "norm"]
    with pytest.raises(TypeError, match="takes 2 arrays"):
        loop(np.ones((2, 2)))
    with pytest.raises(TypeError, match="takes 2 arrays"):
        loop(np.ones((2, 2)), np.ones((2, 2)), out=None)
    with pytest.raises(TypeError, match="takes one array"):
        own_total("add", "d")()
    with pytest.raises(TypeError, match="no loop of NumPy's"):
        _tiles.small_function(None, np.matmul, "nk,km,nm", False)  # type: ignore[arg-type]
    numpys = _tiles.numpy_loop(np.add, (np.dtype(float),) * 3)
    for text in ("nk,km", "a,b,c", "abc,d,a", "ab,cd,a,b", "ab,cd,abcd"):
        with pytest.raises(ValueError, match="no signature of this loop"):
            _tiles.small_function(numpys, np.add, text, False)
    with pytest.raises(TypeError):
        _tiles.small_total(None)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match="loop of NumPy's for floats"):
        _tiles.small_norm(_tiles.numpy_loop(np.add, (np.dtype(int),) * 3), np.matmul)
    with pytest.raises(ValueError, match="begins with the bytes"):
        _tiles.small_total(numpys, np.add.reduce, (None,), b"x" * 99, False, -1, 0)
    with pytest.raises(ValueError, match="neither the first axes nor the last"):
        _tiles.small_total(numpys, np.add.reduce, (None,), None, False, 3, 1)


def kalman(x: Any, p: Any, f: Any, h: Any) -> Any:
    x, p = f @ x, f @ p @ f.T
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + 0.1)
    return (
        x + np.dot(gain, 1 - h @ x),
        np.linalg.solve(p + f, x),
        np.linalg.det(p),
        np.linalg.norm(x),
    )


def layer(x: Any, w: Any, b: Any) -> Any:
    return np.tanh(x @ w + b) @ w


def standardised(x: Any) -> Any:
    columns = (x - x.max(axis=0)) / x.min(axis=-1, keepdims=True), x.sum(axis=-1)
    return (x - x.max()) / (x.sum() * x.min(keepdims=True)), x.prod(), columns


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (layer, lambda: (numbers((8, 5), "d"), numbers((5, 5), "d"), numbers((5,), "d"))),
        (layer, lambda: (numbers((5,), "f"), numbers((5, 5), "f"), numbers((5,), "f"))),
        (layer, lambda: (numbers((8, 5), "d"), numbers((5, 5), "f"), numbers((5,), "d"))),
        (layer, lambda: (np.full((3, 2), 1e200), np.full((2, 2), 1e200), np.zeros(2))),
        (kalman, lambda: (np.ones(3), np.eye(3), numbers((3, 3), "d"), numbers((1, 3), "d"))),
        (kalman, lambda: (np.ones(3), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((1, 3)))),
        (standardised, lambda: (numbers((9,), "d", special=True),)),
        (standardised, lambda: (numbers((3, 4), "f"),)),
    ],
)
def test_in_programs(function: Any, make: Any) -> None:
    """Programs have them as steps."""
    given = make()
    check_same(function, ufuse.compile(function), lambda: tuple(one.copy() for one in given))


def test_which_calls_have_one() -> None:
    """Reductions along some axes, of other dtypes or orders, and products of stacks are NumPy's."""
    graphs: list[Node] = []

    def program(x: Any, y: Any) -> Any:
        stack = x[None] @ y
        return x.max(axis=0), x.T.max(), x.sum(dtype="f4"), x.any(), stack, x @ y, x.max(), x.min()

    compiled = ufuse.compile(program)
    compiled(np.ones((3, 3)), np.ones((3, 3)))
    for graph in compiled.graphs:
        graphs += graph.nodes
    calls = [one for one in graphs if one.op.kind.name == "CALL"]
    found = [one for one in calls if one.attributes.get("function") == "numpy.matmul"]
    assert [small.function_of(one) is not None for one in found] == [False, True]
    reductions = [one for one in graphs if one.op.kind.name == "REDUCE"]
    totals = [small.total(one, (None,)) is not None for one in reductions]
    assert totals.count(True) == 3
