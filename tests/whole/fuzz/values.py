"""Arguments of random programs, as expressions that can be read and pasted."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

AnyArray = np.ndarray[Any, Any]

DTYPES = "f8 f8 f8 f8 f4 f4 i8 i8 i4 i1 i2 u1 u2 u4 u8 ? c16 c8 f2".split()
LAYOUTS = "C C C C F T strided reversed view broadcast readonly".split()
SPECIALS = (
    float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 5e-324, 1e-310, 1.7e308, -1.7e308, 1.0, 1e-40, 3e38, 65504.0,
)  # fmt: skip
NEGATIVE_NAN = np.frombuffer(bytes.fromhex("000000000000f8ff"), "f8")[0]
NUMBERS = (
    "0 1 2 3 -1 7 -2 0.0 -0.0 1.0 2.5 0.5 -1.5 1e300 True 2 3 "
    "np.float64(1.5) np.float32(0.1) np.int64(3) np.int8(5) np.float16(2.5) np.uint8(200) np.bool_(True) 1j "
    "float('inf') float('nan') np.array(2.5) np.array(3) 200 -129 1e40 np.complex128(1+2j)"
).split()


def dense(dtype: str, shape: tuple[int, ...], seed: int, special: int = 0) -> AnyArray:
    """A C-ordered array of mild numbers; `special` of ten are extreme ones."""
    return _drawn(dtype, math.prod(shape), seed, special).copy().reshape(shape)


@lru_cache(maxsize=1000)
def _drawn(dtype: str, size: int, seed: int, special: int) -> AnyArray:
    """The numbers of such an array, which are asked for many times."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if kind.kind in "iu":
        low = 0 if kind.kind == "u" else -9
        values = rng.integers(low, 10, size).astype(kind)
        limits = np.iinfo(kind)
        extreme = np.array([limits.min, limits.max, 0, limits.max - 1], kind)
        picked = extreme[rng.integers(0, len(extreme), size)]
    else:
        values = np.round(rng.standard_normal(size), 2)
        if kind.kind == "c":
            values = values + 1j * np.round(rng.standard_normal(size), 2)
        with np.errstate(all="ignore"):
            values = values.astype(kind)
            extreme = np.array([*SPECIALS, NEGATIVE_NAN]).astype(kind)
        picked = extreme[rng.integers(0, len(extreme), size)]
        if kind.kind == "c":
            picked.imag = extreme.real[rng.integers(0, len(extreme), size)]
    chosen = rng.integers(0, 10, size) < special
    values[chosen] = picked[chosen]
    return values


def array(
    dtype: str, shape: tuple[int, ...], layout: str = "C", seed: int = 0, special: int = 0
) -> AnyArray:
    """An array of this layout; what it is a view of has no gaps."""
    if layout == "F":
        return np.asfortranarray(dense(dtype, shape, seed, special))
    if layout == "T":
        return dense(dtype, shape[::-1], seed, special).T
    if layout == "strided" and shape:
        return dense(dtype, (*shape[:-1], shape[-1] * 2 + 1), seed, special)[..., 1::2]
    if layout == "reversed" and shape:
        return dense(dtype, shape, seed, special)[::-1]
    if layout == "view" and shape:
        return dense(dtype, (shape[0] + 2, *shape[1:]), seed, special)[1:-1]
    if layout == "broadcast" and shape:
        return np.broadcast_to(dense(dtype, shape[1:], seed, special), shape)
    result = dense(dtype, shape, seed, special)
    if layout == "readonly":
        result.flags.writeable = False
    return result


@dataclass(frozen=True, slots=True)
class Given:
    """One argument: an expression; `array` and the arguments before it are names in it."""

    name: str
    text: str


def made(given: Sequence[Given]) -> tuple[Any, ...]:
    """The arguments, made anew."""
    known: dict[str, Any] = {"np": np, "array": array}
    for argument in given:
        known[argument.name] = eval(argument.text, known)  # noqa: S307  our own text
    return tuple(known[argument.name] for argument in given)


