"""Functions whose callees read their local variables through frame objects, as `numexpr.evaluate("a + b")` does.

Behind a graph only those locals are restored that the function itself may still read; all of them, where it calls
something that reads the locals of its callers. This is decided from names in code alone: nothing of the user's runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

# The attribute by which the locals of another frame are read.
READING = "f_locals"
# A module's dict, without `vars()`, at which a lazily loaded module would load itself.
CONTENTS = vars(ModuleType)["__dict__"]
# How many functions are searched before the answer is that none reads locals.
MOST_FUNCTIONS = 300
# Nothing in there reads the locals of its callers.
NOT_ENTERED = frozenset({"numpy", "ufuse"})


def shows_its_locals(function: FunctionType) -> bool:
    """Whether something that a function calls by name, at any depth, reads locals through frame objects."""
    waiting, seen = [function], {function.__code__}
    while waiting and len(seen) <= MOST_FUNCTIONS:
        now = waiting.pop(0)
        for code in nested(now.__code__):
            if READING in code.co_names and now is not function:
                return True
            for callee in called_by_name(code, now):
                if not is_ours_or_numpys(callee) and callee.__code__ not in seen:
                    seen.add(callee.__code__)
                    waiting.append(callee)
    return False


def is_ours_or_numpys(function: FunctionType) -> bool:
    """Whether a function is of a package that is not entered; a program may call its module anything."""
    module = function.__module__
    return type(module) is str and module.partition(".")[0] in NOT_ENTERED


def nested(code: CodeType) -> Iterator[CodeType]:
    """Give a code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def called_by_name(code: CodeType, function: FunctionType) -> Iterator[FunctionType]:
    """The functions that names in the code stand for: globals, free variables and attributes of modules."""
    named: list[Any] = [dict.get(function.__globals__, name) for name in code.co_names]
    named += [cell_content(cell) for cell in function.__closure__ or ()]
    named += [sys.modules.get(name) for name in code.co_names]
    modules = [value for value in named if is_module(value)]
    for module in modules:
        contents = CONTENTS.__get__(module)
        found = [contents.get(name) for name in code.co_names]
        named += found
        known = {id(one) for one in modules}
        modules += [value for value in found if is_module(value) and id(value) not in known]
    for value in named:
        if type(value) is FunctionType:
            yield value


def is_module(value: object) -> bool:
    """Whether it is a module; `isinstance` would ask the value for its class."""
    return issubclass(type(value), ModuleType)


def cell_content(cell: Any) -> object:
    """What a cell holds, or None where it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
