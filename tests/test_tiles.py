"""The executor against plain NumPy: kernels over every layout, totals, rows, flags, memory, threads, programs."""

from __future__ import annotations

import ctypes
import gc
import io
import os
import pickle
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ufuse.backends.numpy import _tiles

BOOL, I4, I8, F4, F8, C16 = map(np.dtype, ("?", "i4", "i8", "f4", "f8", "c16"))
DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8
DEFAULT_MASK = DIVIDE | OVERFLOW | INVALID
SIZES = (0, 1, 7, 64, 100, 1000, 20011)
TREE_SIZES = (*range(1, 301), 511, 512, 513, 1000, 4095, 4096, 4097, 10**5 + 1, 10**6 + 3)
NUMBERS = "?bBhHiIlLqQefdgFDG"


def bits(array: Any) -> bytes:
    """The bit patterns of the elements, without the padding of extended precision."""
    array = np.asarray(array)
    if array.dtype.char in "gG":
        array = np.ascontiguousarray(array).view(np.uint8).reshape(-1, 16)[:, :10]
    found: bytes = array.tobytes()
    return found


def assert_same(found: Any, expected: Any) -> None:
    """Demand equal types, dtypes, shapes, strides and bits."""
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert bits(found) == bits(expected)
    if isinstance(found, np.ndarray) and found.size:
        assert [s for s, n in zip(found.strides, found.shape, strict=True) if n > 1] == [
            s for s, n in zip(expected.strides, expected.shape, strict=True) if n > 1
        ]


def values_of(dtype: np.dtype[Any], size: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers of all magnitudes, with the special ones among them."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        made = random.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
        made[random.random(size) < 0.3] = random.integers(0, 5)
        return made
    with np.errstate(all="ignore"):
        made = (random.normal(size=size) * 10.0 ** random.integers(-6, 6, size)).astype(dtype)
        if dtype.kind == "c":
            made = made + np.array(1j, dtype) * random.normal(size=size).astype(dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-8, 3e4], dtype)
    chosen = random.random(size) < 0.1
    made[chosen] = random.choice(special, chosen.sum())
    return made


def map_kernel(ufunc: np.ufunc, dtypes: tuple[Any, ...], order: Any = None) -> Any:
    """A kernel of one ufunc with new results."""
    inputs = ufunc.nin
    loop = _tiles.numpy_loop(ufunc, dtypes)
    outputs = tuple(range(inputs, len(dtypes)))
    return _tiles.Kernel(
        dtypes[:inputs],
        tuple((dtype, False) for dtype in dtypes[inputs:]),
        ((loop, tuple(range(inputs)), outputs, "map", 0),),
        tuple((output, ("new", order)) for output in outputs),
    )


def eager(ufunc: Any, *arguments: Any, **keywords: Any) -> tuple[Any, set[int]]:
    """The result of NumPy and the flags it raised."""
    seen: set[int] = set()
    with np.errstate(all="call", call=lambda _, bits: seen.add(bits)):
        result = ufunc(*arguments, **keywords)
    return result, seen


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


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Leave the number of threads as it was; no test's own NumPy calls warn."""
    count = _tiles.threads()
    with np.errstate(all="ignore"):
        yield
    _tiles.set_threads(count)


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


def unlike(dtype: np.dtype[Any], size: int, seed: int) -> np.ndarray[Any, Any]:
    """Numbers with NaN and zeros of both signs."""
    made = values_of(dtype, size, seed)
    chance = np.random.default_rng(seed + 9).random(size)
    for i, special in enumerate((np.nan, -np.nan, 0.0, -0.0)):
        made[(chance > i / 10) & (chance < (i + 1) / 10)] = special
    return made


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