def random_shape(rng: random.Random, dims: Sequence[int]) -> tuple[int, ...]:
    """A shape that mostly broadcasts with the others of these dimensions."""
    ndim = rng.choices((0, 1, 2, 3), (1, 5, 4, 1))[0]
    shape = list(dims[len(dims) - ndim :])
    for axis in range(ndim):
        if rng.random() < 0.12:
            shape[axis] = 1
        if rng.random() < 0.03:
            shape[axis] = 0
    return tuple(shape)


def _array_text(rng: random.Random, dtype: str, shape: tuple[int, ...], special: int) -> str:
    layout = rng.choice(LAYOUTS)
    return f"array({dtype!r}, {shape}, {layout!r}, {rng.randrange(100)}, {special})"


def random_arguments(rng: random.Random) -> tuple[Given, ...]:
    """Two to four arguments: arrays, views of one another, numbers."""
    dims = tuple(rng.choice((1, 2, 3, 4, 5, 5, 7, 8)) for _ in range(3))
    if rng.random() < 0.04:
        dims = (2, 3, rng.choice((70, 300, 1100)))
    home = rng.choice(DTYPES)
    special = rng.choice((0, 0, 0, 0, 1, 4))
    given: list[Given] = []
    for name in "abcd"[: rng.choice((2, 2, 3, 3, 4))]:
        chance = rng.random()
        if given and chance < 0.06:
            text = rng.choice(given).name
        elif given and chance < 0.16 and "array" in given[-1].text:
            text = (
                f"{given[-1].name}{rng.choice(('[::-1]', '[1:]', '.T', '[:-1]', '[...]', '[:1]'))}"
            )
            try:
                made([*given, Given(name, text)])
            except (AttributeError, IndexError, TypeError, ValueError):
                text = given[-1].name
        elif given and chance < 0.26:
            text = rng.choice(NUMBERS)
        else:
            dtype = home if rng.random() < 0.6 else rng.choice(DTYPES)
            text = _array_text(rng, dtype, random_shape(rng, dims), special)
        given.append(Given(name, text))
    return tuple(given)


def variant(rng: random.Random, given: tuple[Given, ...]) -> tuple[Given, ...]:
    """Other arguments for the same program, where they can be made."""
    other = _variant(rng, given)
    try:
        made(other)
    except (AttributeError, IndexError, TypeError, ValueError):
        return given
    return other


def _variant(rng: random.Random, given: tuple[Given, ...]) -> tuple[Given, ...]:
    """Other arguments for the same program: other sizes, dtypes, layouts or values."""
    how = rng.choice(("sizes", "dtypes", "values", "layouts", "all", "shared"))
    if how == "all":
        fresh = random_arguments(rng)
        return tuple(
            Given(
                old.name,
                fresh[i % len(fresh)].text if "array" in fresh[i % len(fresh)].text else old.text,
            )
            for i, old in enumerate(given)
        )
    grow = rng.choice((1, 2, 3, 10))
    dtype = rng.choice(DTYPES)
    result = []
    for old in given:
        text = old.text
        if text.startswith("array("):
            kind, shape, layout, seed, special = eval(text.removeprefix("array"))  # noqa: S307  our own text
            if how == "sizes":
                shape = tuple(n + grow if n > 1 else n for n in shape)
            elif how == "dtypes":
                kind = dtype
            elif how == "values":
                seed, special = seed + 1, rng.choice((0, 2, 5))
            elif how == "layouts":
                layout = rng.choice(LAYOUTS)
            elif how == "shared" and result and rng.random() < 0.5:
                result.append(Given(old.name, result[-1].name))
                continue
            text = f"array({kind!r}, {shape}, {layout!r}, {seed}, {special})"
        elif text in NUMBERS and rng.random() < 0.5:
            text = rng.choice(NUMBERS)
        result.append(Given(old.name, text))
    return tuple(result)
