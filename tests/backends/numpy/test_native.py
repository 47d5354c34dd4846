"""Machine code against NumPy: every operation, every dtype, special values, contiguous and strided memory."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ufuse.backends.numpy.llvm import functions
from ufuse.backends.numpy.llvm.compiler import assembly, compiled
from ufuse.backends.numpy.llvm.functions import Native, Operation, function_text
from ufuse.backends.numpy.llvm.instructions import NATIVE_DTYPES, RULES, why_not_native
from ufuse.backends.planning.loops import Loop, cast_loop, copy_loop

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
DTYPES = [np.dtype(char) for char in dict.fromkeys(np.dtype(c).char for c in "?bBhHiIlLfd")]
BOOL = np.dtype(bool)


def call(
    native: Native, arrays: list[np.ndarray], strided: bool = False
) -> tuple[list[np.ndarray], int]:
    """The outputs of a segment for one-dimensional inputs (or one element), and what it returns."""
    length = max(array.size for array in arrays)
    gap = 3 if strided else 1
    laid = []
    for array in arrays:
        if array.size == 1 and length > 1:
            laid.append(array)
        else:
            wide = np.zeros(array.size * gap, array.dtype)
            wide[::gap] = array
            laid.append(wide[::gap])
    results = [np.zeros(length * gap, native.dtype(value))[::gap] for value in native.outputs]
    everything = [*laid, *results]
    steps = [0 if array.size == 1 and length > 1 else array.strides[0] for array in everything]
    data = (ctypes.c_void_p * len(everything))(*[array.ctypes.data for array in everything])
    (function,) = compiled([native])
    status = FUNCTION(function)(
        data, (ctypes.c_int64 * 1)(length), (ctypes.c_int64 * len(steps))(*steps), None
    )
    return results, status


def nans(dtype: np.dtype) -> np.ndarray:
    """Quiet and signalling ones, of both signs, with several payloads."""
    whole = np.dtype(f"u{dtype.itemsize}")
    infinity = np.array(np.inf, dtype).view(whole)
    quiet = np.array(np.nan, dtype).view(whole) & ~infinity
    sign = whole.type(1 << 8 * dtype.itemsize - 1)
    bits = [infinity | quiet | 5, infinity | quiet | 77, infinity | 3, infinity | 1234]
    return np.array([*bits, *(one | sign for one in bits)], whole).view(dtype)


def values(dtype: np.dtype, count: int, seed: int) -> np.ndarray:
    """Random and special values, in random order."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        special = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, limits.max // 2]
        random = rng.integers(limits.min, limits.max, count, dtype=dtype, endpoint=True)
    else:
        limits = np.finfo(dtype)
        special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, limits.max, limits.min,
                   *nans(dtype), limits.tiny, limits.smallest_subnormal, -limits.smallest_subnormal, 0.5, 1.5, 2.5, -2.5, 1e15]  # fmt: skip
        random = (rng.normal(size=count) * 10.0 ** rng.integers(-20, 20, count)).astype(dtype)
    places = rng.random(count) < 0.4
    random[places] = rng.choice(np.array(special, dtype), places.sum())
    return random


def without_special(array: np.ndarray) -> np.ndarray:
    """No NaN and no infinity, so that the segment must vouch for its result."""
    return (
        np.where(np.isfinite(array), array, np.ones((), array.dtype))
        if array.dtype.kind == "f"
        else array
    )


def loops() -> Iterator[Loop]:
    """Every loop that has a native form."""
    for name in RULES:
        if name == "cast":
            yield from (cast_loop(a, b) for a, b in product(DTYPES, DTYPES))
        elif name == "where":
            yield from (Loop("where", "where", (BOOL, dtype, dtype, dtype)) for dtype in DTYPES)
        else:
            ufunc = getattr(np, name)
            for types in ufunc.types:
                characters = types.replace("->", "")
                if all(char in NATIVE_DTYPES for char in characters):
                    yield Loop("ufunc", name, tuple(np.dtype(char) for char in characters), ufunc)


def eager(loop: Loop, arrays: list[np.ndarray]) -> np.ndarray:
    """What NumPy gives."""
    with np.errstate(all="ignore"):
        if loop.kind == "cast":
            return arrays[0].astype(loop.dtypes[1])
        if loop.kind == "where":
            return np.where(*arrays)
        assert loop.ufunc is not None
        return np.asarray(loop.ufunc(*arrays, signature=loop.dtypes))


