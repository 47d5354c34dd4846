"""Exceptions that leave a compiled function: where they come from, and what their tracebacks keep alive."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.recording import position_of


def positions(error: BaseException) -> list[tuple[str, Any]]:
    """The function and the place, columns included, of each frame of this traceback in this file."""
    found: list[tuple[str, Any]] = []
    place = error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if code.co_filename == __file__ and code.co_name != "raised_by":
            found.append((code.co_name, position_of(place)))
        place = place.tb_next
    return found


def raised_by(function: Callable[..., Any], *given: Any) -> list[Any]:
    """What the exception out of a call tells, and those that it names."""
    with pytest.raises(ArithmeticError) as caught:
        function(*given)
    told = []
    error: BaseException | None = caught.value
    while error is not None:
        told.append((type(error), error.args, positions(error), error.__suppress_context__))
        told.append((error.__cause__ is None, error.__cause__ is error.__context__))
        error = error.__context__
    return told


def divided(x: Any, by: int) -> Any:
    return x + 10 // by


def chained(x: Any, by: int) -> Any:
    y = x * 2
    try:
        return divided(y, by)
    except ZeroDivisionError as error:
        raise ArithmeticError("no", by) from error


def unchained(x: Any, by: int) -> Any:
    y = x * 2
    try:
        y = y + {}[by]  # type: ignore[index]
    except KeyError:
        raise ArithmeticError(y.ndim) from None
    return y


def within(x: Any, by: int) -> Any:
    try:
        raise LookupError(by)  # noqa: TRY301  raised where it is handled
    except LookupError:
        return x + divided(x, by)


def kept(x: Any, by: int) -> Any:
    found = None
    try:
        divided(x, by)
    except ZeroDivisionError as error:
        found = error
    x = x + 1
    if found is not None:
        raise found
    return x


@pytest.mark.parametrize("function", [divided, chained, unchained, within, kept])
def test_errors_tell_where_they_come_from(function: Callable[..., Any]) -> None:
    """Tracebacks name the same functions, lines and columns, and causes and contexts are the same."""
    compiled = ufuse.compile(function)
    x = np.arange(3.0)

    wanted = raised_by(function, x, 0)
    for _ in range(3):
        assert raised_by(compiled, x, 0) == wanted


DIED: list[type] = []


class Held:
    """What a frame keeps alive."""

    def __del__(self) -> None:
        DIED.append(self.__class__)


def leaving(x: Any, by: int) -> Any:
    held = Held()
    try:
        y = divided(x, by)
    finally:
        late = Held()
    return y, held, late


def held_by(error: BaseException, function: str) -> set[str]:
    """The locals of a function that its frame in a traceback keeps alive."""
    place = error.__traceback__
    found: set[str] = set()
    while place is not None:
        if place.tb_frame.f_code.co_name == function:
            names = place.tb_frame.f_locals.items()
            found |= {name for name, value in names if isinstance(value, Held)}
        place = place.tb_next
    return found


def test_tracebacks_hold_what_a_frame_ended_with() -> None:
    """A frame that went on in a handler and raises keeps its locals for whoever has the exception, and no longer."""
    compiled = ufuse.compile(leaving)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError) as caught:
            compiled(np.arange(3.0), 0)
        assert held_by(caught.value, "leaving") == {"held", "late"}
        assert not DIED
        del caught
        gc.collect()
        assert [Held, Held] == DIED
        DIED.clear()
