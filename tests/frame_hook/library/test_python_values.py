"""Python's functions, containers and iterators around arrays: the same compiled, and in one graph where that is promised."""

from __future__ import annotations

import math
import re
import sys
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.compare import MODES, check_same


def appended(x: Any, kept: Any) -> Any:
    kept.append(x * 2)
    return x + 1


def extended(x: Any, kept: Any) -> Any:
    kept.extend([x, 1])
    kept.insert(0, "first")
    return x + 1


def noted(x: Any, kept: Any, key: int) -> Any:
    kept[key] = x * 2
    kept["last"] = x
    return kept["last"] + 1


def cached(x: Any, kept: Any, key: Any) -> Any:
    if key not in kept:
        kept[key] = x * 3
    return kept[key] + 1


def counted(x: Any, kept: Any) -> Any:
    kept["calls"] = kept.get("calls", 0) + 1
    return x + 1


def marked(x: Any, kept: Any, key: int) -> Any:
    kept.update((key % 3, key % 5))
    kept.add("seen")
    return x + 1


def read_again(x: Any, kept: Any) -> Any:
    kept.append(x * 2)
    return kept[-1] + len(kept)


# fmt: off
GROWING: list[tuple[Callable[..., Any], Callable[[], Any], bool, int]] = [
    # program, what grows, whether it takes the number of the call, most retraces
    (appended,   list,                          False, 0),
    (appended,   lambda: deque(maxlen=5),       False, 0),
    (extended,   list,                          False, 0),
    (noted,      dict,                          True,  1),
    (counted,    dict,                          False, 2),
    (read_again, list,                          False, 13),
]
# fmt: on


