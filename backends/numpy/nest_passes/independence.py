"""Which nests have turns that do not depend on each other, so that threads may share them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.integers import Integers
from ufuse.backends.numpy.nest_passes.polynomials import (
    Polynomial,
    atom,
    constant,
    difference,
    product,
    split,
    total,
)
from ufuse.graph.nest import Instruction, Nest, Scalar, View
from ufuse.graph.nest_slots import ArraySlot, NumberSlot, RangeSlot
from ufuse.graph.nest_types import POSITIONS, SIGNATURES, TURNS, WRITERS, Value
from ufuse.graph.records import record

NUMBER_OPS = {op for op, _ in SIGNATURES} | set("const get set select call dim doubt_if".split())
# What a turn may consist of beside these, where none of NumPy's loops needs the lock of the interpreter.
ARRAY_OPS = set("load store alloc map fold reduce dot matmul".split())
FREE_DTYPES = {np.dtype(bool), np.dtype(np.float32), np.dtype(np.float64)}

# By axis: what the least and the most is of the places there.
Places = dict[int, tuple[Polynomial, Polynomial]]


@record
class OwnPart:
    """What each turn has of an array that is written: along an axis the place of an iterator, and `more`."""

    array: int
    axis: int
    iterator: int  # the number of its slot
    more: int


def own_parts(nest: Nest, turn: Turn | None) -> tuple[OwnPart, ...] | None:
    """The parts of all arrays that are written, where turns touch no others'; None where turns depend on each other.

    Where an array that is written shares memory with another one, or an index wraps, they may depend all the same.
    """
    instructions = (one for block in nest.blocks for one in block.instructions)
    if (
        turn is None
        or nest.exits
        or not all(_is_plain(slot) for slot in nest.slots)
        or not all(_is_free(nest, one) for one in instructions)
    ):
        return None
    iterators = {
        slot.name: number for number, slot in enumerate(nest.slots) if isinstance(slot, RangeSlot)
    }
    if not iterators or not turn.carries_nothing(iterators):
        return None
    return turn.own_parts(iterators)


def _is_plain(slot: object) -> bool:
    """Whether a slot is a number, an iterator, or an array that stays what it is."""
    match slot:
        case ArraySlot():
            return not (slot.is_rebound or (slot.is_written and slot.items))
        case RangeSlot():
            return slot.kind != "once"
    return isinstance(slot, NumberSlot)


def _is_free(nest: Nest, one: Instruction) -> bool:
    """Whether threads may do an instruction at once: functions that CPython computes itself are objects of it."""
    if one.op == "call":
        return not str(one.attributes[0]).startswith("python.")
    if one.op == "map":
        (statement,) = one.attributes
        return all(FREE_DTYPES.issuperset(step.dtypes) for step in statement.steps)
    if one.op in ARRAY_OPS and any(isinstance(view, View) for view in one.attributes):
        dtypes = {nest.numbered[view.array].dtype for view, _ in _views(nest, one)}
        return one.attributes[0] not in POSITIONS and dtypes <= FREE_DTYPES
    return one.op in NUMBER_OPS | ARRAY_OPS


def _views(nest: Nest, one: Instruction) -> Iterator[tuple[View, tuple[Value, ...]]]:
    """The parts of arrays that an array statement reads, and last what it writes; where they begin along each axis."""
    parts: Sequence[View | Scalar]
    if one.op == "map":
        (statement,) = one.attributes
        parts, at = (*statement.operands, statement.target), statement.ndim
    else:
        views = [view for view in one.attributes if isinstance(view, View)]
        parts, at = views, len(views[0].axes) if views else 0
    for part in parts:
        if isinstance(part, Scalar):
            at += 1
            continue
        ndim = nest.numbered[part.array].ndim
        yield part, one.inputs[at : at + ndim]
        at += ndim + part.computed_steps


def outermost_turn(nest: Nest) -> Turn | None:
    """A turn of the outermost loop; None where that is several, or more than numbers stand around it."""
    flow = Flow(nest)
    loops = flow.whole_loops()
    headers = loops.keys() - flow.inner_headers()
    if len(headers) != 1:
        return None
    (header,) = headers
    labels = loops.pop(header)
    outside = [one for label in flow.blocks.keys() - labels for one in flow.instructions(label)]
    if any(one.op not in NUMBER_OPS for one in outside):
        return None
    for other, blocks in ((header, labels), *loops.items()):
        if not all(label in labels and flow.is_dominated(label, other) for label in blocks):
            return None
    return Turn(nest, flow, header, labels, loops)


class Turn:
    """The blocks of a turn, and what is known of its integers."""

    def __init__(
        self,
        nest: Nest,
        flow: Flow,
        header: str,
        labels: set[str],
        loops: Mapping[str, set[str]],
    ) -> None:
        self._nest = nest
        self._flow = flow
        self._header = header
        self._labels = labels
        self._loops = loops  # those inside, by their headers

    @cached_property
    def _integers(self) -> Integers:
        inner = {
            header: set(self._flow.variables_set(inside)) for header, inside in self._loops.items()
        }
        return Integers(self._flow, self._header, self._labels, {}, inner)

    def carries_nothing(self, iterators: Mapping[str, int]) -> bool:
        """Whether no turn reads what another has set, but for how far the loop is; the last one sets all results."""
        steps = {TURNS: constant(-1), f"{next(iter(iterators))}.left": constant(-1)}
        steps |= {f"{name}.next": atom("get", f"{name}.step") for name in iterators}
        changed = set(self._flow.variables_set(self._labels)) - steps.keys()
        results = changed & ({cell.name for cell in self._nest.cells} | self._read_behind())
        behind: dict[str, set[str | int]] = {}
        # Blocks stand behind those that lead to them: a way back leads to a block that was seen, and more is set there.
        for label in (each for each in self._flow.order if each in self._labels):
            before = [behind[each] for each in self._flow.before[label] if each in behind]
            known = set.intersection(*before) if before and label != self._header else set()
            for one in self._flow.instructions(label):
                if one.op == "get" and one.attributes[0] in changed - known:
                    return False
                if not self._temporaries(one) <= known:
                    return False
                if one.op in {"set", "alloc"}:
                    known.add(one.attributes[0])
            behind[label] = known
            if self._header in self._flow.blocks[label].end.targets and not results <= known:
                return False
        return all(self._integers.steps.get(name) == step for name, step in steps.items())

    @property
    def steps(self) -> Mapping[str, Polynomial]:
        """The variables that every turn changes by the same, and by what."""
        return self._integers.steps

    def changed_anywhere(self) -> set[str]:
        """The variables that something sets, in turns or outside of them."""
        return set(self._flow.variables_set(self._flow.order))

    def changed_outside(self) -> set[str]:
        """The variables that something sets outside of turns."""
        return set(self._flow.variables_set(set(self._flow.order) - self._labels))

    def _temporaries(self, one: Instruction) -> set[str | int]:
        """The numbers of the temporaries that an instruction reads or writes."""
        arrays = {view.array for view, _ in _views(self._nest, one)}
        if one.op in {"load", "store", "dim"}:
            arrays.add(one.attributes[0])
        return {number for number in arrays if number >= len(self._nest.arrays)}

    def _read_behind(self) -> set[str]:
        """The variables that are read behind the loop; before it, a thread finds what there was before all turns."""
        blocks = [
            label
            for label in self._flow.order
            if label not in self._labels and not self._flow.is_dominated(self._header, label)
        ]
        instructions = (one for label in blocks for one in self._flow.instructions(label))
        return {one.attributes[0] for one in instructions if one.op == "get"}

    def own_parts(self, iterators: Mapping[str, int]) -> tuple[OwnPart, ...] | None:
        """The parts of the arrays that are written, if every turn has its own."""
        parts: dict[int, list[set[tuple[int, int, int]]]] = {}
        written: set[int] = set()
        for label in self._labels:
            for one in self._flow.instructions(label):
                for array, indices, is_written in self._accesses(one):
                    found = set(self._parts(label, indices, iterators))
                    parts.setdefault(array, []).append(found)
                    written |= {array} if is_written else set()
        if written != {number for number, one in enumerate(self._nest.arrays) if one.is_written}:
            return None  # something is stored that changes nothing
        own = []
        for array in sorted(written):
            common = set.intersection(*parts[array])
            if not common:
                return None
            own.append(OwnPart(array, *min(common)))
        return tuple(own)

    def stores_of(self, array: int) -> list[Places]:
        """For all that writes into a given array: between which places, along the axes of which they are known."""
        found: list[Places] = []
        for label in self._labels:
            for one in self._flow.instructions(label):
                if one.op == "store" and one.attributes[0] == array:
                    indices = enumerate(one.inputs[: self._nest.numbered[array].ndim])
                    at = ((axis, self._place(label, index)) for axis, index in indices)
                    found.append({axis: (place, place) for axis, place in at if place is not None})
                elif one.op == "map" and one.attributes[0].target.array == array:
                    found.append(self._target(label, one))
                elif one.op in WRITERS - {"store", "map"} and array in {
                    view.array for view, _ in _views(self._nest, one)
                }:
                    found.append({})  # not looked at, or only read
        return found

    def _target(self, label: str, one: Instruction) -> Places:
        """Between which places an array statement writes; where it writes nothing, it may be any."""
        *_, (view, begins) = _views(self._nest, one)
        steps = {at[0]: (at[1], number) for number, at in enumerate(view.axes) if at is not None}
        found: Places = {}
        for axis, begin in enumerate(begins):
            least = most = self._place(label, begin)
            step, number = steps.get(axis, (0, -1))
            if number >= 0:
                least = self._integers.value(label, begin)  # not counted from the end
                length = self._integers.value(label, one.inputs[number])
                last = None if length is None else difference(length, constant(1))
                ways = None if last is None or step is None else product(constant(step), last)
                most = None if ways is None or least is None else total(least, ways)
                if step is not None and step < 0:
                    least, most = most, least
            if least is not None and most is not None:
                found[axis] = least, most
        return found

    def _accesses(
        self, one: Instruction
    ) -> Iterator[tuple[int, tuple[tuple[int, Value], ...], bool]]:
        """The given arrays that an instruction reads or writes, with the axes along which it stays at one index."""
        if one.op in {"load", "store"}:
            array = one.attributes[0]
            indices = enumerate(one.inputs[: self._nest.numbered[array].ndim])
            reached = [(array, tuple(indices), one.op == "store")]
        else:
            views = list(_views(self._nest, one))
            reached = []
            for number, (view, places) in enumerate(views):
                walked = {axis[0] for axis in view.axes if axis is not None}
                fixed = tuple(each for each in enumerate(places) if each[0] not in walked)
                is_target = one.op in WRITERS and number == len(views) - 1
                reached.append((view.array, fixed, is_target))
        yield from (each for each in reached if each[0] < len(self._nest.arrays))

    def _parts(
        self, label: str, indices: Iterable[tuple[int, Value]], iterators: Mapping[str, int]
    ) -> Iterator[tuple[int, int, int]]:
        """Along which axes an index is its turn's own: the axis, the iterator, and what is more."""
        for axis, index in indices:
            place = self._place(label, index)
            for name, number in iterators.items():
                if place is not None and split(place)[0] == atom("get", f"{name}.next"):
                    yield axis, number, split(place)[1]

    def _place(self, label: str, index: Value) -> Polynomial | None:
        """An index; of one that is counted from the end where it is negative, what it is else."""
        value = self._integers.value(label, index)
        if value is not None:
            return value
        makers = {one.result: one for one in self._flow.instructions(label)}
        maker = makers.get(index)
        if maker is None or maker.op != "select":
            return None
        test, _, plain = maker.inputs
        asked = makers.get(test)
        if asked is None or asked.op != "ilt" or asked.inputs[0] != plain:
            return None
        limit = self._integers.value(label, asked.inputs[1])
        return self._place(label, plain) if limit == constant(0) else None
