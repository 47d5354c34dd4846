"""The rules of C functions state the signatures that these have, and tables hold each entry once."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import weakref
from collections import deque
from pathlib import Path
from types import GeneratorType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufuse  # noqa: F401  fills the tables
from ufuse.frame_hook import rules_and_handlers
from ufuse.frame_hook.interpreter.rules import BUILTINS, METHODS, Rule, applied
from ufuse.frame_hook.interpreter.tables import Table
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Symbol

# Not np.ufunc: its methods take by name what their signatures say is positional only.
TYPES = {
    "list": list, "tuple": tuple, "dict": dict, "set": set, "frozenset": frozenset, "str": str, "bytes": bytes,
    "deque": deque, "generator": GeneratorType, "": np.ndarray,
}  # fmt: skip


def signature_of(function: Any) -> inspect.Signature | None:
    """Give the signature of a C function, where this Python tells it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def stated_by(rule: Rule) -> inspect.Signature:
    """Give the signature that a rule states, behind the interpreter."""
    stated = inspect.signature(rule)
    return stated.replace(parameters=list(stated.parameters.values())[1:])


def fits(signature: inspect.Signature, count: int, names: tuple[str, ...]) -> bool:
    """Say whether a signature takes so many arguments by position, and these by name."""
    try:
        signature.bind(*range(count), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


def differing(
    real: inspect.Signature, stated: inspect.Signature, least: int
) -> list[tuple[int, tuple[str, ...]]]:
    """List calls that a rule takes and its function refuses."""
    # Not by the names of what the rule takes by position only: Python refuses that (3.13.0's `bind` does not).
    only = {one.name for one in stated.parameters.values() if one.kind is one.POSITIONAL_ONLY}
    names = sorted({*real.parameters, *stated.parameters, "unheard_of"} - only)
    calls = [
        (count, given)
        for count in range(least, 6)
        for many in range(3)
        for given in itertools.combinations(names, many)
    ]
    return [call for call in calls if fits(stated, *call) and not fits(real, *call)]


def is_later(function: Any, _: int, names: tuple[str, ...]) -> bool:
    """Say whether an argument is of a later Python; the rule ends the graph at it, and this Python refuses it."""
    batched = getattr(itertools, "batched", None)
    since = {map: (3, 14), batched: (3, 13)}.get(function)
    return since is not None and "strict" in names and sys.version_info < since


def takes_anything(rule: Rule, receivers: int) -> bool:
    """Say whether a rule takes whatever is given, to call the function itself: then that refuses."""
    kinds = [one.kind for one in inspect.signature(rule).parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds[1 : 2 + receivers]


def test_rules_take_only_what_functions_take() -> None:
    """No call that a C function refuses reaches the body of its rule."""
    rules = [(function, rule, 0) for function, rule in BUILTINS.items()]
    for name, rule in METHODS.items():
        kind, _, method = name.rpartition(".")
        if kind in TYPES and hasattr(TYPES[kind], method):
            rules.append((getattr(TYPES[kind], method), rule, 1))  # with the receiver
    told, wrong = 0, {}
    for function, rule, least in rules:
        real = signature_of(function)
        if real is None or takes_anything(rule, least):
            continue
        told += 1
        found = [c for c in differing(real, stated_by(rule), least) if not is_later(function, *c)]
        if found:
            wrong[str(function)] = found
    assert not wrong
    assert told > 100


def test_every_module_of_rules_is_listed() -> None:
    """A module that registers rules or handlers is imported because the list names it, not by chance."""
    listed = {Path(module.__file__) for module in rules_and_handlers.MODULES}
    folder = Path(rules_and_handlers.__file__).parent
    registers = {
        path
        for path in folder.rglob("*.py")
        if REGISTERS.search(path.read_text())
        and path.name not in ("rules.py", "interpreter.py")
        and "nests" not in path.relative_to(folder).parts  # which have tables of their own
    }
    assert registers - {folder / "rules_and_handlers.py"} == listed


REGISTERS = re.compile(
    r"\b(rule_for|method|function|registering|handles|next_of)\(.*\)(\(|[^\n]*\n *(def |@))|^ *BLIND_WRITES\[",
    re.MULTILINE,
)
KINDS = [
    (sorted, "eager-raises"),
    ("list.pop", "eager-raises"),
    (np.copy, "numpy-call"),
    ("copy", "numpy-call"),
]


def _two(_: Any, first: Symbol, /, second: Symbol | None = None) -> Symbol:
    return second or first


def _raises(_: Any, first: Symbol, /) -> Symbol:
    return len(first)


def _interpreter() -> Any:
    """What rules are given, as far as what hands them their arguments knows it."""
    return SimpleNamespace(given=[])


@pytest.mark.parametrize(
    ("count", "names"), [(0, ()), (3, ()), (1, ("third",)), (2, ("second",)), (0, ("first",))]
)
def test_arguments_that_do_not_fit_end_the_graph(count: int, names: tuple[str, ...]) -> None:
    """What a rule's parameters do not take is left to plain Python; a method's name says whether it is NumPy's."""
    given, named = [Constant(n) for n in range(count)], {name: Constant(name) for name in names}
    for of, kind in KINDS:
        with pytest.raises(GraphBreak) as caught:
            applied(_two, of, _interpreter(), given, named)
        assert caught.value.code == kind


def test_errors_of_rules_are_no_misfits() -> None:
    """A TypeError from within a rule is a mistake of ours, and is not taken for arguments that do not fit."""
    assert applied(_two, sorted, _interpreter(), [Constant(1)], {}).value == 1
    with pytest.raises(TypeError, match="has no len"):
        applied(_raises, sorted, _interpreter(), [Constant(1)], {})


def test_arguments_that_do_not_fit_are_not_kept() -> None:
    """What was handed to a rule that does not take it dies with the call, without a collection."""
    value = deque([1])
    kept = weakref.ref(value)
    symbol = Constant(value)
    with pytest.raises(GraphBreak):
        applied(BUILTINS[len], len, _interpreter(), (symbol, symbol), {})
    del symbol, value
    assert kept() is None


def test_tables_refuse_a_second_entry() -> None:
    """Of two rules for one function, one would never run."""
    table: Table[str, int] = Table()
    table["a"] = 1
    with pytest.raises(ValueError, match="'a' is registered already"):
        table["a"] = 2
    assert table == {"a": 1}