def chain_kernel(**keywords: Any) -> Any:
    """((x * 2 - y) / y) ** 2 with two more uses of early values."""
    loops = {
        name: _tiles.numpy_loop(getattr(np, name), (F8,) * 3)
        for name in ("multiply", "subtract", "divide", "add")
    }
    return _tiles.Kernel(
        (F8, F8, F8),
        ((F8, False),) * 5,
        (
            (loops["multiply"], (0, 2), (3,), "map", 10),
            (loops["subtract"], (3, 1), (4,), "map", 11),
            (loops["divide"], (4, 1), (5,), "map", 12),
            (loops["multiply"], (5, 5), (6,), "map", 13),
            (loops["add"], (6, 3), (7,), "map", 14),
        ),
        ((7, ("new", None)),),
        **keywords,
    )


def chain(x: Any, y: Any) -> Any:
    """What `chain_kernel` computes."""
    doubled = x * 2.0
    quotient = (doubled - y) / y
    return quotient * quotient + doubled


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


def into_kernel(*, late_read: bool = False) -> Any:
    """x[...] = x / y; returns also x, or x read afterwards, times 1."""
    divide = _tiles.numpy_loop(np.divide, (F8,) * 3)
    return _tiles.Kernel(
        (F8, F8),
        ((F8, False), (F8, False)),
        (
            (divide, (0, 1), (2,), "map", 0),
            (_tiles.copy_loop(F8), (0 if late_read else 2,), (3,), "map", 1),
        ),
        ((2, ("into", 0)), (3, ("new", None))),
    )


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


# ---- Totals and rows ----


def initial_of(value: Any, dtype: np.dtype[Any]) -> bytes:
    """The bytes of one element."""
    return np.array(value, dtype).tobytes()


def total_kernel(ufunc: np.ufunc, dtype: np.dtype[Any], initial: Any, **keywords: Any) -> Any:
    """A copy of the operand, folded: what eager folds is a fresh array."""
    start = None if initial is None else initial_of(initial, dtype)
    return _tiles.Kernel(
        (dtype,),
        ((dtype, False), (dtype, True)),
        (
            (_tiles.copy_loop(dtype), (0,), (1,), "map", 0),
            (_tiles.numpy_loop(ufunc, (dtype,) * 3), (1,), (2,), "total", 1, start),
        ),
        ((2, ("scalar",)),),
        **keywords,
    )


def square_sum_kernel(dtype: np.dtype[Any]) -> Any:
    """sum(x * x)."""
    return _tiles.Kernel(
        (dtype,),
        ((dtype, False), (dtype, True)),
        (
            (_tiles.numpy_loop(np.multiply, (dtype,) * 3), (0, 0), (1,), "map", 0),
            (
                _tiles.numpy_loop(np.add, (dtype,) * 3),
                (1,),
                (2,),
                "total",
                1,
                bytes(dtype.itemsize),
            ),
        ),
        ((2, ("scalar",)),),
    )


@pytest.mark.parametrize("code", "efdgFDGilB")
def test_sums(code: str) -> None:
    """A sum has the bits of NumPy's pairwise tree at every size."""
    dtype = np.dtype(code)
    kernel = total_kernel(np.add, dtype, 0)
    x = np.random.default_rng(1).normal(size=max(TREE_SIZES)) * 50
    x = x.astype(dtype)
    for size in (0, *TREE_SIZES):
        assert_same(kernel.run((x[:size],))[0][0], np.add.reduce(x[:size], dtype=dtype))
    for special in (-0.0, np.nan, np.inf):
        y = x[:1000].copy()
        if dtype.kind in "fc":
            y[500] = special
        assert_same(kernel.run((y,))[0][0], np.add.reduce(y, dtype=dtype))
    if dtype.kind in "fc":
        zeros = np.full(300, -0.0, dtype)
        assert_same(kernel.run((zeros,))[0][0], np.add.reduce(zeros))
        mixed = x[:9000].copy()
        mixed[[10, 4000, 8000]] = np.nan
        mixed[[700, 5000]] = -np.nan
        assert_same(kernel.run((mixed,))[0][0], np.add.reduce(mixed))


