"""The module heapq: CPython's own functions run on wrapped symbols, whose `<` is traced."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.library.container_methods import NONE, Compared
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.operations import containers
from ufuse.frame_hook.operations.iterate import LONGEST_SEQUENCE
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import List, Symbol

Run = Callable[[list[Compared], list[Compared]], Compared | None]


def arranged(interpreter: Interpreter, heap: Symbol, run: Run, *given: Symbol) -> Symbol:
    """What a function of heapq returns for a list, with as many comparisons, and in the order, as in plain Python."""
    heap = interpreter.trace.look(heap)
    if not isinstance(heap, List):
        raise GraphBreak("call", f"a heap that is {described(heap)}")
    if len(heap.items) > LONGEST_SEQUENCE:
        raise GraphBreak("loop")
    before = list(heap.items)
    look = interpreter.trace.look
    rows = [Compared(interpreter, look(item), item) for item in before]
    try:
        result = run(rows, [Compared(interpreter, look(item), item) for item in given])
    except Raised:
        raise GraphBreak("effect", "a heap's function that stops in the middle") from None
    if heap.items != before:
        raise GraphBreak("eager-raises", "RuntimeError: list changed size during iteration")
    _write(interpreter, heap, [row.symbol for row in rows])
    return NONE if result is None else result.symbol


def _write(interpreter: Interpreter, heap: List, items: list[Symbol]) -> None:
    """Store the items of a list; the effects are calls of the list's own methods."""
    changes = interpreter.trace.changes
    before = heap.items
    if len(items) > len(before):
        changes.call(list.append, heap, items[-1])
    elif len(items) < len(before):
        changes.call(list.pop, heap)
    if items != before:
        containers.replace_items(interpreter.trace, heap, items)


def _register(name: str) -> None:
    function: Any = getattr(heapq, name)
    raises_when_empty = "heappop" in name or "replace" in name

    def run(rows: list[Compared], given: list[Compared]) -> Compared | None:
        result: Compared | None = function(rows, *given)
        return result

    def arrange(interpreter: Interpreter, heap: Symbol, *given: Symbol) -> Symbol:
        heap = interpreter.trace.look(heap)
        if isinstance(heap, List) and not heap.items and raises_when_empty:
            raise raise_error(IndexError, "index out of range")
        return arranged(interpreter, heap, run, *given)

    if name.removeprefix("_").removesuffix("_max") in ("heapify", "heappop"):

        @rule_for(function)
        def _of_heap(interpreter: Interpreter, heap: Symbol, /) -> Symbol:
            return arrange(interpreter, heap)

    else:

        @rule_for(function)
        def _of_heap_and_item(interpreter: Interpreter, heap: Symbol, item: Symbol, /) -> Symbol:
            return arrange(interpreter, heap, item)


NAMES = ["heapify", "heappop", "heappush", "heapreplace", "heappushpop"]
# Those of heaps with the largest first are public from 3.14 on, and then some have both names.
ALL_NAMES = [*NAMES, *[f"{name}_max" for name in NAMES], *[f"_{name}_max" for name in NAMES]]
for _name in {getattr(heapq, name, None): name for name in ALL_NAMES}.values():
    if isinstance(getattr(heapq, _name, None), BuiltinFunctionType):
        _register(_name)

__all__ = ["arranged"]
