"""A graph as steps: units in an order that keeps effects, and around them the calls that make views and keys."""

from __future__ import annotations

import operator
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, cast

import numpy as np

from ufuse.backends.numpy.groups import Grouping, Unit
from ufuse.backends.numpy.kernels import KernelPlan, Unpredicted, kernel_plan, needed_outside
from ufuse.backends.numpy.keys import NotConstant, Sizes, constant_key, symbols_in
from ufuse.backends.numpy.steps import Plan, Step
from ufuse.graph import ops, passes
from ufuse.graph.memory.accesses import Access, Memory
from ufuse.graph.memory.buffers import Buffers
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.forward import forwarded
from ufuse.graph.semantics import reference
from ufuse.graph.size import Size, symbol
from ufuse.graph.types import ArrayType, NumberType, Span, c_order
from ufuse.graph.typing.calls import function_named
from ufuse.graph.typing.infer import scalar_function, view_through


def plan_of(graph: Graph) -> Plan:
    """The plan of a graph."""
    shows = Buffers().writes_given(graph)
    memory = Memory()
    graph = forwarded(passes.run(graph, replayed=not shows, unroll=True), memory)
    alone: frozenset[Node] = frozenset()
    while True:
        grouping = Grouping(graph, memory, alone)
        needed = needed_outside(grouping)
        try:
            kernels = {
                unit: kernel_plan(unit, grouping, needed)
                for unit in grouping.units
                if unit.space is not None
            }
        except Unpredicted as refusal:
            alone |= {refusal.node}
            continue
        return Planner(graph, grouping, kernels).plan()