FOLDS = [
    (np.add, "fdil", 0),
    (np.multiply, "fdDil", 1),
    (np.maximum, "efdil", None),
    (np.minimum, "efdil", None),
    (np.fmax, "fd", None),
    (np.bitwise_or, "il?", 0),
    (np.logical_and, "?", True),
    (np.hypot, "d", 0),
    (np.subtract, "dl", None),
]


@pytest.mark.parametrize(
    ("ufunc", "codes", "initial"), FOLDS, ids=lambda v: getattr(v, "__name__", "")
)
def test_other_totals(ufunc: np.ufunc, codes: str, initial: Any) -> None:
    """Every fold has NumPy's bits, zeros and NaN of both signs included."""
    for code in codes:
        dtype = np.dtype(code)
        kernel = total_kernel(ufunc, dtype, initial)
        for seed, size in enumerate((1, 2, 5, 63, 64, 65, 1000, 50_001)):
            x = values_of(dtype, size, seed)
            finite = np.where(np.isfinite(x), x, x.dtype.type(1))
            zeros = (
                (values_of(BOOL, size, seed).astype(dtype) - dtype.type(1)) * x.dtype.type(0)
                if dtype.kind == "f"
                else x
            )
            for y in (x, finite, zeros):
                assert_same(kernel.run((y,))[0][0], ufunc.reduce(y, dtype=dtype))
        empty = np.empty(0, dtype)
        if initial is None:
            assert kernel.run((empty,)) is NotImplemented
        else:
            assert_same(kernel.run((empty,))[0][0], ufunc.reduce(empty, dtype=dtype))


def test_totals_of_grids() -> None:
    """A total over several axes is that of the fresh array that eager makes."""
    x = values_of(F8, 60_000, 3)
    x[~np.isfinite(x)] = 1
    for view in (
        x.reshape(200, 300),
        x.reshape(200, 300)[1:, 2:-3],
        x.reshape(20, 30, 100)[:, ::2, ::-1],
    ):
        expected = np.add.reduce(np.ascontiguousarray(view), axis=None)
        assert_same(total_kernel(np.add, F8, 0).run((view,))[0][0], expected)
        direct = _tiles.Kernel(
            (F8,),
            ((F8, True),),
            ((_tiles.numpy_loop(np.add, (F8,) * 3), (0,), (1,), "total", 0, bytes(8)),),
            ((1, ("scalar",)),),
        )
        assert_same(direct.run((view,))[0][0], expected)


def test_total_flags() -> None:
    """An overflow between partial sums is the sum's."""
    x = np.full(100_000, 1e304)
    found, flags = total_kernel(np.add, F8, 0).run((x,))
    assert np.isinf(found[0])
    assert flags == ((1, OVERFLOW),)


def row_kernel(dtype: np.dtype[Any], *, keepdims: bool = False) -> Any:
    """(x - max(x)) / sum(x - max(x)), the rows' maxima and the doubled sums."""
    loop = {
        name: _tiles.numpy_loop(getattr(np, name), (dtype,) * 3)
        for name in ("subtract", "divide", "maximum", "add")
    }
    return _tiles.Kernel(
        (dtype,),
        ((dtype, True), (dtype, False), (dtype, True), (dtype, False), (dtype, True)),
        (
            (loop["maximum"], (0,), (1,), "reduce", 0, None),
            (loop["subtract"], (0, 1), (2,), "map", 1),
            (loop["add"], (2,), (3,), "reduce", 2, bytes(dtype.itemsize)),
            (loop["divide"], (2, 3), (4,), "map", 3),
            (loop["add"], (3, 3), (5,), "map_row", 4),
        ),
        (
            (4, ("new", None)),
            (1, ("rows", keepdims)),
            (5, ("rows", keepdims)),
            (1, ("rows", keepdims)),
        ),
        rows=True,
    )


