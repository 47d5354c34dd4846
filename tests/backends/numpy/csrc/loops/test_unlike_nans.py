"""NaN of both signs in arrays that are written over: which of two NumPy keeps depends on the loop that it takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse


def assigned(x: Any, y: Any, r: Any) -> None:
    """The operation has new memory, whatever it is assigned to."""
    x[...] = np.square(x) + r


def assigned_both(x: Any, y: Any, r: Any) -> None:
    """The same with two arrays."""
    x[...] = x * 1.5 + y


def in_place(x: Any, y: Any, r: Any) -> None:
    """The operation writes where it reads."""
    x += r
    x *= y


def given_out(x: Any, y: Any, r: Any) -> None:
    """The operation writes to another array."""
    np.add(y, r, out=x)


def kept_as_well(x: Any, y: Any, r: Any) -> Any:
    """What is written leaves the kernel, and something made of it."""
    t = x + y
    x[...] = t + r
    return t, x * r


def written_twice(x: Any, y: Any, r: Any) -> Any:
    """The second write replaces the first."""
    x += y
    np.maximum(x, r, out=x)
    x[...] = x + y
    return x + 1.0


def both(x: Any, y: Any, r: Any) -> Any:
    """Two arrays are written."""
    x[...] = y + r
    y *= x
    return np.minimum(x, y)


def after_a_write(x: Any, y: Any, r: Any) -> Any:
    """New arrays, made when plain Python can no longer do it all."""
    x[...] = 1.0
    return y + r, np.multiply(y, r)


def standardised(x: Any, y: Any, r: Any) -> None:
    """By rows."""
    x[...] = x - y.max(axis=-1, keepdims=True) + r


def copied(x: Any, y: Any, r: Any) -> Any:
    """What is copied goes on to be what it was."""
    t = x + y
    np.copyto(x, t)
    x *= r
    return t, t + x


def and_totals(x: Any, y: Any, r: Any) -> Any:
    """Sums of what is written and of what is not."""
    t = x * y
    x[...] = t + r
    return t.sum(), x.max(), (x * 2.0).sum()


def sum_of_what_is_written(x: Any, y: Any, r: Any) -> Any:
    """One sum, of an array that is changed in place."""
    x += y
    return x.sum()


PROGRAMS = [
    assigned, assigned_both, in_place, given_out, kept_as_well, written_twice, both, after_a_write, standardised,
    copied, and_totals, sum_of_what_is_written,
]  # fmt: skip
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "turned": lambda x: x.T.copy().T,
    "inner": lambda x: np.pad(x, 1)[tuple(slice(1, -1) for _ in x.shape)],
    "rows reversed": lambda x: x[::-1].copy()[::-1],
}
SHAPES = (
    ((1,),) * 6 + ((1, 1),) * 6 + ((7,), (33,), (3000,), (40_000,), (5, 7), (40, 130), (300, 257))
)


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Numbers with some NaN of either sign, and infinities."""
    rng = np.random.default_rng(seed)
    made = rng.normal(size=shape)
    special = rng.random(shape) < (0.2 if made.size > 1 else 0.8)
    made[special] = rng.choice([np.nan, -np.nan, np.inf, -np.inf], special.sum())
    made[special] = np.copysign(made[special], rng.normal(size=special.sum()))
    return made.astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_written_over(program: Any, layout: str) -> None:
    """Every bit is eager's, in small arrays and in those that are worked on part by part."""
    place = LAYOUTS[layout]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.resetwarnings()  # where warnings are errors, plain Python does what is written
        for dtype in ("f8", "f4"):
            compiled = ufuse.compile(program)
            for seed, shape in enumerate(SHAPES):
                for r in (np.nan, float(np.copysign(np.nan, -1.0)), 2.5):
                    one, two = [
                        [
                            place(numbers(shape, dtype, seed)),
                            place(numbers(shape, dtype, seed + 99)),
                        ]
                        for _ in range(2)
                    ]
                    wanted, found = program(*one, r), compiled(*two, r)
                    if wanted is None:
                        assert found is None
                    elif isinstance(wanted, tuple):
                        one, two = [*one, *wanted], [*two, *found]
                    else:
                        one, two = [*one, wanted], [*two, found]
                    for number, (a, b) in enumerate(zip(one, two, strict=True)):
                        assert a.tobytes() == b.tobytes(), (dtype, shape, r, number)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_totals(dtype: str) -> None:
    """A sum that is made in parts keeps the NaN that the sum of the whole keeps."""

    def total(x: Any) -> Any:
        return np.negative(x).sum()

    compiled = ufuse.compile(total)
    rng = np.random.default_rng(5)
    for size in (300, 3000, 20_000, 70_000):
        for _ in range(30):
            x = rng.normal(size=size).astype(dtype)
            places = rng.integers(0, size, 8)
            x[places] = rng.choice([np.nan, -np.nan], 8)
            assert total(x).tobytes() == compiled(x).tobytes(), size


@pytest.mark.parametrize("length", [1, 6, 5000])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_looking_for_pairs_warns_of_nothing(dtype: str, length: int) -> None:
    """No flag is raised by who looks whether numbers are NaN."""

    def program(x: Any, y: Any) -> Any:
        x[::2] = np.minimum(y, 1.0) + 1.0
        t = np.negative(y)
        return np.maximum(t, y) * 2.0, t.sum()

    compiled = ufuse.compile(program)
    y = np.full(length, np.nan, dtype)
    y[::2] *= -1.0
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            compiled(np.zeros(2 * length, dtype), y)
    assert not told


@pytest.mark.parametrize("length", [3, 100, 4096, 4099, 4104, 4112, 8195, 12289])
def test_a_last_tile_of_few_elements(length: int) -> None:
    """By themselves NumPy's loops would not take them as vectors, and another one of two NaNs would live on."""

    def program(x: Any, s: Any) -> Any:
        return -x + s, -x * -s, s - -x, -(x * s)

    compiled = ufuse.compile(program)
    one, other = np.array([0xFFF8000000000AAA, 0x7FF8000000000BBB], np.uint64).view(float)
    x = np.full(length, one)
    for _ in range(3):
        for got, wanted in zip(compiled(x, float(other)), program(x, float(other)), strict=True):
            assert got.tobytes() == wanted.tobytes()


def sum_with_temporary(x: Any, y: Any) -> Any:
    """NumPy writes the sum over the root, as if that came first."""
    return y + np.sqrt(x)


def product_with_temporary(x: Any, y: Any) -> Any:
    """The same of a product, whose result is read again."""
    return y * np.sqrt(x) - x


def sum_with_local(x: Any, y: Any) -> Any:
    """What a local has is not written over."""
    root = np.sqrt(x)
    return y + root


@pytest.mark.parametrize("function", [sum_with_temporary, product_with_temporary, sum_with_local])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("count", [1000, 32768, 70000])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_large_temporaries_come_first(function: Callable[..., Any], dtype: str, count: int) -> None:
    """Where NumPy writes the result over the right operand, that one's NaN lives on."""
    x, y = np.full(count, -1, dtype), np.full(count, np.nan, dtype)
    wanted, compiled = function(x, y), ufuse.compile(function)
    for _ in range(3):
        assert compiled(x, y).tobytes() == wanted.tobytes()
