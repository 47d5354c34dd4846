"""Objects with an `__index__` as keys of sequences and arrays."""

from __future__ import annotations

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.classes import ABSENT, call_special, class_member
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import as_size
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Deque,
    Instance,
    List,
    Range,
    Slice,
    Symbol,
    Tuple,
)

SEQUENCES = (Array, List, Tuple, Deque, Range)
# An object with one of these is converted to an array by NumPy, not used as a number.
NO_NUMBER = (
    "__array__", "__array_interface__", "__array_struct__", "__array_priority__", "__buffer__", "__len__",
    "__getitem__",
)  # fmt: skip


def plain_key(interpreter: Interpreter, container: Symbol, key: Symbol) -> Symbol:
    """A key of a sequence or an array, what `__index__` returns in place of objects that have it."""
    is_sequence = isinstance(container, SEQUENCES) or (
        isinstance(container, Constant) and isinstance(container.value, str | bytes | range | tuple)
    )
    if not is_sequence:
        return key
    look = interpreter.trace.look
    if isinstance(key, Slice):
        bounds = (look(key.start), look(key.stop), look(key.step))
        if any(isinstance(one, Instance) for one in bounds):
            return Slice(*(_number(interpreter, one) for one in bounds))
    if isinstance(key, Tuple) and isinstance(container, Array):
        parts = [look(one) for one in key.items]
        if any(isinstance(one, Instance | Slice) for one in parts):
            return Tuple(tuple(plain_key(interpreter, container, one) for one in parts))
    return _number(interpreter, key)


def _number(interpreter: Interpreter, key: Symbol) -> Symbol:
    """What an object's `__index__` returns; the object itself where it has none, or NumPy reads it otherwise."""
    if not isinstance(key, Instance):
        return key
    trace = interpreter.trace
    content = unwrapped(trace, key, "__index__")
    if isinstance(content, Constant) and type(content.value) is int:
        return content
    if content is not key or any(
        class_member(trace, key.kind, name)[0] is not ABSENT for name in NO_NUMBER
    ):
        return key
    if class_member(trace, key.kind, "__index__")[0] is ABSENT:
        return key
    number = trace.look(call_special(interpreter, key, "__index__"))
    is_int = as_size(number) is not None and not isinstance(getattr(number, "value", 0), bool)
    return number if is_int else key


__all__ = ["plain_key"]
