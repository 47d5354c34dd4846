"""What no kernel does: NumPy's own functions and Python's operators, as steps of a plan."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ufuse.backends.numpy import _tiles, scalars, small, windows
from ufuse.backends.numpy.binned import histogram_of
from ufuse.backends.numpy.distinct import distinct_of
from ufuse.backends.numpy.lean import lean_function
from ufuse.backends.numpy.ordered import ordered_function
from ufuse.backends.numpy.running import running_of
from ufuse.backends.numpy.searching import interpolation_of, search_of
from ufuse.backends.planning.draft import Draft, ViewCalls
from ufuse.backends.planning.rules import Call
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.semantics import reference
from ufuse.graph.size import symbol
from ufuse.graph.types import ArrayType, c_order
from ufuse.graph.typing.calls import function_named
from ufuse.graph.typing.counting import MASKED
from ufuse.graph.typing.infer import scalar_function


def _repeated(array: np.ndarray, shape: tuple[int, ...], warns: bool = False) -> np.ndarray:
    """The view that `np.broadcast_to` gives, or `np.broadcast_arrays`, which warns where it is written through."""
    return reference.repeated(array, shape, warns=warns)


VIEW_CALLS = ViewCalls(np.ndarray.transpose, np.ndarray.reshape, _repeated)
# What takes NumPy several times as long, by branches that no processor foresees.
OURS: dict[str, Callable[..., Any]] = {
    MASKED: _tiles.chosen,
    "numpy.ndarray.__setitem__": _tiles.put_chosen,
    "numpy.nonzero": _tiles.nonzero,
    "numpy.ndarray.nonzero": _tiles.nonzero,
    "numpy.flatnonzero": _tiles.flat_nonzero,
}
# What NumPy's Python code calls at once, without that code.
METHODS: dict[str, Callable[..., Any]] = {
    f"numpy.{name}": getattr(np.ndarray, name)
    for name in ("argmax", "argmin", "argsort", "searchsorted", "trace", "repeat")
}
PLACES: dict[str, Callable[..., Any]] = {"argmax": _tiles.argmax, "argmin": _tiles.argmin}
# Functions that write, and raise before they do, as the method `at` of ufuncs does.
LOOKS_FIRST = frozenset({"operator.setitem", "numpy.ndarray.__setitem__"})


def _map(draft: Draft, node: Node) -> int:
    function: Any
    slots = [draft.slot(source) for source in node.inputs]
    if node.op is ops.CAST or node.op is ops.COPY:
        source = node.inputs[0].type
        owner = np.generic if isinstance(source, ArrayType) and source.scalar else np.ndarray
        if node.op is ops.CAST:
            assert isinstance(node.type, ArrayType)
            dtype = draft.constant(node.type.dtype)
            function = cast("Any", owner).astype
            made = scalars.operation(draft, node, function, dtype)
            return draft.call(function, *slots, dtype, node=node) if made is None else made
        if owner is np.generic:
            return slots[0]
        order = draft.constant(node.attributes.get("order", "K"))
        return draft.call(np.ndarray.copy, *slots, order, node=node)
    function = np.where if node.op is ops.WHERE else node.op.ufunc
    assert function is not None
    made = scalars.operation(draft, node, function)
    return draft.call(function, *slots, node=node) if made is None else made


def _reduce(draft: Draft, node: Node) -> int:
    assert node.op.ufunc is not None
    dtype, keepdims = node.attributes.get("dtype"), bool(node.attributes.get("keepdims", False))
    given = [node.attributes.get("axis"), dtype, None, keepdims]  # axis, dtype, out, keepdims
    while given[1:] and (given[-1] is None or given[-1] is False):  # float64 == None
        given.pop()  # positional arguments, and few of them: NumPy reads those fastest
    total = small.total(node, tuple(given))
    if total is not None:
        return draft.call(total, draft.slot(node.inputs[0]), node=node)
    constants = [draft.constant(value) for value in given]
    made = windows.fold_of(draft, node, constants)
    if made is not None:
        return made
    return draft.call(node.op.ufunc.reduce, draft.slot(node.inputs[0]), *constants, node=node)


def _create(draft: Draft, node: Node) -> int:
    type_ = node.type
    assert isinstance(type_, ArrayType)
    order = type_.order if type_.order is not None else c_order(type_.ndim)
    slots = [draft.slot(source) for source in node.inputs]
    function, like = CREATORS[node.op.name]
    shape, dtype = draft.size(type_.shape), draft.constant(type_.dtype)
    for letter, plain in (("C", c_order(type_.ndim)), ("F", c_order(type_.ndim)[::-1])):
        if order == plain:
            letters = draft.constant(letter)
            return draft.call(function, shape, *slots, node=node, dtype=dtype, order=letters)
    pattern = draft.call(_permuted, shape, draft.constant(order), dtype)
    return draft.call(like, pattern, *slots, node=node)


def _permuted(shape: tuple[int, ...], order: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array whose axes lie in memory in `order`, slowest first."""
    return np.empty([shape[axis] for axis in order], dtype).transpose(np.argsort(order))


