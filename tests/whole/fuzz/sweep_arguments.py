"""Arguments of random programs of array statements in loops."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.whole.fuzz.values import Given, dense

LAYOUTS = "C C C C C C C C C strided reversed view view readonly".split()
LAYOUTS2 = "C C C C C C C F F T strided reversed view readonly broadcast".split()
ODD = ("0.0", "np.nan", "np.inf", "-np.inf", "5e-324", "1e-310", "1.7e308", "-0.0", "-np.nan")


def odd_at(dtype: str, shape: tuple[int, ...], seed: int, place: int, value: Any) -> Any:
    """Mild numbers, all but one above zero."""
    found = np.abs(dense(dtype, shape, seed)) + 1
    found.reshape(-1)[place % max(1, found.size) :][:1] = value
    return found


def text_of_array(rng: random.Random, kind: str, shape: tuple[int, ...]) -> str:
    """An argument."""
    dtype = {"d": "f8", "l": "i8", "?": "?"}[kind]
    if rng.random() < 0.03:
        dtype = rng.choice("f4 i4 u1 i1 u8 i2 c16 f2 f8 i8".split())
    if dtype == "f8" and rng.random() < 0.12:
        return (
            f"odd_at('f8', {shape}, {rng.randrange(100)}, {rng.randrange(1000)}, {rng.choice(ODD)})"
        )
    layout = rng.choice(LAYOUTS if len(shape) == 1 else LAYOUTS2)
    return f"array({dtype!r}, {shape}, {layout!r}, {rng.randrange(100)}, {rng.choice((0, 0, 0, 0, 0, 0, 0, 1, 3))})"


def random_set(
    rng: random.Random, arrays: dict[str, tuple[str, tuple[str, ...]]]
) -> tuple[Given, ...]:
    """Arguments for a call."""
    sizes = {"n": rng.choice((9, 20, 33, 33, 40, 40, 64)), "m": rng.choice((5, 8, 8, 9))}
    if rng.random() < 0.05:
        sizes = {"n": rng.choice((1, 2, 3, 5)), "m": rng.choice((0, 1, 2, 3))}
    given: list[Given] = []
    pair = (
        [f"overlapping('f8', {sizes['n']}, {rng.randrange(100)})[{one}]" for one in (0, 1)]
        if rng.random() < 0.08
        else []
    )
    for name, (kind, lengths) in arrays.items():
        shape = tuple(sizes[one] for one in lengths)
        text = text_of_array(rng, kind, shape)
        alike = [one.name for one in given if arrays[one.name] == (kind, lengths)]
        rows = [
            one.name
            for one in given
            if len(lengths) == 1
            and arrays[one.name][1][-1:] == lengths
            and len(arrays[one.name][1]) == 2
        ]
        if rng.random() < 0.03:
            text = text_of_array(
                rng, kind, tuple(max(0, one + rng.choice((-1, 1, 5))) for one in shape)
            )
        elif pair and (kind, lengths) == ("d", ("n",)):
            text = pair.pop()
        elif alike and rng.random() < 0.06:
            text = f"{rng.choice(alike)}{rng.choice(('', '', '[::-1]', '[0:]'))}"
        elif rows and rng.random() < 0.1:
            text = f"{rng.choice(rows)}[{rng.choice(('0', '-1', '2'))}]"
        given.append(Given(name, text))
    for name in ("n", "m"):
        size = sizes[name] if rng.random() < 0.97 else sizes[name] + rng.choice((-1, 1))
        given.append(Given(name, str(size) if rng.random() < 0.97 else f"np.int64({size})"))
    given.append(
        Given(
            "x",
            rng.choice(
                (
                    "1.5",
                    "0.5",
                    "-2.0",
                    "np.float64(0.25)",
                    "0.5",
                    "3",
                    "float('nan')",
                    "0.0",
                    "2**70",
                    "np.float32(1.5)",
                    "1e200",
                )
            ),
        )
    )
    given.append(Given("k", rng.choice(("3", "7", "1", "19", "6", "100", "30", "2"))))
    return tuple(given)


def drawn_arrays(rng: random.Random) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The arrays that a program is given."""
    arrays: dict[str, tuple[str, tuple[str, ...]]] = {"a": ("d", ("n",))}
    for name in "bc"[: rng.choice((0, 1, 1, 2))]:
        arrays[name] = rng.choice(("d", "d", "d", "d", "l", "?")), ("n",)
    for name in "MQ"[: rng.choice((0, 0, 1, 1, 1, 2))]:
        arrays[name] = (
            rng.choice(("d", "d", "d", "d", "l")),
            rng.choice((("n", "n"), ("n", "n"), ("m", "n"), ("n", "m"))),
        )
    if rng.random() < 0.1 and len(arrays) > 1:
        del arrays["a"]
        arrays = {"a": ("l", ("n",)), **arrays}
    return arrays
