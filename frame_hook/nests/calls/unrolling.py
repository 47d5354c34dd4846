"""Inner loops over a few known numbers, or tuples of these, and over names: each turn is read for itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.nests.containers import keeping
from ufuse.frame_hook.nests.known.containers import RangeOf
from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import NumberKind, kind_of
from ufuse.frame_hook.nests.known.numbers import Known, TurnConstant, constant_kind
from ufuse.frame_hook.nests.known.positions import loop_positions
from ufuse.frame_hook.nests.known.tries import RollError
from ufuse.frame_hook.nests.known.values import Item, Items, ItemsKind, Kind, Turning, Unrolled
from ufuse.frame_hook.nests.reading.reader import Reader

_Kind = TypeVar("_Kind", bound=Kind | None)
MOST_TURNS = 4
MOST_TOGETHER = 9  # turns of loops within one another
# Turns of a loop over names, as those of a dict's entries, which has no other native code.
MOST_NAMES = 16
MOST_INSTRUCTIONS = 450  # of all turns


def unrolled(reader: Reader, item: Item, name: str) -> Turning | None:
    """What is on the stack in a loop that is unrolled; None where it is not.

    Raises:
        RollError: a loop that is not unrolled stands in one that is.

    """
    around = list(_around(reader))
    members, has_names = _members(reader, item), False
    if not members and isinstance(item, Items) and len(item.items) <= MOST_NAMES:
        if has_names := _has_names(item):
            pairs = ((f"{name}.{place}", one) for place, one in enumerate(item.items))
            members = tuple(keeping.keep_item(reader, *pair) for pair in pairs)
    if members and _is_small(reader, len(members), around, name, has_names=has_names):
        reader.unrolls = True
        reader.note_maker(name)
        return Turning(name, Unrolled(members, 0))
    if around:
        raise RollError(frozenset(one.name for one, _ in around), around[0][0].name)
    return None


def begin_turn(
    reader: Reader, header: instructions.Instruction, turning: Turning, kind: Unrolled
) -> None:
    """Push what a turn gives; behind the last one end the block."""
    if kind.place < len(kind.members):
        reader.stack[-1] = replace(turning, kind=replace(kind, place=kind.place + 1))
        item = keeping.kept(reader, f"{turning.name}.{kind.place}", kind.members[kind.place])
        for one in _leaves(item):
            reader.turn_items[id(one)] = one, turning.name
        reader.stack.append(item)
        return
    if VERSION < (3, 14):
        reader.stack.pop()
    reader.jump(instructions.successors(header)[1])


def _leaves(item: Item) -> Iterator[Known]:
    if isinstance(item, Known):
        yield item
    elif isinstance(item, Items):
        for one in item.items:
            yield from _leaves(one)


def kind_in_turn(reader: Reader, item: Item) -> TurnConstant | None:
    """What a local is that gets a number of a turn: known until that loop is left."""
    if not isinstance(item, Known) or id(item) not in reader.turn_items:
        return None
    if kind_of(item.value) is None:
        return None
    known = constant_kind(item)
    return TurnConstant(known.key, item, reader.turn_items[id(item)][1])


def settled(kind: _Kind, stack: Sequence[Item | Kind]) -> _Kind | NumberKind:
    """What a local is with a stack: behind an unrolled loop no constant any more."""
    if not isinstance(kind, TurnConstant) or any(
        isinstance(one, Turning) and one.name == kind.turn for one in stack
    ):
        return kind
    number = kind_of(kind.item.value)
    assert number is not None
    return number


def is_unrolled(stack: Sequence[Item | Kind]) -> bool:
    """Whether a loop whose header control comes to is unrolled."""
    return bool(stack) and isinstance(stack[-1], Turning) and isinstance(stack[-1].kind, Unrolled)


def suffix(version: Version) -> str:
    """What tells the labels of turns apart."""
    return "".join(f".{kind.place}" for _, kind in _unrolled(_stacks(version)))


def _is_small(
    reader: Reader,
    turns: int,
    around: list[tuple[Turning, Unrolled]],
    name: str,
    *,
    has_names: bool,
) -> bool:
    table, code = reader.frame.function.table, reader.code
    if (
        reader.tries.rolled is None
        or name in reader.tries.rolled
        or table[reader.next].opname != "FOR_ITER"
    ):
        return False
    together = prod((len(kind.members) for _, kind in around), start=turns)
    size = together * len(loop_positions(code, reader.next))
    few, most = (MOST_NAMES, MOST_NAMES) if has_names else (MOST_TURNS, MOST_TOGETHER)
    return turns <= few and together <= most and size <= MOST_INSTRUCTIONS


def _has_names(item: Items) -> bool:
    """Whether some member is text, or a tuple with some."""
    return any(
        (isinstance(one, Known) and type(one.value) is str)
        or (isinstance(one, Items) and _has_names(one))
        for one in item.items
    )


def _around(reader: Reader) -> Iterator[tuple[Turning, Unrolled]]:
    """The loops around that are unrolled, in the functions that call this one, too."""
    stack: list[Item | Kind] = [*_stacks(reader.frame.caller), *reader.stack]
    return _unrolled(stack)


def _stacks(version: Version | None) -> list[Item | Kind]:
    """What is on the stacks of a function and of those that call it."""
    return [] if version is None else [*_stacks(version.caller), *version.stack]


def _unrolled(stack: Sequence[Item | Kind]) -> Iterator[tuple[Turning, Unrolled]]:
    for one in stack:
        if isinstance(one, Turning) and isinstance(one.kind, Unrolled):
            yield one, one.kind


def _members(reader: Reader, item: Item) -> tuple[Kind, ...]:
    """What is gone over, where it is known; else nothing."""
    if isinstance(item, RangeOf):
        parts = [reader.out.known(one) for one in (item.start, item.stop, item.step)]
        if None in parts or parts[2] == 0:
            return ()
        numbers = range(*parts)
        return tuple(constant_kind(Known(one)) for one in numbers[: MOST_TURNS + 1])
    kind = _constant(item)
    return kind.items if isinstance(kind, ItemsKind) else ()


def _constant(item: Item) -> Kind | None:
    """The kind of a known number, or of a tuple of these."""
    if isinstance(item, Known) and kind_of(item.value) is not None:
        return constant_kind(item)
    if isinstance(item, Items):
        kinds = [_constant(one) for one in item.items]
        known = tuple(one for one in kinds if one is not None)
        return ItemsKind(known) if len(known) == len(kinds) else None
    return None