class Planner:
    """Turns units into steps. A slot holds an object: an input, a constant, a result, a view, a key."""

    def __init__(self, graph: Graph, grouping: Grouping, kernels: dict[Unit, KernelPlan]) -> None:
        self.graph = graph
        self.grouping = grouping
        self.memory = grouping.memory
        self.kernels = kernels
        self.result = Plan(len(graph.inputs), len(graph.inputs))
        self.slots: dict[Node, int] = {node: place for place, node in enumerate(graph.inputs)}
        self.views: dict[Access, int] = {}
        self.constants: dict[Any, int] = {}
        self.requests: dict[Any, int] = {}
        self.early: list[tuple[Any, int]] = []
        self.sizes = Sizes()
        for node in graph:
            if node.op.kind is not Kind.VIEW:
                self._bind_sizes(node)

    def plan(self) -> Plan:
        """The finished plan."""
        for unit in self._ordered():
            if unit in self.kernels:
                self._add_kernel(unit, self.kernels[unit])
            else:
                self._add_call(unit.members[0])
        self.result.outputs = tuple(self._output(node) for node in self.graph.outputs)
        self._prepend_sizes()
        self._mark_committed()
        self.result.set_clears()
        return self.result

    def _ordered(self) -> list[Unit]:
        """Units in an order that respects what waits for what; what the user can see is written late."""
        units = self.grouping.units
        position = self.grouping.position
        after: dict[Unit, list[Unit]] = {unit: [] for unit in units}
        missing = {unit: len(unit.before) for unit in units}
        for unit in units:
            for other in unit.before:
                after[other].append(unit)
        rank = {
            unit: (self.is_visible(unit), max(position[node] for node in unit.members), place)
            for place, unit in enumerate(units)
        }
        ready = [(rank[unit], unit) for unit in units if not missing[unit]]
        heapify(ready)
        ordered = []
        while ready:
            _, unit = heappop(ready)
            ordered.append(unit)
            for other in after[unit]:
                missing[other] -= 1
                if not missing[other]:
                    heappush(ready, (rank[other], other))
        assert len(ordered) == len(units), "the units wait for one another in a circle"
        return ordered

    def is_visible(self, unit: Unit) -> bool:
        """Whether the unit writes memory that existed before the call."""
        return any(
            self.memory.is_visible(access)
            for node in unit.members
            for access in self.memory.writes(node)
        )

    def _mark_committed(self) -> None:
        """Steps after the first visible write are committed, and so is that which makes it."""
        committed = False
        for step in self.result.steps:
            committed = step.committed = committed or step.committed

    # Slots

    def _new(self) -> int:
        self.result.slots += 1
        return self.result.slots - 1

    def _constant(self, value: Any) -> int:
        plain = isinstance(value, (int, float, str, slice, tuple, type(None)))
        exact = value if type(value) is int else repr(value)  # -0.0 equals 0.0
        key = (type(value), exact) if plain else id(value)
        if key not in self.constants:
            self.constants[key] = self._new()
            self.result.constants.append((self.constants[key], value))
        return self.constants[key]

    def _step(
        self, kind: str, reads: tuple[int, ...], outs: int = 1, **rest: Any
    ) -> tuple[int, ...]:
        slots = tuple(self._new() for _ in range(outs))
        self.result.steps.append(Step(kind, reads, slots, **rest))
        return slots

    def slot(self, node: Node) -> int:
        """The slot of a value; makes views and keys where they are first needed."""
        found = self.slots.get(node)
        if found is not None:
            return found
        before = self.memory.previous(node)
        if before is not None:
            found = self.slot(before)
        elif node.op is ops.CONST:
            found = self._constant(node.attributes["value"])
        elif node.op is ops.SIZE:
            found = self._size(node.attributes["value"])
        elif node.op.kind is Kind.VIEW:
            return self._view(node)
        else:
            raise AssertionError(f"{node} is taken before it is made")
        self.slots[node] = found
        return found

    def _view(self, node: Node) -> int:
        """Views of one place in memory are one object, unless the caller receives them."""
        access = self.memory.access(node)
        if access not in self.views:
            source = node.inputs[0]
            self.views[access] = self._see(
                self.slot(source), source.type, node.op.name, node.attributes
            )
        return self.views[access]

    def _output(self, node: Node) -> int:
        if node.op.kind is Kind.VIEW and node not in self.slots:
            source = self.slot(node.inputs[0])
            self.slots[node] = self._see(source, node.inputs[0].type, node.op.name, node.attributes)
        return self.slot(node)

    def _see(self, slot: int, type_: Any, name: str, attributes: Any) -> int:
        """The slot of a view made of the array in a slot."""
        if name == "index":
            return self._step(
                "getitem", (slot, self._key(_of_view(attributes["index"]), type_.shape))
            )[0]
        if name == "transpose":
            return self._call(np.ndarray.transpose, slot, self._constant(tuple(attributes["axes"])))
        return self._call(np.ndarray.reshape, slot, self._size(tuple(attributes["shape"])))

    def _key(self, index: Any, shape: tuple[Size, ...]) -> int:
        try:
            return self._constant(constant_key(index, shape))
        except NotConstant:
            return self._size(index[0] if len(index) == 1 else tuple(index))

    def _size(self, request: Any) -> int:
        """The slot of a size, or of a shape or key made of sizes."""
        names = symbols_in(request)
        if not names:
            return self._constant(Sizes().function([request])())
        if request not in self.requests:
            sources = self.sizes.needs([request])
            if all(source.op is ops.INPUT for source in sources):
                self.requests[request] = self._new()
                self.early.append((request, self.requests[request]))
            else:
                function = self.sizes.function([request])
                self.requests[request] = self._call(function, *map(self.slot, sources))
        return self.requests[request]

    def _bind_sizes(self, node: Node) -> None:
        if isinstance(node.type, NumberType) and node.op is ops.INPUT:
            self.sizes.bind(node.type.value, node, None)
        elif isinstance(node.type, ArrayType):
            for axis, length in enumerate(node.type.shape):
                self.sizes.bind(length, node, axis)

    def _prepend_sizes(self) -> None:
        """All that depends on the inputs' sizes is worked out in one call before the first step."""
        if not self.early:
            return
        requests = [request for request, _ in self.early]
        slots = tuple(slot for _, slot in self.early)
        reads = tuple(self.slots[source] for source in self.sizes.needs(requests))
        function = self.sizes.function(requests)
        if len(slots) == 1:
            self.result.steps.insert(0, Step("call", reads, slots, function=function))
            return
        whole = self._new()
        self.result.steps[:0] = [
            Step("call", reads, (whole,), function=function),
            Step("unpack", (whole,), slots),
        ]

    # Steps

    def _add_kernel(self, unit: Unit, kernel: KernelPlan) -> None:
        reads = tuple(self._operand(operand.source) for operand in kernel.operands)
        outs = self._step(
            "kernel", reads, sum(result.how[0] != "into" for result in kernel.results), kernel=kernel,
            committed=self.is_visible(unit),
        )  # fmt: skip
        free = iter(outs)
        for result in kernel.results:
            if result.how[0] != "into":
                self.slots.setdefault(result.node, next(free))

    def _operand(self, source: Node | Access) -> int:
        if isinstance(source, Node):
            return self.slot(source)
        store = next(
            node
            for node in self.graph
            if node.op.kind is Kind.STORE and self.memory.target(node) == source
        )
        return self._target(store)

    def _target(self, store: Node) -> int:
        """The slot of the view that a store writes."""
        access = self.memory.target(store)
        if access in self.views:
            return self.views[access]
        slot, type_ = self.slot(store.inputs[0]), store.inputs[0].type
        for name, attributes in store.attributes.get("path", ()):
            slot = self._see(slot, type_, name, attributes)
            type_ = _seen_type(type_, name, attributes)
        self.views[access] = slot
        return slot

    def _call(
        self, function: Callable[..., Any], *slots: int, node: Node | None = None, **keywords: int
    ) -> int:
        committed = node is not None and any(
            self.memory.is_visible(access) for access in self.memory.writes(node)
        )
        return self._step(
            "call", (*slots, *keywords.values()), function=function, keywords=tuple(keywords),
            location=None if node is None else node.location,
            position=-1 if node is None else self.grouping.position[node],
            committed=committed,
        )[0]  # fmt: skip

    def _add_call(self, node: Node) -> None:
        made = CALLS_BY_KIND[node.op.kind](self, node)
        if made is not None:
            self.slots[node] = made
        items = [user for user in self.graph if user.op is ops.ITEM and user.inputs[0] is node]
        if not items:
            return
        if node.attributes.get("writes"):
            for item in items:
                if item.attributes["index"] == 0:
                    self.slots[item] = self.slots[node]
            return
        count = len(node.type.items)  # type: ignore[union-attr]
        outs = self._step("unpack", (self.slots[node],), count)
        for item in items:
            self.slots[item] = outs[item.attributes["index"]]

    def _map(self, node: Node) -> int:
        slots = [self.slot(source) for source in node.inputs]
        if node.op is ops.CAST or node.op is ops.COPY:
            source = node.inputs[0].type
            owner = np.generic if isinstance(source, ArrayType) and source.scalar else np.ndarray
            if node.op is ops.CAST:
                assert isinstance(node.type, ArrayType)
                return self._call(
                    cast("Any", owner).astype, *slots, self._constant(node.type.dtype), node=node
                )
            if owner is np.generic:
                return slots[0]
            return self._call(
                np.ndarray.copy,
                *slots,
                self._constant(node.attributes.get("order", "K")),
                node=node,
            )
        function: Any = np.where if node.op is ops.WHERE else node.op.ufunc
        assert function is not None
        return self._call(function, *slots, node=node)

    def _reduce(self, node: Node) -> int:
        assert node.op.ufunc is not None
        dtype, keepdims = node.attributes.get("dtype"), bool(node.attributes.get("keepdims", False))
        given = [node.attributes.get("axis"), dtype, None, keepdims]  # axis, dtype, out, keepdims
        while given[1:] and (given[-1] is None or given[-1] is False):  # float64 == None
            given.pop()  # positional arguments, and few of them: NumPy reads those fastest
        constants = [self._constant(value) for value in given]
        return self._call(node.op.ufunc.reduce, self.slot(node.inputs[0]), *constants, node=node)

    def _create(self, node: Node) -> int:
        type_ = node.type
        assert isinstance(type_, ArrayType)
        order = type_.order if type_.order is not None else c_order(type_.ndim)
        slots = [self.slot(source) for source in node.inputs]
        function, like = CREATORS[node.op.name]
        shape, dtype = self._size(type_.shape), self._constant(type_.dtype)
        for letter, plain in (("C", c_order(type_.ndim)), ("F", c_order(type_.ndim)[::-1])):
            if order == plain:
                letters = self._constant(letter)
                return self._call(function, shape, *slots, node=node, dtype=dtype, order=letters)
        pattern = self._call(_permuted, shape, self._constant(order), dtype)
        return self._call(like, pattern, *slots, node=node)

    def _store(self, node: Node) -> None:
        """A store that no kernel does: Python's own assignment to an item."""
        *steps, last = node.attributes.get("path", ()) or [("whole", {})]
        slot, type_ = self.slot(node.inputs[0]), node.inputs[0].type
        for name, attributes in steps:
            slot = self._see(slot, type_, name, attributes)
            type_ = _seen_type(type_, name, attributes)
        name, attributes = last
        if name == "index":
            key = self._key(_of_view(attributes["index"]), type_.shape)  # type: ignore[union-attr]
        else:
            slot = slot if name == "whole" else self._see(slot, type_, name, attributes)
            key = self._constant(Ellipsis)
        self._call(operator.setitem, slot, key, self.slot(node.inputs[1]), node=node)

    def _scalar(self, node: Node) -> int:
        function = scalar_function(node.attributes["operator"])
        return self._call(function, *map(self.slot, node.inputs), node=node)

    def _numpy_call(self, node: Node) -> int:
        if node.op is ops.ELEMENT:
            source = node.inputs[0]
            key = self._key(tuple(node.attributes["index"]), source.type.shape)  # type: ignore[union-attr]
            return self._step("getitem", (self.slot(source), key), location=node.location)[0]
        function = function_named(node.attributes["function"])
        slots = [self._argument(spec, node) for spec in node.attributes.get("arguments", ())]
        keywords = {
            name: self._argument(spec, node) for name, spec in node.attributes.get("keywords", ())
        }
        return self._call(function, *slots, node=node, **keywords)

    def _argument(self, spec: Any, node: Node) -> int:
        match spec:
            case int():
                return self.slot(node.inputs[spec])
            case ("const", value):
                return self._constant(value)
            case (kind, items):
                slots = tuple(self._argument(item, node) for item in items)
                made = self._step("tuple", slots)[0]
                return made if kind == "tuple" else self._call(list, made)
        raise AssertionError(f"not an argument: {spec!r}")

    def _structured(self, node: Node) -> int:
        """A loop or a branch: by its definition, until loops are compiled whole."""
        names = sorted(self.sizes.sources)
        rule = reference.BY_KIND[node.op.kind]

        def run(sizes: tuple[int, ...], *values: object) -> object:
            return rule(node, list(values), dict(zip(names, sizes, strict=True)))

        return self._call(
            run, self._size(tuple(map(symbol, names))), *map(self.slot, node.inputs), node=node
        )


