"""The executor against plain NumPy: kernels over every layout, chains, flags, threads, results over operands."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tiles import (
    BOOL,
    DIVIDE,
    F4,
    F8,
    OVERFLOW,
    assert_same,
    bits,
    chain,
    chain_kernel,
    eager,
    into_kernel,
    map_kernel,
    square_sum_kernel,
    unlike,
    values_of,
)
from ufuse.backends.numpy import _tiles

SIZES = (0, 1, 7, 64, 100, 1000, 20011)
NUMBERS = "?bBhHiIlLqQefdgFDG"


def loops_of(ufunc: np.ufunc) -> Iterator[tuple[np.dtype[Any], ...]]:
    """The numeric loops that need no GIL."""
    for signature in ufunc.types:
        codes = signature.replace("->", "")
        if not set(codes) <= set(NUMBERS):
            continue
        dtypes = tuple(map(np.dtype, codes))
        try:
            _tiles.numpy_loop(ufunc, dtypes)
        except (ValueError, TypeError):
            continue
        yield dtypes


UFUNCS = sorted(
    (
        value
        for value in vars(np).values()
        if isinstance(value, np.ufunc) and value.signature is None and value.nin <= 2
    ),
    key=lambda ufunc: ufunc.__name__,
)


pytestmark = pytest.mark.usefixtures("quiet")


# ---- Maps ----


@pytest.mark.parametrize("ufunc", dict.fromkeys(UFUNCS), ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_over_contiguous_arrays(ufunc: np.ufunc) -> None:
    """Every loop of every ufunc gives NumPy's bits, whatever the size and the tiling."""
    for dtypes in loops_of(ufunc):
        if ufunc is np.power and dtypes[0].kind in "iu":
            continue
        kernel = map_kernel(ufunc, dtypes)
        for size in SIZES:
            arguments = [values_of(d, size, i) for i, d in enumerate(dtypes[: ufunc.nin])]
            expected = ufunc(*arguments)
            expected = expected if isinstance(expected, tuple) else (expected,)
            results, _ = kernel.run(tuple(arguments))
            for found, wanted in zip(results, expected, strict=True):
                assert_same(found, wanted)


LAYOUTS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "strided": lambda x, y: (x[::2], y[1::2]),
    "negative": lambda x, y: (x[::-1], y),
    "row": lambda x, y: (x.reshape(-1, 64), y[:64]),
    "short row": lambda x, y: (x[:3000].reshape(-1, 3), y[:3]),
    "column": lambda x, y: (x[:3000].reshape(-1, 3), y[:1000, None]),
    "long column": lambda x, y: (x.reshape(8, -1), y[:8, None]),
    "outer": lambda x, y: (x[:100, None], y[None, :300]),
    "inner part": lambda x, y: (x.reshape(64, -1)[1:-1, 1:-1], y.reshape(64, -1)[2:, :-2]),
    "tiny inner part": lambda x, y: (x.reshape(-1, 16)[:, 1:3], y.reshape(-1, 16)[:, 4:6]),
    "against the grain": lambda x, y: (x.reshape(64, -1), y.reshape(-1, 64).T),
    "four axes": lambda x, y: (x[:6000].reshape(10, 20, 10, 3), y[:200].reshape(20, 10, 1)),
    "steps in two axes": lambda x, y: (x.reshape(64, -1)[::2, ::3], y.reshape(64, -1)[::-2, ::3]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.arctan2, np.less, np.hypot])
def test_layouts(layout: str, ufunc: np.ufunc) -> None:
    """Broadcast and strided operands give NumPy's bits."""
    for dtypes in loops_of(ufunc):
        x, y = (values_of(d, 64 * 320, i) for i, d in enumerate(dtypes[:2]))
        if x.dtype.kind in "fc":
            y[np.isnan(y) | (y == 0)] = 1  # of unlike pairs NumPy keeps one by its place: see below
        if x.dtype.kind == "c":
            x[np.isnan(x)] = 1
        a, b = LAYOUTS[layout](x, y)
        (found,), _ = map_kernel(ufunc, dtypes).run((a, b))
        assert_same(found, ufunc(a, b, order="C"))


