"""Values that are others at every call: what a function learns from guards that fail."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse


@pytest.mark.parametrize("make", [str, lambda i: b"%d" % i], ids=["str", "bytes"])
def test_text_that_changes_from_call_to_call(make: Callable[[int], Any]) -> None:
    """A frame whose strings are other ones at every call is not given up: its graphs end where they are used."""

    def labelled(x: Any, label: Any) -> Any:
        y = x * 2
        named = label + label
        return y + 1, named

    compiled = ufuse.compile(labelled)
    for number in range(40):
        first, text = compiled(np.ones(2), make(number))
        assert (first.tolist(), text) == ([3.0, 3.0], make(number) * 2)
    assert compiled.stats.eager_calls == 0
    assert compiled.stats.traces < 15
    assert [b.reason for b in compiled.breaks if "changes from call to call" in b.reason]


def mixed(x: Any, n: int) -> Any:
    """A number in which every step uses the one before it several times."""
    c = n
    for _ in range(40):
        c = (c // 2 + c % 3) + c
        c = c % 1000 + c // 7
    return x * c


def squared(x: Any, n: int) -> Any:
    """As `mixed`, with products."""
    c = n
    for _ in range(12):
        c = c * c % 1000003 + c
    return x * c


@pytest.mark.parametrize("program", [mixed, squared])
def test_numbers_whose_expressions_would_grow_without_end(program: Callable[..., Any]) -> None:
    """They are fixed for a trace when they become too long, and are right for every other number, too."""
    compiled = ufuse.compile(program)
    x = np.ones(2)
    for n in (5, 6, 7, 12, 100, -3):
        assert compiled(x, n).tolist() == program(x, n).tolist()


def centred(x: Any) -> Any:
    y = x - x.mean(axis=0)
    return (y * y).sum(axis=-1)


def drawn(source: random.Random, x: Any, limit: float) -> tuple[Any, float]:
    value = source.random()
    if value < limit:
        x = x * value
    return x, value


def test_a_float_that_a_call_gives_is_no_option() -> None:
    """A branch on what came out of a call that is in no graph takes it as it comes, from the first trace on."""
    compiled, x = ufuse.compile(drawn), np.arange(3.0)
    theirs, ours = random.Random(3), random.Random(3)  # noqa: S311  not for secrets
    for _ in range(8):
        expected, found = drawn(theirs, x, 0.5), compiled(ours, x, 0.5)
        assert (found[0].tobytes(), found[1]) == (expected[0].tobytes(), expected[1])
    assert compiled.stats.retraces == 0


def test_leading_lengths_that_change_are_sizes() -> None:
    """A first axis of two, three or four is part of a graph only until it changes; one and none have their own."""
    compiled = ufuse.compile(centred)
    for length in (2, 3, 4, 7, 1, 5, 2, 1, 30, 3, 4):
        x = np.arange(length * 30.0).reshape(length, 5, 6)
        assert compiled(x).tobytes() == centred(x).tobytes()
    assert compiled.stats.traces == 3


def test_lengths_that_are_equal_by_chance() -> None:
    """After a few calls no length is taken to be another's."""

    def added(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a.sum() + b.sum() + c.sum() + d.sum()

    compiled = ufuse.compile(added)
    lengths = np.random.default_rng(5).integers(2, 6, (60, 4))
    for row in lengths:
        given = [np.arange(float(length)) for length in row]
        assert compiled(*given) == added(*given)
    assert compiled.stats.traces <= 5


def turned(x: Any, n: int) -> Any:
    for k in range(n):
        x = x * 0.5 + k
    return x


def test_loops_whose_length_changes_are_not_unrolled_for_each() -> None:
    """After a few lengths the graph ends in front of the loop."""
    compiled = ufuse.compile(turned)
    x = np.arange(3.0)
    for n in range(1, 60):
        assert compiled(x, n).tobytes() == turned(x, n).tobytes()
    assert compiled.stats.traces <= 12
    assert any(found.code == "varying" for found in compiled.breaks)


def factored(a: Any) -> Any:
    """LU decomposition, in place."""
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def test_loops_within_loops() -> None:
    """Slices of every length, over loops of every length, have a few graphs together."""
    compiled = ufuse.compile(factored)
    a = np.random.default_rng(3).random((24, 24)) + 24 * np.eye(24)
    for _ in range(2):
        assert compiled(a.copy()).tobytes() == factored(a.copy()).tobytes()
    assert compiled.stats.traces <= 14


LOOP = """
results = [calling(lambda v: v * 2, x) for _ in range(6)]
for k in range(6):
    results.append(calling(lambda v: v * 3, x))
named = lambda v: v * 4
results += [calling(named, x), calling(named, x)]
"""


def test_lambdas_that_a_script_makes_anew() -> None:
    """They are known by their code, as those made in functions are."""
    compiled = ufuse.compile(lambda function, v: function(v) + 1)
    names: dict[str, Any] = {"calling": compiled, "x": np.arange(3.0)}
    exec(LOOP, names)
    assert [one[1] for one in names["results"]] == [3.0] * 6 + [4.0] * 6 + [5.0] * 2
    assert compiled.stats.traces == 3


def test_what_changes_at_every_call_is_told() -> None:
    """A function that would need ever new graphs is left to plain Python, and says what changes."""

    def applied(function: Any, x: Any) -> Any:
        return function(x) + 1

    compiled = ufuse.compile(applied)
    x = np.linspace(0.1, 0.9, 3)
    for name in (
        "sin cos tan exp log sqrt tanh sinh cosh arcsin arccos arctan cbrt square floor ceil"
    ).split():
        function = getattr(np, name)
        assert compiled(function, x).tobytes() == applied(function, x).tobytes()
    assert compiled.stats.traces == 12
    assert [b.reason for b in compiled.breaks if b.code == "varying"] == [
        "function changes from call to call"
    ]


class Watched:
    """Counts how often it is asked for its class."""

    asked = 0

    def __getattribute__(self, name: str) -> Any:
        Watched.asked += name == "__class__"
        return object.__getattribute__(self, name)


def test_why_a_frame_is_traced_again_is_told_without_the_program() -> None:
    """What a value is now is asked of its type alone: `isinstance` would ask the value for its class."""
    compiled = ufuse.compile(lambda x, y: (type(x), y * 2))
    for x in (1.5, Watched(), "a", Watched(), [Watched()]):
        compiled(x, np.arange(3.0))
    assert [one.now for one in compiled.retraces] == ["a Watched", "a str", "a list"]
    assert not Watched.asked
