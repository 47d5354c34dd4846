"""CuPy's own functions and methods as steps of a plan; what they give is compared with what the graph was made for."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.backends.cupy.steps import streams
from ufuse.backends.planning.draft import Draft
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType, TupleType
from ufuse.graph.typing import bounds
from ufuse.graph.typing.bounds import BOUNDS
from ufuse.graph.typing.counting import LENGTH
from ufuse.graph.typing.device_calls import (
    AT,
    DEVICE_FUNCTION,
    DEVICE_METHOD,
    GET,
    GETITEM,
    HOST_ITEM,
    KERNEL,
    READ,
    SETITEM,
    UFUNC,
    WRITING,
)
from ufuse.graph.typing.device_draws import RANDOM
from ufuse.graph.typing.device_launches import LAUNCH, WAIT_FOR_DEVICE, WAITS, is_final
from ufuse.graph.typing.device_streams import is_about_streams
from ufuse.graph.typing.elementary import ELEMENTARY
from ufuse.graph.typing.library import IMAGES, named
from ufuse.graph.typing.library import cupy as library

ROTATE = IMAGES + ".rotate"
OPERATORS: dict[str, Callable[..., Any]] = {
    GETITEM: operator.getitem,
    SETITEM: operator.setitem,
    WAIT_FOR_DEVICE: lambda *number: library().module.cuda.Device(*number).synchronize(),
}

# What is on the host then; the last is of what was fetched.
WAITING: dict[str, Callable[[], Callable[..., Any]]] = {
    READ: lambda: library().array.item,
    GET: lambda: library().array.get,
    HOST_ITEM: lambda: np.ndarray.item,
}


def call(draft: Draft, node: Node) -> int:
    """A method of CuPy's arrays, or one of its functions."""
    if node.op is ops.ELEMENT:
        return _element(draft, node)
    name = node.attributes["function"]
    if is_about_streams(node) or name in WAITS:
        return _about_streams(draft, node)
    if is_final(node) or name.startswith(RANDOM):
        return _final(draft, node, function_named(name))
    if name in WRITING or name == SETITEM or node.attributes.get("writes"):
        return _tried_call(draft, node, function_named(name))
    if name == LENGTH:
        return draft.call(len, draft.slot(node.inputs[0]), node=node)
    if name.startswith(BOUNDS) or name in ELEMENTARY:  # of numbers
        module = bounds if name.startswith(BOUNDS) else math
        function = getattr(module, name.rpartition(".")[2])
        made = _tried_call(draft, node, function)
        draft.plan.steps[-1].apart = True
        return made
    if name in WAITING:
        return draft.call(WAITING[name](), draft.slot(node.inputs[0]), node=node)
    if name == GETITEM or not name.startswith(DEVICE_METHOD):
        return _checked_call(draft, node, function_named(name))
    name = name.removeprefix(DEVICE_METHOD)
    method = getattr(library().array, name)
    if name in ("flatten", "ravel"):
        return draft.call(method, draft.slot(node.inputs[0]), node=node)
    if name == "reshape":
        slots = [draft.slot(node.inputs[0]), draft.size(node.attributes["shape"])]
        return draft.call(method, *slots, node=node)
    keywords = {key: value for key, (_, value) in node.attributes["keywords"]}
    inputs = [node.inputs[number] for number in node.attributes["arguments"]]
    return call_of_dtype(draft, node, method, inputs, keywords)


def _element(draft: Draft, node: Node) -> int:
    """An element of an array of the host's."""
    source = node.inputs[0]
    assert isinstance(source.type, ArrayType)
    reads = draft.slot(source), draft.key(tuple(node.attributes["index"]), source.type.shape)
    (slot,) = draft.step("getitem", reads, location=node.location, position=draft.position[node])
    return slot


def function_named(name: str) -> Callable[..., Any]:
    """The function of a dotted name that begins with CuPy's."""
    if name in OPERATORS:
        return OPERATORS[name]
    if name.startswith(AT):
        return getattr(library().module, name.removeprefix(AT)).at  # type: ignore[no-any-return]
    for kind in (KERNEL, LAUNCH):
        if name.startswith(kind):
            return library().kernel_named(name.removeprefix(kind))  # type: ignore[no-any-return]
    if name.startswith(UFUNC):
        op = library().row_named(name.removeprefix(UFUNC))
        assert op is not None
        return library().function_of(op)  # type: ignore[no-any-return]
    return named(name.removeprefix(DEVICE_FUNCTION))  # type: ignore[no-any-return]


def call_of_dtype(
    draft: Draft,
    node: Node,
    function: Callable[..., Any],
    inputs: Sequence[Node],
    keywords: dict[str, Any],
) -> int:
    """A call of some of the node's inputs, with keywords that are Python values, whose dtype is compared."""
    assert isinstance(node.type, ArrayType)
    slots = {key: draft.constant(value) for key, value in keywords.items()}
    checked = partial(of_dtype, function, node.type.dtype)
    return draft.call(checked, *map(draft.slot, inputs), node=node, **slots)


def _arguments(draft: Draft, node: Node) -> tuple[list[int], dict[str, int]]:
    slots = [draft.argument(spec, node) for spec in node.attributes["arguments"]]
    named = {key: draft.argument(spec, node) for key, spec in node.attributes["keywords"]}
    return slots, named


