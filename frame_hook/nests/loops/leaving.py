"""How a nest is left: behind the loop or at its header, in mid-turn, with what the frame then has."""

from __future__ import annotations

from ufuse.frame_hook.nests.arrays import views
from ufuse.frame_hook.nests.containers import object_lists
from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    EitherKind,
    MemberKind,
    NumberKind,
    TemporaryKind,
    ViewKind,
)
from ufuse.frame_hook.nests.known.numbers import ConstantKind, Known
from ufuse.frame_hook.nests.known.positions import exit_place
from ufuse.frame_hook.nests.known.values import ItemsKind, Turning, is_none
from ufuse.frame_hook.nests.known.ways import DOUBT, Exit, Given
from ufuse.frame_hook.nests.loops import carried
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1

MOST_EXITS = 32


def exit_label(reader: Reader, position: int) -> str:
    """The label where the nest is left for a position behind the loop, or at its header with other kinds of locals.

    Where it cannot be the turn is in doubt.
    """
    least = len(reader.state) - len(reader.own.names) - (not reader.is_while)
    at_header = position == reader.position
    place = position if at_header else exit_place(reader.own.code, position, least)
    stack = reader.stack
    if (
        place is not None
        and len(reader.left) < MOST_EXITS
        and all(isinstance(one, Turning) for one in stack)
    ):
        reader.stack = []
        version = reader.version(place)
        reader.stack = stack
        if _can_give_back(reader, version):
            reader.left.add(version)
            return reader.label(version)
    reader.doubts = True
    return DOUBT


def _can_give_back(reader: Reader, version: Version) -> bool:
    """Whether the frame can have what is needed behind the loop."""
    live = reader.own.live[version.position]
    return all(
        isinstance(kind, NumberKind)
        or (isinstance(kind, ConstantKind) and is_none(kind.item))
        or isinstance(kind, MemberKind)
        or (slot in reader.changed and isinstance(kind, ArrayKind | TemporaryKind | ViewKind))
        or carried.can_give_back(kind)
        or slot not in reader.written  # as attributes are
        or (slot not in live and slot not in reader.changed)
        for slot, kind in version.locals
    )


def give_back(reader: Reader, version: Version) -> dict[int, str | Known | Given]:
    """Write what the frame gets back; the names of the nest's slots that have it, by the frame's."""
    out = reader.out
    found: dict[int, str | Known | Given] = {}
    for slot, kind in version.locals:
        if slot < 0:
            continue  # an attribute, given back since it was bound
        name = reader.own.names[slot]
        if isinstance(kind, NumberKind) and slot in reader.written:
            name = reader.variable(slot, kind.kind)
            if name != reader.own.names[slot]:
                reader.made[name] = kind.kind
            whose = (
                out.get(f"{reader.own.names[slot]}.tag", I1)
                if isinstance(kind, EitherKind)
                else out.constant(I1, kind.numpy)
            )
            out.set(f"{name}.numpy", whose)
            found[slot] = name
        elif isinstance(kind, ItemsKind) and slot in reader.written:
            own = reader.kinds.get(slot)
            if isinstance(own, NumberKind):
                reader.outside.exact_type(slot)
            found[slot] = carried.give_back(reader, name, kind, own, reader.made)
        elif isinstance(kind, MemberKind) and slot in reader.written:
            found[slot] = object_lists.give_back(reader, slot, kind)
        elif isinstance(kind, ConstantKind):
            found[slot] = kind.item
        elif slot not in reader.changed:
            continue
        elif isinstance(kind, ArrayKind | TemporaryKind | ViewKind):
            views.give_back_array(reader, name, kind)
            found[slot] = name
    return found


def leave(reader: Reader, version: Version) -> None:
    """Leave the nest in mid-turn."""
    reader.exits.append(Exit(version.position, give_back(reader, version)))
    reader.out.end("leave", number=len(reader.exits))