@pytest.mark.parametrize("layout", [*LAYOUTS, "same", "scalar"])
@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.fmin, np.arctan2, np.fmod]
)
def test_unlike_pairs(layout: str, ufunc: np.ufunc) -> None:
    """Where the place of two NaN or zeros decides which is kept, the kernel keeps the place or refuses."""
    layouts: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
        **LAYOUTS,
        "same": lambda x, y: (x, y),
        "scalar": lambda x, y: (x, y[3:4]),
    }
    for dtypes in loops_of(ufunc):
        if dtypes[0].kind not in "fc":
            continue
        a, b = layouts[layout](unlike(dtypes[0], 64 * 320, 1), unlike(dtypes[1], 64 * 320, 2))
        found = map_kernel(ufunc, dtypes).run((a, b))
        if found is not NotImplemented:
            assert_same(found[0][0], ufunc(a, b, order="C"))
        else:
            assert layout not in {"same", "strided", "scalar"}


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_orders(data: Any) -> None:
    """Results have the axis order that is asked for, whatever the operands' own."""
    axes = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.sampled_from((1, 2, 3, 5, 70))) for _ in range(axes))
    operands: list[Any] = []
    for i in range(2):
        own = tuple(data.draw(st.permutations(range(axes))))
        thin = tuple(1 if data.draw(st.booleans()) else n for n in shape)
        array = values_of(F8, int(np.prod(thin)), i).reshape([thin[a] for a in own])
        operands.append(array.transpose(np.argsort(own)))
    order = tuple(data.draw(st.permutations(range(axes))))
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    out = np.empty([shape[a] for a in order]).transpose(np.argsort(order))
    expected = np.subtract(operands[0], operands[1], out=out)
    (found,), _ = map_kernel(np.subtract, (F8, F8, F8), order).run(tuple(operands))
    assert_same(found, expected)


def test_orders_of_several_results() -> None:
    """The first result sets the walk; the others are written in their own order."""
    kernel = _tiles.Kernel(
        (F8,),
        ((F8, False),),
        ((_tiles.numpy_loop(np.negative, (F8, F8)), (0,), (1,), "map", 0),),
        ((1, ("new", (1, 0))), (1, ("new", None)), (1, ("new", (1, 0)))),
    )
    x = values_of(F8, 6000).reshape(60, 100)
    (one, two, three), _ = kernel.run((x,))
    assert_same(one, np.asfortranarray(-x))
    assert_same(two, -x)
    assert_same(three, np.asfortranarray(-x))
    assert not np.shares_memory(one, three)


def test_scalars_and_zero_axes() -> None:
    """Python numbers and NumPy scalars are packed as weak promotion does; a space may have no axes."""
    x = np.arange(5, dtype=F4)
    kernel = map_kernel(np.add, (F4, F4, F4))
    for scalar in (1, True, 2.5, np.float32(3), np.array(4, F4)):
        (found,), flags = kernel.run((x, scalar))
        assert_same(found, x + scalar)
        assert flags is None
    (found,), _ = kernel.run((1.5, np.array(2, F4)))
    assert_same(found, np.array(3.5, F4))
    for refused in (1e300, 10**400, "1", None, 1j, np.datetime64(1, "s"), [1.0]):
        assert kernel.run((x, refused)) is NotImplemented
    small = map_kernel(np.add, (np.dtype("i1"),) * 3)
    assert_same(small.run((np.array([1, 2], np.int8), -100))[0][0], np.array([-99, -98], np.int8))
    for refused in (128, -129, 1.0, 10**30):
        assert small.run((np.array([1, 2], np.int8), refused)) is NotImplemented
    large = map_kernel(np.add, (np.dtype("u8"),) * 3)
    assert_same(large.run((np.array([1], np.uint64), 2**64 - 1))[0][0], np.array([0], np.uint64))
    assert large.run((np.array([1], np.uint64), -1)) is NotImplemented