@pytest.mark.parametrize(
    ("program", "made", "numbered", "most"),
    GROWING,
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_grows_is_not_looked_at(
    program: Callable[..., Any], made: Callable[[], Any], numbered: bool, most: int
) -> None:
    """A container that grows from call to call does as in plain Python, and is seldom a reason to trace again."""
    compiled = ufuse.compile(program)
    plainly, grown = made(), made()
    for number in range(20):
        more = (number,) if numbered else ()
        x = np.arange(3.0) + number
        wanted, found = program(x, plainly, *more), compiled(x, grown, *more)
        np.testing.assert_array_equal(found, wanted)
        assert repr(plainly) == repr(grown)
    assert len(compiled.retraces) <= most, compiled.retraces


def test_cache_is_asked_for_one_key() -> None:
    """`key in cache` and `cache[key]` rely on nothing else that the cache holds."""
    compiled = ufuse.compile(cached)
    cache: dict[Any, Any] = {}
    x = np.arange(3.0)
    compiled(x, cache, "a")
    compiled(x, cache, "a")
    for number in range(20):
        cache[number] = number
        np.testing.assert_array_equal(compiled(x, cache, "a"), x * 3 + 1)
    assert len(compiled.retraces) == 1
    np.testing.assert_array_equal(compiled(x, {}, "a"), x * 3 + 1)
    assert len(compiled.retraces) == 1


def test_marks_in_a_set() -> None:
    """A set of the frame takes members as in plain Python."""
    compiled = ufuse.compile(marked)
    plainly: set[Any] = set()
    grown: set[Any] = set()
    for number in range(12):
        x = np.arange(3.0) + number
        np.testing.assert_array_equal(compiled(x, grown, number), marked(x, plainly, number))
        assert list(plainly) == list(grown)


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


def test_constants_of_code_are_one_object_at_every_call() -> None:
    """Also where they were taken apart: tuples, and from Python 3.14 on slices."""

    class Keys:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def __setitem__(self, key: Any, value: Any) -> None:
            self.seen.append(key)

    def store(keys: Any, x: Any) -> Any:
        keys[:] = keys[1, :] = keys[(2, 3), 4] = x
        return x + 1

    def identities(seen: list[Any]) -> list[tuple[Any, ...]]:
        parts = [one for key in seen for one in ([key, *key] if type(key) is tuple else [key])]
        return [(one, [one is other for other in parts]) for one in parts]

    x, compiled = np.ones(3), ufuse.compile(store)
    plainly, found = Keys(), Keys()
    for _ in range(4):
        store(plainly, x)
        compiled(found, x)
    assert identities(found.seen) == identities(plainly.seen)


def looks_at_its_frame(x: Any) -> Any:
    y = x + 1
    return sorted(locals()), y


def looks_at_its_frame_twice(x: Any) -> Any:
    first = locals()
    y = x + 1
    exec("made = 1")
    second = locals()
    return sorted(first), first is second, sorted(second), y


@pytest.mark.parametrize("program", [looks_at_its_frame, looks_at_its_frame_twice])
def test_locals_as_a_dict(program: Callable[..., Any]) -> None:
    """Before Python 3.13 a frame has one such dict, and keeps what is written into it."""
    check_same(program, ufuse.compile(program), lambda: (np.arange(3.0),), calls=3, modes=MODES[:1])


SAME = {
    "whole slices": lambda t, n: (t[:] is t, t[0:] is t, t[::1] is t, t[-9:] is t, t[::-1] is t, t[:1][:] is t),
    "a slice of one": lambda t, n: (t[:1][::-1] is t, t[1:1] is t),
    "sums and products": lambda t, n: (t * 1 is t, t + () is t, () + t is t),  # noqa: RUF005
    "abs": lambda t, n: (abs(n) is n, +n is n, abs(-n) is n),
    "remainder": lambda t, n: (n % 2**62 is n, n % 7 is n, divmod(n, 2**62)[1] is n, n % -(2**62) is n),
    "rounding": lambda t, n: (round(n) is n, math.floor(n) is n, math.ceil(n) is n, math.trunc(n) is n),
    "handed out": lambda t, n: (t[:], t, abs(n), n, n % 2**62),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_operators_that_give_their_operand(name: str) -> None:
    """What CPython hands back as it is stays one object: whole slices of tuples, `abs` of an int that is not negative."""
    program = SAME[name]
    compiled = ufuse.compile(program)
    for n in (1000, 1001, 5, -2000, 2**40, 70_000, -(2**35), 2**61):
        t = (n, [], n)
        expected, found = program(t, n), compiled(t, n)
        assert found == expected
        assert [one is t for one in found] == [one is t for one in expected]
        assert [one is n for one in found] == [one is n for one in expected]


class Stack(list[Any]):
    """A class with methods of its own and of C."""

    def push(self, value: Any) -> None:
        """Append a value."""
        self.append(value)


def test_bound_methods_that_are_handed_out() -> None:
    """A method of C is handed out as Python binds it, also where it was found on a base or on a class."""

    def handed(stack: Any, pattern: Any) -> Any:
        return (
            pattern.search, pattern.__class__,
            stack.append, stack.push, stack.__len__, Stack.append, Stack.__init_subclass__, int.from_bytes,
            dict.fromkeys, stack.__reduce__, "a".join, (3).__add__, stack.__subclasshook__,
        )  # fmt: skip

    stack, pattern, compiled = Stack([1]), re.compile("a"), ufuse.compile(handed)
    for _ in range(3):
        expected, found = handed(stack, pattern), compiled(stack, pattern)
        assert [type(one) for one in found] == [type(one) for one in expected]
        assert [repr(one) for one in found] == [repr(one) for one in expected]
        assert found == expected


def test_bound_methods_of_c_are_compared() -> None:
    """Two of one object and one name are equal, also where they are two objects."""
    compiled = ufuse.compile(lambda a, b, x: (a == b, a != b, x + 1))
    stack = [1]
    makers: list[Callable[[], Any]] = [
        lambda: Stack.__init_subclass__, lambda: int.from_bytes, lambda: dict.fromkeys, lambda: stack.append, lambda: len,
    ]  # fmt: skip
    for make in makers:
        for other in makers:
            assert compiled(make(), other(), 1) == (make == other, make != other, 2)


def test_a_remainder_of_a_truth_value_is_a_number() -> None:
    """Also where an int would be handed back as it is."""
    compiled = ufuse.compile(lambda n: True % n)
    for n in (2**40, 2**40 + 1, 7, 2**41):
        assert compiled(n) == 1
        assert type(compiled(n)) is int


def test_tuples_compare_items_before_lengths() -> None:
    """Also where the lengths differ already, which decides for lists."""

    class Noted:
        def __eq__(self, other: object) -> bool:
            log.append(other)
            return True

        __hash__ = None  # type: ignore[assignment]

    def compared(x: Any, one: Any) -> Any:
        return (one, 1) == (2,), (one, 1) != (3,), [one, 1] == [4], x + 1

    log: list[Any] = []
    compiled = ufuse.compile(compared)
    for function in (compared, compiled, compiled):
        log.clear()
        assert function(1, Noted()) == (False, True, False, 2)
        assert log == [2, 3]


def test_one_entry_of_a_large_dict_of_a_module() -> None:
    """`sys.modules[name]` is guarded for that name, not for all the modules of the program."""

    def shifted(x: Any) -> Any:
        return x + sys.modules["math"].pi

    compiled = ufuse.compile(shifted)
    x = np.zeros(2)
    assert compiled(x).tolist() == [math.pi, math.pi]
    assert len(compiled.specialisations[0].guards) < 20
    sys.modules["tests.not_a_module"] = math
    try:
        compiled(x)
        assert compiled.stats.traces == 1
        before = sys.modules["math"]
        sys.modules["math"] = SimpleNamespace(pi=3.0)  # type: ignore[assignment]
        try:
            assert compiled(x).tolist() == [3.0, 3.0]
        finally:
            sys.modules["math"] = before
    finally:
        del sys.modules["tests.not_a_module"]


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
