"""Texts and bytes in native loops: characters that are compared, counted and looked up."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, ANN204, D101
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import (
    called,
    check_kept,
    check_whole_call,
    hits,
    native_turns,
)
from ufuse.graph.nest import Nest
from ufuse.graph.text.nest_parser import parse_nest

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python
DNA = "GATTACANCG" * 150
LATIN = "Héllo wörld 123\tABC " * 80
CHINESE = "中文 and ASCII 42 " * 90
EMOJI = "x \U0001f600 y 7" * 200
BASES = {"A": 0, "C": 1, "G": 2, "T": 3}


def content(s):
    n = 0
    for c in s:
        if c in {"G", "C"}:
            n += 1
        elif c in "AT":
            n -= 1
        elif c != "N":
            n += 100
    return n


def distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), int)
    d[:, 0], d[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


def differing(a, b):
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y or x < "C" <= y:
            n += 1
    return n


def methods(s):
    total = 0
    for i, c in enumerate(s):
        if c.isdigit():
            total = total * 10 % 1000003 + int(c)
        elif c.isupper():
            total += ord(c.lower()) - ord("a") + i
        elif c.isspace() or c.isalpha():
            total -= ord(c.upper())
        elif c.isalnum() or c.islower():
            total += 7
    return total


def is_palindrome(s):
    i, j = 0, len(s) - 1
    while i < j:
        if s[i] != s[j]:
            return False
        i += 1
        j -= 1
    return True


def one_hot(s, places):
    out = np.zeros((len(s), len(places)))
    for i, c in enumerate(s):
        out[i, places[c]] = 1.0
    return out


def checksum(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def hashed(s):
    n = 0
    for c in reversed(s):
        n = n * 31 % 65537 + ord(c)
    return n


def by_mode(mode, turns):
    total = 0.0
    for i in range(turns):
        if mode == "fast":
            total += i
        elif mode in {"slow", "careful"}:
            total -= i
        else:
            total += 0.5
    return total


def beyond(s):
    n = 0
    for i in range(len(s) + 1):
        n += s[i] == "A"
    return n


def looked_up(table, keys):
    total = 0.0
    for k in keys:
        total += table[k] * 2
    return total


VOWELS = ("a", "e")


class Word(str):
    __slots__ = ()


class Anything:
    def __eq__(self, other):
        return True

    __hash__ = None  # type: ignore[assignment]


def among_globals(s):
    n = 0
    for c in s:
        n += c in VOWELS
    return n


def among(s, members):
    n = 0
    for c in s:
        if c in members:
            n += 1
    return n


def equal(s, other):
    n, r = 0, None
    for c in s:
        r = c == other
        if c != other:
            n += 1
    return n, type(r), r


def raised(s):
    n = 0
    for c in s:
        n += ord(c.upper())
    return n


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "counted": (content, (DNA,)),
    "of two bytes": (content, (CHINESE,)),
    "of four bytes": (content, (EMOJI,)),
    "edit distance": (distance, (DNA[:60], DNA[3:60])),
    "together": (differing, (DNA, DNA[::-1])),
    "of several widths together": (differing, (LATIN, EMOJI)),
    "methods": (methods, ("ab 12 CD\n" * 150,)),
    "methods beyond ASCII": (methods, (LATIN,)),
    "from both ends": (is_palindrome, ("abc" * 400 + "cba" * 400,)),
    "looked up": (one_hot, ("ACGT" * 300, BASES)),
    "not found": (one_hot, ("ACGX" * 300, BASES)),
    "bytes": (checksum, (bytes(range(256)) * 6,)),
    "mutable bytes": (checksum, (bytearray(range(256)) * 6,)),
    "backwards": (hashed, (LATIN,)),
    "a constant": (by_mode, ("fast", 1500)),
    "one of several": (by_mode, ("careful", 1500)),
    "none of them": (by_mode, ("other", 1500)),
    "out of range": (beyond, (DNA,)),
    "whole numbers": (looked_up, ({3: 0.5, 7: 1.5, -1: 2.5}, [3, 7, -1, 7] * 400)),
    "numbers of NumPy": (looked_up, ({3: 1, 7: 2}, np.array([3, 7, 7] * 500))),
    "a tuple from outside": (among_globals, ("abe," * 300,)),
    "a tuple that is given": (among, ("abe," * 300, ("b", "", "ae"))),
    "controls": (raised, ("abc\n\0" * 300,)),
    "another number": (looked_up, ({3: 1, 7: 2}, [3, 7, 7] * 400 + [8])),
}


@pytest.mark.parametrize("name", CASES)
def test_texts_are_as_in_plain_python(name: str) -> None:
    """Results and errors are plain Python's, and turns are native."""
    function, arguments = CASES[name]
    assert native_turns(function, lambda: arguments) > 0


