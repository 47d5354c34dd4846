"""Which operations run together: units of one kernel each, or of one call of the library's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

from ufuse.backends.planning.loops import Fold, Gather, Loop, Roll
from ufuse.backends.planning.rules import Rules
from ufuse.graph import ops
from ufuse.graph.memory.accesses import Memory
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.memory.dependence import dependences
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.semantics.effects import ERRORS, Errors, errors_of
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, NumberType, Span, Type, c_order
from ufuse.graph.typing.device_launches import is_fence, is_final
from ufuse.graph.typing.device_streams import is_mark

LARGEST = 200  # members of a kernel
SIBLINGS = 8  # earlier readers of the same memory that a unit is tried to be merged with
STORES = 8  # earlier stores into the same buffer, likewise
FARTHEST = 2000  # dependences that are looked at to see whether a third unit must run between two
RAISING = 200  # calls that may raise and that one write waits for; those before them are waited for by one of them

Shape = tuple[Size, ...]
NOT_RUN = (Kind.INPUT, Kind.CONST, Kind.SIZE, Kind.ITEM, Kind.VIEW)
BY_PLACE = attrgetter("place")
BEFORE, AFTER = attrgetter("before"), attrgetter("after")


@dataclass(eq=False, slots=True)
class Unit:
    """Nodes that run as one step: a kernel over the iteration space `space`, or (None) a call of the library's own.

    `rows`: the kernel folds along the last axis, so values with one element per row occur in it. `order`: the axis
    order in which the kernel must walk, because a member (exp, log…) rounds differently on strided input; None: any.
    """

    members: list[Node]
    place: int  # in an order in which the units could run
    nodes: set[Node] = field(default_factory=set)  # the members
    space: Shape | None = None
    rows: bool = False
    folds: bool = False  # a member is a reduction
    axes: tuple[int, ...] | None = None  # that reductions fold along, if not all or the last
    written: frozenset[Node] = frozenset()  # the buffers that members store into
    before: set[Unit] = field(default_factory=set)  # units that must run first
    after: set[Unit] = field(default_factory=set)  # units of which this one is in `before`
    order: tuple[int, ...] | None = None
    layouts: frozenset[tuple[int, ...]] = frozenset()  # memory orders of members other than folds
    errors: Errors | None = (
        None  # what the program's own `np.errstate` says; None: no flag is raised
    )
    tables: frozenset[Node] = frozenset()  # the buffers that members pick elements from
    makers: set[Node] = field(default_factory=set)  # the nodes that make what the members take
    # Nodes that use memory which overlaps with a member's.
    conflicts: frozenset[Node] = frozenset()

    @property
    def totals(self) -> bool:
        """Whether a member folds the whole space."""
        return self.folds and not self.rows


def row_shapes(space: Shape) -> tuple[Shape, Shape]:
    """The shapes of a value with one element per row: the last axis dropped, or of length 1."""
    return space[:-1], (*space[:-1], 1)


def _is_one_element_of_many_axes(node: Node) -> bool:
    """Whether operands of one element have unlike numbers of axes: NumPy's loop then walks with strides of 0."""
    types = [one.type for one in node.inputs if isinstance(one.type, ArrayType)]
    is_one = isinstance(node.type, ArrayType) and all(length == 1 for length in node.type.shape)
    return is_one and len({type_.ndim for type_ in types if type_.ndim}) > 1


def may_raise(node: Node) -> bool:
    """Whether the library's own function for the node could raise an exception for some values."""
    if node.op.kind in (Kind.MAP, Kind.REDUCE):
        return not isinstance(node.type, ArrayType) or not node.type.scalar
    return node.op.kind not in (Kind.CREATE, Kind.STORE) and node.op is not ops.ELEMENT


