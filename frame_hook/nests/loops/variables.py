"""Variables of a loop that is read: loaded and stored, in its own function, those that it calls, and around it."""

from __future__ import annotations

from collections.abc import Mapping

from ufuse.frame_hook.nests.arrays import elementwise, rolls, views
from ufuse.frame_hook.nests.calls import unrolling
from ufuse.frame_hook.nests.containers import (
    fields,
    identity,
    keeping,
)
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.frames import Function
from ufuse.frame_hook.nests.known.kinds import (
    TYPES,
    ArrayKind,
    EitherKind,
    NotNativeError,
    NumberKind,
    kind_of,
)
from ufuse.frame_hook.nests.known.numbers import Complex, Empty, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, ItemsKind, Kind
from ufuse.frame_hook.nests.loops import carried
from ufuse.frame_hook.nests.numbers import complexes
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1


class Variables(Reader):
    """What reads a loop, as far as it loads and stores variables."""

    null: object  # what stands in a slot of the frame without a value

    def variable(self, slot: int, kind: str) -> str:
        """The variable that holds a local of the loop's own function, of a kind."""
        name, own = self.own.names[slot], self.kinds.get(slot)
        return name if isinstance(own, NumberKind) and own.kind == kind else f"{name}:{kind}"

    def load(self, slot: int) -> None:
        """Push a local."""
        kind = self.slots.get(slot)
        if kind is None:
            self._load_from_outside(slot)
        else:
            item = self.kept(self.frame.function, slot, kind)
            self.stack.append(identity.loaded(item, slot))

    def kept(self, function: Function, slot: int, kind: Kind) -> Item:
        """What a variable of the function being read, or of one that calls it, holds."""
        if function is not self.own:
            return keeping.kept(self, function.variable(slot), kind)
        if slot in self.own.live[self.position] and slot in self.kinds:
            self.used.add(slot)
        if isinstance(kind, NumberKind):
            return self._number(slot, kind)
        return keeping.kept(self, function.names[slot], kind)

    def _number(self, slot: int, kind: NumberKind) -> Number | Complex:
        """The number that a local of the loop's own function is."""
        name = self.variable(slot, kind.kind)
        if not isinstance(kind, EitherKind):
            return complexes.kept(self.out, name, kind)
        value = self.out.get(name, TYPES[kind.kind])
        return Number(kind, value, self.out.get(f"{self.own.names[slot]}.tag", I1))

    def _load_from_outside(self, slot: int) -> None:
        """Push a local that is no number or array: what the loop does not write is a constant."""
        is_own, function = self.frame.caller is None, self.frame.function
        is_written = is_own and slot in self.written
        if not is_own or is_written:  # it has no value
            self.go_to_doubt()
            return
        if self.state[slot] is self.null:
            raise NotNativeError(f"`{function.names[slot]}` has no value")
        self.stack.append(self.outside.local(slot))

    def store(self, slot: int) -> None:
        """Pop a local's new value."""
        item, function = self.stack.pop(), self.frame.function
        if self.tries.gives_lists:
            identity.store(self, slot, item)
        if isinstance(item, Empty):  # what a comprehension has hidden
            self.slots.pop(slot, None)
            return
        if self.frame.caller is not None:
            kind = keeping.keep(self, function.variable(slot), item)
            self.slots[slot] = unrolling.kind_in_turn(self, item) or kind
            return
        if slot in function.own_cells and not _is_number(item):
            raise NotNativeError(
                f"`{function.names[slot]}` becomes {{item}}, which is no number", item
            )
        if isinstance(item, Array | Part | Lazy):
            self._store_array(slot, item)
            return
        if isinstance(self.kinds.get(slot), ArrayKind):
            raise NotNativeError(
                f"`{function.names[slot]}`, an array, is replaced by {{item}}", item
            )
        if isinstance(item, Items) and isinstance(self.kinds.get(slot), ItemsKind):
            item = carried.with_numbers(self, item)
        if not _is_number(item):
            self.slots[slot] = keeping.keep(self, function.names[slot], item)
            return
        one = complexes.scalar(self.out, item)
        complexes.keep(self.out, self.variable(slot, one.type.kind), one)
        if isinstance(one, Number) and one.tag is not None:
            self.out.set(f"{function.names[slot]}.tag", one.tag)
        self.slots[slot] = unrolling.kind_in_turn(self, item) or one.type

    def _store_array(self, slot: int, item: Array | Part | Lazy) -> None:
        name = self.own.names[slot]
        if isinstance(self.kinds.get(slot), NumberKind):
            raise NotNativeError(f"`{name}`, a number, is replaced by {{item}}", item)
        if isinstance(item, Lazy) and rolls.is_view(item):
            item = elementwise.computed(self, item)
        if slot in self.changed and isinstance(item, Array | Part):
            item = self._given_back(slot, item)
        self.memory.overwritten = slot, item
        self.slots[slot] = keeping.keep(self, name, item)
        self.memory.overwritten = None

    def _given_back(self, slot: int, item: Array | Part) -> Array | Part:
        """An array or view that the frame gets back."""
        if isinstance(item, Array) and not item.indices:
            return item
        view = views.bindable(self, item, self.own.names[slot])
        self.viewed.add(slot)
        return view

    def load_around(self, slot: int) -> None:
        """Push a variable that lies in a cell: of the function around, or one that inner functions use."""
        function = self.frame.function
        if slot in self.slots:
            self.load(slot)
        elif function.called is not None and slot in function.own_cells:
            self.go_to_doubt()  # it has no value
        else:
            self.stack.append(self._from_cell(function, slot))

    def content(self, function: Function, slot: int) -> Item:
        """What a variable in a cell holds, of the function being read or of one that calls it."""
        version = self.frame.caller
        kinds: Mapping[int, Kind] = self.slots
        if self.frame.function is not function:
            while version is not None and version.function is not function:
                version = version.caller
            if version is None:
                raise NotNativeError("it calls a function that a call has made")
            kinds = dict(version.locals)
        if slot in kinds:
            return self.kept(function, slot, kinds[slot])
        if slot in function.own_cells and (function.called is not None or slot in self.written):
            raise NotNativeError(f"`{function.names[slot]}` has no value")
        return self._from_cell(function, slot)

    def _from_cell(self, function: Function, slot: int) -> Item:
        """A variable in a cell that the loop does not write, guarded."""
        if function.called is None and (function.is_comprehension or slot in function.own_cells):
            register = self.outside.number_around(slot, function.names[slot])
            if register is not None:
                return fields.around(self, register)
        return self.outside.cell(function.called, slot, function.names)


def _is_number(item: Item) -> bool:
    return isinstance(item, Number | Complex) or (
        isinstance(item, Known) and kind_of(item.value) is not None
    )