def check(loop: Loop, arrays: list[np.ndarray], strided: bool) -> int:
    """Compare with NumPy where the segment vouches for its bits; return what it returned."""
    inputs = tuple((array.dtype, array.size == 1) for array in arrays)
    count = len(arrays)
    native = Native(inputs, (Operation(loop, tuple(range(count)), count),), (count,))
    (result,), status = call(native, arrays, strided)
    expected = eager(loop, arrays)
    assert result.dtype == expected.dtype
    if status == 0:
        assert result.tobytes() == expected.tobytes(), (str(loop), result, expected)
    return status


@pytest.mark.parametrize(
    "loop", [loop for loop in loops() if why_not_native(loop) is None], ids=str
)
def test_every_operation_has_numpys_bits(loop: Loop) -> None:
    """Native operations agree with NumPy's loops, or say that they do not vouch for the tile."""
    for strided, count in ((False, 133), (True, 37), (False, 5)):
        arrays = [values(dtype, count, seed) for seed, dtype in enumerate(loop.dtypes[:-1])]
        check(loop, arrays, strided)
        for one in range(count):  # one by one, so that one NaN does not excuse the rest
            if not strided and count == 133:
                check(loop, [array[one : one + 1] for array in arrays], strided)
    arrays = [np.abs(without_special(values(dtype, 133, 9 + seed))) if dtype.kind == "f"
              else values(dtype, 133, seed) for seed, dtype in enumerate(loop.dtypes[:-1])]  # fmt: skip
    check(loop, arrays, strided=False)
    check(loop, [arrays[0], *[array[:1] for array in arrays[1:]]], strided=False)


def test_a_nan_sends_the_tile_back() -> None:
    """An output that is a NaN makes the function return 1, in the vector part and in the rest."""
    d = np.dtype("d")
    add = Loop("ufunc", "add", (d, d, d), np.add)
    native = Native(((d, False), (d, False)), (Operation(add, (0, 1), 2),), (2,))
    for place in (0, 63, 64, 130):
        one = np.ones(131)
        assert call(native, [one, one])[1] == 0
        bad = one.copy()
        bad[place] = np.nan
        assert call(native, [bad, one])[1] == 1


def test_both_sides_of_a_choice_raise_their_flags() -> None:
    """The division that a choice does not take is still done: eager would warn of it."""
    d = np.dtype("d")
    divide = Loop("ufunc", "divide", (d, d, d), np.divide)
    where = Loop("where", "where", (BOOL, d, d, d))
    native = Native(
        ((BOOL, False), (d, False), (d, False), (d, False)),
        (
            Operation(divide, (1, 2), 4),
            Operation(divide, (1, 3), 5),
            Operation(where, (0, 4, 5), 6),
        ),
        (6,),
    )
    text = assembly(native)
    loop = text.split("kortest", 1)[0].split("vcmpunord", 1)[0] if "zmm" in text else text
    assert loop.count("vdiv") >= 4 if "zmm" in text else text.count("div") >= 2


def test_a_nan_is_negated() -> None:
    """The code generator would make `x * x` of `-x * -x`: the same number, but not the same NaN."""
    d = np.dtype("d")
    negative = Loop("ufunc", "negative", (d, d), np.negative)
    square = Loop("ufunc", "square", (d, d), np.square)
    native = Native(((d, False),), (Operation(negative, (0,), 1), Operation(square, (1,), 2)), (2,))
    (found,), _ = call(native, [np.full(131, -np.nan)], strided=True)
    assert not np.signbit(found).any()


def test_values_are_no_part_of_the_text() -> None:
    """Two segments that differ in nothing but run-time numbers have one text, and are compiled once."""
    d = np.dtype("d")
    native = Native(((d, False), (d, True)), (Operation(copy_loop(d), (0,), 2), Operation(
        Loop("ufunc", "add", (d, d, d), np.add), (2, 1), 3)), (3,))  # fmt: skip
    assert function_text(native, "f") == function_text(native, "f")
    assert compiled([native])[0] is compiled([native])[0]
    assert (
        call(native, [np.arange(100.0), np.array([2.5])])[0][0].tobytes()
        == (np.arange(100.0) + 2.5).tobytes()
    )


CHAINED = (
    "reciprocal",
    *functions.OF_ONE,
    *functions.OF_TWO,
    *functions.EXTREMES,
    "where",
    "positive",
    "greater",
)


