"""Under which treatments of warnings and floating-point errors a comparison runs.

A program that warns of nothing, raises nothing and leaves no floating-point flag does the same under each of them. What
could differ is what a graph was made for, and the guards of that, which are the same for all programs. So such a program
runs under the first mode and one of the others: which one follows from the test, how many comparisons it has made, and
the version of Python. `UFUSE_MODES=every` (`make test-whole`) runs all under all.
"""

from __future__ import annotations

import os
import sys
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tests.support.comparing.recording import Mode, Outcome

T = TypeVar("T")

EVERY = os.environ.get("UFUSE_MODES") == "every"
# Who uses one of these may ask for the mode.
ASKING = {
    "catch_warnings", "errstate", "filterwarnings", "geterr", "geterrcall", "get_printoptions", "seterr", "seterrcall",
    "simplefilter", "warn", "warnings",
}  # fmt: skip
_counted: dict[str, int] = {}


def in_turn(
    modes: Sequence[Mode], function: Callable[..., object], shown: Sequence[object]
) -> Iterator[Mode]:
    """The modes to run a function under; `shown` fills, under the first, with what says that they matter."""
    yield modes[0]
    rest = modes[1:]
    if len(rest) > 1 and not (EVERY or shown or asks(function)):
        rest = [one_of(rest)]
    yield from rest


def one_of(things: Sequence[T]) -> T:
    """The one whose turn it is in this comparison."""
    return things[turn() % len(things)]


def turn() -> int:
    """A number that is the same whenever a test is run, and another for each comparison in it."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    if test not in _counted:
        _counted.clear()
    number = _counted[test] = _counted.get(test, -1) + 1
    return zlib.crc32(test.encode()) + number + sys.version_info.minor


def shows(outcome: Outcome) -> bool:
    """Whether a run did what the modes treat."""
    return bool(outcome.warned or outcome.float_calls or outcome.float_flags or outcome.error)


def asks(function: Callable[..., object]) -> bool:
    """Whether a function itself looks at the mode."""
    code = getattr(function, "__code__", None)
    return isinstance(code, types.CodeType) and _asks(code)


def _asks(code: types.CodeType) -> bool:
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return not ASKING.isdisjoint(code.co_names) or any(map(_asks, inner))