class Grouping:
    """The units of a graph; nodes `alone` are in no kernel, those `sunk` only in kernels that take them.

    `is_late`: all of them run behind a visible write of the graph around them.

    Law: contracting every unit to one point leaves the graph of dependences without a cycle.
    """

    def __init__(
        self,
        graph: Graph,
        memory: Memory,
        rules: Rules,
        alone: frozenset[Node] = frozenset(),
        sunk: frozenset[Node] = frozenset(),
        *,
        is_late: bool = False,
    ) -> None:
        self.graph = graph
        self.sunk = sunk
        self.memory = memory
        self.rules = rules
        self.loops: dict[Node, Loop | Fold | Gather | Roll] = {}
        self.of: dict[Node, Unit] = {}
        self._readers: dict[Node, dict[Unit, None]] = {}
        self._raising: list[Unit] = []
        self._barrier: Unit | None = (
            None  # a branch that writes what the caller sees, or stands behind such a write
        )
        self._fence: Unit | None = None  # the last
        self._has_shown = is_late  # a visible write was placed
        self.late: set[Node] = set()  # branches behind a visible write
        # A device raises no flags.
        self._has_errors = not graph.device and any(ERRORS in node.attributes for node in graph)
        self.needs = dependences(graph, memory)
        self.position = {node: place for place, node in enumerate(graph.nodes)}
        for node in graph:
            if node.op.kind not in NOT_RUN:
                self._place(node, node in alone)
        self._merge_siblings()
        for unit in self.units:
            left = unit.totals or (unit.rows and not rules.lone_rows)
            left |= unit.space == () and not rules.lone_elements
            if (left or self._gathers(unit)) and len(unit.members) == 1:
                # A sum of what is in memory already, one element, a gather: the library's own call is as fast.
                unit.space = None

    @property
    def units(self) -> list[Unit]:
        """Every unit once, by its first member."""
        return list(dict.fromkeys(self.of.values()))

    def _place(self, node: Node, alone: bool) -> None:
        of = self.of
        before = {of[other] for other in self.needs.waits[node] if other in of}
        unit = of[node] = Unit([node], self.position[node], {node}, before=before)
        unit.errors = errors_of(node) if self._has_errors else None
        shows = self.shows(node)
        if shows:
            before.update(self._raising)  # errors come before anything that the user can see
        if self._barrier is not None:
            before.add(self._barrier)
        if node.op is ops.BRANCH and self._has_shown:
            self.late.add(node)
        self._has_shown |= shows
        if node.op is ops.BRANCH and self._has_shown:
            before.update(one for one in of.values() if one is not unit)
            self._barrier = unit  # its sides give their warnings by themselves
        if self._fence is not None and any(map(is_array, (node, *node.inputs))):
            before.add(self._fence)
        if is_fence(node) or is_mark(node):
            before.update(one for one in of.values() if one is not unit)
            self._fence = unit
        if not alone:
            self._make_kernel(unit, node)
        if unit.space is None and may_raise(node):
            if len(self._raising) >= RAISING:
                before.update(self._raising)
                self._raising.clear()
            self._raising.append(unit)
        for other in before:
            other.after.add(unit)
        if unit.space is None or node in self.needs.fences:
            return
        unit.makers = self.needs.makers[node].copy()
        unit.conflicts = frozenset(self.needs.conflicts[node])
        for maker in self._candidates(node):
            candidate, current = self._current(maker), of[node]
            if candidate is not current:
                self._merge_if_possible(candidate, current)
        current = of[node]
        for buffer in self.memory.read_buffers(node):
            self._readers.setdefault(buffer, {})[current] = None

    def shows(self, node: Node) -> bool:
        """Whether a node writes memory that existed before the call, or does what cannot be taken back."""
        if is_final(node):
            return True
        writes = self.memory.writes(node)
        return bool(writes) and any(map(self.memory.is_visible, writes))

    def _make_kernel(self, unit: Unit, node: Node) -> None:
        """Fill in the space where a kernel may do the node's work."""
        if node.op.kind is Kind.MAP:
            loop: Loop | Fold | Gather | Roll | str = self.rules.loop_of(node)
            type_ = node.type
        elif node.op.kind is Kind.REDUCE:
            loop, type_ = self.rules.fold_of(node), node.inputs[0].type
            unit.folds = isinstance(loop, Fold)
            unit.rows = isinstance(loop, Fold) and loop.kind == "reduce"
            unit.axes = loop.axes if isinstance(loop, Fold) else None
        elif node.op.kind is Kind.STORE:
            shape = self._stored_shape(node)
            if shape is None:
                return
            target, reads = self.memory.target(node), self.memory.reads(node)
            if any(access != target and self.memory.clash(access, target) for access in reads):
                return  # source and target overlap: assignment copies the source first
            unit.space, unit.written = shape, frozenset((target.root,))
            return
        elif node.op.kind is Kind.CALL and self.rules.picking_of is not None:
            loop, type_ = self.rules.picking_of(node), node.type
            if isinstance(loop, Gather | Roll):
                unit.tables = frozenset((self.memory.buffer(node.inputs[0]),))
        else:
            return
        if isinstance(loop, str):
            unit.rows = False
            return
        assert isinstance(type_, ArrayType)
        if isinstance(loop, Loop) and self.rules.depends_on_strides(loop):
            if not all(self._is_contiguous_in_order(source, node.type) for source in node.inputs):
                return
            if _is_one_element_of_many_axes(node):
                return
            unit.order = node.type.order  # type: ignore[union-attr]
        if node.op.kind is not Kind.REDUCE:
            assert isinstance(node.type, ArrayType)
            unit.layouts = frozenset((node.type.order or c_order(node.type.ndim),))
        self.loops[node] = loop
        unit.space = type_.shape

    def _is_contiguous_in_order(self, source: Node, result: Type) -> bool:
        """Whether eager's loop reads an input contiguously, as a kernel does that walks in the result's axis order."""
        type_ = source.type
        if (
            not is_array(source)
            or not isinstance(type_, ArrayType)
            or not isinstance(result, ArrayType)
        ):
            return True
        if result.order is None:
            return False
        if type_.contiguous and type_.ndim == result.ndim:
            return type_.order == result.order
        if result.order != c_order(result.ndim):
            return False
        if type_.contiguous:
            return type_.order == c_order(type_.ndim)
        access = self.memory.access(source)
        root, region = access.root, access.region
        last = region.view[-1] if region.view else None
        if (
            region.rest
            or last is None
            or last != len(region.axes) - 1
            or not isinstance(root.type, ArrayType)
        ):
            return False
        span = region.axes[last]
        rising = [axis for axis in region.view if axis is not None]
        whole = root.type.contiguous and root.type.order == c_order(root.type.ndim)
        return whole and rising == sorted(rising) and isinstance(span, Span) and span.step == 1

    def _stored_shape(self, store: Node) -> Shape | None:
        """The shape of what a store writes, where a kernel can write it."""
        region = self.memory.target(store).region
        value, buffer = store.inputs[1], store.type
        if region.rest or self.rules.why_not_operand(value) or not isinstance(buffer, ArrayType):
            return None
        lengths = [1 if axis is None else region.axes[axis].length for axis in region.view]  # type: ignore[union-attr]
        is_one = not lengths and not buffer.device  # which plain code stores as fast
        if is_one or self.rules.why_not_operand(store) or buffer.dtype.kind == "O":
            return None
        if isinstance(value.type, NumberType):
            kinds = {"bool": "biufc", "int": "iufc", "float": "fc", "complex": "c"}[value.type.kind]
            return tuple(lengths) if buffer.dtype.kind in kinds else None
        if isinstance(value.type, ArrayType):
            if value.type.ndim > len(lengths):
                return None
            if buffer.dtype.kind not in "cb" and value.type.dtype.kind == "c":
                return None
        return tuple(lengths)

    def _candidates(self, node: Node) -> list[Unit]:
        """The units that make what a node takes, or store into the buffer that it stores into; the latest first."""
        makers = self.needs.makers[node]
        if node in self.sunk:
            makers = makers & self.sunk
        if node.op.kind is Kind.STORE:
            makers = makers.union(islice(self._earlier_stores(node), STORES))
        of, position = self.of, self.position
        found = list(dict.fromkeys([of[maker] for maker in makers if maker in of]))
        if len(found) > 1:
            found.sort(key=lambda unit: -position[unit.members[-1]])
        return found

    def _earlier_stores(self, store: Node) -> Iterator[Node]:
        previous: Node | None = store.inputs[0]
        while previous is not None:
            if previous.op.kind is Kind.STORE:
                yield previous
            previous = self.memory.previous(previous)

    def _merge_siblings(self) -> None:
        """Merge units that read the same memory; last, because merging a maker with its user saves more."""
        for readers in map(list, self._readers.values()):
            for place, reader in enumerate(readers):
                earlier = readers[max(place - SIBLINGS, 0) : place]
                for candidate in dict.fromkeys(map(self._current, earlier)):
                    one, other = self._current(candidate), self._current(reader)
                    if one is not other:
                        self._merge_if_possible(one, other)

    def _current(self, unit: Unit) -> Unit:
        return self.of[unit.members[0]]

    def _merge_if_possible(self, one: Unit, other: Unit) -> None:
        if self.why_not_merged(one, other) is not None:
            return
        first, last = (one, other) if one.place <= other.place else (other, one)
        between = steps_between(first, last)
        if between is not None:
            self._merge(one, other)
            between.give_place_to(one)

    def _merge(self, into: Unit, unit: Unit) -> None:
        into.rows |= unit.rows
        into.folds |= unit.folds
        into.axes = into.axes or unit.axes
        if (
            into.space is not None
            and unit.space is not None
            and len(unit.space) >= len(into.space)
            and unit.rows
        ):
            into.space = unit.space
        into.members += unit.members
        into.nodes |= unit.nodes
        into.written |= unit.written
        into.makers |= unit.makers
        into.conflicts |= unit.conflicts
        into.layouts |= unit.layouts
        into.tables |= unit.tables
        into.order = into.order or unit.order
        into.errors = unit.errors if into.errors is None else into.errors
        for node in unit.members:
            self.of[node] = into
        for other in unit.before:
            other.after.discard(unit)
            other.after.add(into)
        for other in unit.after:
            other.before.discard(unit)
            other.before.add(into)
        into.before |= unit.before
        into.after |= unit.after
        both = (into, unit)
        into.before.difference_update(both)
        into.after.difference_update(both)

    def why_not_merged(self, one: Unit, other: Unit) -> str | None:
        """Why two units cannot be one kernel, whatever runs between them, or None."""
        if one.space is None or other.space is None:
            return "one is a call"
        if len(one.members) + len(other.members) > LARGEST:
            return "the kernel would be too large"
        if None not in (one.errors, other.errors) and one.errors != other.errors:
            return "the program's own error state is another one"
        if not self.needs.fences.isdisjoint((one.members[0], other.members[0])):
            return "too many others wait for one of them"
        if one.tables or other.tables:
            why = self._why_not_picked(one, other)
            if why is not None:
                return why
        return (
            self._why_spaces_differ(one, other)
            or self._why_orders_differ(one, other)
            or self._why_values_do_not_flow(one, other)
            or self._why_memory_clashes(one, other)
        )

    def _gathers(self, unit: Unit) -> bool:
        return bool(unit.tables) and any(
            isinstance(self.loops.get(node), Gather) for node in unit.members
        )

    def _why_not_picked(self, one: Unit, other: Unit) -> str | None:
        """Why elements cannot be picked in a kernel of two units, or None."""
        if self._gathers(one) or self._gathers(other):
            return "it picks elements, and the other folds" if one.folds or other.folds else None
        if one.written or other.written:
            return "it rolls an array, and the other writes to one"
        return "it rolls an array, and the shapes differ" if one.space != other.space else None

    @staticmethod
    def _why_spaces_differ(one: Unit, other: Unit) -> str | None:
        if one.space == other.space:
            mixed = (one.rows and other.totals) or (other.rows and one.totals)
            if one.folds and other.folds and one.axes != other.axes:
                return "they fold along other axes"
            return "a total is not made row by row" if mixed else None
        for rowed, small in ((one, other), (other, one)):
            assert rowed.space is not None
            if rowed.rows and not small.rows and small.space in row_shapes(rowed.space):
                if small.written or small.totals:
                    return "what is made for every row is written"
                return None
        return "the shapes differ"

    @staticmethod
    def _why_orders_differ(one: Unit, other: Unit) -> str | None:
        """Folds need C order; otherwise a kernel walks in the axis order of its first result, else in C order."""
        if one.order is None and other.order is None and not (one.folds or other.folds):
            return None
        wanted = {unit.order for unit in (one, other) if unit.order is not None}
        plain = c_order(len(max(one.space or (), other.space or (), key=len)))
        if (
            one.rows
            or other.rows
            or one.totals
            or other.totals
            or (wanted and (one.written or other.written))
        ):
            wanted.add(plain)
        if not wanted:
            return None
        for order in one.layouts | other.layouts:
            wanted.add(order if len(order) == len(plain) else plain)
        return "a result lies otherwise in memory" if len(wanted) > 1 else None

    def _why_values_do_not_flow(self, one: Unit, other: Unit) -> str | None:
        rows = one.rows or other.rows
        space = one.space if one.rows or not other.rows else other.space
        assert space is not None
        pair = (one, other)
        for unit, rest in (pair, pair[::-1]):
            if unit.rows == rows and unit.makers.isdisjoint(rest.nodes):
                continue
            for node in unit.members:
                sources = node.inputs[1:] if node.op.kind is Kind.STORE else node.inputs
                for source in sources:
                    why = self._why_not_read(node, source, pair, space, rows)
                    if why is not None:
                        return why
        return None

    def _why_not_read(
        self, node: Node, source: Node, units: tuple[Unit, ...], space: Shape, rows: bool
    ) -> str | None:
        """Why a member cannot take this input inside a kernel of two units, or None."""
        maker = self.maker_of(source)
        if maker is None or self.of.get(maker) not in units:
            if not is_array(source):
                return None
            if self.of.get(self.memory.buffer(source)) in units:
                return "it is a view of a value of the kernel"
            by_row = rows and node.op.kind is not Kind.REDUCE and not self.is_full(node, space)
            if by_row and source.type.ndim:  # type: ignore[union-attr]
                return "an array meets a value for every row"
            return None
        if self._is_table(node, source):
            return "it picks elements of what the kernel makes"
        fold = self.loops.get(maker)
        if isinstance(fold, Fold) and fold.kind != "reduce":
            return "a total is known at the end"
        assert isinstance(source.type, ArrayType)
        if self.is_full(maker, space):
            return None if source.type.shape == space else "it is a view of a value of the kernel"
        assert isinstance(node.type, ArrayType)
        if node.op.kind is Kind.REDUCE:
            return "a value for every row is reduced"
        if self.is_full(node, space):
            return (
                None
                if source.type.shape == row_shapes(space)[1]
                else "a value for every row is broadcast otherwise"
            )
        return None if source.type.shape == node.type.shape else "row values have different shapes"

    def _is_table(self, node: Node, source: Node) -> bool:
        """Whether a member picks elements of an input."""
        return isinstance(self.loops.get(node), Gather | Roll) and source is node.inputs[0]

    @staticmethod
    def is_full(node: Node, space: Shape) -> bool:
        """Whether a member has a value for every element of the space, not one for every row."""
        if node.op.kind is Kind.STORE:
            return True
        return (
            isinstance(node.type, ArrayType)
            and node.type.shape == space
            and node.op.kind is not Kind.REDUCE
        )

    def maker_of(self, source: Node) -> Node | None:
        """The node whose very value a source is: itself, what was stored there, or a row value with a new axis."""
        kind = source.op.kind
        if kind is Kind.VIEW or kind is Kind.STORE:
            stored = self.needs.stored.get(source)
            return self._row_value(source) if stored is None else stored
        return source

    def value_in(self, source: Node, unit: Unit) -> Node | None:
        """The member whose value `source` is, or None."""
        maker = self.maker_of(source)
        return maker if maker is not None and self.of.get(maker) is unit else None

    @staticmethod
    def _row_value(source: Node) -> Node | None:
        """`r[:, None]` of a row value `r` is the same row value."""
        if source.op is not ops.INDEX or source.inputs[0].op.kind is Kind.STORE:
            return None
        shape = source.inputs[0].type.shape  # type: ignore[union-attr]
        if source.type.shape != (*shape, 1):  # type: ignore[union-attr]
            return None
        index = source.attributes["index"]
        return source.inputs[0] if index[-1] is None and None not in index[:-1] else None

    def _why_memory_clashes(self, one: Unit, other: Unit) -> str | None:
        for writer, reader in ((one, other), (other, one)):
            if writer.written and reader.axes is not None:
                return "the library's own reduction may come behind the kernel, and may fail"
            if not writer.written.isdisjoint(reader.nodes):
                return "the buffer is made by the kernel"
            if not writer.written.isdisjoint(reader.tables):
                return "it writes what elements are picked from"
            if not writer.conflicts.isdisjoint(reader.nodes):
                return "it writes what is read elsewhere in the same memory"
        return None


