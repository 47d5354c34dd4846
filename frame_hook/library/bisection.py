"""The module bisect: its C functions, run as they are on items whose comparisons are traced."""

from __future__ import annotations

import bisect
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Given, Positional, Rule, rule_for
from ufuse.frame_hook.library.container_methods import NONE, Compared
from ufuse.frame_hook.library.lazy import bound, is_none
from ufuse.frame_hook.objects.values import described, known_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, List, Symbol, Tuple


def found_place(
    interpreter: Interpreter, function: Any, arguments: Positional, keywords: Given
) -> int:
    """Where `bisect_left` or `bisect_right` finds a place; items are compared in the order of plain Python."""
    given = dict(keywords)
    key = given.pop("key", NONE)
    items, wanted, low, high = bound(arguments, given, "a", "x", "lo", "hi", least=2)
    look = interpreter.trace.look
    assert items is not None
    assert wanted is not None
    sequence = look(items)
    if not isinstance(sequence, List | Tuple) or len(sequence.items) > iterate.LONGEST_SEQUENCE:
        raise GraphBreak("call", f"bisect in {described(sequence)}")
    bounds = {
        name: known_value(interpreter, value)
        for name, value in (("lo", low), ("hi", high))
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
        answer = look(interpreter.call(key, (row.symbol,)))
        return Compared(interpreter, answer, answer)

    rows = [Compared(interpreter, look(one), one) for one in before]
    options = {} if is_none(interpreter, key) else {"key": asked}
    place = function(rows, Compared(interpreter, look(wanted), wanted), **bounds, **options)
    if list(sequence.items) != before:
        raise GraphBreak("effect", "a list that changes while it is bisected")
    return int(place)


def _bisecting(function: Any) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        return Constant(found_place(interpreter, function, arguments, keywords))

    return rule


def _inserting(function: Any) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        if len(arguments) < 2 or keywords:
            raise GraphBreak("call", "bisect.insort with keyword arguments")
        target = interpreter.trace.look(arguments[0])
        if not isinstance(target, List):
            raise GraphBreak("call", f"bisect.insort into {described(target)}")
        place = found_place(interpreter, function, arguments, keywords)
        target.items.insert(place, arguments[1])
        interpreter.trace.changes.call(list.insert, target, Constant(place), arguments[1])
        return NONE

    return rule


for _side in ("left", "right"):
    _function = getattr(bisect, f"bisect_{_side}")
    rule_for(_function)(_bisecting(_function))
    rule_for(getattr(bisect, f"insort_{_side}"))(_inserting(_function))

__all__ = ["found_place"]