def _permuted(shape: tuple[int, ...], order: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array whose axes lie in memory in `order`, slowest first."""
    return np.empty([shape[axis] for axis in order], dtype).transpose(np.argsort(order))


def _seen_type(type_: Any, name: str, attributes: Any) -> Any:
    return view_through(type_, [(name, attributes)])


# fmt: off
CREATORS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "empty": (np.empty, np.empty_like),
    "zeros": (np.zeros, np.zeros_like),
    "ones":  (np.ones,  np.ones_like),
    "full":  (np.full,  np.full_like),
}
CALLS_BY_KIND: dict[Kind, Callable[[Planner, Node], int | None]] = {
    Kind.MAP:    Planner._map,
    Kind.REDUCE: Planner._reduce,
    Kind.CREATE: Planner._create,
    Kind.STORE:  Planner._store,
    Kind.SCALAR: Planner._scalar,
    Kind.CALL:   Planner._numpy_call,
    Kind.LOOP:   Planner._structured,
    Kind.BRANCH: Planner._structured,
}
# fmt: on


def _of_view(index: Any) -> Any:
    """The index of a view: whole numbers alone get an ellipsis, without which NumPy gives a scalar."""
    if all(entry is not None and not isinstance(entry, Span) for entry in index):
        return (*index, ...)
    return index
