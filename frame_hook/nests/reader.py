"""From the bytecode of a loop over a range to a nest: every path through it, with the types its variables have there.

A position of the code is read once for each tuple of types that the variables may have where control comes to it, so
that every block is typed: `total = 0` that becomes a float in the first turn gives an inner loop two versions.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.nests import arithmetic
from ufuse.frame_hook.nests.code import Code
from ufuse.frame_hook.nests.handlers import HANDLERS
from ufuse.frame_hook.nests.positions import joins, loop_positions
from ufuse.frame_hook.nests.values import (
    INT,
    NP_BOOL,
    NP_FLOAT,
    NP_INT,
    TYPES,
    Array,
    ArrayKind,
    Empty,
    Item,
    Items,
    Known,
    NotNativeError,
    Number,
    NumberKind,
    RangeOf,
    Turning,
    kind_of,
)
from ufuse.graph.nest import (
    ELEMENTS,
    F64,
    I1,
    I64,
    TURNS,
    ArraySlot,
    Nest,
    NumberSlot,
    RangeSlot,
    Slot,
    Value,
)

MOST_VERSIONS = 8  # of one position
MOST_BLOCKS = 200
ITERATOR = "turn"  # the variables of the outermost loop's iterator
DOUBT = "doubt"
SlotKind = NumberKind | ArrayKind
ELEMENT_KINDS = {F64: NP_FLOAT, I64: NP_INT, I1: NP_BOOL}


@dataclass(frozen=True, slots=True)
class Version:
    """A position, the kinds of the live locals, and the stack, on which numbers are kinds."""

    position: int
    locals: tuple[tuple[int, SlotKind], ...]
    stack: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Read:
    """A loop that was read: its nest, and the slots of the frame that its slots are; the iterator's comes last.

    `empty` are slots without a value, which the loop gives one that nobody reads behind it.
    """

    nest: Nest
    slots: tuple[int, ...]
    empty: frozenset[int]


class Reader:
    """Reads the loop whose FOR_ITER stands at a position, for the state in which a frame comes to it."""

    def __init__(
        self,
        code: types.CodeType,
        position: int,
        state: tuple[Any, ...],
        null: object,
        global_of: Callable[[str], Any],
        attribute_of: Callable[[types.ModuleType, str], Any],
        cell_of: Callable[[int], Any],
    ) -> None:
        self.code = code
        self.position = position
        self.names = instructions.slot_names(code)
        self.state, self.null = state, null
        self._global_of = global_of
        self._attribute_of = attribute_of
        self._cell_of = cell_of
        self.table = instructions.by_position(code)
        self.region = loop_positions(code, position)
        self.live = instructions.live_locals(code)
        self._written = frozenset(
            slot
            for one in self.region
            for use, slot in instructions.slot_uses(self.table[one])
            if use == "w"
        )
        self.kinds: dict[int, SlotKind] = {
            slot: kind
            for slot in range(len(self.names))
            if state[slot] is not null and (kind := _slot_kind(slot, state[slot])) is not None
        }
        # Whose new values the frame gets back, those that are never read again included: a debugger may show them.
        self._changed = frozenset(
            slot for slot in self._written if isinstance(self.kinds.get(slot), NumberKind)
        )
        self._used: set[int] = set()
        self._stored: set[int] = set()
        self._arrays: dict[int, int] = {}
        self.out = Code()
        self._labels: dict[Version, str] = {}
        self._waiting: list[Version] = []
        self._counts: dict[int, int] = {}
        self._doubts = False
        self._comes_back = False  # to the header, from some turn
        self._mismatch: str | None = None  # why not from another
        self._bodies = 0  # of inner loops
        self.at: Instruction = self.table[position]  # being read
        self.slots: dict[int, SlotKind] = {}  # of the block being read
        self.stack: list[Item] = []

    # The whole ------------------------------------------------------------------------------------------------

    def read(self) -> Read:
        """The nest.

        Raises:
            NotNativeError: it cannot be one.

        """
        live = self.live[self.position]
        for slot in sorted(self._written - self._changed):
            if slot in live or self.state[slot] is not self.null:
                raise NotNativeError(
                    f"{self.names[slot]} has no value yet, or is no number", later=True
                )
        self.slots = {
            slot: kind for slot, kind in self.kinds.items() if slot in live or slot in self._changed
        }
        first = self._version(self.position, ())
        self._label(first)
        headers = []
        while self._waiting:
            version = self._waiting.pop()
            self.slots, self.stack = dict(version.locals), []
            self.out.begin(self._labels[version])
            if version.position == self.position:
                headers.append(version)
                self._header(version)
            else:
                self.stack = [self._reloaded(place, one) for place, one in enumerate(version.stack)]
                self._run(version.position)
            if len(self.out.blocks) > MOST_BLOCKS:
                raise NotNativeError("it is too long")
        if not self._comes_back:
            raise NotNativeError(self._mismatch or "no turn of it ends", later=True)
        if self._doubts:
            self.out.begin(DOUBT)
            self.out.end("doubt")
        return self._finished(headers)

    def _finished(self, headers: list[Version]) -> Read:
        changed = self._changed
        used = sorted(self._used | changed)
        slots: list[Slot] = []
        for slot in used:
            kind = self.kinds[slot]
            if isinstance(kind, ArrayKind):
                value = self.state[slot]
                slots.append(
                    ArraySlot(self.names[slot], value.dtype, value.ndim, slot in self._stored)
                )
            else:
                slots.append(NumberSlot(self.names[slot], kind.kind, slot in changed))
        slots.append(RangeSlot(ITERATOR))
        numbers = {
            slot: i
            for i, slot in enumerate(s for s in used if isinstance(self.kinds[s], ArrayKind))
        }
        self._dispatch(headers, [slot for slot in used if isinstance(self.kinds[slot], NumberKind)])
        blocks = tuple(_renumbered(block, self._arrays, numbers) for block in self.out.blocks)
        nest = Nest(self.code.co_name, tuple(slots), (), (blocks[-1], *blocks[:-1]))
        known = {one.name for one in nest.cells}
        others = tuple(one for name, one in self.out.variables.items() if name not in known)
        nest = Nest(nest.name, nest.slots, others, nest.blocks)
        return Read(nest, (*used, len(self.state) - 1), self._written - changed)

    def _dispatch(self, headers: list[Version], numbers: list[int]) -> None:
        """The first block: to the version of the header that has the types which the numbers come with."""
        for number, version in enumerate(headers):
            kinds = dict(version.locals)
            label = "begin" if number == 0 else f"begin{number}"
            following = f"begin{number + 1}" if number + 1 < len(headers) else DOUBT
            self.out.begin(label)
            fits = self.out.constant(I1, True)
            for slot in numbers:
                kind = kinds[slot]
                assert isinstance(kind, NumberKind)
                tag = self.out.get(f"{self.names[slot]}.numpy", I1)
                fits = self.out.op(
                    "and", I1, fits, tag if kind.numpy else self.out.op("not", I1, tag)
                )
            self.out.end("branch", self._labels[version], following, condition=fits)
        blocks = self.out.blocks
        first = next(i for i, block in enumerate(blocks) if block.label == "begin")
        blocks.append(blocks.pop(first))
        if not self._doubts:
            self.out.begin(DOUBT)
            self.out.end("doubt")
            blocks.insert(0, blocks.pop())

    # Versions -------------------------------------------------------------------------------------------------

    def _version(self, position: int, stack: tuple[Any, ...]) -> Version:
        live = self.live[position]
        kept = (slot for slot in sorted(self.slots) if slot in live or slot in self._changed)
        return Version(position, tuple((slot, self.slots[slot]) for slot in kept), stack)

    def _label(self, version: Version) -> str:
        known = self._labels.get(version)
        if known is None:
            count = self._counts[version.position] = self._counts.get(version.position, 0) + 1
            if count > MOST_VERSIONS:
                raise NotNativeError("the types of its variables change too often")
            known = self._labels[version] = f"at{version.position}" + (
                f"_{count}" if count > 1 else ""
            )
            self._waiting.append(version)
        return known

    def _target(self, position: int) -> str:
        """The label where control goes on with the variables and the stack as they are; sets what the stack holds."""
        if position not in self.region and position != self.position:
            self._doubts = True
            return DOUBT
        if position == self.position:
            if self.stack:
                raise NotNativeError("its stack is not empty between turns")
            mismatch = self._changed_kind()
            if mismatch is not None:
                self._mismatch = mismatch
                self._doubts = True
                return DOUBT
            self._comes_back = True
            return self._label(self._version(position, ()))
        stack = tuple(self._saved(place, item) for place, item in enumerate(self.stack))
        return self._label(self._version(position, stack))

    def _changed_kind(self) -> str | None:
        """What no longer has the kind with which the frame brought it: the turn is plain Python's then."""
        for slot in self._changed:
            kind, now = self.kinds[slot], self.slots.get(slot)
            assert isinstance(kind, NumberKind)
            if not isinstance(now, NumberKind) or now.kind != kind.kind:
                return f"{self.names[slot]} changes its type"
        return None

    def _saved(self, place: int, item: Item) -> Any:
        if isinstance(item, Number):
            self.out.set(_stack_variable(place, item.type), item.value)
            return item.type
        if isinstance(item, Known) and kind_of(item.value) is not None:
            return self._saved(place, arithmetic.number(self.out, item))
        if isinstance(item, (Known, Empty, Turning)) or (
            isinstance(item, Array) and not item.indices
        ):
            return item
        raise NotNativeError("a value is kept on the stack across a jump")

    def _reloaded(self, place: int, saved: Any) -> Item:
        if isinstance(saved, NumberKind):
            return Number(saved, self.out.get(_stack_variable(place, saved), TYPES[saved.kind]))
        item: Item = saved
        return item

    # Blocks ---------------------------------------------------------------------------------------------------

    def _header(self, version: Version) -> None:
        """Leave where no turn is left, or none may begin; else begin one."""
        out, label = self.out, self._labels[version]
        left, turns = out.get(f"{ITERATOR}.left", I64), out.get(TURNS, I64)
        zero = out.constant(I64, 0)
        goes_on = out.op("and", I1, out.op("igt", I1, left, zero), out.op("igt", I1, turns, zero))
        out.end("branch", f"{label}.turn", f"{label}.leave", condition=goes_on)
        out.begin(f"{label}.leave")
        for slot, kind in version.locals:
            if isinstance(kind, NumberKind) and slot in self._changed:
                out.set(f"{self.names[slot]}.numpy", out.constant(I1, kind.numpy))
        out.end("leave")
        out.begin(f"{label}.turn")
        turns = out.get(TURNS, I64)
        out.set(TURNS, out.op("sub", I64, turns, out.constant(I64, 1)))
        self._begin_turn(ITERATOR)
        instruction = self.table[self.position]
        self._run(instruction.position + instruction.size)

    def _begin_turn(self, name: str) -> None:
        out = self.out
        left, now = out.get(f"{name}.left", I64), out.get(f"{name}.next", I64)
        one = out.constant(I64, 1)
        out.set(f"{name}.left", out.op("sub", I64, left, one))
        out.set(f"{name}.next", out.op("add", I64, now, out.get(f"{name}.step", I64)))
        self.stack.append(Number(INT, now))

    def _run(self, position: int) -> None:
        """Read instructions until the block ends."""
        while True:
            instruction = self.table[position]
            name = instruction.opname
            if name == "FOR_ITER":
                self._inner_turn(instruction)
                position = instruction.position + instruction.size
                continue
            if name.startswith(("POP_JUMP", "JUMP")):
                self._jump(instruction)
                return
            if instruction.position in instructions.protections(self.code):
                raise NotNativeError("it stands in a try or with")
            self.at = instruction
            handler = HANDLERS.get(name)
            if handler is None:
                raise NotNativeError(f"{name} is not compiled yet")
            handler(self, instruction.arg or 0)
            position += instruction.size
            if not self.out.is_open:
                return
            if (
                position == self.position
                or position in joins(self.code)
                or position not in self.region
            ):
                self.out.end("jump", self._target(position))
                return

    def _jump(self, instruction: Instruction) -> None:
        name = instruction.opname
        targets = instructions.successors(instruction)
        if len(targets) == 1:
            self.out.end("jump", self._target(targets[0]))
            return
        if "NONE" in name:
            raise NotNativeError("it compares with None")
        item = self.stack.pop()
        condition = arithmetic.truth(self.out, item)
        pops = "OR_POP" not in name
        after = self._target(targets[0])
        if not pops:
            self.stack.append(item)
        jumped = self._target(targets[1])
        if not pops:
            self.stack.pop()
        order = (jumped, after) if "IF_TRUE" in name else (after, jumped)
        self.out.end("branch", *order, condition=condition)

    def _inner_turn(self, instruction: Instruction) -> None:
        """The header of an inner loop: the rest of its block is its body."""
        turning = self.stack[-1]
        if not isinstance(turning, Turning):
            raise NotNativeError("an inner loop is not over a range")
        out = self.out
        left = out.get(f"{turning.name}.left", I64)
        goes_on = out.op("igt", I1, left, out.constant(I64, 0))
        if VERSION < (3, 14):
            self.stack.pop()
        exit_label = self._target(instructions.successors(instruction)[1])
        if VERSION < (3, 14):
            self.stack.append(turning)
        self._bodies += 1
        body = f"turn{self._bodies}"
        out.end("branch", body, exit_label, condition=goes_on)
        out.begin(body)
        self._begin_turn(turning.name)

    # Locals ---------------------------------------------------------------------------------------------------

    def variable(self, slot: int, kind: str) -> str:
        """The variable that holds a local of a kind."""
        name, own = self.names[slot], self.kinds.get(slot)
        return name if isinstance(own, NumberKind) and own.kind == kind else f"{name}:{kind}"

    def load(self, slot: int) -> None:
        """Push a local."""
        kind = self.slots.get(slot)
        if kind is None:
            raise NotNativeError(f"{self.names[slot]} is not followed", later=slot in self._written)
        if slot in self.live[self.position]:
            self._used.add(slot)
        if isinstance(kind, ArrayKind):
            self.stack.append(Array(slot))
        else:
            name = self.variable(slot, kind.kind)
            self.stack.append(Number(kind, self.out.get(name, TYPES[kind.kind])))

    def store(self, slot: int) -> None:
        """Pop a local's new value."""
        item = self.stack.pop()
        if slot not in self._written or isinstance(self.kinds.get(slot), ArrayKind):
            raise NotNativeError(f"{self.names[slot]} is replaced by another array or number")
        one = arithmetic.number(self.out, item)
        self.out.set(self.variable(slot, one.type.kind), one.value)
        self.slots[slot] = one.type

    # Arrays ---------------------------------------------------------------------------------------------------

    def array(self, slot: int) -> int:
        """The number of an array; in order of first use until the nest is finished."""
        self._used.add(slot)
        return self._arrays.setdefault(slot, len(self._arrays))

    def element(self, container: Item, key: Item) -> Item:
        """`container[key]`."""
        if isinstance(container, Items) and isinstance(key, Known) and type(key.value) is int:
            try:
                return container.items[key.value]
            except IndexError:
                raise NotNativeError("an index is out of range") from None
        if not isinstance(container, Array):
            raise NotNativeError("it takes an item of what is no array")
        array = self.state[container.slot]
        indices = container.indices + self._indices(key)
        if len(indices) < array.ndim:
            return Array(container.slot, indices)
        if len(indices) > array.ndim:
            raise NotNativeError("an array has fewer axes")
        type_ = ELEMENTS[array.dtype]
        number = self.array(container.slot)
        return Number(
            ELEMENT_KINDS[type_], self.out.op("load", type_, *indices, attributes=(number,))
        )

    def doubt_no_row(self, part: Array) -> None:
        """Leave it to plain Python where there is no such part of an array: who takes an element of it finds out."""
        out = self.out
        for axis, index in enumerate(part.indices):
            length = self.length(part.slot, axis).value
            out.doubt_if(out.op("ige", I1, index, length))
            out.doubt_if(out.op("ilt", I1, index, out.op("neg", I64, length)))

    def _indices(self, key: Item) -> tuple[Value, ...]:
        found = []
        for one in key.items if isinstance(key, Items) else (key,):
            number = arithmetic.number(self.out, one)
            if number.type.kind != "int":
                raise NotNativeError("an index is no int")
            found.append(number.value)
        return tuple(found)

    def store_element(self, container: Item, key: Item, item: Item) -> None:
        """`container[key] = item`."""
        if not isinstance(container, Array):
            raise NotNativeError("it stores into what is no array")
        array = self.state[container.slot]
        indices = container.indices + self._indices(key)
        if len(indices) != array.ndim:
            raise NotNativeError("it stores into a part of an array")
        type_ = ELEMENTS[array.dtype]
        one = arithmetic.number(self.out, item)
        if type_ == F64:
            value = arithmetic.as_f64(self.out, one)
        elif type_ == I64 and one.type.kind != "float":
            value = arithmetic.as_i64(self.out, one)
        elif type_ == I1 and one.type.kind == "bool":
            value = one.value
        else:
            raise NotNativeError(f"it stores a {one.type.kind} into an array of {array.dtype}")
        self._stored.add(container.slot)
        self.out.store(self.array(container.slot), *indices, value)

    def length(self, slot: int, axis: int) -> Number:
        """The length of an axis."""
        return Number(INT, self.out.op("dim", I64, attributes=(self.array(slot), axis)))

    # Names ----------------------------------------------------------------------------------------------------

    def global_value(self, name: str) -> Item:
        """A global, guarded."""
        return Known(self._global_of(name))

    def cell_value(self, slot: int) -> Item:
        """A variable of the function around this one, guarded."""
        return Known(self._cell_of(slot))

    def attribute(self, owner: Item, name: str) -> Item:
        """`owner.name`."""
        if isinstance(owner, Known) and isinstance(owner.value, types.ModuleType):
            return Known(self._attribute_of(owner.value, name))
        if isinstance(owner, Array) and not owner.indices:
            array = self.state[owner.slot]
            if name == "shape":
                return Items(tuple(self.length(owner.slot, axis) for axis in range(array.ndim)))
            if name == "ndim":
                return Known(array.ndim)
        raise NotNativeError(f"the attribute {name} is not compiled yet")

    # Calls ----------------------------------------------------------------------------------------------------

    def call(self, function: Item, arguments: list[Item], after: int) -> None:
        """Push the result of a call; `after` is the position behind it."""
        if not isinstance(function, Known):
            raise NotNativeError("it calls what is not known")
        value, out = function.value, self.out
        if value is range and 1 <= len(arguments) <= 3:
            self.stack.append(self._range(arguments))
        elif value is len and len(arguments) == 1 and isinstance(arguments[0], Array):
            one = arguments[0]
            self.doubt_no_row(one)
            self.stack.append(self.length(one.slot, len(one.indices)))
        elif value in (min, max) and len(arguments) >= 2:
            self._best(value, [arithmetic.number(out, one) for one in arguments], after)
        elif _is_hashable(value) and (value, len(arguments)) in arithmetic.FUNCTIONS:
            self.stack.append(arithmetic.FUNCTIONS[value, len(arguments)](out, *arguments))
        else:
            raise NotNativeError(
                f"calls of {getattr(value, '__name__', value)} are not compiled yet"
            )

    def _best(self, function: Any, numbers: list[Number], after: int) -> None:
        """Push the least or greatest number: one block for each type that it may have."""
        out = self.out
        one, other, *others = numbers
        first = arithmetic.is_first(out, function, one, other)
        if one.type == other.type:
            value = out.op("select", TYPES[one.type.kind], first, one.value, other.value)
            best = Number(one.type, value)
            if others:
                self._best(function, [best, *others], after)
            else:
                self.stack.append(best)
            return
        if others:
            raise NotNativeError(f"{function.__name__} of several types is not compiled yet")
        labels = []
        for each in (one, other):
            self.stack.append(each)
            labels.append(self._target(after))
            self.stack.pop()
        out.end("branch", *labels, condition=first)

    def _range(self, arguments: list[Item]) -> RangeOf:
        out = self.out
        given = [arithmetic.number(out, one) for one in arguments]
        if any(one.type.kind == "float" or one.type == NP_BOOL for one in given):
            raise NotNativeError("a range is not of ints")
        values = [arithmetic.as_i64(out, one) for one in given]
        if len(values) == 1:
            values.insert(0, out.constant(I64, 0))
        if len(values) == 2:
            values.append(out.constant(I64, 1))
        out.doubt_if(out.op("ieq", I1, values[2], out.constant(I64, 0)))
        return RangeOf(*values)

    def iterate(self, item: Item, position: int) -> Turning:
        """`iter(item)`: for a range its three variables."""
        if not isinstance(item, RangeOf):
            raise NotNativeError("an inner loop is not over a range")
        out, name = self.out, f"turn@{position}"
        zero, one = out.constant(I64, 0), out.constant(I64, 1)
        is_up = out.op("igt", I1, item.step, zero)
        distance = out.op(
            "select", I64, is_up,
            out.op("sub", I64, item.stop, item.start), out.op("sub", I64, item.start, item.stop),
        )  # fmt: skip
        stride = out.op("abs", I64, item.step)
        rounded = out.op(
            "floordiv", I64, out.op("sub", I64, out.op("add", I64, distance, stride), one), stride
        )
        is_some = out.op("igt", I1, distance, zero)
        out.set(f"{name}.left", out.op("select", I64, is_some, rounded, zero))
        out.set(f"{name}.next", item.start)
        out.set(f"{name}.step", item.step)
        return Turning(name)


def _stack_variable(place: int, kind: NumberKind) -> str:
    """Where a number on the stack is kept across a jump: control may go on with one of two types there."""
    return f".stack{place}:{kind.kind}{'.numpy' if kind.numpy else ''}"


def _is_hashable(value: Any) -> bool:
    return isinstance(value, (type, types.BuiltinFunctionType, np.ufunc))


def _slot_kind(slot: int, value: Any) -> SlotKind | None:
    """What a nest may do with a value of the frame; None: nothing."""
    if type(value) is np.ndarray:
        is_known = value.dtype in ELEMENTS and value.dtype.char in "dl?"  # "q" equals "l"
        return ArrayKind(slot) if is_known and 1 <= value.ndim <= 4 else None
    return kind_of(value)


def _renumbered(block: Any, numbers: dict[int, int], wanted: dict[int, int]) -> Any:
    """A block with arrays numbered in the order of slots."""
    new = {number: wanted[slot] for slot, number in numbers.items()}
    found = [
        type(one)(one.op, one.inputs, one.result, (new[one.attributes[0]], *one.attributes[1:]))
        if one.op in ("load", "store", "dim")
        else one
        for one in block.instructions
    ]
    return type(block)(block.label, tuple(found), block.end)
