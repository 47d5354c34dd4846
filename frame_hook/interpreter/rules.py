"""The rules of calls: for C functions, types, methods. Each module of rules registers its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.symbols import Symbol

Given = Mapping[str, Symbol]
Positional = Sequence[Symbol]
Rule = Callable[[Interpreter, Positional, Given], Symbol]
# C functions and types, by identity.
BUILTINS: dict[Any, Rule] = {}
# Methods of arrays, by name; the array is the first argument.
METHODS: dict[str, Rule] = {}
# Special methods that are called by name; the receiver is the first argument.
SPECIAL: dict[str, Rule] = {}
# Calls of objects of C classes, such as partial; the object is the first argument.
INSTANCES: dict[type, Rule] = {}
# What is done to a container without looking at what it holds: see `unseen`.
UNSEEN: dict[tuple[Any, str], Any] = {}


def unseen_rule(kind: type, name: str) -> Any:
    """The rule in `UNSEEN`, or None; classes whose metaclass could be asked for a hash have none."""
    return UNSEEN.get((kind, name)) if type(kind) is type else None


def rule_for(*functions: Any) -> Callable[[Rule], Rule]:
    """Register the rule of one or more C functions or types."""

    def register(rule: Rule) -> Rule:
        for function in functions:
            BUILTINS[function] = rule
        return rule

    return register