ROWS = [
    (1, 1),
    (1, 300),
    (300, 1),
    (1000, 3),
    (64, 7),
    (77, 16),
    (50, 63),
    (100, 64),
    (30, 1000),
    (3, 40_000),
    (5000, 10),
]


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("code", "fd")
def test_rows(shape: tuple[int, int], code: str) -> None:
    """Reductions along rows, and their use along rows, give NumPy's bits."""
    dtype = np.dtype(code)
    x = np.random.default_rng(2).normal(size=shape).astype(dtype)
    wide = np.random.default_rng(3).normal(size=(shape[0], 2 * shape[1] + 1)).astype(dtype)
    for array in (x, wide[:, : shape[1]], wide[:, 1::2], x[::-1, ::-1], x.T.copy().T):
        for keepdims in (False, True):
            (found, top, doubled, again), _ = row_kernel(dtype, keepdims=keepdims).run((array,))
            fresh = np.ascontiguousarray(array)
            highest = np.maximum.reduce(fresh, axis=-1, keepdims=True)
            below = fresh - highest
            sums = np.add.reduce(below, axis=-1, keepdims=True)
            assert_same(found, below / sums)
            assert_same(top, highest if keepdims else highest[..., 0])
            assert_same(again, top)
            assert_same(doubled, sums + sums if keepdims else (sums + sums)[..., 0])


@pytest.mark.parametrize("shape", ROWS)
def test_unlike_pairs_in_rows(shape: tuple[int, int]) -> None:
    """NaN and zeros of both signs are reduced along rows as NumPy does, or the kernel refuses."""
    x = unlike(F8, shape[0] * shape[1], 7).reshape(shape)
    for ufunc, initial in (
        (np.add, bytes(8)),
        (np.maximum, None),
        (np.fmin, None),
        (np.multiply, initial_of(1, F8)),
    ):
        loop = _tiles.numpy_loop(ufunc, (F8,) * 3)
        kernel = _tiles.Kernel(
            (F8,),
            ((F8, True), (F8, False), (F8, True)),
            (
                (loop, (0,), (1,), "reduce", 0, initial),
                (loop, (0, 1), (2,), "map", 1),
                (loop, (1, 1), (3,), "map_row", 2),
            ),
            ((2, ("new", None)), (1, ("rows", True)), (3, ("rows", True))),
            rows=True,
        )
        reduced = ufunc.reduce(x, axis=-1, keepdims=True)
        found = kernel.run((x,))
        if found is not NotImplemented:
            for one, other in zip(
                found[0], (ufunc(x, reduced), reduced, ufunc(reduced, reduced)), strict=True
            ):
                assert_same(one, other)
        alone = _tiles.Kernel(
            (F8,),
            ((F8, True),),
            ((loop, (0,), (1,), "reduce", 0, initial),),
            ((1, ("rows", True)),),
            rows=True,
        )
        assert_same(alone.run((x,))[0][0], reduced)


def test_rows_of_higher_rank_and_row_operands() -> None:
    """Operands of one element per row take part in map_row and in map."""
    add = _tiles.numpy_loop(np.add, (F8,) * 3)
    kernel = _tiles.Kernel(
        (F8, F8, F8),
        ((F8, True), (F8, True), (F8, False)),
        (
            (add, (0,), (3,), "reduce", 0, bytes(8)),
            (add, (3, 1), (4,), "map_row", 1),
            (add, (0, 2), (5,), "map", 2),
        ),
        ((5, ("new", None)), (4, ("rows", False))),
        rows=True,
    )
    x = np.random.default_rng(4).normal(size=(20, 30, 40))
    thin = np.random.default_rng(5).normal(size=(20, 30, 1))
    for row in (thin, thin[:1], thin[::-1, ::-1], thin[0], 2.0, np.float64(3)):
        (found, sums), _ = kernel.run((x, row, row))
        assert_same(found, x + row)
        expected = np.add.reduce(x, axis=-1, keepdims=True) + row
        assert_same(sums, expected[..., 0])
    assert kernel.run((x, x, 1.0)) is NotImplemented