def drawn_chain(rng: random.Random, dtype: np.dtype) -> Native:
    """Some operations, each on values that there are before it."""
    inputs = tuple((dtype, rng.random() < 0.4) for _ in range(rng.randint(1, 4)))
    truths, reals = list[int](), list(range(len(inputs)))
    operations = []
    for output in range(len(inputs), len(inputs) + rng.randint(1, 6)):
        name = rng.choice(CHAINED)
        if name == "where" and not truths:
            name = "greater"
        if name == "where":
            loop = Loop("where", "where", (BOOL, dtype, dtype, dtype))
            taken = (rng.choice(truths), rng.choice(reals), rng.choice(reals))
        else:
            ufunc = getattr(np, name)
            result = BOOL if name == "greater" else dtype
            loop = Loop("ufunc", name, (*[dtype] * ufunc.nin, result), ufunc)
            taken = tuple(rng.choice(reals) for _ in range(ufunc.nin))
        (truths if name == "greater" else reals).append(output)
        operations.append(Operation(loop, taken, output))
    outputs = tuple(sorted({operations[-1].output, rng.choice(operations).output}))
    return Native(inputs, tuple(operations), outputs)


@pytest.mark.parametrize("seed", range(150))
def test_chains_over_nans(seed: int) -> None:
    """A NaN that comes from one operand is vouched for; where two meet NumPy's own loops decide."""
    rng = random.Random(seed)  # noqa: S311
    dtype = np.dtype(rng.choice(["f4", "f8"]))
    native = drawn_chain(rng, dtype)
    for number, length in enumerate((1, 5, 16, 67)):
        arrays = [
            values(dtype, 1 if single else length, 10 * seed + number + 100 * place)
            for place, (_, single) in enumerate(native.inputs)
        ]
        if all(single for _, single in native.inputs):
            return
        results, status = call(native, arrays, strided=number == 2)
        held = dict(enumerate(arrays))
        for operation in native.operations:
            given = [held[place] for place in operation.inputs]
            held[operation.output] = eager(operation.loop, given)
        wanted = [np.broadcast_to(held[value], length) for value in native.outputs]
        if status == 0:
            for got, expected in zip(results, wanted, strict=True):
                assert got.tobytes() == expected.tobytes()


PAIRED = sorted({*CHAINED} - {"where", "greater"})


@pytest.mark.parametrize("first", PAIRED)
def test_pairs_over_nans(first: str) -> None:
    """Each operation on what another one gives, in every order of operands: the code generator may make one of both."""
    for second, char, places in product(PAIRED, "fd", ((1, 0), (0, 1), (2, 1), (1, 2), (0, 0))):
        real = np.dtype(char)
        operations = []
        for output, name, other in ((3, first, places[0]), (4, second, places[1])):
            ufunc = getattr(np, name)
            loop = Loop("ufunc", name, (real,) * (ufunc.nin + 1), ufunc)
            taken = (2 if output == 3 else 3, other)
            if other == 0:
                taken = taken[::-1]
            operations.append(Operation(loop, taken if ufunc.nin == 2 else (max(taken),), output))
        native = Native(((real, False), (real, True), (real, False)), tuple(operations), (4,))
        arrays = [values(real, 35, 1), np.array([-2.5], real), values(real, 35, 2)]
        (result,), status = call(native, arrays)
        held = dict(enumerate(arrays))
        for one in operations:
            held[one.output] = eager(one.loop, [held[place] for place in one.inputs])
        if status == 0:
            assert result.tobytes() == held[4].tobytes(), (first, second, char, places)


def test_nans_that_are_vouched_for() -> None:
    """Those that come from memory, through one operand of each operation; not a number of the program's."""
    real = np.dtype("f8")
    binary = {
        name: Loop("ufunc", name, (real,) * 3, getattr(np, name)) for name in functions.OF_TWO
    }
    native = Native(
        ((real, False), (real, True), (real, False)),
        (
            Operation(binary["multiply"], (0, 1), 3),
            Operation(binary["add"], (3, 3), 4),
            Operation(Loop("ufunc", "sqrt", (real, real), np.sqrt), (4,), 5),
        ),
        (5,),
    )
    x = np.array([np.nan, -np.nan, 1.0, -4.0] * 9)
    two, nan = np.array([2.0]), np.array([np.nan])
    (result,), status = call(native, [x, two, x])
    assert status == 0
    with np.errstate(all="ignore"):
        doubled = x * 2.0
        assert result.tobytes() == np.sqrt(doubled + doubled).tobytes()
    assert call(native, [x, nan, x])[1] == 1
    unlike = Native(((real, False), (real, False)), (Operation(binary["add"], (0, 1), 2),), (2,))
    assert call(unlike, [x, x])[1] == 1
