"""Text: str, repr, format, f-strings and the methods of strings and bytes, with values that are known."""

from __future__ import annotations

import string
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import method, rule_for
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import known_value, pure, text_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, Symbol, Tuple
from ufuse.graph import signals

EMPTY = Constant("")


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
    """The text that BaseException's and KeyError's own methods make of the arguments."""
    if not isinstance(symbol.content, Tuple) or symbol.source is not None:
        raise GraphBreak("call", f"the text of a {symbol.kind.__name__}")
    given = text_value(interpreter, symbol.content)
    if found is BaseException.__repr__:
        classes.guard_names(interpreter.trace, symbol.kind, "__name__")
        return Constant(f"{symbol.kind.__name__}({', '.join(map(repr, given))})")
    if len(given) == 1 and found is KeyError.__str__:
        return pure(repr, given[0])
    return pure(str, given[0] if len(given) == 1 else given or "")


EXCEPTION_TEXTS = (
    BaseException.__str__, BaseException.__repr__, KeyError.__str__, AttributeError.__str__, NameError.__str__,
)  # fmt: skip


@rule_for(str)
def _str(
    interpreter: Interpreter,
    /,
    object: Symbol | None = None,  # noqa: A002  CPython's name
    encoding: Symbol | None = None,
    errors: Symbol | None = None,
) -> Symbol:
    if encoding is None and errors is None:
        return EMPTY if object is None else text_of(interpreter, object, str)
    given = {"object": object, "encoding": encoding, "errors": errors}
    known = {name: known_value(interpreter, one) for name, one in given.items() if one is not None}
    return pure(lambda: str(**known))


@rule_for(repr)
def _repr(interpreter: Interpreter, obj: Symbol, /) -> Symbol:
    return text_of(interpreter, obj, repr)


@rule_for(ascii)
def _ascii(interpreter: Interpreter, obj: Symbol, /) -> Symbol:
    return text_of(interpreter, obj, ascii)


@rule_for(format)
def _format(interpreter: Interpreter, obj: Symbol, format_spec: Symbol = EMPTY, /) -> Symbol:
    look = interpreter.trace.look
    value, spec = look(obj), look(format_spec)
    if not isinstance(value, Instance):
        text = known_value(interpreter, spec)
        _refuse_locale(text)
        return pure(format, text_value(interpreter, value), text)
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


@method("str.join", "bytes.join")
def _join(interpreter: Interpreter, separator: Constant, iterable: Symbol, /) -> Symbol:
    look = interpreter.trace.look
    parts = [look(part) for part in iterate.items_of(interpreter, iterable)]
    if any(not isinstance(part, Constant) for part in parts):
        raise GraphBreak("call", "join of what is known only at run time")
    return pure(separator.value.join, [part.value for part in parts if isinstance(part, Constant)])


@method("str.format")
def _format_method(
    interpreter: Interpreter, text: Constant, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    values = [text_value(interpreter, one) for one in arguments]
    named = {name: text_value(interpreter, one) for name, one in keywords.items()}
    _refuse_fields_of_locale(text.value, values, named)
    return pure(lambda: text.value.format(*values, **named))


@method("str.format_map")
def _format_mapping(interpreter: Interpreter, text: Constant, mapping: Symbol, /) -> Symbol:
    named = text_value(interpreter, mapping)
    _refuse_fields_of_locale(text.value, (), named)
    return pure(text.value.format_map, named)


@method("bool.__format__", "int.__format__", "float.__format__", "complex.__format__")
def _format_number(interpreter: Interpreter, number: Constant, spec: Symbol, /) -> Symbol:
    return _format(interpreter, number, spec)


def _refuse_locale(spec: Any) -> None:
    """Break where numbers get the locale's separators, which may be other ones in the next call."""
    if isinstance(spec, str) and spec.endswith("n"):
        raise GraphBreak("call", "a number written as the locale has it")


class _Specs(string.Formatter):
    """Keeps the format of each field, which other fields may be part of."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def format_field(self, value: Any, format_spec: str) -> str:
        """Keep it."""
        self.kept.append(format_spec)
        return format(value, format_spec)


def _refuse_fields_of_locale(text: str, values: Sequence[Any], named: Mapping[str, Any]) -> None:
    specs = _Specs()
    try:
        specs.vformat(text, values, named)
    except Exception as error:  # noqa: BLE001  `str.format` raises it again
        signals.pass_on(error)
    for spec in specs.kept:
        _refuse_locale(spec)


def joined(parts: list[Symbol]) -> Symbol:
    """The string that an f-string joins its parts to."""
    texts = [part.value for part in parts if isinstance(part, Constant)]
    if len(texts) != len(parts):
        raise GraphBreak("opcode", "an f-string")
    return Constant("".join(texts))


@rule_for(chr)
def _chr(interpreter: Interpreter, i: Symbol, /) -> Symbol:
    return pure(chr, text_value(interpreter, i))


@rule_for(ord)
def _ord(interpreter: Interpreter, character: Symbol, /) -> Symbol:
    value = known_value(interpreter, character)
    if isinstance(value, str) and len(value) != 1:
        text = f"ord() expected a character, but string of length {len(value)} found"
        raise raise_error(TypeError, text)
    return pure(ord, value)
