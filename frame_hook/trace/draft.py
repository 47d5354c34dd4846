"""The graph of a trace while it grows: nodes in program order, inputs, versions of buffers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    AnyArray,
    Array,
    Buffer,
    Constant,
    DeviceArray,
    ErrorToken,
    Number,
    Source,
    Symbol,
    is_read_only,
)
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Kind, Op
from ufuse.graph.semantics.effects import ERRORS, FLAGS, Errors, may_warn
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, GeneratorType, NothingType, NumberType
from ufuse.graph.typing import infer
from ufuse.graph.typing.counting import LENGTH
from ufuse.graph.typing.device_calls import DEVICE_FUNCTION, GET, HOST_ITEM, READ, is_fetched
from ufuse.graph.typing.device_draws import CLASSES
from ufuse.graph.typing.device_launches import STREAM, is_fence, is_final
from ufuse.graph.typing.device_streams import KINDS, is_mark, is_switch
from ufuse.graph.typing.sample import Facts

OneArray = TypeVar("OneArray", Array, DeviceArray)
SAME_ANYWHERE = frozenset({Kind.CONST, Kind.SIZE})
MOST_GENERATORS = 16
MOST_DEEP = 6  # operations within one another that are compared
MOST_BITS = 1024  # of a whole number in a graph: no float is larger, and Python would not print many more digits


class Draft:
    """A graph in the making.

    Law: `nodes` is program order, and a store follows every read of the version before it.
    """

    def __init__(self, facts: Facts) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[tuple[Node, Source]] = []
        self.location: Location | None = None
        # the index of the first node that stores something visible
        self.first_write: int | None = None
        self.in_late_side = (
            False  # of a branch that stands behind it: what may fail there has no earlier place
        )
        self.entered: tuple[ErrorToken, ...] = ()  # the program's own error states, innermost last
        self.in_side = False  # of a branch: nodes are taken back, and those of the other side come
        # Whether the host has waited for a device: what is behind it is on the device, or of numbers.
        self.waits = False
        self.draws = False  # whether random numbers of CuPy's are drawn, or a kernel of the program's is launched
        self.given: dict[
            Buffer, None
        ] = {}  # to kernels of the program's, which may have kept where they are
        self._has_fence = False  # what takes arrays keeps its place
        self.switches = False  # what makes them, too: another stream is current
        # The stream that the graph has made current or asked for, those it has entered, and what enters devices.
        self.stream: Symbol | None = None
        self.streams_entered: list[Symbol | None] = []
        self.ranges = 0  # of a profiler that the graph has begun and not ended
        self.device_number: int | None = None  # of the current device, once it is compared
        self.device_numbers: dict[int, int] = {}  # of devices of the frame, by register
        self.devices_entered: list[Any] = []
        self._replaced: list[tuple[Buffer, Node]] = []  # versions that another one has replaced
        self._facts = facts
        self._constants: dict[tuple[Any, ...], Node] = {}
        self._views: dict[tuple[Any, ...], Node] = {}
        self._kept: list[Node] = []  # whose id is a key
        self._generators: dict[int, Node] = {}  # of random numbers, by register
        # By the symbol of a size that values decide: what is so long, or the size itself.
        self.long: dict[str, Node] = {}
        # These symbols: by the mask that picks so many elements, and by the call that computes the size.
        self.picked: dict[Hashable, str] = {}
        self.computed: dict[tuple[Any, ...], str] = {}

    @contextmanager
    def warned_at(self, place: Location | None) -> Iterator[None]:
        """Nodes made inside warn where NumPy's own Python code does; None: at the user's line."""
        before = self.location
        if place is not None and before is not None:
            self.location = replace(before, warned_at=place)
        try:
            yield
        finally:
            self.location = before

    @property
    def has_devices(self) -> bool:
        """Whether an array on a device was read."""
        types = [node.type for node, _ in self.inputs]
        if self.waits or self.draws:
            return True
        return any(isinstance(one, ArrayType) and one.device for one in types)

    def generator(self, kind: str, source: Source) -> Node:
        """The graph input that a generator of random numbers is, by the source of its only symbol."""
        if source.register not in self._generators:
            if len(self._generators) == MOST_GENERATORS:
                raise GraphBreak("call", "drawing from more generators of random numbers")
            self._generators[source.register] = self.input(GeneratorType(kind), source)
        return self._generators[source.register]

    @property
    def _draws_on_host(self) -> bool:
        """Whether a generator of NumPy's was read."""
        kinds = [one.type for one in self._generators.values()]
        return any(
            isinstance(one, GeneratorType) and one.kind not in (*CLASSES, STREAM, *KINDS)
            for one in kinds
        )

    def draw(self, inputs: tuple[Node, ...], attributes: Mapping[str, Any]) -> Node:
        """A call of CuPy's that draws or launches, which cannot be taken back: as a visible write."""
        if self._draws_on_host:
            raise GraphBreak("call", "drawing random numbers of NumPy's and of CuPy's")
        self.draws = True
        made = self.node(ops.CALL, inputs, attributes)
        self._has_fence |= is_fence(made)
        if self.first_write is None and is_final(made):
            self.first_write = len(self.nodes) - 1
        return made

    def about_streams(
        self, inputs: tuple[Node, ...], attributes: Mapping[str, Any], *, may_raise: bool = False
    ) -> Node:
        """A wait, a call about streams or devices, or one that makes an object, in its place."""
        if self._draws_on_host:
            raise GraphBreak("call", "drawing random numbers of NumPy's beside a device")
        self.draws = True
        made = self.node(ops.CALL, inputs, attributes, may_raise=may_raise)
        self._has_fence |= is_mark(made) or is_fence(made)
        self.switches |= is_switch(made)
        return made

    def input(self, kind: ArrayType | NumberType | GeneratorType, source: Source) -> Node:
        """A new graph input, taken from `source`."""
        if isinstance(kind, ArrayType) and kind.device and self._draws_on_host:
            raise GraphBreak("call", "drawing random numbers beside arrays on a device")
        node = Node(ops.INPUT, (), kind, {"name": source.text})
        self.nodes.insert(len(self.inputs), node)
        if self.first_write is not None:
            self.first_write += 1
        self.inputs.append((node, source))
        return node

    def node(
        self,
        op: Op,
        inputs: tuple[Node, ...] = (),
        attributes: Mapping[str, Any] | None = None,
        *,
        may_raise: bool = False,
    ) -> Node:
        """A new node behind all others, its type inferred.

        Raises:
            GraphBreak: the type cannot be known, or the op could fail after something visible was written.

        """
        given = attributes or {}
        try:
            kind = infer.result_type(op, [infer.operand_of(n) for n in inputs], given, self._facts)
        except infer.CannotInfer as refusal:
            raise GraphBreak(
                "numpy-call", f"{given.get('function', op.name)} ({refusal})"
            ) from None
        made = Node(op, inputs, kind, given, self.location)
        if self.waits and _is_on_host(made):
            raise GraphBreak("numpy-call", f"{given.get('function', op.name)} {BESIDE_DEVICE}")
        if op is ops.CALL and given["function"] in (READ, GET):
            self.waits = True
        if self.entered and may_warn(made):
            made = replace(made, attributes={**given, ERRORS: self.errors})
        may_raise = may_raise or (self.in_late_side and _takes_any_int(inputs))
        if may_raise and self.first_write is not None:
            self._insert_early(made)
        else:
            self.nodes.append(made)
        return made

    @property
    def errors(self) -> Errors:
        """What the program's own error states say of flags, the innermost counting."""
        said = {flag: mode for token in self.entered for flag, mode in token.state.errors}
        return tuple((flag, said[flag]) for flag in FLAGS if flag in said)

    def _insert_early(self, node: Node) -> None:
        """Put an operation that could fail before the first visible store, where failing undoes nothing."""
        assert self.first_write is not None
        late = self.in_late_side and node.op.kind not in SAME_ANYWHERE
        if node.inputs and not late:
            late = not set(self.nodes[: self.first_write]).issuperset(node.inputs)
            late |= self._has_fence and any(isinstance(one.type, ArrayType) for one in node.inputs)
        late |= self.switches and isinstance(node.type, ArrayType)
        if late or (may_warn(node) and any(map(may_warn, self.nodes[self.first_write :]))):
            called = node.attributes.get("operator") or node.attributes.get("function")
            raise GraphBreak("raise-after-write", str(called or node.op.name))
        self.nodes.insert(self.first_write, node)
        self.first_write += 1

    def constant(self, value: Any) -> Node:
        """The node of a constant; one for each value."""
        if type(value) is int and value.bit_length() > MOST_BITS:
            raise GraphBreak("operator", "arithmetic with very large numbers")
        exact = isinstance(value, float | complex | np.generic)
        key = (type(value), np.asarray(value).tobytes() if exact else repr(value))
        if key not in self._constants:
            self._constants[key] = self.node(ops.CONST, (), {"value": value}, may_raise=True)
        return self._constants[key]

    def size_node(self, value: Size) -> Node:
        """A whole number as an operand."""
        if isinstance(value, int):
            return self.constant(value)
        if str(value) in self.long:
            return self.length(str(value))
        key = ("size", value)
        if key not in self._constants:
            self._constants[key] = self.node(ops.SIZE, (), {"value": value}, may_raise=True)
        return self._constants[key]

    def length(self, name: str) -> Node:
        """A number for the length of an array that values decide; each time another one, as in Python.

        Raises:
            GraphBreak: no array begins with an axis of that length.

        """
        made = self.long.get(name)
        if made is None:
            raise GraphBreak("size", "a length that values decide, behind another axis,")
        if isinstance(made.type, NumberType):
            return self.node(ops.SCALAR, (made, self.constant(0)), {"operator": "add"})
        attributes = {"function": LENGTH, "arguments": (0,), "keywords": ()}
        return self.node(ops.CALL, (made,), attributes)

    def note_length(self, name: str, node: Node) -> None:
        """Remember what is as long as a symbol says; not a node of a side in place of one from before the branch."""
        if name not in self.long or not self.in_side:
            self.long[name] = node

    def assure(self, name: str, operator: str, other: Size) -> None:
        """Check how a length that values decide compares with another: where it does not, plain Python runs instead.

        Raises:
            GraphBreak: what a side of a branch checks does not hold behind it.

        """
        if self.in_side:
            raise GraphBreak("size", "a length, on one side of a branch,")
        nodes = self.length(name), self.size_node(other)
        test = self.node(ops.SCALAR, nodes, {"operator": operator}, may_raise=True)
        self.node(ops.CHECK, (test,), {"expected": True}, may_raise=True)

    def value(self, array: AnyArray) -> Node:
        """The node that has the array's present contents."""
        node = array.buffer.version
        for step in array.path:
            key = (id(node), step)
            view = self._views.get(key)
            if view is None:
                name, attributes = step
                view = self._views[key] = self.node(ops.OPS[name], (node,), dict(attributes))
                self._kept.append(node)
            node = view
        return node

    def forget_views(self, gone: AbstractSet[Node]) -> None:
        """Forget views that are no longer nodes of the graph."""
        self._views = {key: node for key, node in self._views.items() if node not in gone}

    def fresh(self, node: Node) -> Symbol:
        """The symbol of a node that made new memory, a scalar or a number."""
        kind = node.type
        if isinstance(kind, ArrayType) and not kind.scalar:
            made = DeviceArray if kind.device else Array
            return made(Buffer(node, node, visible=False), (), kind)
        if isinstance(kind, NothingType):
            return Constant(None)
        return Number(node)

    def view(self, array: OneArray, op: Op, attributes: Mapping[str, Any]) -> OneArray:
        """Another view of the same buffer."""
        try:
            kind = infer.result_type(op, (array.type,), attributes, self._facts)
        except infer.CannotInfer as refusal:
            raise GraphBreak("layout", f"a view ({refusal})") from None
        assert isinstance(kind, ArrayType)
        path = (*array.path, (op.name, tuple(attributes.items())))
        return type(array)(array.buffer, path, kind)

    def store(self, target: AnyArray, value: Node, casting: str) -> None:
        """Write `value` into the target's memory, which may be written: a new version of its buffer."""
        buffer = target.buffer
        if buffer.frozen is not None:
            raise buffer.frozen
        if is_read_only(target):
            raise GraphBreak(
                "eager-raises", "writing to a diagonal, to windows or to repeated elements"
            )
        path = tuple((name, dict(attributes)) for name, attributes in target.path)
        made = self.node(ops.STORE, (buffer.version, value), {"path": path, "casting": casting})
        self.replace(buffer, made)
        self.note_write(buffer)

    def replace(self, buffer: Buffer, version: Node) -> None:
        """Have a node be what a buffer holds from now on."""
        self._replaced.append((buffer, buffer.version))
        buffer.version = version

    def is_current(self, node: Node) -> bool:
        """Whether no later version of its buffer has replaced the one that a node is, or shows a part of."""
        while node.op.kind is Kind.VIEW:
            node = node.inputs[0]
        return all(node is not older for _, older in self._replaced)

    @property
    def stores(self) -> int:
        """How often a version of a buffer was replaced so far."""
        return len(self._replaced)

    def put_back(self, stores: int) -> dict[Buffer, Node]:
        """Have buffers hold what they did when there were so many stores; what those had made that came later."""
        later = self._replaced[stores:]
        del self._replaced[stores:]
        made = {buffer: buffer.version for buffer, _ in later}
        for buffer, version in reversed(later):
            buffer.version = version
        return made

    def note_write(self, buffer: Buffer) -> None:
        """Remember where something the program can see was first written: by the last node."""
        if buffer.visible and self.first_write is None:
            self.first_write = len(self.nodes) - 1


