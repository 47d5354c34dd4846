"""What a loop's code alone says of it, before it is read: its instructions, and names that no native code can use."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, Instruction, per_code
from ufuse.frame_hook.nests.arrays import array_calls
from ufuse.frame_hook.nests.calls import (
    generators,
    heaps,
    inlining,
    places_of_lists,
    restated,
    searches,
    sorted_places,
)
from ufuse.frame_hook.nests.containers import characters, dict_methods, fields
from ufuse.frame_hook.nests.given import generator_methods
from ufuse.frame_hook.nests.known.kinds import item_kind
from ufuse.frame_hook.nests.known.naming import value_in_words
from ufuse.frame_hook.nests.known.positions import (
    BACK,
    loop_positions,
    while_headers,
    written,
)
from ufuse.frame_hook.nests.known.refusals import why_not_instruction
from ufuse.frame_hook.nests.known.sides import read_in_loop, read_positions
from ufuse.frame_hook.nests.known.values import CALLABLE
from ufuse.frame_hook.nests.numbers import arithmetic, complexes, functions
from ufuse.frame_hook.nests.opcodes.handlers import HANDLERS
from ufuse.frame_hook.nests.reading.refused import Refused, at_instruction

INNER_TURNS = 8  # that an inner loop is taken to have, before its iterator is known
NEVER_USED = (list, str)  # as globals of nests
MOST_ARGUMENTS = 3  # of functions of numbers
METHODS = frozenset(
    (
        "append",
        "pop",
        "insert",
        *fields.METHODS,
        *dict_methods.VIEWS,
        "get",
        "setdefault",
        *searches.METHODS,
        *characters.METHODS,
        *characters.CASES,
        *array_calls.METHODS,
        *array_calls.ATTRIBUTES,
    )
)
# Of methods of lists, dicts and strings, which objects of the program have, too.
COMMON_NAMES = frozenset("center copy count find index title update".split())
LOOP_OPCODES = frozenset(
    number for name, number in dis.opmap.items() if name == "FOR_ITER" or name.startswith(BACK)
)
JUMPS = ("FOR_ITER", "JUMP", "POP_JUMP")


@per_code
def instructions_of_turn(code: CodeType) -> dict[int, int]:
    """For the header of each of these loops: how many instructions a turn has, about."""
    headers = [one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"]
    found = {}
    for header in written_slots(code):
        inside = loop_positions(code, header)
        inner = [loop_positions(code, one) for one in headers if one in inside and one != header]
        found[header] = sum(
            INNER_TURNS ** sum(position in one for one in inner) for position in inside
        )
    return found


@per_code
def written_slots(code: CodeType) -> dict[int, frozenset[int]]:
    """For the header of each loop whose instructions a nest can have: the slots that it writes."""
    table = instructions.by_position(code)
    found = {}
    for one in instructions.instructions(code):
        if one.opname != "FOR_ITER" and one.position not in while_headers(code):
            continue
        positions = {one.position, *read_in_loop(code, one.position)}
        inside = [table[position] for position in positions]
        if all(map(_is_read, inside)) and not _makes_lists_of_lists(inside):
            found[one.position] = written(inside)
    return found


def _makes_lists_of_lists(inside: Iterable[Instruction]) -> bool:
    """Whether a loop is a comprehension around another one: from 3.12 on both are of one function."""
    names = [one.opname for one in inside]
    return "LOAD_FAST_AND_CLEAR" in names and names.count("LIST_APPEND") > 1


def has_loops(code: CodeType) -> bool:
    """Whether a function has a loop whose instructions a nest can have."""
    return not LOOP_OPCODES.isdisjoint(code.co_code[::2]) and bool(written_slots(code))


def why_not_instructions(code: CodeType, header: int) -> str | None:
    """Which instruction no nest has, and in which line; None where a nest can have all."""
    inside = _instructions(code, header)
    if (why := _why_not_any(code, inside, code)) is not None:
        return why
    if _makes_lists_of_lists(inside):
        why = "a list of lists that is made in the loop is not compiled yet"
        return at_instruction(code, inside[0], why, tells=True)
    return None


def _instructions(code: CodeType, header: int) -> list[Instruction]:
    """Those of a loop, in order."""
    table = instructions.by_position(code)
    return [table[position] for position in sorted({header, *read_in_loop(code, header)})]


def _why_not_any(code: CodeType, inside: Iterable[Instruction], told: CodeType) -> str | None:
    """Which of some instructions no nest has."""
    refused = (one for one in inside if not _is_read(one))
    one = next(refused, None)
    if one is None:
        return None
    return at_instruction(code, one, why_not_instruction(one.opname), told, tells=True)


def _is_read(one: Instruction) -> bool:
    return one.opname in HANDLERS or one.opname.startswith(JUMPS)


@per_code
def outer_headers(code: CodeType) -> dict[int, int]:
    """For the header of a loop that of the loop around it, where a nest can have all instructions of that."""
    headers = [one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"]
    found = {}
    for header in headers:
        around = [one for one in headers if one != header and header in loop_positions(code, one)]
        nearest = min(around, key=lambda one: len(loop_positions(code, one)), default=None)
        if nearest is not None and nearest in written_slots(code):
            found[header] = nearest
    return found


@per_code
def names_in_loops(code: CodeType) -> dict[int, frozenset[str]]:
    """For the header of each of those loops: the globals that it uses."""
    table = instructions.by_position(code)
    return {
        header: frozenset(
            code.co_names[(table[one].arg or 0) >> 1]
            for one in (header, *read_in_loop(code, header))
            if table[one].opname == "LOAD_GLOBAL"
        )
        for header in written_slots(code)
    }


def why_not(code: CodeType, header: int, function: FunctionType) -> str | None:
    """What can be seen at once: instructions that no nest has, and globals."""
    names = names_in_loops(code).get(header)
    if names is None:
        return why_not_instructions(code, header)
    why = _why_not_names(function, names, partial(_instructions, code, header), [code])
    if why is not None:
        return why
    table = instructions.by_position(code)
    for chain, position in sorted(attributes_in_loops(code)[header].items()):
        if (why := _why_not_attribute(function, chain)) is not None:
            return at_instruction(code, table[position], why, tells=not chain[0])
    return None


@per_code
def attributes_in_loops(code: CodeType) -> dict[int, dict[tuple[str, ...], int]]:
    """For the header of each of those loops: the attributes that it uses, as in `np.linalg.norm`, and first where.

    "" is no global.
    """
    found: dict[int, dict[tuple[str, ...], int]] = {header: {} for header in written_slots(code)}
    inside = {header: {header, *read_in_loop(code, header)} for header in found}
    chain: tuple[str, ...] = ("",)
    for one in instructions.instructions(code):
        if one.opname == "LOAD_GLOBAL":
            chain = (code.co_names[(one.arg or 0) >> 1],)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            shift = VERSION >= (3, 12) and one.opname == "LOAD_ATTR"
            chain = (*chain, code.co_names[(one.arg or 0) >> shift])
            for header, positions in inside.items():
                if one.position in positions:
                    found[header].pop(chain[:-1], None)
                    found[header].setdefault(chain, one.position)
        else:
            chain = ("",)
    return found


def _why_not_attribute(function: FunctionType, chain: tuple[str, ...]) -> str | None:
    """Why no nest uses an attribute of a module or of an array."""
    value: Any = function.__globals__.get(chain[0])
    for name in chain[1:]:
        if type(value) is not ModuleType:
            if chain[0] and not isinstance(value, list | dict | str):
                return None
            fits = name in METHODS or name in COMMON_NAMES
            kinds = [f"a {one.__name__}" for one in (list, dict, str) if hasattr(one, name)]
            of_object = f"the attribute {name} of {' or '.join(kinds)} is not compiled yet"
            return of_object if kinds and not fits else None
        value = vars(value).get(name)
    kind = type(value)  # `isinstance` would ask the program's own objects
    if not callable(value) or issubclass(kind, FunctionType | np.ufunc | type | _hook.Dispatcher):
        return None
    if generator_methods.may_be_method(value) and generator_methods.module_of(value) is not None:
        return None
    if generator_methods.is_default_rng(value):
        return None
    if isinstance(value, CALLABLE):
        counts = range(1, MOST_ARGUMENTS + 1)
        if (
            value in array_calls.FUNCTIONS
            or value in sorted_places.FUNCTIONS
            or value in generators.CONSUMERS
            or value in restated.CALLS
            or value in places_of_lists.CALLS
            or value in heaps.CALLS
            or value is functools.reduce
            or any(
                (value, count) in arithmetic.FUNCTIONS
                or complexes.rule_of(value, count) is not None
                or functions.rule_of(value, count) is not None
                for count in counts
            )
        ):
            return None
    return f"calls of {'.'.join(chain)} are not compiled yet"


def _why_not_names(
    function: FunctionType,
    names: frozenset[str],
    inside: Callable[[], Iterable[Instruction]],
    callers: list[CodeType],
) -> str | None:
    """Why no nest uses some globals of a function."""
    for name in sorted(names):
        value: Any = function.__globals__.get(name)
        if issubclass(type(value), _hook.Dispatcher):
            value = value.__ufuse_function__
        if type(value) is FunctionType:
            why = _why_not_called(value, callers)
        else:
            why = (
                f"it uses the global {name}, which is {value_in_words(value)}"
                if isinstance(value, NEVER_USED) and not is_list_of_numbers(value)
                else None
            )
        if why is not None and not isinstance(why, Refused):
            return _at_name(function.__code__, name, inside, why, callers[0])
        if why is not None:
            return why
    return None


def _at_name(
    code: CodeType,
    name: str,
    inside: Callable[[], Iterable[Instruction]],
    why: str,
    told: CodeType,
) -> str:
    """A reason that a global is, where it is read first."""
    for one in inside():
        if one.opname == "LOAD_GLOBAL" and code.co_names[(one.arg or 0) >> 1] == name:
            return at_instruction(code, one, why, told, tells=False)
    return why


def _why_not_called(function: FunctionType, callers: list[CodeType]) -> str | None:
    """What can be seen at once of a function that may be called."""
    code = function.__code__
    why = inlining.why_not_called(code)
    if why is not None or code in callers:
        return why
    names = names_of(code)
    if names is None:
        return _why_not_any(code, _instructions_of(code), callers[0])
    if len(callers) > inlining.MOST_CALLS:
        return "calls within one another are too many"
    return _why_not_names(function, names, partial(_instructions_of, code), [*callers, code])


def _instructions_of(code: CodeType) -> list[Instruction]:
    """Those of a function that is called, in order."""
    positions = read_positions(code)
    return [one for one in instructions.instructions(code) if one.position in positions]


def is_list_of_numbers(value: object) -> bool:
    """Whether a global may be a list that nests read, by its first item."""
    return type(value) is list and len(value) > 0 and item_kind(value[0]) is not None


@per_code
def names_of(code: CodeType) -> frozenset[str] | None:
    """The globals that a function uses; None where no nest can have some instruction of it."""
    table = _instructions_of(code)
    if not all(map(_is_read, table)):
        return None
    return frozenset(
        code.co_names[(one.arg or 0) >> 1] for one in table if one.opname == "LOAD_GLOBAL"
    )


@per_code
def outermost_headers(code: CodeType) -> frozenset[int]:
    """The headers of `for` loops that are within no other loop."""
    headers = [one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"]
    others = (*headers, *while_headers(code))
    return frozenset(
        header
        for header in headers
        if not any(header in loop_positions(code, one) for one in others if one != header)
    )


def whiles_around(code: CodeType, position: int) -> list[int]:
    """The headers of `while` loops around a loop."""
    return [
        one
        for one in while_headers(code)
        if one != position and position in loop_positions(code, one)
    ]