@dataclass(slots=True)
class Between:
    """Those between two units: `earlier`, for which the second waits; `later`, which wait for the first."""

    first: Unit
    last: Unit
    earlier: list[Unit]
    later: list[Unit]

    def give_place_to(self, merged: Unit) -> None:
        """Make room for the two as one unit, behind those that it waits for and before those that wait for it."""
        if not self.earlier and not self.later:
            merged.place = min(self.first.place, self.last.place)
            return
        earlier, later = (sorted(units, key=BY_PLACE) for units in (self.earlier, self.later))
        units = [*earlier, merged, *later]
        places = sorted(
            [self.first.place, self.last.place, *(unit.place for unit in self.earlier + self.later)]
        )
        for unit, place in zip(units, places, strict=False):
            unit.place = place


def steps_between(first: Unit, last: Unit) -> Between | None:
    """What stands between two units; None where a third must run between them, or so many stand there that it may be.

    Places are an order in which the units could run, so only those whose places lie between need to be looked at.
    """
    earlier = _reached(last, first, BEFORE)
    later = _reached(first, last, AFTER) if earlier else []
    return None if earlier is None or later is None else Between(first, last, earlier, later)


def _reached(start: Unit, end: Unit, neighbours: Callable[[Unit], set[Unit]]) -> list[Unit] | None:
    """The units reached from one whose places lie before the other's; None where that is reached through a third."""
    low, high = min(start.place, end.place), max(start.place, end.place)
    pending, seen, count = [start], {start}, 0
    while pending:
        unit = pending.pop()
        around = neighbours(unit)
        count += len(around)
        if (end in around and unit is not start) or count > FARTHEST:
            return None
        found = [one for one in around if low < one.place < high and one not in seen]
        seen.update(found)
        pending += found
    seen.discard(start)
    return list(seen)