def _tried_call(draft: Draft, node: Node, function: Callable[..., Any]) -> int:
    """A call that gives a number, or writes: where it raises it has done nothing, and plain Python says so."""
    slots, named = _arguments(draft, node)
    return draft.call(partial(tried, function), *slots, node=node, **named)


def _checked_call(draft: Draft, node: Node, function: Callable[..., Any]) -> int:
    slots, named = _arguments(draft, node)
    if isinstance(node.type, TupleType):  # new arrays
        kinds = tuple(
            (one.dtype, one.ndim, one.contiguous) if isinstance(one, ArrayType) else None
            for one in node.type.items
        )
        return draft.call(partial(of_kinds, function, kinds), *slots, node=node, **named)
    assert isinstance(node.type, ArrayType)
    shape = node.attributes.get("shape", ())
    if node.attributes["function"] == ROTATE and all(type(one) is int for one in shape):
        function = partial(of_shape, function, tuple(shape))
    kind = node.type.dtype, node.type.ndim, node.type.contiguous
    return draft.call(partial(of_kind, function, *kind), *slots, node=node, **named)


def _about_streams(draft: Draft, node: Node) -> int:
    """A wait, a call about streams and events, or objects that are made."""
    slots, named = _arguments(draft, node)
    name = node.attributes["function"]
    function = function_named(name) if name in WAITS else streams.function_of(name)
    made = draft.call(partial(tried, function), *slots, node=node, **named)
    step = draft.plan.steps[-1]
    step.switches, step.apart = streams.is_switching(name), streams.is_apart(name)
    step.taken_back = streams.is_taken_back(name)
    return made


def _final(draft: Draft, node: Node, function: Callable[..., Any]) -> int:
    """A call that draws or launches. What cannot be taken back is too late for plain Python behind it."""
    slots, named = _arguments(draft, node)
    called = partial(tried, function)
    if isinstance(node.type, ArrayType):
        called = partial(drawn, function, (node.type.dtype, node.type.ndim, True))
    made = draft.call(called, *slots, node=node, **named)
    draft.plan.steps[-1].committed = is_final(node)
    return made


Kind = tuple[np.dtype, int, bool]


def of_shape(
    function: Callable[..., Any], shape: tuple[int, ...], /, *operands: Any, **keywords: Any
) -> Any:
    """What a function gives, if it is of a shape that a trace has computed by itself."""
    result = tried(function, *operands, **keywords)
    if result.shape != shape:
        raise DoesNotFit(f"a call gives an array of shape {result.shape}, not {shape}")
    return result


def of_kind(
    function: Callable[..., Any],
    made: np.dtype,
    ndim: int,
    in_order: bool,
    /,
    *operands: Any,
    **keywords: Any,
) -> Any:
    """What a function gives, if it is as the graph was made for: with this dtype, so many axes, perhaps in C order."""
    result = tried(function, *operands, **keywords)
    _check(result, (made, ndim, in_order))
    return result


def of_kinds(
    function: Callable[..., Any], kinds: tuple[Kind | None, ...], /, *operands: Any, **keywords: Any
) -> Any:
    """The same of several results, of which some are whole numbers (None)."""
    results = tuple(tried(function, *operands, **keywords))
    if len(results) != len(kinds):
        raise DoesNotFit(f"a call gives {len(results)} results, where {len(kinds)} are expected")
    for result, kind in zip(results, kinds, strict=True):
        if kind is not None:
            _check(result, kind)
        elif type(result) is not int:
            raise DoesNotFit(f"a call gives a {type(result).__name__} for a number")
    return results


def _check(result: Any, kind: Kind) -> None:
    if type(result) is not library().array:
        raise DoesNotFit(f"a call gives a {type(result).__name__} for an array")
    if (result.dtype, result.ndim) != kind[:2]:
        raise DoesNotFit(
            f"a call gives an array of {result.dtype} with {result.ndim} axes,"
            f" where one of {kind[0]} with {kind[1]} is expected"
        )
    if kind[2] and not result.flags.c_contiguous:
        raise DoesNotFit("a call gives an array in another order of memory than is expected")


def drawn(function: Callable[..., Any], kind: Kind, /, *operands: Any, **keywords: Any) -> Any:
    """What a function draws.

    Raises:
        RuntimeError: it is not as the graph was made for, and plain Python would draw once more.

    """
    result = tried(function, *operands, **keywords)
    try:
        _check(result, kind)
    except DoesNotFit:
        name = getattr(function, "__qualname__", "a function")
        raise RuntimeError(
            f"{name} of this version of CuPy draws other arrays than are known"
        ) from None
    return result


def of_dtype(
    function: Callable[..., Any], made: np.dtype, /, *operands: Any, **keywords: Any
) -> Any:
    """What a method gives, if it is of the dtype that the graph was made for."""
    result = tried(function, *operands, **keywords)
    if result.dtype != made:
        raise DoesNotFit(
            f"a method gives an array of {result.dtype}, where one of {made} is expected"
        )
    return result


def tried(function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """What a function gives; where it raises, plain Python says so."""
    try:
        return function(*operands, **keywords)
    except DoesNotFit:
        raise
    except Exception as error:
        raise DoesNotFit from error


def strictly(function: Callable[..., Any], *operands: Any) -> Any:
    """What a function of NumPy's numbers gives; where it would warn, plain Python does, at its own line."""
    with np.errstate(all="raise"):
        return tried(function, *operands)
