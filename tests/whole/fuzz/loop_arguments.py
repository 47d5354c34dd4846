"""Arguments of random programs of loops."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.whole.fuzz.values import Given, dense

SIZES = (41, 50, 64, 50, 45, 50)  # lengths of arrays
SMALL = (2, 3, 5, 8, 13)  # of those for which calls are short
NUMBERS = {
    "n": ("50", "64", "41", "100", "50", "0", "40"),
    "m": ("3", "12", "40", "0", "-5", "True", "np.int64(9)", "2"),
    "x": ("1.5", "0.0", "-2.0", "np.float64(0.25)", "3", "np.int64(2)", "True", "float('nan')", "1e200", "np.float64(-1.0)", "2**70", "np.float32(1.5)", "np.bool_(True)"),
}  # fmt: skip
LAYOUTS = "C C C C C C C strided strided reversed reversed view view readonly".split()
LAYOUTS2 = "C C C C C F F F T T strided strided reversed reversed view readonly broadcast".split()


def overlapping(dtype: str, size: int, seed: int, special: int = 0) -> tuple[Any, Any]:
    """Two views of one memory that overlap."""
    memory = dense(dtype, (size + 3,), seed, special)
    return memory[:-3], memory[3:]


def odd_array(kind: str, size: int, seed: int) -> Any:
    """An array that a nest has to refuse, or to take with care."""
    values = dense("i8" if kind in {"q", "i4", "u8"} else "f8", (size,), seed)
    if kind == "unaligned":
        memory = np.zeros(size * 8 + 1, np.uint8)
        found = memory[1:].view("f8")
        found[:] = values
        return found
    if kind == "bytes":
        return np.arange(size, dtype=np.uint8).view(np.bool_)
    if kind == "buffer":
        return np.frombuffer(bytearray(values.tobytes()), "f8")
    if kind == "list":
        return values.tolist()
    return values.astype(kind)


def family(dtype: str) -> str:
    """The usual dtype in whose place another stands."""
    return {"d": "d", "f": "d", "?": "?", "D": "z"}.get(dtype, "l")


def text_of_array(rng: random.Random, dtype: str, ndim: int, size: int) -> str:
    """An argument."""
    shape = (size,) if ndim == 1 else (size, rng.choice((3, 40, size, size, size, size)))
    if ndim == 1 and rng.random() < 0.05:
        odd = rng.choice(("q", "i4", "f4", "u8", "unaligned", "bytes", "buffer", "list"))
        return f"odd_array({odd!r}, {size}, {rng.randrange(100)})"
    return text_of_shape(rng, dtype, shape)


def text_of_shape(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> str:
    """An array of a shape."""
    special = rng.choice((0, 0, 0, 0, 1, 3))
    kind = np.dtype(dtype).str[1:] if dtype != "?" else "?"
    layout = rng.choice(LAYOUTS if len(shape) == 1 else LAYOUTS2)
    return f"array({kind!r}, {shape}, {layout!r}, {rng.randrange(100)}, {special})"


def random_set(
    rng: random.Random,
    arrays: dict[str, tuple[str, int]],
    sizes: tuple[int, ...],
    others: dict[str, tuple[str, ...]],
) -> tuple[Given, ...]:
    """Arguments for a call."""
    size = rng.choice(sizes)
    given = []
    pair: list[str] = []
    if rng.random() < 0.15:
        pair = [
            f"overlapping('f8', {size}, {rng.randrange(100)}, {rng.choice((0, 0, 2))})[{i}]"
            for i in (0, 1)
        ]
    for name, (dtype, ndim) in arrays.items():
        text = text_of_array(rng, dtype, ndim, size)
        if rng.random() < 0.05:
            text = text_of_array(rng, rng.choice("dl?"), ndim, rng.choice((0, 1, 5, size)))
        elif pair and dtype == "d" and ndim == 1:
            text = pair.pop()
        elif rng.random() < 0.05 and given and arrays[given[-1].name] == (dtype, ndim):
            text = f"{given[-1].name}{rng.choice(('', '[::-1]', '[0:]'))}"
        given.append(Given(name, text))
    usual = rng.random() < 0.8
    for name, texts in (NUMBERS | others).items():
        given.append(Given(name, str(size) if usual and name == "n" else rng.choice(texts)))
    return tuple(given)