@pytest.mark.parametrize(
    "other",
    [Word("a"), np.str_("a"), Anything(), np.float64(3), np.int64(3), b"a", ["a"], 3, None, "ab"],
    ids=range(10),
)
def test_what_a_character_is_compared_with(other: Any) -> None:
    """Objects with rules of their own, and what gives NumPy's bools, are plain Python's."""
    native_turns(equal, lambda: ("ab," * 300, other))
    native_turns(among, lambda: ("ab," * 300, ("b", other)))


class Equal(type):
    def __eq__(cls, other):
        return True

    __hash__ = type.__hash__


class OfEqual(metaclass=Equal):
    pass


def among_classes(mode, turns):
    n = 0
    for _ in range(turns):
        n += mode in (OfEqual, "b")
    return n


def test_texts_are_looked_for_among_plain_constants_alone() -> None:
    """Where another member has a rule of its own, the loop is plain Python's."""
    assert native_turns(by_mode, lambda: ("careful", 1500)) > 0
    assert native_turns(among_classes, lambda: ("a", 1500)) == 0


def test_nests_are_for_all_texts() -> None:
    """A text of any width is read by the nest that another one was made for; its text reads back."""
    compiled = ufuse.compile(content)
    for text in (DNA, LATIN, CHINESE, EMOJI, "A" * 900, ""):
        assert compiled(text) == content(text)
    (loop,) = compiled.loops
    assert len(loop.nests) <= 2  # by the type of the iterator, as there is one for ASCII
    nest = loop.nests[0]
    assert isinstance(nest, Nest)
    assert "list by text of uint32" in str(nest)
    assert str(parse_nest(str(nest))) == str(nest)


def test_what_is_left() -> None:
    """Parts of texts, and a character that is needed behind the loop, have a reason."""

    def parts(s):
        n = 0
        for i in range(len(s) - 2):
            n += s[i : i + 2] == "AT"
        return n

    def last(s):
        c = ""
        for c in s:
            if c == "N":
                break
        return c

    for function in (parts, last):
        compiled = ufuse.compile(function)
        assert compiled(DNA) == function(DNA)
        assert compiled.loops[0].why_not


# Characters as keys -------------------------------------------------------------------------------------------------


def longest_unique(s):
    seen, left, best = set(), 0, 0
    for right in range(len(s)):
        while s[right] in seen:
            seen.remove(s[left])
            left += 1
        seen.add(s[right])
        best = max(best, right - left + 1)
    return best


def often(s):
    counts, others, again = {}, Counter(), defaultdict(int)
    for c in s:
        counts[c] = counts.get(c, 0) + 1
        others[c] += 2
        again[c] += 1
    return max(counts.values()), len(counts), len(others), again["A"], "é" in counts


def first_alone(s):
    places = {}
    for i, c in enumerate(s):
        places.setdefault(c, []).append(i)
    for i, c in enumerate(s):
        if len(places[c]) == 1:
            return i
    return -1


@pytest.mark.parametrize("function", [longest_unique, often, first_alone])
@pytest.mark.parametrize("text", [DNA, LATIN, CHINESE, EMOJI])
def test_characters_are_keys_of_dicts_and_sets(function, text) -> None:
    """Calls that make such dicts are native."""
    check_whole_call(function, (text,))


def with_numbers(s, n):
    seen, total = set(), 0
    for c in s:
        seen.add(c)
        total += (ord(c) in seen) + (n in seen)
    return total


def pairs_with_numbers(s, n):
    seen, total = set(), n
    for c in s:
        seen.add((ord(c), 1))
        total += (c, 1) in seen
    return total


def given_back(s, n):
    counts = {}
    for c in s:
        counts[c] = counts.get(c, 0) + n
    return counts


def keys_in_order(s, n):
    counts, found = {}, []
    for c in s:
        counts[c] = n
    for c in counts:
        found.append(ord(c))
    return found


@pytest.mark.parametrize("function", [with_numbers, pairs_with_numbers, given_back, keys_in_order])
def test_a_character_is_no_number(function) -> None:
    """Such keys are neither mixed with numbers nor given back."""
    compiled = called(function, (DNA, 65))
    check_kept(function, compiled, DNA, 65)
    assert hits(compiled) == 0
