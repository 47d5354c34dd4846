"""Programs around contextlib's managers and `sys.exception()`."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import ufuse
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(lambda: {"said": []})


class Manager:
    """Notes that it is entered and left."""

    def __init__(self, said: list[Any], name: Any, *, eats: bool = False) -> None:
        self.said, self.name, self.eats = said, name, eats

    def __enter__(self) -> Any:
        self.said.append(("in", self.name))
        return self.name

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        self.said.append(("out", self.name, kind and kind.__name__, error and error.args))
        return self.eats


@contextlib.contextmanager
def generated(said: list[Any], name: Any) -> Iterator[Any]:
    """Notes the same, in a generator."""
    said.append(("in", name))
    try:
        yield name
    finally:
        said.append(("out", name))


class Closable:
    """Knows whether it was closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


@PROGRAMS.whole()
def stack(x, said):
    with contextlib.ExitStack() as kept:
        first = kept.enter_context(Manager(said, 1))
        second = kept.enter_context(generated(said, 2))
        kept.callback(said.append, "called")
        kept.callback(lambda *given, **named: said.append((given, named)), 5, six=6)
        y = x * (first + second)
    return y, said


@PROGRAMS.whole()
def stack_of_many(x, said):
    with contextlib.ExitStack() as kept:
        names = [kept.enter_context(generated(said, n)) for n in range(3)]
        return x * sum(names), said


@PROGRAMS.whole()
def stack_that_suppresses(x, said):
    with contextlib.ExitStack() as kept:
        kept.enter_context(Manager(said, 1))
        kept.enter_context(Manager(said, 2, eats=True))
        kept.enter_context(Manager(said, 3))
        raise ValueError("gone")
    return x + 1, said


@PROGRAMS.whole()
def error_through_a_stack(x, said):
    try:
        with contextlib.ExitStack() as kept:
            kept.push(Manager(said, 1))
            raise KeyError("q")
    except KeyError as error:
        return x * 2, error.args, said


@PROGRAMS.whole()
def stack_handed_on(x, said):
    with contextlib.ExitStack() as kept:
        kept.enter_context(Manager(said, 1))
        later = kept.pop_all()
    said.append("kept")
    later.close()
    return x, said


@PROGRAMS.whole()
def suppressed(x, said):
    with contextlib.suppress(KeyError, ZeroDivisionError):
        y = x + 1
        said.append({}["q"])
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    return y, said


@PROGRAMS.whole()
def closed_behind(x, said):
    made = Closable()
    with contextlib.closing(made) as same, contextlib.nullcontext(2) as two:
        y = x * two
    return y, made.closed, same is made, said


@PROGRAMS.whole()
def attributes_of_functions(x, said):
    def inner(v):
        return v + 1

    inner.calls = 1
    inner.calls += 1
    inner.gone = 1
    del inner.gone
    try:
        said.append(inner.missing)
    except AttributeError as error:
        said.append(str(error))
    return inner(x), inner.calls, said, hasattr(inner, "gone")


@PROGRAMS.whole()
def methods_by_hand(x, said):
    def scaled(self, factor):
        self.append(factor)
        return factor * 2

    return types.MethodType(scaled, said)(3) * x, said


@PROGRAMS.whole()
def exception_being_handled(x, said):
    said.append(sys.exception())
    try:
        raise ValueError("a")
    except ValueError as error:
        said.append(sys.exception() is error)
        kind, value, trace = sys.exc_info()
        said.append((kind, value is error, trace is None, error.__traceback__ is None))
    said.append(sys.exc_info())
    return x + 1, said


def asking(x: Any) -> Any:
    return x + 1, sys.exception(), sys.exc_info()[1]


def called_in_a_handler(function: Callable[..., Any], x: Any) -> Any:
    try:
        raise ValueError("outside")
    except ValueError:
        return function(x)


def asking_behind_a_break(x: Any) -> Any:
    try:
        raise ValueError("mine")
    except ValueError:
        ufuse.graph_break()
        y = x + 1
        inside = sys.exception()
    return y, str(inside), sys.exception()


def returns_function(x: Any) -> Any:
    def inner(v: Any) -> Any:
        return v + x

    inner.note = [inner]  # type: ignore[attr-defined]
    return inner
