"""A plan while it grows: slots for values, views, constants and sizes, each made where it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import Any

from numpy.lib.stride_tricks import sliding_window_view

from ufuse.backends.planning.keys import NotConstant, Sizes, constant_key, symbols_in
from ufuse.backends.planning.steps import Plan, Step
from ufuse.graph import ops
from ufuse.graph.memory.accesses import Access, Memory
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, NumberType, Span
from ufuse.graph.typing.infer import view_through


@record
class ViewCalls:
    """The library's functions that make views, each of an array and of axes or a shape."""

    transpose: Callable[..., Any]
    reshape: Callable[..., Any]
    broadcast: Callable[..., Any]


class Draft:
    """The steps so far. A slot holds an object: an input, a constant, a result, a view, a key."""

    def __init__(self, graph: Graph, memory: Memory, view_calls: ViewCalls) -> None:
        self.memory = memory
        self.view_calls = view_calls
        self.plan = Plan(len(graph.inputs), len(graph.inputs))
        self.slots: dict[Node, int] = {node: place for place, node in enumerate(graph.inputs)}
        self.position = {node: place for place, node in enumerate(graph.nodes)}
        self.sizes = Sizes()
        self._stores = {
            memory.target(node): node for node in reversed(graph.nodes) if node.op is ops.STORE
        }
        self._views: dict[Access, int] = {}
        self._constants: dict[Any, int] = {}
        self._requests: dict[Any, int] = {}
        self._early: list[tuple[Any, int]] = []  # sizes that follow from the inputs alone
        for node in graph:
            if node.op.kind is not Kind.VIEW:
                self._bind_sizes(node)

    def _bind_sizes(self, node: Node) -> None:
        if isinstance(node.type, NumberType):
            value = node.type.value
            if node.op is ops.INPUT or str(value) in node.attributes.get("sizes", ()):
                self.sizes.bind(value, node, None)
        elif isinstance(node.type, ArrayType):
            for axis, length in enumerate(node.type.shape):
                self.sizes.bind(length, node, axis)

    def finished(
        self, outputs: tuple[Node, ...], merged: Callable[[Plan], None] | None = None
    ) -> Plan:
        """The plan that gives these outputs; `merged` may join its steps."""
        self.plan.outputs = tuple(map(self._output, outputs))
        self._prepend_sizes()
        if merged is not None:
            merged(self.plan)
        self.plan.mark_committed()
        self.plan.set_clears()
        return self.plan

    # Steps

    def step(
        self, kind: str, reads: tuple[int, ...], outs: int = 1, **rest: Any
    ) -> tuple[int, ...]:
        """Append a step; the slots of what it makes."""
        slots = tuple(self._new() for _ in range(outs))
        self.plan.steps.append(Step(kind, reads, slots, **rest))
        return slots

    def call(
        self, function: Callable[..., Any], *slots: int, node: Node | None = None, **keywords: int
    ) -> int:
        """Append a call, `node` being what it computes; the slot of its result."""
        committed = node is not None and any(map(self.memory.is_visible, self.memory.writes(node)))
        return self.step(
            "call", (*slots, *keywords.values()), function=function, keywords=tuple(keywords),
            location=None if node is None else node.location,
            position=-1 if node is None else self.position[node],
            committed=committed,
        )[0]  # fmt: skip

    def check(self, node: Node) -> None:
        """Append a check: where it fails the program gives up, before anything visible was written."""
        self.step(
            "check", (self.slot(node.inputs[0]),), 0, check=node, position=self.position[node]
        )

    # Slots

    def _new(self) -> int:
        self.plan.slots += 1
        return self.plan.slots - 1

    def constant(self, value: Any) -> int:
        """The slot of a constant object; equal numbers, strings, slices and tuples of them share one."""
        plain = isinstance(value, (int, float, str, slice, tuple, type(None)))
        exact = value if type(value) is int else repr(value)  # -0.0 equals 0.0
        key = (type(value), exact) if plain else id(value)
        if key not in self._constants:
            self._constants[key] = self._new()
            self.plan.constants.append((self._constants[key], value))
        return self._constants[key]

    def argument(self, spec: Any, node: Node) -> int:
        """The slot of an argument of a call: an input of the node by its number, or `(kind, what)`."""
        match spec:
            case int():
                return self.slot(node.inputs[spec])
            case ("const", value):
                return self.constant(value)
            case ("size", value):
                return self.size(value)
            case (kind, items):
                made = self.step("tuple", tuple(self.argument(item, node) for item in items))[0]
                return made if kind == "tuple" else self.call(list, made)
        raise AssertionError(f"not an argument: {spec!r}")

    def slot(self, node: Node) -> int:
        """The slot of a value; all versions of a buffer are one object."""
        passed: list[Node] = []
        while (found := self.slots.get(node)) is None:
            previous = self.memory.previous(node)
            if previous is None:
                found = self._first_slot(node)
                break
            passed.append(node)
            node = previous
        for one in passed:
            self.slots[one] = found
        return found

    def _first_slot(self, node: Node) -> int:
        if node.op.kind is Kind.VIEW:
            return self._view(node)
        if node.op is ops.CONST:
            found = self.constant(node.attributes["value"])
        elif node.op is ops.SIZE:
            found = self.size(node.attributes["value"])
        else:
            raise AssertionError(f"{node} is taken before it is made")
        self.slots[node] = found
        return found

    def _output(self, node: Node) -> int:
        """As `slot`, but a view that the caller receives is an object of its own."""
        if node.op.kind is Kind.VIEW and node not in self.slots:
            source = self.slot(node.inputs[0])
            self.slots[node] = self.add_view(
                source, node.inputs[0].type, node.op.name, node.attributes
            )
        return self.slot(node)

    # Views

    def _view(self, node: Node) -> int:
        """Views of one place in memory are one object, unless the caller receives them."""
        access = self.memory.access(node)
        if access not in self._views:
            source = node.inputs[0]
            self._views[access] = self.add_view(
                self.slot(source), source.type, node.op.name, node.attributes
            )
        return self._views[access]

    def target(self, access: Access) -> int:
        """The slot of the view that a store writes."""
        if access not in self._views:
            store = self._stores[access]
            path = store.attributes.get("path", ())
            self._views[access], _ = self.add_path(store.inputs[0], path)
        return self._views[access]

    def add_path(self, node: Node, path: Any) -> tuple[int, Any]:
        """The slot and type of the view that the steps of a path make of a value."""
        slot, type_ = self.slot(node), node.type
        for name, attributes in path:
            slot = self.add_view(slot, type_, name, attributes)
            type_ = view_through(type_, [(name, attributes)])  # type: ignore[arg-type]
        return slot, type_

    def add_view(self, slot: int, type_: Any, name: str, attributes: Any) -> int:
        """The slot of a view of the array in a slot."""
        if name == "index":
            key = self.view_key(attributes["index"], type_.shape)
            return self.step("getitem", (slot, key))[0]
        if name == "transpose":
            axes = self.constant(tuple(attributes["axes"]))
            return self.call(self.view_calls.transpose, slot, axes)
        if name == "part":
            return self.call(attrgetter(attributes["of"]), slot)
        if name == "diagonal":
            offset, axes = attributes["offset"], attributes["axes"]
            return self.call(methodcaller("diagonal", offset, *axes), slot)
        if name == "windows":
            widths, axes = self.size(tuple(attributes["widths"])), self.constant(attributes["axes"])
            return self.call(sliding_window_view, slot, widths, axes)
        if name == "retype":
            return self.call(methodcaller("view", attributes["dtype"]), slot)
        if name == "broadcast":
            shape = self.size(tuple(attributes["shape"]))
            warns = [self.constant(True)] if attributes.get("warns") else []
            return self.call(self.view_calls.broadcast, slot, shape, *warns)
        return self.call(self.view_calls.reshape, slot, self.size(tuple(attributes["shape"])))

    # Keys and sizes

    def view_key(self, index: Any, shape: tuple[Size, ...]) -> int:
        """The slot of a view's key: whole numbers alone get an ellipsis, without which NumPy gives a scalar."""
        if all(entry is not None and not isinstance(entry, Span) for entry in index):
            return self.key((*index, ...), shape)
        return self.key(index, shape)

    def key(self, index: Any, shape: tuple[Size, ...]) -> int:
        """The slot of an index into an array of the shape."""
        try:
            return self.constant(constant_key(index, shape))
        except NotConstant:
            return self.size(index[0] if len(index) == 1 else tuple(index))

    def size(self, request: Any) -> int:
        """The slot of a size, or of a shape or key made of sizes."""
        names = symbols_in(request)
        if not names:
            return self.constant(Sizes().function([request])())
        if request not in self._requests:
            sources = self.sizes.needs([request])
            if all(source.op is ops.INPUT for source in sources):
                self._requests[request] = self._new()
                self._early.append((request, self._requests[request]))
            else:
                function = self.sizes.function([request])
                self._requests[request] = self.call(function, *map(self.slot, sources))
        return self._requests[request]

    def _prepend_sizes(self) -> None:
        """All that depends on the inputs' sizes is worked out in one call before the first step."""
        if not self._early:
            return
        requests = [request for request, _ in self._early]
        slots = tuple(slot for _, slot in self._early)
        reads = tuple(self.slots[source] for source in self.sizes.needs(requests))
        function = self.sizes.function(requests)
        if len(slots) == 1:
            self.plan.steps.insert(0, Step("call", reads, slots, function=function))
            return
        whole = self._new()
        self.plan.steps[:0] = [
            Step("call", reads, (whole,), function=function),
            Step("unpack", (whole,), slots),
        ]
