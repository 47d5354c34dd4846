"""Parts of one array around a place that only the call knows: which of them share elements decides what is one kernel."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_in_turn

PLACES = (4, 5, 6, 9, 4, 30)


def forwards(x: Any, i: int) -> None:
    """Eager reads all before it writes: nothing that was written is read."""
    x[i : i + 5] = x[i - 1 : i + 4] % 3.0


def backwards(x: Any, i: int) -> None:
    """The other way, where an ordinary loop would happen to be right."""
    x[i - 2 : i + 3] = x[i - 1 : i + 4] + 1.0


def read_then_written(x: Any, i: int) -> Any:
    """What is read first is not what is written then."""
    y = x[i - 2 : i + 2] * 2.0
    x[i - 1 : i + 3] = 7.0
    return y, x[i - 3 : i + 1] - y


def written_twice(x: Any, i: int) -> Any:
    """The second of two writes stays where both write."""
    x[i - 3 : i + 1] = x[i : i + 4] + 0.5
    x[i - 1 : i + 3] *= x[i - 4 : i]
    return x[i - 1 : i + 1] + 1.0


def rows(x: Any, i: int) -> None:
    """Along the first of two axes."""
    table = x[:60].reshape(20, 3)
    k = i // 3
    table[k : k + 4, 1:] = table[k - 1 : k + 3, :2] * 2.0


@pytest.mark.parametrize("program", [forwards, backwards, read_then_written, written_twice, rows])
def test_places_that_calls_give(program: Any) -> None:
    """The same as eager wherever the parts lie, with one graph for all places."""
    compiled = ufuse.compile(program, dynamic=True)
    numbers = np.random.default_rng(3).normal(size=64)
    check_in_turn(program, compiled, [(numbers.copy(), i) for i in PLACES])
    assert len(compiled.graphs) <= 3


def part(draw: random.Random, length: int) -> str:
    """Draw a part of some length."""
    start = draw.randrange(-3, 3)
    return f"[i + {start}:i + {start + length}]"


def drawn(draw: random.Random) -> str:
    """Draw a function that reads and writes parts of two arrays, some of which may share elements."""
    lines = ["def program(x, y, i):"]
    for number in range(draw.randrange(2, 6)):
        length = draw.randrange(1, 7)
        value = " + ".join(
            draw.choice("xxy") + part(draw, length) for _ in range(draw.choice((1, 1, 2)))
        )
        kind = draw.randrange(3)
        if kind == 0:
            lines.append(f"    t{number} = {value} * 2.0")
        else:
            sign = "=" if kind == 1 else "+="
            lines.append(
                f"    t{number} = None; {draw.choice('xy')}{part(draw, length)} {sign} {value}"
            )
    names = ", ".join(f"t{number}" for number in range(len(lines) - 1))
    return "\n".join([*lines, f"    return [{names}]"])


def test_drawn_windows() -> None:
    """Functions of which nobody knows where their parts meet."""
    for seed in range(80):
        source = drawn(random.Random(seed))  # noqa: S311  not for secrets
        made: dict[str, Any] = {}
        exec(source, made)
        compiled = ufuse.compile(made["program"], dynamic=True)
        for i in PLACES:
            plain, ours = (
                [np.random.default_rng(seed).normal(size=48) for _ in "xy"] for _ in range(2)
            )
            wanted, found = made["program"](*plain, i), compiled(*ours, i)
            pairs = [*zip(plain, ours, strict=True), *zip(wanted, found, strict=True)]
            for one, other in pairs:
                assert (one is None) == (other is None)
                assert one is None or one.tobytes() == other.tobytes(), f"{source}\ni = {i}"
