"""CuPy's own functions and methods as steps of a plan; what they give is compared with what the graph was made for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ufuse.backends.cupy.refusal import DoesNotFit
from ufuse.backends.planning.draft import Draft
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType, TupleType
from ufuse.graph.typing.counting import LENGTH
from ufuse.graph.typing.device_calls import (
    AT,
    DEVICE_FUNCTION,
    DEVICE_METHOD,
    GETITEM,
    KERNEL,
    SETITEM,
    UFUNC,
    WRITING,
)
from ufuse.graph.typing.library import cupy as library


def call(draft: Draft, node: Node) -> int:
    """A method of CuPy's arrays, or one of its functions."""
    name = node.attributes["function"]
    if name in WRITING:
        return _writing_call(draft, node, function_named(name))
    if name == SETITEM:
        return _writing_call(draft, node, operator.setitem)
    if name == LENGTH:
        return draft.call(len, draft.slot(node.inputs[0]), node=node)
    if name == GETITEM:
        return _checked_call(draft, node, operator.getitem)
    if node.attributes.get("writes"):
        return _writing_call(draft, node, function_named(name))
    if not name.startswith(DEVICE_METHOD):
        return _checked_call(draft, node, function_named(name))
    name = name.removeprefix(DEVICE_METHOD)
    if name in ("flatten", "ravel"):
        function = getattr(library().array, name)
        return draft.call(function, draft.slot(node.inputs[0]), node=node)
    if name == "reshape":
        slots = [draft.slot(node.inputs[0]), draft.size(node.attributes["shape"])]
        return draft.call(library().array.reshape, *slots, node=node)
    keywords = {key: value for key, (_, value) in node.attributes["keywords"]}
    return method_call(draft, node, name, keywords)


def function_named(name: str) -> Callable[..., Any]:
    """The function of a dotted name that begins with CuPy's."""
    if name.startswith(AT):
        return getattr(library().module, name.removeprefix(AT)).at  # type: ignore[no-any-return]
    if name.startswith(KERNEL):
        return library().kernel_named(name.removeprefix(KERNEL))  # type: ignore[no-any-return]
    if name.startswith(UFUNC):
        op = library().row_named(name.removeprefix(UFUNC))
        assert op is not None
        return library().function_of(op)  # type: ignore[no-any-return]
    found: Any = library().module
    for word in name.removeprefix(DEVICE_FUNCTION).split("."):
        found = getattr(found, word)
    return found  # type: ignore[no-any-return]


def method_call(draft: Draft, node: Node, name: str, keywords: dict[str, Any]) -> int:
    """A method with the node's inputs, and with keywords that are Python values."""
    assert isinstance(node.type, ArrayType)
    function = partial(of_dtype, getattr(library().array, name), node.type.dtype)
    slots = {key: draft.constant(value) for key, value in keywords.items()}
    return draft.call(function, *map(draft.slot, node.inputs), node=node, **slots)


def reduction_call(draft: Draft, node: Node, kernel: Any, keywords: dict[str, Any]) -> int:
    """A reduction by CuPy's own kernel."""
    assert isinstance(node.type, ArrayType)
    function = partial(of_dtype, kernel, node.type.dtype)
    slots = {key: draft.constant(value) for key, value in keywords.items()}
    return draft.call(function, draft.slot(node.inputs[0]), node=node, **slots)


def _writing_call(draft: Draft, node: Node, function: Callable[..., Any]) -> int:
    """A call that writes: CuPy raises before it does, and plain Python then says so."""
    slots = [draft.argument(spec, node) for spec in node.attributes["arguments"]]
    named = {key: draft.argument(spec, node) for key, spec in node.attributes["keywords"]}
    return draft.call(partial(tried, function), *slots, node=node, **named)


def _checked_call(draft: Draft, node: Node, function: Callable[..., Any]) -> int:
    attributes = node.attributes
    slots = [draft.argument(spec, node) for spec in attributes["arguments"]]
    named = {key: draft.argument(spec, node) for key, spec in attributes["keywords"]}
    if isinstance(node.type, TupleType):  # new arrays, each in C order
        kinds = tuple((one.dtype, one.ndim, True) for one in node.type.items)  # type: ignore[union-attr]
        return draft.call(partial(of_kinds, function, kinds), *slots, node=node, **named)
    assert isinstance(node.type, ArrayType)
    kind = node.type.dtype, node.type.ndim, node.type.contiguous
    return draft.call(partial(of_kind, function, *kind), *slots, node=node, **named)


Kind = tuple[np.dtype, int, bool]


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
    function: Callable[..., Any], kinds: tuple[Kind, ...], /, *operands: Any, **keywords: Any
) -> Any:
    """The same of several results."""
    results = tuple(tried(function, *operands, **keywords))
    if len(results) != len(kinds):
        raise DoesNotFit
    for result, kind in zip(results, kinds, strict=True):
        _check(result, kind)
    return results


def _check(result: Any, kind: Kind) -> None:
    is_array = type(result) is library().array
    if not is_array or (result.dtype, result.ndim) != kind[:2]:
        raise DoesNotFit
    if kind[2] and not result.flags.c_contiguous:
        raise DoesNotFit


def of_dtype(
    function: Callable[..., Any], made: np.dtype, /, *operands: Any, **keywords: Any
) -> Any:
    """What a method gives, if it is of the dtype that the graph was made for."""
    result = tried(function, *operands, **keywords)
    if result.dtype != made:
        raise DoesNotFit
    return result


def tried(function: Callable[..., Any], *operands: Any, **keywords: Any) -> Any:
    """What a function gives; where it raises, plain Python says so."""
    try:
        return function(*operands, **keywords)
    except Exception as error:
        raise DoesNotFit from error