def test_empty_rows() -> None:
    """Rows of no elements give initial values; no rows give nothing."""
    add = _tiles.numpy_loop(np.add, (F8,) * 3)
    kernel = _tiles.Kernel(
        (F8,),
        ((F8, True),),
        ((add, (0,), (1,), "reduce", 0, bytes(8)),),
        ((1, ("rows", False)),),
        rows=True,
    )
    for shape in ((3, 0), (0, 3), (0, 0), (2, 0, 4), (2, 3, 0), (70_000, 0)):
        x = np.empty(shape)
        assert_same(kernel.run((x,))[0][0], np.add.reduce(x, axis=-1))
    assert row_kernel(F8).run((np.empty((3, 0)),)) is NotImplemented
    assert kernel.run((np.array(1.0),)) is NotImplemented


# ---- Native segments ----

NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_ssize_t), ctypes.POINTER(ctypes.c_ssize_t), ctypes.c_void_p
)  # fmt: skip


def view_of(address: int, size: int, step: int, code: str = "d") -> Any:
    """The memory that a loop is given, as an array."""
    if size == 0:
        return np.empty(0, code)
    lowest = address + min(0, (size - 1) * step)
    raw = memoryview((ctypes.c_char * (abs(step) * (size - 1) + 8)).from_address(lowest))
    return np.ndarray((size,), code, raw, address - lowest, (step,))


def native(function: Any, inputs: int, outputs: int) -> Any:
    """The loop behind a C callback."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return _tiles.native_loop(address, function, inputs, outputs)


def native_chain(
    seen: list[int], *, verdict: Callable[[Any], int] = lambda _: 0, spoil: bool = False
) -> Any:
    """`chain_kernel` in one native segment, which is Python behind a C function."""

    @NATIVE  # type: ignore[untyped-decorator]
    def function(data: Any, count: Any, steps: Any, _: Any) -> int:
        size = count[0]
        seen.append(size)
        x, y, _two, out = (view_of(data[i], size, steps[i]) for i in range(4))
        with np.errstate(all="ignore"):
            out[:] = 7.0 if spoil else chain(x, y)
        return verdict(x)

    return ((native(function, 3, 1), (0, 1, 2), (7,), "map", -1),)


def test_native_segments_are_used() -> None:
    """Native segments replace the plain ones from `set_native` on, whatever the layout."""
    x, y = np.random.default_rng(0).normal(size=(2, 6000))
    seen: list[int] = []
    kernel = chain_kernel(native=native_chain(seen))
    assert kernel.native
    grid = x.reshape(60, 100)
    for a, b in ((x, y), (x[::2], y[::-2]), (grid[:, 1:-1], y[:98]), (grid, y[:60, None])):
        assert_same(kernel.run((a, b, 2.0))[0][0], chain(a, b))
    assert sum(seen) == 6000 + 3000 + 60 * 98 + 6000
    kernel.native = None
    kernel.run((x, y, 2.0))
    assert len(seen) > 0
    assert sum(seen) == 6000 + 3000 + 60 * 98 + 6000
    assert kernel.flagged == 0


def test_native_tiles_are_run_again() -> None:
    """A tile of which a native loop says 1 is computed by the plain segments."""
    x, y = np.random.default_rng(0).normal(size=(2, 100_000))
    kernel = chain_kernel(native=native_chain([], verdict=lambda a: int(a[0] == x[0]), spoil=True))
    (found,), flags = kernel.run((x, y, 2.0))
    expected = chain(x, y)
    same = found == expected
    assert same[:1024].all()
    assert (found[~same] == 7.0).all()
    assert not same.all()
    assert kernel.flagged == 1
    assert flags is None


def test_on_hot() -> None:
    """The kernel calls once, when its elements reach the limit, before it runs."""
    calls: list[int] = []
    seen: list[int] = []

    def on_hot(kernel: Any) -> None:
        calls.append(kernel.elements)
        kernel.set_native(native_chain(seen))

    kernel = chain_kernel(on_hot=on_hot, hot=2500)
    x = np.arange(1.0, 1001.0)
    for _ in range(4):
        kernel.run((x, x, 2.0))
    assert calls == [3000]
    assert seen == [1000, 1000]
    assert (kernel.runs, kernel.elements) == (4, 4000)


def test_exceptions_in_on_hot_are_unraisable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on where promotion fails."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: seen.append(info.exc_type))
    kernel = chain_kernel(on_hot=lambda _: 1 / 0, hot=1)
    assert_same(kernel.run((np.ones(3), np.ones(3), 2.0))[0][0], chain(np.ones(3), np.ones(3)))
    assert seen == [ZeroDivisionError]


def test_native_totals() -> None:
    """A native map may feed NumPy's own fold."""

    @NATIVE  # type: ignore[untyped-decorator]
    def square(data: Any, count: Any, steps: Any, _: Any) -> int:
        x, out = (view_of(data[i], count[0], steps[i]) for i in range(2))
        out[:] = x * x
        return 0

    loop = native(square, 1, 1)
    kernel = square_sum_kernel(F8)
    add = _tiles.numpy_loop(np.add, (F8,) * 3)
    kernel.set_native(((loop, (0,), (1,), "map", -1), (add, (1,), (2,), "total", 1, bytes(8))))
    for size in (0, 1, 1000, 100_003):
        x = np.random.default_rng(size).normal(size=size)
        assert_same(kernel.run((x,))[0][0], np.add.reduce(x * x))
    x = np.random.default_rng(0).normal(size=100_003)
    x[17] = np.nan
    x[50_000] = -np.nan
    assert_same(kernel.run((x,))[0][0], np.add.reduce(x * x))


