"""The module bisect: CPython's own functions run on wrapped symbols, whose `<` is traced."""

from __future__ import annotations

import bisect
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.library.container_methods import NONE, Compared
from ufuse.frame_hook.library.lazy import is_none
from ufuse.frame_hook.objects.values import described, known_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, List, Symbol, Tuple


def found_place(
    interpreter: Interpreter,
    function: Any,
    a: Symbol,
    x: Symbol,
    lo: Symbol | None,
    hi: Symbol | None,
    key: Symbol | None,
) -> int:
    """Where `bisect_left` or `bisect_right` finds a place; items are compared in the order of plain Python."""
    look = interpreter.trace.look
    sequence = look(a)
    if not isinstance(sequence, List | Tuple) or len(sequence.items) > iterate.LONGEST_SEQUENCE:
        raise GraphBreak("call", f"bisect in {described(sequence)}")
    bounds = {
        name: known_value(interpreter, value)
        for name, value in (("lo", lo), ("hi", hi))
        if value is not None
    }
    if not all(value is None or type(value) is int for value in bounds.values()):
        raise GraphBreak("eager-raises", "TypeError: the bounds of bisect")
    if bounds.get("lo", 0) is None or bounds.get("lo", 0) < 0:
        raise GraphBreak("eager-raises", "ValueError: lo must be non-negative")
    if (bounds.get("hi") or 0) > len(sequence.items):
        raise GraphBreak("eager-raises", "IndexError: hi is behind the end")
    before = list(sequence.items)

    def asked(row: Compared) -> Compared:
        assert key is not None
        answer = look(interpreter.call(key, (row.symbol,)))
        return Compared(interpreter, answer, answer)

    rows = [Compared(interpreter, look(one), one) for one in before]
    options = {} if is_none(interpreter, key) else {"key": asked}
    place = function(rows, Compared(interpreter, look(x), x), **bounds, **options)
    if list(sequence.items) != before:
        raise GraphBreak("effect", "a list that changes while it is bisected")
    return int(place)


def _register(side: str) -> None:
    function = getattr(bisect, f"bisect_{side}")

    @rule_for(function)
    def _bisect(
        interpreter: Interpreter,
        /,
        a: Symbol,
        x: Symbol,
        lo: Symbol | None = None,
        hi: Symbol | None = None,
        *,
        key: Symbol | None = None,
    ) -> Symbol:
        return Constant(found_place(interpreter, function, a, x, lo, hi, key))

    @rule_for(getattr(bisect, f"insort_{side}"))
    def _insort(
        interpreter: Interpreter,
        /,
        a: Symbol,
        x: Symbol,
        lo: Symbol | None = None,
        hi: Symbol | None = None,
        *,
        key: Symbol | None = None,
    ) -> Symbol:
        target = interpreter.trace.look(a)
        if not isinstance(target, List):
            raise GraphBreak("call", f"bisect.insort into {described(target)}")
        if not is_none(interpreter, key):
            raise GraphBreak("call", "bisect.insort with key=")
        place = found_place(interpreter, function, target, x, lo, hi, None)
        target.items.insert(place, x)
        interpreter.trace.changes.call(list.insert, target, Constant(place), x)
        return NONE


_register("left")
_register("right")
