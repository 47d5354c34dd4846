"""Classes of plain data, of which a trace makes thousands: immutable to the type checker.

`frozen` would have each field set by a call at run time, which takes four times as long. `dataclass` compiles its
functions for each class, which would be a third of what an import takes: here classes with as many fields share
functions that are compiled once and are given the names of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform

Kind = TypeVar("Kind")
LEFT_OUT = object()  # stands in a signature for what a default factory makes


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[Kind]) -> type[Kind]:
    """A class of values that are equal where their fields are; they may have a hash of their own."""
    made = individual(kind)
    compared = [one.name for one in _fields(made) if one.compare]
    mine, its = (
        "(" + "".join(f"{one}.f{i}, " for i in range(len(compared))) + ")"
        for one in ("self", "other")
    )
    equal = f"return {mine} == {its} if other.__class__ is self.__class__ else NotImplemented"
    _give(made, "__eq__", ("self", "other"), equal, compared)
    if "__hash__" not in vars(kind):
        _give(made, "__hash__", ("self",), f"return hash({mine})", compared)
    return made


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def individual(kind: type[Kind]) -> type[Kind]:
    """A class of values that are compared by identity."""
    made: type[Kind] = dataclass(slots=True, init=False, repr=False, eq=False)(kind)
    set_up = [one for one in _fields(made) if one.init]
    defaults: list[Any] = []
    factories: dict[str, Any] = {"LEFT_OUT": LEFT_OUT}
    lines = []
    for i, one in enumerate(set_up):
        value = f"f{i}"
        if one.default_factory is not MISSING:
            factories[f"make_{i}"] = one.default_factory
            defaults.append(LEFT_OUT)
            value = f"make_{i}() if f{i} is LEFT_OUT else f{i}"
        elif one.default is not MISSING:
            defaults.append(one.default)
        lines.append(f"self.f{i} = {value}")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    names = [one.name for one in set_up]
    parameters = ("self", *(f"f{i}" for i in range(len(names))))
    body = "; ".join(lines) or "pass"
    _give(made, "__init__", parameters, body, names, tuple(defaults), factories)
    if "__repr__" not in vars(made):
        type.__setattr__(made, "__repr__", _text)
    return made


def _fields(made: Any) -> Sequence[Field[Any]]:
    return fields(made)


def _give(
    made: type,
    name: str,
    parameters: tuple[str, ...],
    body: str,
    names: Sequence[str],
    defaults: tuple[Any, ...] = (),
    space: Mapping[str, Any] = {},
) -> None:
    """Give a class a function that it has not: in its body `f0`, `f1` … stand for the names of fields."""
    if name in vars(made):
        return
    renamed = {f"f{i}": one for i, one in enumerate(names)}
    code = _compiled(name, parameters, body)
    code = code.replace(
        co_varnames=tuple(renamed.get(one, one) for one in code.co_varnames),
        co_names=tuple(renamed.get(one, one) for one in code.co_names),
    )
    function = FunctionType(code, dict(space), name, defaults)
    function.__qualname__ = f"{made.__qualname__}.{name}"
    function.__module__ = made.__module__
    type.__setattr__(made, name, function)


@cache
def _compiled(name: str, parameters: tuple[str, ...], body: str) -> CodeType:
    """The code of a function; much is asked for again, with fields of other names."""
    space: dict[str, Any] = {}
    exec(f"def {name}({', '.join(parameters)}): {body}", space)  # noqa: S102  text from this module alone
    code: CodeType = space[name].__code__
    return code


@recursive_repr()
def _text(self: Any) -> str:
    values = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(values)})"