# ---- Memory ----


def big(size: int = 50_000) -> Any:
    """A fresh array from the pool."""
    return map_kernel(np.add, (F8, F8, F8)).run((np.arange(float(size)), 1.0))[0][0]


def test_large_results_come_from_the_pool() -> None:
    """Memory of a dead array is used again; the array looks like any other."""
    big()
    before = _tiles.pool_state()
    array = big()
    after = _tiles.pool_state()
    assert after["reused"] == before["reused"] + 1
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.base is None
    assert array.ctypes.data % 64 == 0
    died = weakref.ref(array)
    del array
    assert died() is None
    assert _tiles.pool_state()["kept"] >= before["kept"]


def test_arrays_of_the_pool_can_do_everything() -> None:
    """Resize, pickle, save, copy and views work on pooled memory."""
    array = big()
    expected = np.arange(50_000.0) + 1
    assert_same(pickle.loads(pickle.dumps(array)), expected)
    file = io.BytesIO()
    np.save(file, array)
    file.seek(0)
    assert_same(np.load(file), expected)
    array.resize(200_000, refcheck=False)
    assert_same(array[:50_000], expected)
    assert (array[50_000:] == 0).all()
    array.resize(10, refcheck=False)
    assert_same(array, expected[:10])
    array.resize(30_000, refcheck=False)
    assert_same(array[:10], expected[:10])
    view = big()[::2]
    gc.collect()
    assert_same(view, expected[::2])


def test_the_pool_keeps_to_its_limit() -> None:
    """What is kept never exceeds the limit; a limit of 0 keeps nothing."""
    limit = _tiles.pool_state()["limit"]
    try:
        _tiles.set_pool_limit(1 << 20)
        for size in (20_000, 40_000, 60_000, 80_000, 1_000_000):
            del size
            arrays = [big(20_000 * i) for i in range(1, 6)]
            arrays.append(big(1_000_000))
            del arrays
            assert _tiles.pool_state()["kept"] <= 1 << 20
        _tiles.set_pool_limit(0)
        assert _tiles.pool_state()["kept"] == 0
        assert_same(big(), np.arange(50_000.0) + 1)
        assert _tiles.pool_state()["kept"] == 0
    finally:
        _tiles.set_pool_limit(limit)


