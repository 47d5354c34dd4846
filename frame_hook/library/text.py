"""Text: str, repr, format, f-strings and the methods of strings and bytes, with values that are known."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import METHODS, Given, Positional, rule_for
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import known_value, pure, text_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, Symbol, Tuple


def text_of(interpreter: Interpreter, symbol: Symbol, function: Callable[[Any], str]) -> Symbol:
    """`str(symbol)`, `repr(symbol)` or `ascii(symbol)`."""
    symbol = interpreter.trace.look(symbol)
    if not isinstance(symbol, Instance):
        return pure(function, text_value(interpreter, symbol))
    name = "__str__" if function is str else "__repr__"
    found = classes.static_lookup(symbol.kind, name)
    if found is object.__str__ and classes.uses_plain(interpreter.trace, symbol.kind, name, found):
        found, name = classes.static_lookup(symbol.kind, "__repr__"), "__repr__"
    if found in EXCEPTION_TEXTS and classes.uses_plain(interpreter.trace, symbol.kind, name, found):
        return _text_of_exception(interpreter, symbol, found)
    if not isinstance(found, types.FunctionType):
        raise GraphBreak("call", f"the text of a {symbol.kind.__name__}")
    text = interpreter.trace.look(classes.call_special(interpreter, symbol, name))
    if not isinstance(text, Constant) or type(text.value) is not str:
        raise GraphBreak("call", f"the text of a {symbol.kind.__name__}")
    return pure(ascii, text.value) if function is ascii else text


def _text_of_exception(interpreter: Interpreter, symbol: Instance, found: Any) -> Symbol:
    """What BaseException's and KeyError's own methods say of the arguments."""
    if not isinstance(symbol.content, Tuple) or symbol.source is not None:
        raise GraphBreak("call", f"the text of a {symbol.kind.__name__}")
    given = text_value(interpreter, symbol.content)
    if found is BaseException.__repr__:
        return Constant(f"{symbol.kind.__name__}({', '.join(map(repr, given))})")
    if len(given) == 1 and found is KeyError.__str__:
        return pure(repr, given[0])
    return pure(str, given[0] if len(given) == 1 else given or "")


EXCEPTION_TEXTS = (
    BaseException.__str__, BaseException.__repr__, KeyError.__str__, AttributeError.__str__, NameError.__str__,
)  # fmt: skip


@rule_for(str)
def _str(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords:
        raise GraphBreak("call", "str() with keywords")
    if len(arguments) > 1:
        return pure(str, *[known_value(interpreter, one) for one in arguments])
    return text_of(interpreter, arguments[0], str) if arguments else Constant("")


@rule_for(repr)
def _repr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return text_of(interpreter, _single(arguments, keywords, "repr"), repr)


@rule_for(ascii)
def _ascii(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return text_of(interpreter, _single(arguments, keywords, "ascii"), ascii)


def _single(arguments: Positional, keywords: Given, name: str) -> Symbol:
    if keywords or len(arguments) != 1:
        raise GraphBreak("eager-raises", f"TypeError: {name}() takes exactly one argument")
    return arguments[0]


@rule_for(format)
def _format(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or not 1 <= len(arguments) <= 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of format()")
    look = interpreter.trace.look
    value = look(arguments[0])
    spec = look(arguments[1]) if len(arguments) > 1 else Constant("")
    if not isinstance(value, Instance):
        return pure(format, text_value(interpreter, value), known_value(interpreter, spec))
    found = classes.static_lookup(value.kind, "__format__")
    if found is object.__format__ and isinstance(spec, Constant) and spec.value == "":
        if classes.uses_plain(interpreter.trace, value.kind, "__format__", found):
            return text_of(interpreter, value, str)
    if not isinstance(found, types.FunctionType):
        raise GraphBreak("call", f"format of a {value.kind.__name__}")
    text = look(classes.call_special(interpreter, value, "__format__", (spec,)))
    if not isinstance(text, Constant) or type(text.value) is not str:
        raise GraphBreak("call", f"format of a {value.kind.__name__}")
    return text


def _join(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    separator, *given = arguments
    if keywords or len(given) != 1 or not isinstance(separator, Constant):
        raise GraphBreak("eager-raises", "TypeError: join() takes exactly one argument")
    look = interpreter.trace.look
    parts = [look(part) for part in iterate.items_of(interpreter, given[0])]
    if any(not isinstance(part, Constant) for part in parts):
        raise GraphBreak("call", "join of what is known only at run time")
    return pure(separator.value.join, [part.value for part in parts if isinstance(part, Constant)])


METHODS["str.join"] = METHODS["bytes.join"] = _join


def _format_method(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    text, *given = arguments
    assert isinstance(text, Constant)
    values = [text_value(interpreter, one) for one in given]
    named = {name: text_value(interpreter, one) for name, one in keywords.items()}
    return pure(lambda: text.value.format(*values, **named))


METHODS["str.format"] = _format_method


def joined(parts: list[Symbol]) -> Symbol:
    """What an f-string puts together."""
    texts = [part.value for part in parts if isinstance(part, Constant)]
    if len(texts) != len(parts):
        raise GraphBreak("opcode", "an f-string")
    return Constant("".join(texts))


@rule_for(chr)
def _chr(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return pure(chr, text_value(interpreter, _single(arguments, keywords, "chr")))


@rule_for(ord)
def _ord(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = interpreter.trace.look(_single(arguments, keywords, "ord"))
    value = known_value(interpreter, given)
    if isinstance(value, str) and len(value) != 1:
        text = f"ord() expected a character, but string of length {len(value)} found"
        raise raise_error(TypeError, text)
    return pure(ord, value)