def test_refused_arguments() -> None:
    """Other dtypes, byte orders, subclasses and shapes are refused without an exception."""
    kernel = map_kernel(np.add, (F8, F8, F8))
    x = np.arange(6.0)
    refused = (x.astype(F4), x.astype(">f8"), np.ma.array(x), x[:5], x.reshape(2, 3), [1.0])
    for argument in refused:
        assert kernel.run((x, argument)) is NotImplemented
    with pytest.raises(TypeError, match="2 operands, but 1"):
        kernel.run((x,))


def test_unaligned_operands() -> None:
    """An unaligned array is copied, as NumPy copies it."""
    raw = np.zeros(8 * 1000 + 1, np.uint8)
    x = raw[1:].view(F8)
    x[:] = values_of(F8, 1000)
    assert not x.flags.aligned
    (found,), _ = map_kernel(np.add, (F8, F8, F8)).run((x, 1.0))
    assert_same(found, x + 1.0)


@pytest.mark.parametrize("source", NUMBERS)
def test_casts(source: str) -> None:
    """A cast gives what `astype` gives, also out of range, and raises the same flags."""
    samples = [values_of(np.dtype(source), size, 5) for size in (1, 3, 1000)]
    for x in (*samples, np.arange(1000).astype(source)):
        for target in NUMBERS:
            dtype = np.dtype(target)
            loop = _tiles.cast_loop(x.dtype, dtype)
            kernel = _tiles.Kernel(
                (x.dtype,),
                ((dtype, False),),
                ((loop, (0,), (1,), "map", 0),),
                ((1, ("new", None)),),
            )
            for view in (x, x[::2], x[::-1]):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected, seen = eager(view.astype, dtype)
                if source in "efdgFDG" and target in "ILQ":
                    real = view.real.astype(np.longdouble)
                    if not ((real > -1) & (real < 2.0 ** (8 * dtype.itemsize))).all():
                        assert kernel.run((view,)) is NotImplemented  # C leaves such casts open
                        continue
                (found,), flags = kernel.run((view,))
                assert bits(found) == bits(expected), (source, target)
                assert sum(seen and {max(seen)}) == (flags[0][1] if flags else 0), (source, target)


