"""What a loop that was read comes to: its nest, the slots of that, and what its entry needs to know."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ufuse.frame_hook.nests.calls import grids
from ufuse.frame_hook.nests.containers import lists, made_rows, object_lists
from ufuse.frame_hook.nests.given import listed_objects
from ufuse.frame_hook.nests.given.temporaries import renumbered
from ufuse.frame_hook.nests.known.containers import Ragged
from ufuse.frame_hook.nests.known.frames import Version, attributes_in
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    ColumnKind,
    EitherKind,
    Holder,
    MemberKind,
    NotNativeError,
    NumberKind,
)
from ufuse.frame_hook.nests.known.leaner import leaner, variables_of
from ufuse.frame_hook.nests.known.values import ItemsKind, SlotKind
from ufuse.frame_hook.nests.known.ways import DOUBT, ITERATOR, Exit
from ufuse.frame_hook.nests.loops import carried
from ufuse.frame_hook.nests.numbers import either
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import Nest, View
from ufuse.graph.nest_slots import (
    ARRAYS,
    MARKS,
    OBJECTS,
    ArraySlot,
    GivenRows,
    NumberSlot,
    ObjectSlot,
    Slot,
)
from ufuse.graph.nest_types import I1
from ufuse.graph.records import record


@record
class Read:
    """A loop that was read: its nest, and the slots of the frame that its slots are; the iterator's comes last.

    What the nest alone makes has some slot of the frame that is bound.
    `empty` are slots that each turn overwrites, and that nobody reads behind the loop: the frame gets them back without
    a value. `ordered` are those of arrays whose axes must lie in memory in their order, `contiguous` without gaps, too.
    `begins`: for each version of the header with which the nest may begin, the kinds of the frame's numbers. `tuples`:
    the slots of the nest that have the items of a local. `cells`: the slots of the frame's cells that it writes.
    `fields`: the registers of the attributes that it sets, by the register of the object and the name.
    """

    nest: Nest
    slots: tuple[int, ...]
    empty: frozenset[int]
    ordered: frozenset[int]
    contiguous: frozenset[int]
    begins: tuple[dict[int, NumberKind], ...]
    written: frozenset[int]
    exits: tuple[Exit, ...]
    tuples: dict[int, tuple[str, ...]]
    cells: frozenset[int]
    fields: dict[tuple[int, str], int]


def finished(reader: Reader, headers: list[Version]) -> Read:
    """The nest of a loop all of whose versions were read; `headers` are those of its header."""
    changed, names = reader.changed, reader.own.names
    own_kinds = (reader.kinds.get(slot) for slot in reader.used | changed)
    reader.used |= {kind.holder.slot for kind in own_kinds if isinstance(kind, MemberKind)}
    used = sorted(reader.used | changed)
    reader.lists.check(reader.outside, reader.stored)
    made_rows.check(reader)
    beside = object_lists.checked(reader)  # registers of objects that must be no items of lists
    if not reader.functions:
        lists.refuse_slight(reader)
    arrays: list[Holder | ColumnKind] = [
        ArrayKind(s)
        for s in used
        if isinstance(_kind(reader, s), ArrayKind) and s not in reader.lists.grown
    ]
    arrays += reader.memory.kinds
    first = len(arrays)
    arrays += reader.lists.columns()
    slots = _slots(reader, used, first)
    drawn = sorted(reader.drawn)
    keyed = reader.outside.keyed.slots(arrays.index, partial(text_of, reader))
    iterators = reader.outermost.registers if reader.outermost is not None else ()
    once = {*reader.lists.grown, *reader.outside.lists}  # they must come but once
    bound_registers = (*iterators, *(one for one in used if one not in once), *keyed)
    if reader.is_while and not bound_registers:
        raise NotNativeError("it uses no number and no array")
    own = [
        reader.outside.owners.get(each, each)
        for one in used
        for each in reader.tuples.get(one, (reader.cells.get(one, one),))
    ]
    made = len(reader.made) + len(reader.made_members)
    registers = [*own, *drawn, *beside, *keyed, *bound_registers[:1] * made, *iterators]
    slots += (reader.outside.generators[one] for one in drawn)
    slots += (ObjectSlot(f"object{i}") for i in range(len(beside)))
    slots += keyed.values()
    slots += (NumberSlot(*one, is_changed=True, is_given=False) for one in reader.made.items())
    slots += (
        object_lists.slot_of(reader.outside, *one, is_given=False)
        for one in reader.made_members.items()
    )
    slots += reader.results()
    slots += reader.outermost.slots if reader.outermost is not None else ()
    new = {number: arrays.index(holder) for holder, number in reader.numbers.items()}
    numbers = [slot for slot in used if isinstance(reader.kinds.get(slot), NumberKind)]
    begins = _dispatch(reader, headers, numbers)
    bound: dict[int, View] = {}
    blocks = tuple(renumbered(block, new, len(arrays), bound) for block in reader.out.blocks)
    blocks = (blocks[-1], *blocks[:-1])
    temporaries = reader.memory.slots() + reader.lists.temporaries()
    nest = Nest(
        reader.own.code.co_name, tuple(slots), (), blocks, temporaries, tuple(bound.values())
    )
    known = {one.name for one in nest.cells}
    blocks = leaner(blocks, known, reader.out.unsure)
    variables = tuple(
        reader.out.variables[name] for name in variables_of(blocks) if name not in known
    )
    nest = replace(nest, blocks=blocks, others=variables)
    empty = reader.written - changed - reader.nothing.keys() - reader.begins_empty
    empty -= reader.written_cells
    return Read(
        nest,
        tuple(registers),
        empty,
        frozenset(reader.ordered),
        frozenset(reader.contiguous),
        begins,
        reader.written,
        tuple(reader.exits),
        carried.tuples(names, reader.kinds),
        reader.written_cells,
        reader.outside.attributes.all_set,
    )


def _slots(reader: Reader, used: list[int], first: int) -> list[Slot]:
    """What of the frame, and from outside, the nest has; `first` is the number of the first column of lists."""
    names, attributes = reader.own.names, reader.outside.attributes
    numbers, arrays = attributes.numbers.values(), attributes.arrays.values()
    slots: list[Slot] = []
    for slot in used:
        kind = _kind(reader, slot)
        if slot in reader.outside.objects:
            slots.append(_slot_of_objects(reader.outside.objects[slot]))
        elif isinstance(given := reader.outside.lists.get(slot), Ragged):
            slots.append(_slot_of_rows(reader, slot, given))
        elif slot in reader.outside.owners:
            slots.append(_slot_of_attribute(reader, slot))
        elif slot in reader.lists.grown:
            slots.append(reader.lists.slot(text_of(reader, slot), slot, first))
        elif isinstance(kind, MemberKind):
            name = object_lists.variable(names[slot])
            slots.append(object_lists.slot_of(reader.outside, name, kind.holder, is_given=True))
        elif isinstance(kind, ItemsKind):
            slots += carried.number_slots(names[slot], kind)
        elif isinstance(kind, ArrayKind):
            value = reader.given(slot)
            slots.append(
                ArraySlot(
                    text_of(reader, slot),
                    value.dtype,
                    value.ndim,
                    is_written=slot in reader.stored,
                    is_rebound=slot in reader.changed or slot in arrays,
                    is_viewed=slot in reader.viewed,
                    items=_items_of(reader, slot),
                    iterator=reader.outside.walked.get(slot, ""),
                )
            )
        else:
            is_changed = slot in reader.changed or slot in numbers
            slots.append(NumberSlot(text_of(reader, slot), kind.kind, is_changed))
    return slots


def _slot_of_objects(known: listed_objects.ObjectList) -> ArraySlot:
    return ArraySlot(
        known.name, np.dtype(bool), 1, is_written=False, items=OBJECTS, width=known.width,
        lacked=tuple(sorted(known.lacked)), nothing=tuple(sorted(known.nothing)), is_apart=known.is_apart,
    )  # fmt: skip


def _slot_of_rows(reader: Reader, slot: int, given: Ragged) -> ArraySlot:
    """The slot of lists of several lengths."""
    columns = tuple(one.kind for one in given.columns)
    in_dict = slot in reader.outside.owners
    rows = GivenRows(columns, given.has_tuples, given.has_sets, in_dict)
    name = text_of(reader, slot) + f"@{slot}" * in_dict
    return ArraySlot(name, given.type.dtype, 1, is_written=False, items="python", rows=rows)


def _slot_of_attribute(reader: Reader, column: int) -> ArraySlot:
    """The slot of what the items of a list of objects have as an attribute."""
    known = reader.outside.objects[reader.outside.owners[column]]
    like = reader.given(column)
    if column in known.marks.values():
        name = next(name for name, number in known.marks.items() if number == column)
        return ArraySlot(
            reader.outside.text(column), like.dtype, like.ndim, is_written=True, items=MARKS,
            owner=known.name, attribute=name, is_apart=known.columns[name] in reader.stored,
        )  # fmt: skip
    name = next(name for name, number in known.columns.items() if number == column)
    is_written = column in reader.stored or name in known.marks
    return ArraySlot(
        reader.outside.text(column), like.dtype, like.ndim, is_written, items=_items_of(reader, column),
        owner=known.name, attribute=name, field=known.fields.get(name),
    )  # fmt: skip


def text_of(reader: Reader, slot: int) -> str:
    """What a slot is called."""
    names = reader.own.names
    return names[slot] if slot < len(names) else reader.outside.text(slot)


def _items_of(reader: Reader, slot: int) -> str:
    """Whose numbers a list has; "" of an array."""
    if reader.outside.is_text(ArrayKind(slot)):
        return "text"
    if slot in reader.outside.stacks:
        return ARRAYS
    found = reader.outside.lists.get(slot)
    return "" if found is None else "numpy" if found.type.numpy else "python"


def _kind(reader: Reader, slot: int) -> SlotKind:
    if slot in reader.outside.numbers_around:
        return reader.outside.numbers_around[slot][1]
    return ArrayKind(slot) if slot in reader.outside.arrays else reader.kinds[slot]


def _dispatch(
    reader: Reader, headers: list[Version], numbers: list[int]
) -> tuple[dict[int, NumberKind], ...]:
    """The first block: to the version of the header that has the types which the numbers come with."""
    headers = [one for one in headers if _is_as_it_comes(reader, one)]
    begins: list[dict[int, NumberKind]] = []
    for number, version in enumerate(headers):
        kinds = dict(version.locals)
        begins += either.each(
            {
                one: kind
                for one, kind in version.locals
                if one in numbers and isinstance(kind, NumberKind)
            }
        )
        label = "begin" if number == 0 else f"begin{number}"
        following = f"begin{number + 1}" if number + 1 < len(headers) else DOUBT
        reader.out.begin(label)
        if number == 0 and reader.outermost is not None:
            grids.begin_places(reader, reader.outermost.kind, ITERATOR)
        fits = reader.out.constant(I1, True)
        for slot in numbers:
            kind = kinds[slot]
            assert isinstance(kind, NumberKind)
            tag = reader.out.get(f"{reader.own.names[slot]}.numpy", I1)
            if isinstance(kind, EitherKind):
                reader.out.set(f"{reader.own.names[slot]}.tag", tag)
                continue
            fits = reader.out.op(
                "and", I1, fits, tag if kind.numpy else reader.out.op("not", I1, tag)
            )
        for slot in reader.tuples:
            items = kinds[slot]
            assert isinstance(items, ItemsKind)
            for one in carried.begin(reader, reader.own.names[slot], items):
                fits = reader.out.op("and", I1, fits, one)
        reader.out.end("branch", reader.labels[version], following, condition=fits)
    blocks = reader.out.blocks
    first = next(i for i, block in enumerate(blocks) if block.label == "begin")
    blocks.append(blocks.pop(first))
    if not reader.doubts:
        reader.out.begin(DOUBT)
        reader.out.end("doubt")
        blocks.insert(0, blocks.pop())
    return tuple(begins)


def _is_as_it_comes(reader: Reader, version: Version) -> bool:
    """Whether every array variable is its own array in a version of the header, and what came empty is empty."""
    kinds = dict(version.locals)
    return (
        not reader.begins_empty & kinds.keys()
        and not attributes_in(kinds)
        and all(
            kinds.get(slot, kind) == kind
            for slot, kind in reader.kinds.items()
            if isinstance(kind, ArrayKind)
        )
    )