BESIDE_DEVICE = "of NumPy's, on what was read from a device"


def _is_on_host(node: Node) -> bool:
    """Whether NumPy computes a node on arrays, for which graphs of a device have no place but for views."""
    kinds = [one.type for one in (node, *node.inputs)]
    if not any(isinstance(one, ArrayType) and not one.device for one in kinds):
        return False
    if node.op.kind in (Kind.CONST, Kind.BRANCH, Kind.ITEM, Kind.SCALAR) or is_fetched(node):
        return False
    if node.op is ops.CALL and node.attributes["function"] in (
        HOST_ITEM,
        DEVICE_FUNCTION + "array",
    ):
        return False
    if any(isinstance(one, ArrayType) and one.device for one in kinds):
        return any(map(is_fetched, node.inputs))
    scalars = (
        isinstance(one, NumberType) or (isinstance(one, ArrayType) and one.scalar) for one in kinds
    )
    return node.op.kind is not Kind.MAP or node.op.ufunc is None or not all(scalars)


def computation(node: Node, depth: int = MOST_DEEP) -> Hashable:
    """Equal for nodes that compute the same elementwise from the same versions of the same arrays."""
    if node.op.kind is not Kind.MAP or not depth:
        return node
    inputs = tuple(computation(one, depth - 1) for one in node.inputs)
    return (node.op, tuple(sorted(node.attributes.items())), inputs)


def _takes_any_int(inputs: tuple[Node, ...]) -> bool:
    """Whether an operand is a whole number of Python's that may be too large for any dtype."""
    return any(
        isinstance(one.type, NumberType)
        and one.type.kind == "int"
        and one.op.kind not in SAME_ANYWHERE
        for one in inputs
    )
