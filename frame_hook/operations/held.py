"""Whether the program has an array besides where an operator takes it from: then nobody else may write over it.

Laws: 1. what a trace made is in symbols: where none of those that the program still has leads to it, nothing has it;
2. what a frame brought is in an object of the program, until the trace changes that; 3. iterators of C may remember
what they gave last, so of what they may have given nothing is known.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any

from ufuse.frame_hook.arrays.arrays import owns_memory
from ufuse.frame_hook.code.places import is_of_stack
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace import symbols
from ufuse.frame_hook.trace.changes import ADDING, Changes, Effect, ObjectOperand
from ufuse.frame_hook.trace.symbols import Array, Buffer, Unread

CONTAINERS = (tuple, list)
GIVEN_ONLY = (
    symbols.List, symbols.Tuple, symbols.Dict, symbols.Deque, symbols.View, symbols.Set, symbols.Range,
    symbols.Constant, symbols.Integer, Unread, Array,
)  # fmt: skip


def is_held(interpreter: Interpreter, array: Array, *, by_operator: bool = False) -> bool | None:
    """Whether anything but the operand itself has an array, or a view of it; None where that is not known.

    `by_operator`: the operand is an argument of a C function such as `operator.add`, which has it from the stack.
    """
    buffer = array.buffer
    given = interpreter.given[:-1] if by_operator else interpreter.given
    changes = interpreter.trace.changes
    walk = _Walk(buffer, changes)
    if walk.reaches(
        one for frame in interpreter.call_stack for one in (*frame.locals, *frame.stack)
    ):
        return True
    if walk.reaches(one for arguments in given for one in arguments):
        return True
    if buffer.source is not None:
        is_lost = buffer.source.register < len(interpreter.trace.state)
        is_lost |= is_of_stack(buffer.source.text)
        return None if is_lost or any(_may_remove(buffer, one) for one in changes.effects) else True
    if walk.is_unsure or not owns_memory(buffer.root) or buffer.visible or interpreter.handled:
        return None
    return None if walk.reaches(_loose(changes)) else False


def _may_remove(buffer: Buffer, effect: Effect) -> bool:
    """Whether an effect may have replaced where the frame has an array."""
    assert buffer.source is not None
    first, *rest = effect.operands
    if effect.kind == "call":
        return effect.what not in ADDING
    target = getattr(getattr(first, "source", None), "text", None)
    match effect.kind, first, rest:
        case _, _, [*_, None]:
            return True
        case "set_attr", _, _ if target is not None:
            place = f"{target}.{effect.what}"
        case "dict_set", ObjectOperand(), [ObjectOperand(value=name), _]:
            place = str(name)
        case "list_set", _, _ if target is not None:
            place = f"{target}[{effect.what}]"
        case _:
            return True
    return buffer.source.text.startswith(place)


def _loose(changes: Changes) -> Iterator[Any]:
    """What objects of the frame have, and what is written to them: whether the program still has these is unknown."""
    yield from changes.symbols()
    for effect in changes.effects:
        yield from effect.operands


class _Walk:
    """From symbols to what they have, until one is an array in a buffer."""

    def __init__(self, buffer: Buffer, changes: Changes) -> None:
        self.is_unsure = False  # whether something was met that may have more than its symbol tells
        self._buffer = buffer
        self._changes = changes
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # whose ids are in it

    def reaches(self, roots: Iterable[Any]) -> bool:
        """Whether the array is among these, or in one of them."""
        waiting = list(roots)
        while waiting:
            one = waiting.pop()
            if one is None or id(one) in self._seen:
                continue
            self._seen.add(id(one))
            self._kept.append(one)
            if self._is_it(one):
                return True
            waiting += self._parts(one)
        return False

    def _is_it(self, one: Any) -> bool:
        source = self._buffer.source
        if isinstance(one, Unread):
            return source is not None and one.source.register == source.register
        return isinstance(one, Array) and one.buffer is self._buffer

    def _parts(self, one: Any) -> Iterable[Any]:
        match one:
            case Unread():
                return (self._changes.symbol_of(one.value),)
            case symbols.Tuple() | symbols.List() | symbols.Deque():
                return one.items
            case symbols.Dict():
                return one.items.values()
            case symbols.View():
                return (one.of,)
            case symbols.Cell():
                return (one.content,)
            case symbols.Instance():
                return (*one.attributes.values(), one.content)
            case symbols.Function():
                parts = (*one.defaults, *one.keyword_defaults.values(), *one.closure)
                return (*parts, *one.attributes.values())
            case symbols.Method():
                return one.self, one.function
            case symbols.ArrayMethod() | symbols.Super():
                return (one.self,)
            case symbols.Slice() | symbols.Range():
                return one.start, one.stop, one.step
            case symbols.Generator():
                return self._parts_of_generator(one)
            case symbols.Iterator():
                return self._parts_of_iterator(one)
        return ()

    def _parts_of_generator(self, generator: symbols.Generator) -> Iterable[Any]:
        if generator.state == "new":
            function, arguments, keywords = generator.call
            return function, *arguments, *keywords.values()
        if generator.state == "waiting":
            return *generator.frame.locals, *generator.frame.stack
        return ()  # it is finished, or its frame is on the stack of calls

    def _parts_of_iterator(self, iterator: symbols.Iterator) -> Iterable[Any]:
        if iterator.is_exhausted:
            self.is_unsure |= bool(iterator.parts)
            return ()
        self.is_unsure |= not all(isinstance(one, GIVEN_ONLY) for one in iterator.parts)
        self.is_unsure |= iterator.state is not None
        return *iterator.parts, *_remembered(iterator.walk)


def _remembered(walk: Any, depth: int = 4) -> Iterator[Any]:
    """The symbols that a real iterator has, and tuples in it."""
    if walk is not None and depth:
        for one in gc.get_referents(walk):
            if type(one) in CONTAINERS or hasattr(type(one), "__next__"):
                yield from _remembered(one, depth - 1)
            else:
                yield one
