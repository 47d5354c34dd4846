"""The C layer: what an entry knows of arrays is told to the artefact that runs next, and to no other."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import struct
import threading
from typing import Any

import pytest

from tests.support.frames.hooking import Session, entry
from ufuse.frame_hook import _hook

UNKNOWN, ARBITRARY, ZERO = -3, -2, -1


class Told:
    """An artefact that keeps what it is called with."""

    def __init__(self, result: Any = None) -> None:
        self.calls: list[Any] = []
        self._result = result

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Keep it."""
        contents = named.pop("contents", None)
        assert not named
        known = None if contents is None else [*struct.unpack(f"{len(contents) // 4}i", contents)]
        self.calls.append((given, known))
        return self._result


def two(a, b, c):
    return a, b, c


def ran(session: Session, contents: Any, inputs: tuple[int, ...], told: Told, **facts: Any) -> None:
    """Run an entry at the start, which knows something, and the next one at the position behind it."""
    position = 1
    made = _hook.Dispatcher(two, session)
    cache = made.__ufuse_cache__
    ending = "resume", position, (0, 1, 2), -2, contents
    cache.add(0, entry((), (), facts.get("artefact"), 0, ending=ending))
    following = entry((), inputs, told, 1, ending=("return", 3))
    following.takes_contents = facts.get("takes", True)
    cache.add(position, following)
    made("x", "y", "z")


def test_what_is_known_comes_with_the_inputs(session: Session) -> None:
    """Each input has a number; what others equal comes behind the inputs, in their order."""
    cases = [
        ((ZERO, ARBITRARY, UNKNOWN), (0, 1, 2), ("x", "y", "z"), [ZERO, ARBITRARY, UNKNOWN]),
        ((ZERO, ARBITRARY, UNKNOWN), (2, 0), ("z", "x"), [UNKNOWN, ZERO]),
        ((2, 0, UNKNOWN), (0, 1), ("x", "y", "z", "x"), [2, 3]),
        ((UNKNOWN, 0, ZERO), (2, 1, 1), ("z", "y", "y", "x", "x"), [ZERO, 3, 4]),
    ]
    for contents, inputs, given, known in cases:
        told = Told(5)
        ran(session, contents, inputs, told)
        ran(session, contents, inputs, told)
        assert told.calls == [(given, known)] * 2


def test_nothing_is_said_where_nothing_is_known(session: Session) -> None:
    """Of no input; where the state says nothing; to an artefact that does not take it."""
    for contents, inputs, takes in [
        ((ZERO, UNKNOWN, UNKNOWN), (1, 2), True),
        (None, (0, 1), True),
        ((ZERO, ZERO, ZERO), (0, 1), False),
    ]:
        told = Told(5)
        ran(session, contents, inputs, told, takes=takes)
        assert told.calls == [(tuple("xyz"[one] for one in inputs), None)]


def test_other_contents_later(session: Session) -> None:
    """What is told is that of the state that the frame comes from, whichever came before."""
    told = Told(5)
    made = _hook.Dispatcher(two, session)
    cache = made.__ufuse_cache__
    following = entry((), (0, 1), told, 1, ending=("return", 3))
    following.takes_contents = True
    cache.add(1, following)
    for contents, known in [((ZERO, UNKNOWN, UNKNOWN), [ZERO, UNKNOWN]), (None, None), ((1, ARBITRARY, ZERO), [2, ARBITRARY])]:  # fmt: skip
        first = entry(ending=("resume", 1, (0, 1, 2), -2, contents))
        cache.add(0, first)
        made("x", "y", "z")
        cache.remove(0, first)
        assert told.calls.pop()[1] == known


def test_copies_are_not_known_where_others_have_run(session: Session) -> None:
    """What equals another array may not do so behind a collection or another thread; what is zero is nobody else's."""
    ended, ask, answer = threading.Event(), threading.Event(), threading.Event()

    def serve() -> None:
        while ask.wait() and not ended.is_set():
            ask.clear()
            answer.set()

    def let_run() -> None:
        answer.clear()
        ask.set()
        answer.wait()

    other = threading.Thread(target=serve)
    other.start()
    told = Told(5)
    gc.disable()
    for artefact, copies in [(list, True), (gc.collect, False), (let_run, False), (list, True)]:
        for contents, known in [
            ((2, ZERO, UNKNOWN), [2, ZERO]),
            ((ZERO, ZERO, UNKNOWN), [ZERO, ZERO]),
        ]:
            ran(session, contents, (0, 1), told, artefact=artefact)
            assert told.calls.pop()[1] == (known if copies or known[0] == ZERO else None)
    gc.enable()
    ended.set()
    ask.set()
    other.join()


def test_plain_python_forgets_it(session: Session) -> None:
    """Where an entry is made on the way, as session and program may run, nothing is told."""
    told = Told(5)
    made = _hook.Dispatcher(two, session)
    cache = made.__ufuse_cache__
    cache.add(0, entry(ending=("resume", 1, (0, 1, 2), -2, (ZERO, ZERO, ZERO))))

    def capture(*_: Any) -> Any:
        following = entry((), (0, 1), told, 1, ending=("return", 3))
        following.takes_contents = True
        return following

    session.capture = capture  # type: ignore[method-assign]
    for _ in range(2):
        assert made("x", "y", "z") == 5
    assert [known for _, known in told.calls] == [None, [ZERO, ZERO]]


@pytest.mark.parametrize(
    ("contents", "error"),
    [
        ((ZERO,), ValueError),
        ((-(2**31), ZERO, ZERO), ValueError),
        ((3, ZERO, ZERO), ValueError),
        (("x", ZERO, ZERO), TypeError),
        ([ZERO, ZERO, ZERO], ValueError),
        (5, ValueError),
    ],
)
def test_contents_that_cannot_be(contents: Any, error: type[Exception]) -> None:
    """There is a number for each slot, and slots that hold something are named."""
    with pytest.raises(error):
        entry(ending=("resume", 1, (0, 1, 2), -2, contents))
    with pytest.raises(ValueError, match="says nothing"):
        entry(ending=("resume", 1, (0, -1, 2), -2, (1, ZERO, ZERO)))
