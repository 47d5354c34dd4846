"""Stores of what a mask picks, `z[m] = f(x[m], y[m])`, as one pass over all elements: where the mask says so.

Eager CuPy counts the mask, on the host, and packs what each part of the expression picks. Here every operation is done
for all elements, and its result kept for some: on a device nothing warns, and no element depends on another.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ufuse.backends.cupy.operations.gathers import with_axes_behind
from ufuse.graph import ops
from ufuse.graph.made import same_mask
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.device_calls import GETITEM, SETITEM
from ufuse.graph.typing.sample import CannotInfer
from ufuse.graph.typing.shapes import Shape


def with_masks(graph: Graph) -> Graph:
    """The graph with such stores as operations on whole arrays."""
    if not any(stores_by_mask(node) for node in graph):
        return graph
    return rewritten(graph, _Rewriting().visit)


def stores_by_mask(node: Node) -> bool:
    """Whether a node stores an array by a mask."""
    return _key(node, SETITEM) is not None and "length" in node.attributes


def _key(node: Node, function: str) -> Node | None:
    """The mask that is the whole key of a call; None where the key is another, or the call."""
    if node.op is not ops.CALL or node.attributes["function"] != function:
        return None
    _, key, *_ = node.attributes["arguments"]
    parts = key[1] if isinstance(key, tuple) and key[0] == "tuple" else (key,)
    places = [part for part in parts if isinstance(part, int)]
    if len(places) != 1 or parts[0] != places[0]:
        return None
    mask = node.inputs[places[0]]
    is_mask = isinstance(mask.type, ArrayType) and mask.type.dtype.kind == "b" and mask.type.ndim
    return mask if is_mask else None


class _CannotError(Exception):
    """Something is computed from the packed elements that is not of each alone."""


@dataclass
class _Rewriting:
    """Goes over a graph; knows where its nodes stand, and what was written when."""

    places: dict[Node, int] = field(default_factory=dict)
    writes: list[tuple[int, frozenset[Node]]] = field(default_factory=list)

    def visit(self, node: Node, builder: Builder) -> Node | None:
        """What stands in the place of a node."""
        place = self.places[node] = len(self.places)
        if node.op is ops.ITEM and node.inputs[0].op is ops.STORE:
            return node.inputs[0]
        mask = _key(node, SETITEM) if stores_by_mask(node) else None
        found = None if mask is None else self._stored(node, mask, builder)
        for one in builder.buffers.written(node):
            self.writes.append((place, builder.buffers.sharing(one)))
        return found

    def _stored(self, node: Node, mask: Node, builder: Builder) -> Node | None:
        array, value = node.inputs[0], node.inputs[-1]
        type_ = _array_type(array)
        if not is_array(value) or (
            type_.dtype.kind != "c" and _array_type(value).dtype.kind == "c"
        ):
            return None  # CuPy warns of imaginary parts
        begun = len(builder.nodes)
        try:
            spreading = _Spreading(self, array, mask, node, builder)
            made = _cast(spreading.array_of(value), type_.dtype, node, builder)
            missing = type_.ndim - _array_type(mask).ndim
            whole = with_axes_behind(mask, missing, builder, node.location)
            chosen = builder.emit(ops.WHERE, (whole, made, array), {}, node.location)
        except (_CannotError, CannotInfer):
            del builder.nodes[begun:]
            return None
        attributes = {"path": (), "casting": "unsafe"}
        return builder.add(Node(ops.STORE, (array, chosen), type_, attributes, node.location))

    def is_unchanged(self, array: Node, since: Node, builder: Builder) -> bool:
        """Whether no store has written an array since a node, which read it."""
        buffers = builder.buffers.sharing(array)
        begun = self.places[since]
        return not any(place > begun and one & buffers for place, one in self.writes)


@dataclass
class _Spreading:
    """Computes for all elements of an array what is there for those that a mask picks."""

    rewriting: _Rewriting
    array: Node
    mask: Node
    store: Node
    builder: Builder
    made: dict[Node, Node] = field(default_factory=dict)

    def array_of(self, node: Node) -> Node:
        """The value for all elements, which is an array.

        Raises:
            _CannotError: there is none.

        """
        made = self.of(node)
        if not is_array(made):
            raise _CannotError
        return made

    def of(self, node: Node) -> Node:
        """The value for all elements.

        Raises:
            _CannotError: there is none.

        """
        if node not in self.made:
            self.made[node] = self._of(node)
        return self.made[node]

    def _of(self, node: Node) -> Node:
        picked = _key(node, GETITEM)
        if picked is not None:
            return self._table(node, picked)
        if node.op.kind is Kind.MAP and self._is_packed(node):
            inputs = tuple([self.of(one) for one in node.inputs])
            made = self.builder.emit(node.op, inputs, node.attributes, node.location)
            if (
                _array_type(made).dtype != _array_type(node).dtype
                or _array_type(made).shape != self.shape
            ):
                raise _CannotError
            return made
        if node.op is ops.STORE and not node.attributes["path"]:
            buffer, value = node.inputs
            made, dtype = self.array_of(value), _array_type(buffer).dtype
            if _array_type(made).shape != self.shape:
                raise _CannotError
            return _cast(made, dtype, node, self.builder)
        if is_array(node) and _array_type(node).ndim:
            raise _CannotError
        return node

    @property
    def shape(self) -> Shape:
        """The shape of the array that is stored into."""
        return _array_type(self.array).shape

    def _is_packed(self, node: Node) -> bool:
        """Whether a value has an axis of what is picked, and the array's behind those of the mask."""
        length, behind = self.store.attributes["length"], self.shape[_array_type(self.mask).ndim :]
        if not isinstance(node.type, ArrayType) or not node.type.ndim:
            return False
        return str(node.type.shape[0]) == length and node.type.shape[1:] == behind

    def _table(self, node: Node, mask: Node) -> Node:
        """The array of which a node picks, by the same mask, as it still is."""
        table = node.inputs[0]
        fits = same_mask(mask) == same_mask(self.mask) and _array_type(table).shape == self.shape
        if not fits or not self.rewriting.is_unchanged(table, node, self.builder):
            raise _CannotError
        return table


def _cast(array: Node, dtype: np.dtype, store: Node, builder: Builder) -> Node:
    """An array in a dtype, as a store casts it."""
    if _array_type(array).dtype == dtype:
        return array
    return builder.emit(ops.CAST, (array,), {"dtype": dtype}, store.location)


def _array_type(node: Node) -> ArrayType:
    assert isinstance(node.type, ArrayType)
    return node.type
