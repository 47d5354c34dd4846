"""Tuples of numbers in locals that a loop binds anew, as in `best, where = d, (i, j)`: items are slots of the nest.

The frame gets its own tuple back where no item is another object, else a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from ufuse.frame_hook.nests.containers import keeping
from ufuse.frame_hook.nests.known.kinds import EitherKind, NumberKind, kind_of
from ufuse.frame_hook.nests.known.numbers import Complex, ConstantKind, Known, Number
from ufuse.frame_hook.nests.known.values import Items, ItemsKind, Kind, is_none
from ufuse.frame_hook.nests.known.ways import Given
from ufuse.frame_hook.nests.numbers import complexes
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_slots import NumberSlot
from ufuse.graph.nest_types import I1, Value

MOST_ITEMS = 8


def kind_of_tuple(value: object) -> ItemsKind | None:
    """The kind of a tuple of numbers that a nest can be given; None: it cannot."""
    if type(value) is not tuple or not 1 <= len(value) <= MOST_ITEMS:
        return None
    kinds = tuple(kind for one in value if (kind := kind_of(one)) is not None)
    return ItemsKind(kinds) if len(kinds) == len(value) else None


def number_slots(name: str, kind: ItemsKind) -> list[NumberSlot]:
    """The nest's slots of a tuple's items."""
    return [
        NumberSlot(f"{name}.{place}", one.kind, is_changed=True)
        for place, one in enumerate(kind.items)
        if isinstance(one, NumberKind)
    ]


def fits(kind: ItemsKind, now: Kind | None) -> bool:
    """Whether a tuple's items lie in the same slots as when the nest began."""
    return (
        isinstance(now, ItemsKind)
        and len(now.items) == len(kind.items)
        and all(map(_is_alike, kind.items, now.items))
    )


def _is_alike(one: Kind, other: Kind) -> bool:
    return isinstance(one, NumberKind) and isinstance(other, NumberKind) and one.kind == other.kind


def with_numbers(reader: Reader, item: Items) -> Items:
    """A tuple for a local that has slots: constants are numbers as others are."""
    return Items(
        tuple(
            complexes.scalar(reader.out, one)
            if isinstance(one, Known) and kind_of(one.value) is not None
            else one
            for one in item.items
        )
    )


def begin(reader: Reader, name: str, kind: ItemsKind) -> list[Value]:
    """Take the items out of their slots; conditions under which they are of their kinds."""
    out, conditions = reader.out, []
    for place, one in enumerate(kind.items):
        assert isinstance(one, NumberKind)
        slot = f"{name}.{place}"
        is_numpy = out.get(f"{slot}.numpy", I1)
        if isinstance(one, EitherKind):
            plain = complexes.kept(out, slot, NumberKind(one.kind))
            assert isinstance(plain, Number)
            keeping.keep(reader, slot, Number(one, plain.value, is_numpy))
            continue
        conditions.append(is_numpy if one.numpy else out.op("not", I1, is_numpy))
        keeping.keep(reader, slot, complexes.kept(out, slot, one))
    return conditions


def can_give_back(kind: Kind) -> bool:
    """Whether the frame can have such a tuple."""
    return isinstance(kind, ItemsKind) and all(
        isinstance(one, NumberKind)
        or (
            isinstance(one, ConstantKind)
            and (is_none(one.item) or kind_of(one.item.value) is not None)
        )
        for one in kind.items
    )


def give_back(
    reader: Reader, name: str, kind: ItemsKind, own: Kind | None, made: dict[str, str]
) -> Given:
    """Put the items into slots; `own` is the kind that the nest began with, `made` gets slots that it did not."""
    out, found = reader.out, list[str | Known]()
    began = own.items if isinstance(own, ItemsKind) else ()
    for place, one in enumerate(kind.items):
        item = keeping.kept(reader, f"{name}.{place}", one)
        if isinstance(item, Known):
            found.append(item)
            continue
        assert isinstance(item, Number | Complex)
        slot = f"{name}.{place}"
        if place >= len(began) or not _is_alike(began[place], one):
            slot += f" {item.type.kind}"
            made[slot] = item.type.kind
        complexes.keep(out, slot, item)
        tag = item.tag if isinstance(item, Number) else None
        out.set(f"{slot}.numpy", out.constant(I1, item.type.numpy) if tag is None else tag)
        found.append(slot)
    return tuple(found)


def same_or_new(own: tuple[Any, ...], *items: Any) -> tuple[Any, ...]:
    """A tuple of these items, which is the frame's own where they are its."""
    return own if len(own) == len(items) and all(map(is_, own, items)) else items


def tuples(names: Sequence[str], kinds: Mapping[int, Any]) -> dict[int, tuple[str, ...]]:
    """For each local that is such a tuple where the nest begins: the slots of its items."""
    return {
        slot: tuple(one.name for one in number_slots(names[slot], kind))
        for slot, kind in kinds.items()
        if isinstance(kind, ItemsKind)
    }
