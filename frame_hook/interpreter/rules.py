"""The rules of calls: what a C function, a method or an object of a C class gives for symbols.

A rule is a function of the interpreter and of the arguments, and its own parameters state the signature of what it is
the rule of: `def _sum(interpreter, iterable, /, start=None)`. Python binds the arguments; those that are not given are
None, which is no symbol. Where they do not fit, the graph ends, and plain Python says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ufuse.frame_hook.code.places import full_name
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.tables import Table
from ufuse.frame_hook.trace.reasons import GraphBreak, NotKnownYet
from ufuse.frame_hook.trace.symbols import Symbol
from ufuse.graph.signals import is_of_signal

Given = Mapping[str, Symbol]
Positional = Sequence[Symbol]
Rule = Callable[..., Symbol]
OneRule = TypeVar("OneRule", bound=Rule)
Result = TypeVar("Result")
# C functions and types, by identity.
BUILTINS: Table[Any, Rule] = Table()
# Methods: of built-in types as "list.append", of ufuncs as "ufunc.reduce", of arrays and NumPy's numbers as "sum".
METHODS: Table[str, Rule] = Table()
# Special methods of containers that are called by name.
SPECIAL: Table[str, Rule] = Table()
# Calls of objects of C classes, such as partial; the object is the first argument.
INSTANCES: Table[type, Rule] = Table()
# Methods that change a container which nothing has read: see `library/blind_writes.py`.
BLIND_WRITES: Table[tuple[type, str], Callable[..., Any]] = Table()


def blind_write_of(kind: type, name: str) -> Any:
    """The rule in `BLIND_WRITES`, or None; classes whose metaclass could be asked for a hash have none."""
    return BLIND_WRITES.get((kind, name)) if type(kind) is type else None


def rule_for(*functions: Any) -> Callable[[OneRule], OneRule]:
    """Register the rule of one or more C functions or types."""
    return registering(BUILTINS, functions)


def method(*names: str) -> Callable[[OneRule], OneRule]:
    """Register the rule of one or more methods; the receiver is the first argument."""
    return registering(METHODS, names)


def registering(table: Table[Any, Rule], keys: Sequence[Any]) -> Callable[[OneRule], OneRule]:
    """What registers a rule in a table."""

    def register(rule: OneRule) -> OneRule:
        for key in dict.fromkeys(keys):  # classes may share one function
            table[key] = rule
        return rule

    return register


def applied(
    rule: Callable[..., Result],
    of: Any,
    interpreter: Interpreter,
    arguments: Positional,
    keywords: Given,
) -> Result:
    """What a rule gives for arguments; `of` is the function, or the name of the method, whose rule it is.

    Raises:
        GraphBreak: the arguments do not fit.

    """
    interpreter.given.append((*arguments, *keywords.values()))
    try:
        return rule(interpreter, *arguments, **keywords)
    except NotKnownYet as found:
        raise GraphBreak("call", f"{_name(of)} of {found.value}") from None
    except TypeError as error:
        if _is_from_below(error) or is_of_signal(error):
            raise  # from the rule's own body
    finally:
        interpreter.given.pop()
    raise _misfit(of)


def _is_from_below(error: TypeError) -> bool:
    """Whether a called function raised the error; a traceback in a local of its own frame would keep that alive."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is not None


def _name(of: Any) -> str:
    """What people call a function or a method."""
    if isinstance(of, str):
        return of if "." in of else f"ndarray.{of}"
    return full_name(of) if hasattr(of, "__qualname__") else repr(of)


def _misfit(of: Any) -> GraphBreak:
    """NumPy's rules state what they follow, which may be less than NumPy takes; the others all that Python takes."""
    name = of if isinstance(of, str) else getattr(of, "__qualname__", repr(of))
    if isinstance(of, str) and "." not in of:
        return GraphBreak("numpy-call", f"numpy.ndarray.{name} with these arguments")
    if str(getattr(of, "__module__", "")).partition(".")[0] == "numpy":
        return GraphBreak("numpy-call", f"numpy.{name} with these arguments")
    return GraphBreak("eager-raises", f"TypeError: the arguments of {name}()")
