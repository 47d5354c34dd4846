"""Sides of branches that native loops leave to plain Python, because all that they lead to is output or an error."""

from __future__ import annotations

import types
from collections.abc import Iterable
from itertools import pairwise

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.code.raising import raising_positions
from ufuse.frame_hook.nests.known.positions import loop_positions, while_headers

PRINT = "print"
LOGS = ("critical", "debug", "error", "exception", "info", "log", "warn", "warning")
# What programs call by these names writes a line somewhere, or plots. Left to plain Python it may be anything.
SAYING = {"warnings": ("warn",), **dict.fromkeys(("log", "logger", "logging"), LOGS)}
PLOTTING = ("plt", "pyplot", "pylab")
Sides = dict[int, frozenset[int]]


def read_positions(code: types.CodeType) -> frozenset[int]:
    """The positions that a called function comes to before anything is raised, or left to plain Python."""
    return frozenset(_reached(code, [0], left_in_function(code)))


def read_in_loop(code: types.CodeType, header: int) -> frozenset[int]:
    """The positions of a loop, as of `loop_positions`, that are not left to plain Python."""
    region, left = loop_positions(code, header), left_in_loop(code, header)
    if not left:
        return region
    return frozenset(_reached(code, [header], left, region | {header})) & region


@instructions.per_code
def left_in_function(code: types.CodeType) -> frozenset[int]:
    """Where a called function is left to plain Python: before it raises, and on sides of branches that print."""
    raising, everywhere = raising_positions(code), frozenset(instructions.by_position(code))
    left = _leading_to(code, raising | _saying_positions(code), everywhere)
    table, reached = instructions.by_position(code), _reached(code, [0], left)
    ends = any(table[one].opname.startswith("RETURN") for one in reached)
    return left if ends and _all_turn(code, reached, left) else raising


def left_in_loop(code: types.CodeType, header: int) -> frozenset[int]:
    """Where a turn of a loop is left to plain Python: on sides of branches that print; nowhere if every turn prints."""
    known = _left_in_loops(code)
    if header not in known:
        known[header] = _left_in_loop(code, header)
    return known[header]


@instructions.per_code
def _left_in_loops(_: types.CodeType) -> Sides:
    return {}


def _left_in_loop(code: types.CodeType, header: int) -> frozenset[int]:
    region = loop_positions(code, header)
    saying = _saying_positions(code) & region
    if not saying:
        return saying
    left = _leading_to(code, saying, region)
    reached = _reached(code, [header], left, region | {header})
    return left if _all_turn(code, reached, left) else frozenset()


@instructions.per_code
def _saying_positions(code: types.CodeType) -> frozenset[int]:
    """Where `print`, or what logs, warns or plots, is looked up to be called."""
    table = instructions.instructions(code)
    printing = {one.position for one in table if _global_name(code, one) in (PRINT, *PLOTTING)}
    logging = {
        one.position
        for one, then in pairwise(table)
        if _attribute_name(code, then) in SAYING.get(_global_name(code, one), ())
    }
    return frozenset(printing | logging)


def _global_name(code: types.CodeType, one: Instruction) -> str:
    return code.co_names[(one.arg or 0) >> 1] if one.opname == "LOAD_GLOBAL" else ""


def _attribute_name(code: types.CodeType, one: Instruction) -> str:
    if one.opname == "LOAD_METHOD":
        return code.co_names[one.arg or 0]
    if one.opname != "LOAD_ATTR":
        return ""
    return code.co_names[(one.arg or 0) >> (VERSION >= (3, 12))]


def _leading_to(
    code: types.CodeType, found: Iterable[int], within: frozenset[int]
) -> frozenset[int]:
    """Positions, and those from which every path leads to one of them."""
    all_found, table = set(found), instructions.instructions(code)
    grows = True
    while grows:
        before = len(all_found)
        for one in reversed(table):
            after = instructions.successors(one)
            if one.position in within and after and all_found.issuperset(after):
                all_found.add(one.position)
        grows = len(all_found) > before
    return frozenset(all_found)


def _reached(
    code: types.CodeType,
    begin: Iterable[int],
    left: frozenset[int],
    within: frozenset[int] | None = None,
) -> set[int]:
    """The positions to which control comes without what is left."""
    table, found, waiting = instructions.by_position(code), set[int](), list(begin)
    while waiting:
        position = waiting.pop()
        is_within = within is None or position in within
        if is_within and position not in found and position not in left:
            found.add(position)
            waiting += instructions.successors(table[position])
    return found


def _all_turn(code: types.CodeType, reached: set[int], left: frozenset[int]) -> bool:
    """Whether every loop among some positions may end a turn without what is left."""
    table, whiles = instructions.by_position(code), while_headers(code)
    headers = [one for one in reached if table[one].opname == "FOR_ITER" or one in whiles]
    return all(_turns(code, header, left) for header in headers)


def _turns(code: types.CodeType, header: int, left: frozenset[int]) -> bool:
    table, region = instructions.by_position(code), loop_positions(code, header)
    inside = _reached(code, instructions.successors(table[header]), left, region - {header})
    return any(header in instructions.successors(table[one]) for one in inside)
