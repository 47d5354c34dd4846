"""Arrays that a nest makes, and the numbers that stand for arrays in its instructions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ufuse.frame_hook.nests.values import Known, NotNativeError, Number, TemporaryKind
from ufuse.graph.nest import ArraySlot, Block, Instruction, Map, Value, View

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.reader import Reader

PLAIN = (Value, Known, Number)  # that hold none
MOST_AT_ONCE = 4  # arrays that one instruction made, in as many variables


@dataclass(frozen=True, slots=True)
class _Made:
    prefix: str  # of the function
    position: int  # and of the instruction in it that makes it
    ordinal: int  # among those that the instruction makes
    dtype: np.dtype
    seen: tuple[tuple[bool, int], ...]


class Temporaries:
    """The arrays that the instructions of a loop make.

    An instruction that runs again takes the same memory again, unless a variable or the stack still holds it.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._all: list[_Made] = []
        self._ordinal = 0

    @property
    def kinds(self) -> list[TemporaryKind]:
        """All of them, by number."""
        return [TemporaryKind(number) for number in range(len(self._all))]

    def dtype(self, kind: TemporaryKind) -> np.dtype:
        """The dtype of one."""
        return self._all[kind.number].dtype

    def seen(self, kind: TemporaryKind) -> tuple[tuple[bool, int], ...]:
        """For each of its axes whether it is known to have length 1, and how long it was seen to be at least."""
        return self._all[kind.number].seen

    def begin(self) -> None:
        """Another instruction is read, perhaps once more."""
        self._ordinal = 0

    def free(self, dtype: np.dtype, seen: tuple[tuple[bool, int], ...]) -> TemporaryKind:
        """One that is not held any more, for the instruction that is being read."""
        reader = self._reader
        place = reader.frame.function.prefix, reader.at.position
        wanted = _Made(*place, self._ordinal, dtype, seen)
        self._ordinal += 1
        held = set(_held((*reader.slots.values(), *reader.stack, reader.frame.caller)))
        same = [number for number, made in enumerate(self._all) if made == wanted]
        found = next((number for number in same if TemporaryKind(number) not in held), None)
        if found is None:
            if len(same) >= MOST_AT_ONCE:
                raise NotNativeError("too many variables hold arrays that one instruction made")
            found = len(self._all)
            self._all.append(wanted)
        return TemporaryKind(found)

    def slots(self) -> tuple[ArraySlot, ...]:
        """As the nest has them."""
        return tuple(
            ArraySlot(f".array{number}", made.dtype, len(made.seen), is_written=True)
            for number, made in enumerate(self._all)
        )


def _held(things: Iterable[Any]) -> Iterator[TemporaryKind]:
    """Those that items and kinds stand for or are part of."""
    for one in things:
        if isinstance(one, TemporaryKind):
            yield one
        elif isinstance(one, tuple):
            yield from _held(one)
        elif dataclasses.is_dataclass(one) and not isinstance(one, PLAIN):
            yield from _held(getattr(one, part.name) for part in dataclasses.fields(one))


def renumbered(block: Block, new: Mapping[int, int]) -> Block:
    """A block with other numbers of arrays."""
    return replace(block, instructions=tuple(_renumbered(one, new) for one in block.instructions))


def _renumbered(one: Instruction, new: Mapping[int, int]) -> Instruction:
    attributes: tuple[Any, ...]
    match one.op, one.attributes:
        case "array", (number,):  # a number as such
            return replace(one, op="const", attributes=(new[number],))
        case "load" | "store" | "dim" | "alloc", (number, *rest):
            attributes = (new[number], *rest)
        case "fold" | "dot", (name, *views):
            attributes = (name, *(_view(view, new) for view in views))
        case "map", (Map() as statement,):
            operands = tuple(_view(each, new) for each in statement.operands)
            target = _view(statement.target, new)
            attributes = (replace(statement, operands=operands, target=target),)
        case _:
            return one
    return replace(one, attributes=attributes)


def _view(view: Any, new: Mapping[int, int]) -> Any:
    return replace(view, array=new[view.array]) if isinstance(view, View) else view