def _store(draft: Draft, node: Node) -> None:
    """A store that no kernel does: Python's own assignment to an item."""
    *steps, last = node.attributes.get("path", ()) or [("whole", {})]
    slot, type_ = draft.add_path(node.inputs[0], steps)
    name, attributes = last
    if name == "index" and scalars.element_stored(draft, node, slot, type_, attributes["index"]):
        return
    if name == "index":
        key = draft.view_key(attributes["index"], type_.shape)
    else:
        slot = slot if name == "whole" else draft.add_view(slot, type_, name, attributes)
        key = draft.constant(Ellipsis)
    draft.call(operator.setitem, slot, key, draft.slot(node.inputs[1]), node=node)


def _scalar(draft: Draft, node: Node) -> int:
    function = scalar_function(node.attributes["operator"])
    made = scalars.operation(draft, node, function)
    return draft.call(function, *map(draft.slot, node.inputs), node=node) if made is None else made


def _whole(draft: Draft, node: Node) -> int:
    """A function that the graph calls whole, or the read of one element."""
    if node.op is ops.ELEMENT:
        made = scalars.element(draft, node)
        if made is not None:
            return made
        source = node.inputs[0]
        key = draft.key(tuple(node.attributes["index"]), source.type.shape)  # type: ignore[union-attr]
        return draft.step(
            "getitem", (draft.slot(source), key), location=node.location, position=draft.position[node],
        )[0]  # fmt: skip
    name = node.attributes["function"]
    keywords = {
        name: draft.argument(spec, node) for name, spec in node.attributes.get("keywords", ())
    }
    made = windows.variance_of(draft, node, **keywords)
    if made is not None:
        return made
    function = (
        OURS.get(name)
        or small.function_of(node)
        or _place(node)
        or _method(node)
        or lean_function(node)
        or ordered_function(node)
        or histogram_of(node)
        or distinct_of(node)
        or search_of(node)
        or interpolation_of(node)
        or running_of(node)
        or function_named(name)
    )
    slots = [draft.argument(spec, node) for spec in node.attributes.get("arguments", ())]
    made = draft.call(function, *slots, node=node, **keywords)
    draft.plan.steps[-1].refuses = name in LOOKS_FIRST or name.endswith(".at")
    return made


def _place(node: Node) -> Callable[..., Any] | None:
    """The place of an extreme along an axis that is known."""
    function = PLACES.get(node.attributes["function"].rpartition(".")[2])
    arguments, keywords = node.attributes["arguments"], dict(node.attributes["keywords"])
    if (
        function is None
        or not arguments
        or arguments[0] != 0
        or len(arguments) + len(keywords) != 2
    ):
        return None
    match arguments[1] if len(arguments) == 2 else keywords.get("axis"):
        case ("const", int() as axis) if type(axis) is int and _is_array(node):
            return function
    return None


def _is_array(node: Node) -> bool:
    type_ = node.inputs[0].type
    return isinstance(type_, ArrayType) and not type_.scalar and not type_.device


def _method(node: Node) -> Callable[..., Any] | None:
    """The method of its first array that a call comes to."""
    arguments = node.attributes["arguments"]
    if node.attributes["keywords"] or not arguments or arguments[0] != 0:
        return None
    return METHODS.get(node.attributes["function"]) if _is_array(node) else None


def _structured(draft: Draft, node: Node) -> int:
    """A loop: by its definition, until loops are compiled whole."""
    names = sorted(draft.sizes.sources)
    rule = reference.BY_KIND[node.op.kind]

    def run(sizes: tuple[int, ...], *values: object) -> object:
        return rule(node, list(values), dict(zip(names, sizes, strict=True)))

    sizes = draft.size(tuple(map(symbol, names)))
    made = draft.call(run, sizes, *map(draft.slot, node.inputs), node=node)
    draft.plan.steps[-1].repeats = False
    return made


# fmt: off
CREATORS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "empty": (np.empty, np.empty_like),
    "zeros": (np.zeros, np.zeros_like),
    "ones":  (np.ones,  np.ones_like),
    "full":  (np.full,  np.full_like),
}
CALLS: dict[Kind, Call] = {
    Kind.MAP:    _map,
    Kind.REDUCE: _reduce,
    Kind.CREATE: _create,
    Kind.STORE:  _store,
    Kind.SCALAR: _scalar,
    Kind.CALL:   _whole,
    Kind.CHECK:  Draft.check,
    Kind.LOOP:   _structured,
}
# fmt: on