# ---- Programs ----


def add_program(**keywords: Any) -> Any:
    """A program of one kernel: x + 1."""
    step = ("kernel", map_kernel(np.add, (F8, F8, F8)), (0, 1), (2,), (1,), False)
    return _tiles.Program(1, 3, ((1, 1.0),), (step,), (2,), **keywords)


def test_a_program_runs() -> None:
    """Inputs, constants and outputs go through slots."""
    x = np.arange(5.0)
    assert_same(add_program()(x), x + 1)
    assert add_program()("no array") is NotImplemented
    with pytest.raises(TypeError, match="1 inputs"):
        add_program()(x, x)


def test_every_kind_of_step() -> None:
    """Calls, items, operators and tuples do what Python does."""
    steps = (
        ("call", np.add, (0, 1, 2), ("out",), None, (), False),
        ("call", divmod, (0, 1), (), 3, (), False),
        ("unpack", 3, (4, None), (3,), False),
        ("getitem", 0, 5, 6, (), False),
        ("binary", "-", 6, 6, 7, (), False),
        ("binary", "iadd", 4, 1, 8, (4,), False),
        ("unary", "neg", 7, 7, (), False),
        ("tuple", (7, 8, 2), 9, (), False),
    )
    program = _tiles.Program(3, 10, ((5, slice(1, 3)),), steps, (9, 0), None)
    x, y, out = np.arange(4.0), np.full(4, 2.0), np.zeros(4)
    (first, second, third), same = program(x, y, out)
    assert same is x
    assert third is out
    assert_same(out, x + y)
    assert_same(first, -(x[1:3] - x[1:3]))
    assert_same(second, divmod(x, y)[0] + y)


def test_committed_and_uncommitted_errors() -> None:
    """An error is plain Python's to raise, until something was written; interrupts always propagate."""

    def fail(error: type[BaseException]) -> None:
        raise error

    for error, committed, raised in (
        (ValueError, False, None),
        (ValueError, True, ValueError),
        (KeyboardInterrupt, False, KeyboardInterrupt),
        (MemoryError, False, MemoryError),
        (SystemExit, False, SystemExit),
    ):
        program = _tiles.Program(1, 2, (), (("call", fail, (0,), (), 1, (), committed),), (1,))
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("default")
            if raised is None:
                assert program(error) is NotImplemented
            else:
                with pytest.raises(raised):
                    program(error)


def divide_program(report: Any, *, committed: bool = False) -> Any:
    """A program of one kernel: x / 0.0."""
    step = ("kernel", map_kernel(np.divide, (F8, F8, F8)), (0, 1), (2,), (), committed)
    return _tiles.Program(1, 3, ((1, 0.0),), (step,), (2,), report)


def test_flags_in_programs() -> None:
    """Ignored flags pass; others end the program, or are told where a write was seen."""
    told: list[Any] = []

    def report(step: int, flags: Any) -> bool:
        told.append((step, flags))
        return False

    x = np.ones(3)
    assert_same(divide_program(report)(x), x / 0.0)
    assert not told
    with np.errstate(divide="warn"):
        assert divide_program(None)(x) is NotImplemented
        assert divide_program(report)(x) is NotImplemented
        assert divide_program(lambda *_: True)(x) is not NotImplemented
        assert told == [(0, ((0, DIVIDE),))]
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            assert_same(divide_program(report, committed=True)(x), np.full(3, np.inf))
        assert len(told) == 2
    assert divide_program(lambda *_: 1 / 0)(x) is not NotImplemented


