"""The rule of functions that functools.lru_cache remembers the results of."""

from __future__ import annotations

import functools
import operator
from types import ModuleType
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import INSTANCES, registering
from ufuse.frame_hook.objects.values import described, key_of
from ufuse.frame_hook.trace.changes import ObjectOperand, RegisterOperand
from ufuse.frame_hook.trace.followed import is_key, is_plain
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Instance, Symbol, Unread

WRAPPER: type = type(functools.lru_cache(maxsize=None)(len))


@registering(INSTANCES, (WRAPPER,))
def _call_remembering(
    interpreter: Interpreter, wrapper: Symbol, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    """What is remembered for these arguments, guarded; the call itself is repeated, for it counts as a hit.

    The wrapped function does not run: plain Python makes the first call.
    """
    assert isinstance(wrapper, Instance)
    trace, source = interpreter.trace, wrapper.source
    if source is None or keywords:
        raise GraphBreak("call", f"{described(wrapper)}, called like this,")
    values = [part_of_key(interpreter, one) for one in arguments]
    is_own_key = len(values) == 1 and type(values[0]) in (int, str)
    found = _hook.remembered(wrapper.value, values[0] if is_own_key else tuple(values))
    if found is None:
        raise GraphBreak("call", f"{source.text}, which does not remember a result for this,")
    key, number, result = found
    text = f"{source.text}()"
    loaded = trace.guards.load("LOAD_REMEMBERED", source, key, number, text=text)
    operands = [ObjectOperand(value) for value in values]
    trace.changes.effect("call", RegisterOperand(source), *operands, what=operator.call)
    return Unread(loaded, result)


def part_of_key(interpreter: Interpreter, symbol: Symbol) -> Any:
    """A known argument that is hashed and compared without code of the user's, and that entries may keep alive."""
    value = key_of(interpreter, symbol)
    if is_plain(value) or type(value) is ModuleType:
        return value
    if isinstance(value, type) and is_key(value) and "<locals>" not in value.__qualname__:
        return value
    raise GraphBreak("call", f"a function that remembers results, of {described(symbol)},")
