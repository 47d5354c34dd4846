"""Whole numbers that a trace knows as expressions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import no_failures_inside
from ufuse.frame_hook.operations.arithmetic import LONGEST
from ufuse.frame_hook.trace.guards import DEEPEST, GuardProgram, postfix
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import Sizes
from ufuse.graph import size
from ufuse.graph.size import Size, depth, divide, symbol, weight

LEAVES = {name: ("int", at) for at, name in enumerate("nmk")}


def test_two_numbers_of_one_name_are_described() -> None:
    """What divides by their difference is worded, though by these words it divides by zero."""
    sizes = Sizes(GuardProgram(0))
    n, other = (sizes.new_symbol("n", value, ("int", value)) for value in (7, 3))
    text = sizes.described(divide("//", n, n - other))  # type: ignore[operator]
    assert text.count("n") == 3
    assert "//" in text


def test_a_relation_is_decided_once() -> None:
    """Loops that are unrolled ask the same at each turn: the answer, which is guarded, is known."""
    sizes = Sizes(GuardProgram(0))
    n, other = (sizes.new_symbol("n", value, ("int", value)) for value in (7, 3))
    assert sizes.decide("gt", n, other)
    sizes.example = None  # type: ignore[method-assign, assignment]  # who decides needs examples
    assert sizes.decide("gt", n, other)
    assert not sizes.decide("gt", 1, 2)


def _random_number(draw: random.Random, steps: int) -> Size:
    known: list[Size] = [symbol(name) for name in LEAVES]
    for _ in range(steps):
        one, other = draw.choice(known[-3:]), draw.choice([*known, 3, -1])
        match draw.choice("+*/%"):
            case "+":
                made = one + other
            case "*":
                made = one * other
            case sign:
                made = divide("//" if sign == "/" else "%", *draw.sample((one, other + 2), 2))
        known.append(symbol("n") if isinstance(made, int) else made)
    return known[-1]


@pytest.mark.parametrize("seed", range(200))
def test_depth_is_what_the_program_holds(seed: int) -> None:
    """The program of a number holds as many numbers at once as `depth` says, whatever it is computed from."""
    number = _random_number(random.Random(seed), 1 + seed % 7)  # noqa: S311  not for secrets
    if depth(number) > DEEPEST:
        with pytest.raises(GraphBreak, match="in many steps"):
            postfix(number, LEAVES)
        return
    held = most = 0
    for step in postfix(number, LEAVES):
        held += 1 if step[0] in ("int", "const") else -1
        most = max(most, held)
    assert (held, most) == (1, depth(number))


def test_a_number_that_is_too_deep_breaks() -> None:
    """C has room for so many numbers at once; on the left of a division it needs none."""
    left: Size = symbol("n")
    right: Size = symbol("n")
    for _ in range(DEEPEST):
        left, right = divide("%", 2 * left, 1009), divide("//", 1009, right + 1)
    assert depth(left) == 2
    assert len(postfix(left, LEAVES)) == 4 * DEEPEST + 1
    with pytest.raises(GraphBreak, match="in many steps"):
        postfix(right, LEAVES)


def test_a_number_that_a_loop_computes_from_itself_stays_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the left of a division only the length grows: each turn of an unrolled loop took longer than the last."""
    namespace: dict[str, Any] = {}
    lines = ["k = n", *["k = (k * 7 + n) % 10007"] * 200, "return x * k"]
    exec("def mixed(x, n):\n    " + "\n    ".join(lines), namespace)
    mixed = namespace["mixed"]
    weights = []

    def noted(value: Size) -> int:
        weights.append(weight(value))
        return weights[-1]

    monkeypatch.setattr(size, "weight", noted)
    compiled = ufuse.compile(mixed, dynamic=True)
    for n in (3, 3, 4, 5):
        assert np.array_equal(compiled(np.ones(3), n), mixed(np.ones(3), n))
    assert 8 < max(weights) <= LONGEST + 2


def test_remainders_of_remainders_are_numbers_in_the_end() -> None:
    """Where a loop that is unrolled computes many, one after another, Python could not read their text."""

    def parts(x: np.ndarray, n: int) -> tuple[np.ndarray, int]:
        t = n
        for _ in range(120):
            t = t * 2 % 91 + n
        return x[: t % 3] * 2, t

    compiled, x = ufuse.compile(parts), np.arange(9.0)
    with no_failures_inside():
        for n in (5, 6, 7, 8, 5):
            found, wanted = compiled(x, n), parts(x, n)
            assert (found[0].tolist(), found[1]) == (wanted[0].tolist(), wanted[1])