def test_half_casts_exhaustively() -> None:
    """All halves widen, and floats around every half round, as in NumPy."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    for target in (F4, F8):
        wide = halves.astype(target)
        around = np.concatenate(
            [wide, *(np.nextafter(wide, s, dtype=target) for s in (-np.inf, np.inf))]
        )
        middle = (wide[1:31744] + wide[:31743]) / 2
        for x in (around, middle, np.nextafter(middle, target.type(0)), -middle):
            for a, dtype in ((halves, target), (x, np.dtype("f2"))):
                kernel = _tiles.Kernel(
                    (a.dtype,),
                    ((dtype, False),),
                    ((_tiles.cast_loop(a.dtype, dtype), (0,), (1,), "map", 0),),
                    ((1, ("new", None)),),
                )
                assert bits(kernel.run((a,))[0][0]) == bits(a.astype(dtype))


@pytest.mark.parametrize("code", NUMBERS)
def test_where_and_copy(code: str) -> None:
    """Choice and copy keep the bits of every dtype."""
    dtype = np.dtype(code)
    mask, x, y = values_of(BOOL, 500), values_of(dtype, 500, 1), values_of(dtype, 500, 2)
    kernel = _tiles.Kernel(
        (BOOL, dtype, dtype),
        ((dtype, False), (dtype, False)),
        (
            (_tiles.where_loop(dtype), (0, 1, 2), (3,), "map", 0),
            (_tiles.copy_loop(dtype), (3,), (4,), "map", 1),
        ),
        ((4, ("new", None)),),
    )
    assert_same(kernel.run((mask, x, y))[0][0], np.where(mask, x, y))
    assert_same(kernel.run((mask[::2], x[::2], y[:1]))[0][0], np.where(mask[::2], x[::2], y[:1]))


@pytest.mark.parametrize("size", SIZES)
def test_chains(size: int) -> None:
    """Intermediate values share scratch memory without being mixed up."""
    x, y = values_of(F8, size, 1), values_of(F8, size, 2)
    y[np.isnan(y)] = 3
    (found,), _ = chain_kernel().run((x, y, 2.0))
    assert_same(found, chain(x, y))


def test_threads_change_nothing() -> None:
    """One thread and several give the same bits, flags and totals."""
    x, y = values_of(F8, 10**6 + 7, 1), values_of(F8, 10**6 + 7, 2)
    found = []
    for count in (1, 2, 3, 1):
        _tiles.set_threads(count)
        assert _tiles.threads() == count
        results, flags = chain_kernel().run((x, y, 2.0))
        found.append((bits(results[0]), flags, bits(square_sum_kernel(F8).run((x,))[0][0])))
    assert found[0] == found[1] == found[2] == found[3]
    with pytest.raises(ValueError, match="from 1 to 1024"):
        _tiles.set_threads(0)


def test_many_python_threads() -> None:
    """Kernels may run in several Python threads at once."""
    x = np.random.default_rng(0).normal(size=300_000)
    expected, kernel = bits(chain(x, x)), chain_kernel()
    wrong: list[bytes] = []

    def work() -> None:
        found = [bits(kernel.run((x, x, 2.0))[0][0]) for _ in range(20)]
        wrong.extend(one for one in found if one != expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fork() -> None:
    """A forked child makes its own workers."""
    x = np.random.default_rng(0).normal(size=300_000)
    kernel = chain_kernel()
    _tiles.set_threads(2)
    expected = bits(kernel.run((x, x, 2.0))[0][0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os._exit(0 if bits(kernel.run((x, x, 2.0))[0][0]) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


# ---- Flags ----


def test_flags_name_the_node() -> None:
    """The flags of each operation are told apart, in order."""
    x = np.ones(10_000)
    y = np.ones(10_000)
    x[5000], y[7000] = 1e308, 0.0
    _, flags = chain_kernel().run((x, y, 2.0))
    assert flags == ((10, OVERFLOW), (12, DIVIDE))
    assert chain_kernel().run((x, y, 2.0), DIVIDE)[1] == ((12, DIVIDE),)
    assert chain_kernel().run((x, y, 2.0), 0)[1] is None
    assert chain_kernel().run((np.ones(3), np.ones(3), 2.0))[1] is None


@pytest.mark.parametrize("ufunc", dict.fromkeys(UFUNCS), ids=lambda ufunc: ufunc.__name__)
def test_flags_are_those_of_numpy(ufunc: np.ufunc) -> None:
    """A kernel of one operation raises the flags that NumPy sees."""
    for dtypes in loops_of(ufunc):
        if ufunc is np.power and dtypes[0].kind in "iu":
            continue
        kernel = map_kernel(ufunc, dtypes)
        for size in (1, 100, 1000):
            arguments = [values_of(d, size, i) for i, d in enumerate(dtypes[: ufunc.nin])]
            _, seen = eager(ufunc, *arguments)
            _, flags = kernel.run(tuple(arguments))
            assert (flags[0][1] if flags else 0) == sum(seen and {max(seen)})


def test_status_is_left_clear() -> None:
    """Flags that were up before, or raised inside, disturb nothing."""
    x = np.ones(4)
    assert chain_kernel().run((x, x * 0, 2.0))[1] is not None
    with np.errstate(all="raise"):
        assert (np.maximum(x, 1.0) == 1).all()
    assert chain_kernel().run((x, x, 2.0))[1] is None


# ---- Into ----


@pytest.mark.parametrize("size", [1, 100, 50_000])
@pytest.mark.parametrize("late_read", [False, True])
def test_into_an_operand(size: int, late_read: bool) -> None:
    """A value is written over an operand, which the other segments still see as it was."""
    base, y = values_of(F8, 2 * size, 1), values_of(F8, size, 2)
    for view in (slice(None, size), slice(None, None, 2), slice(None, None, -2)):
        mine, theirs = base.copy(), base.copy()
        before = mine[view].copy()
        (given, new), _ = into_kernel(late_read=late_read).run((mine[view], y))
        theirs[view] /= y
        assert bits(mine) == bits(theirs)
        assert np.shares_memory(given, mine)
        assert bits(new) == bits(before if late_read else theirs[view])


def test_into_with_a_twin() -> None:
    """The same view may be given twice."""
    x = values_of(F8, 20_000)
    mine = x.copy()
    (_, new), _ = into_kernel().run((mine, mine))
    assert bits(mine) == bits(new) == bits(x / x)
    grid = values_of(F8, 90_000).reshape(300, 300)
    mine = grid.copy()
    into_kernel().run((mine[1:-1, 1:-1], grid[1:-1, 1:-1]))
    expected = grid.copy()
    expected[1:-1, 1:-1] /= grid[1:-1, 1:-1]
    assert bits(mine) == bits(expected)


def test_into_is_refused_where_it_cannot_be() -> None:
    """A read-only or broadcast operand is not written."""
    x = np.ones(10)
    x.flags.writeable = False
    assert into_kernel().run((x, x)) is NotImplemented
    assert into_kernel().run((np.ones(1), np.ones(10))) is NotImplemented
    assert into_kernel().run((1.0, np.ones(10))) is NotImplemented


# ---- Refusals ----


BAD_KERNELS: list[tuple[Any, ...]] = [
    ((F8,), ((F8, False),), ((None, (0,), (1,), "map", 0),), ((1, ("new", None)),)),
    ((F8,), ((F8, False),), (), ((1, ("new", None)),)),
    ((F8,), (), (), ((0, ("new", None)),)),
    ((np.dtype("O"),), (), (), ()),
    ((np.dtype(">f8"),), (), (), ()),
    ((F8,), ((F8,),), (), ()),
]


@pytest.mark.parametrize("arguments", BAD_KERNELS)
def test_bad_kernels(arguments: tuple[Any, ...]) -> None:
    """A kernel that cannot be is refused when it is made."""
    with pytest.raises((TypeError, ValueError)):
        _tiles.Kernel(*arguments)


def test_bad_segments() -> None:
    """Dtypes, order and kinds of segments are checked."""
    add, negative = _tiles.numpy_loop(np.add, (F8,) * 3), _tiles.numpy_loop(np.negative, (F8, F8))
    made, new = ((F8, False), (F8, True)), ((1, ("new", None)),)
    good = (negative, (0,), (1,), "map", 0)
    assert _tiles.Kernel((F8,), made, (good,), new).runs == 0
    for segments in (
        ((negative, (0,), (0,), "map", 0),),
        ((negative, (1,), (1,), "map", 0),),
        (good, good),
        ((negative, (0, 0), (1,), "map", 0),),
        ((negative, (0,), (9,), "map", 0),),
        ((negative, (0,), (1,), "fold", 0),),
        ((add, (0,), (1,), "reduce", 0, bytes(8)),),
        ((add, (0,), (1,), "total", 0, bytes(4)),),
        ((negative, (0,), (1,), "total", 0, None),),
    ):
        with pytest.raises(ValueError, match=r"."):
            _tiles.Kernel((F8,), made, segments, new)
    with pytest.raises(ValueError, match="dtype"):
        _tiles.Kernel((F4,), made, (good,), new)
    with pytest.raises(ValueError, match="exactly"):
        _tiles.numpy_loop(np.add, (F4, F4, F8))
    with pytest.raises(ValueError, match="GIL"):
        _tiles.numpy_loop(np.add, (np.dtype("O"),) * 3)
    with pytest.raises(ValueError, match="no such step"):
        _tiles.Program(0, 1, (), (("jump", 1),), (0,))
    with pytest.raises(ValueError, match="a slot"):
        _tiles.Program(0, 1, (), (), (1,))