def test_committed_programs_do_not_start_where_a_warning_raises() -> None:
    """Error states that call or raise, filters that raise, and replaced showwarning: plain Python runs."""
    program = divide_program(None, committed=True)
    x = np.ones(3)
    for mode in ("raise", "call", "print", "log"):
        with np.errstate(over=mode):
            assert program(x) is NotImplemented
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(x) is not NotImplemented
        warnings.filterwarnings("error", category=DeprecationWarning)
        assert program(x) is not NotImplemented
        warnings.filterwarnings("error", category=Warning)
        assert program(x) is NotImplemented
        warnings.simplefilter("ignore")
        warnings.resetwarnings()
        assert program(x) is not NotImplemented
        warnings.showwarning = lambda *_, **__: None
        assert program(x) is NotImplemented
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert program(x) is not NotImplemented


def test_a_first_write_may_be_refused() -> None:
    """A kernel that refuses before anything was written leaves the call to plain Python."""
    kernel = into_kernel()
    before = ("call", abs, (0,), (), 3, (), True)
    step = ("kernel", kernel, (0, 1), (None, 2), (), True)
    x = np.ones(4)
    x.flags.writeable = False
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _tiles.Program(2, 4, (), (step,), (2,))(x, x) is NotImplemented
        with pytest.raises(RuntimeError, match="refuses after a write"):
            _tiles.Program(2, 4, (), (before, step), (2,))(x, x)


def test_clear_releases_early() -> None:
    """A cleared slot's array dies before the program ends."""
    alive: list[bool] = []
    made: list[Any] = []

    class Thing:
        pass

    def make(_: Any) -> Any:
        thing = Thing()
        made.append(weakref.ref(thing))
        return thing

    def look(_: Any) -> None:
        alive.append(made[-1]() is not None)

    for clear in ((), (1,)):
        steps = (("call", make, (0,), (), 1, clear, False), ("call", look, (0,), (), 2, (), False))
        _tiles.Program(1, 3, (), steps, (2,))(0)
    assert alive == [True, False]


def test_programs_are_collected() -> None:
    """A program in a cycle is garbage like any other."""

    class Holder:
        program: Any = None

        def report(self, *_: Any) -> bool:
            return True

    holder = Holder()
    holder.program = add_program(report=holder.report)
    died = weakref.ref(holder)
    del holder
    gc.collect()
    assert died() is None


def test_reentrance() -> None:
    """A step may call its own program."""
    box: list[Any] = []
    depth: list[int] = []

    def again(x: Any) -> Any:
        depth.append(1)
        return box[0](x) if len(depth) < 5 else x

    steps = (
        ("call", again, (0,), (), 2, (), False),
        ("kernel", map_kernel(np.add, (F8,) * 3), (2, 1), (3,), (2,), False),
    )
    box.append(_tiles.Program(1, 4, ((1, 1.0),), steps, (3,)))
    assert_same(box[0](np.zeros(3)), np.full(3, 5.0))


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


# ---- Leaks ----


@pytest.mark.leaks
def test_no_leaks() -> None:
    """Two hundred thousand calls leave neither references nor memory."""
    program, rows, total = add_program(), row_kernel(F8), square_sum_kernel(F8)
    x, grid, large = np.arange(10.0), np.ones((5, 20)), np.ones(20_000)
    none, one = sys.getrefcount(None), sys.getrefcount(1.0)

    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1])

    def calls(count: int) -> None:
        for _ in range(count):
            program(x)
            program("refused")
            rows.run((grid,))
            total.run((x,))
        for _ in range(count // 100):
            program(large)

    calls(1000)
    before, references = resident(), sys.getrefcount(x)
    calls(50_000)
    assert resident() - before < 200
    assert sys.getrefcount(x) == references
    assert abs(sys.getrefcount(None) - none) < 1000
    assert abs(sys.getrefcount(1.0) - one) < 1000
