"""Rules of NumPy's functions that are called whole for some arguments, and inlined or split up for others."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.arrays.computed import length_of
from ufuse.frame_hook.arrays.reductions import array_argument
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Rule, method, rule_for
from ufuse.frame_hook.objects.values import described, is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, Number, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.types import ArrayType

NONE = Constant(None)
EXACT_OF_ONES = frozenset("divide subtract sqrt reciprocal".split())
# Of whole numbers these neither raise nor warn.
QUIET = (
    np.add,
    np.subtract,
    np.multiply,
    np.maximum,
    np.minimum,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
)


def _whole(interpreter: Interpreter, name: str, *given: Symbol, **named: Symbol) -> Symbol:
    return arrays.call_whole(interpreter.trace, name, given, named, may_raise=True)


# Called whole where an argument is an array ----------------------------------------------------------------------


@rule_for(np.histogram)
def _histogram(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    """The edges that NumPy returns are the array of edges that it is given."""
    found = _whole(interpreter, "numpy.histogram", *arguments, **keywords)
    bins = arguments[1] if len(arguments) > 1 else keywords.get("bins", NONE)
    edges = interpreter.trace.look(bins)
    if not isinstance(edges, Array) or not isinstance(found, Tuple):
        return found
    return Tuple((found.items[0], edges))


@rule_for(np.gradient)
def _gradient(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    """Where places are given NumPy looks whether they are evenly spaced, and branches on it."""
    given = [interpreter.trace.look(one) for one in arguments]
    if len(given) == 2 and all(isinstance(one, Array) and one.type.ndim == 1 for one in given):
        return _whole(interpreter, "numpy.gradient", *arguments, **keywords)
    implementation = Constant(np.gradient._implementation)  # type: ignore[attr-defined]
    return interpreter.call(implementation, arguments, keywords)


@rule_for(np.delete)
def _delete(
    interpreter: Interpreter, /, arr: Symbol, obj: Symbol, axis: Symbol | None = None
) -> Symbol:
    """At places in an array, or in the tuple that `np.where` gives; all else is NumPy's own code."""
    places, named = interpreter.trace.look(obj), {} if axis is None else {"axis": axis}
    if isinstance(places, Tuple) and len(places.items) == 1:
        places = interpreter.trace.look(places.items[0])
    if isinstance(places, Array) and places.type.ndim == 1 and places.type.dtype.kind in "iu":
        return _whole(interpreter, "numpy.delete", arr, places, **named)
    implementation = Constant(np.delete._implementation)  # type: ignore[attr-defined]
    return interpreter.call(implementation, (arr, obj), named)


@rule_for(np.diag)
def _diag(interpreter: Interpreter, /, v: Symbol, k: Symbol = Constant(0)) -> Symbol:  # noqa: B008  it is immutable
    """Of a vector whose length values decide; of all else NumPy's own code, in which steps depend on the length."""
    value, trace = interpreter.trace.look(v), interpreter.trace
    if (
        isinstance(value, Array)
        and value.type.ndim == 1
        and trace.sizes.are_made(value.type.shape[0])
    ):
        return _whole(interpreter, "numpy.diag", value, k)
    return interpreter.call(Constant(np.diag._implementation), (v, k))  # type: ignore[attr-defined]


# NumPy's own code, under which there is no rule.
PLAIN_EYE: Any = FunctionType(np.eye.__code__, np.eye.__globals__, "eye", np.eye.__defaults__)
PLAIN_EYE.__kwdefaults__ = np.eye.__kwdefaults__


@rule_for(np.eye)
def _eye(
    interpreter: Interpreter,
    /,
    N: Symbol,  # noqa: N803  NumPy's names
    M: Symbol | None = None,  # noqa: N803
    k: Symbol | None = None,
    dtype: Symbol | None = None,
    order: Symbol | None = None,
    *,
    device: Symbol | None = None,
    like: Symbol | None = None,
) -> Symbol:
    """With as many rows as values decide; all else is NumPy's own code, in which steps depend on the number."""
    trace, rows = interpreter.trace, interpreter.trace.look(N)
    named = {"M": M, "k": k, "dtype": dtype, "order": order, "device": device, "like": like}
    given = {name: one for name, one in named.items() if one is not None}
    length = length_of(trace, rows) if isinstance(rows, Number) else None
    if length is None or not trace.sizes.are_made(length) or given.keys() - {"dtype"}:
        return interpreter.call(Constant(PLAIN_EYE), (N,), given)
    if trace.sizes.decide("lt", length, 0):
        raise GraphBreak("eager-raises", "ValueError: negative dimensions are not allowed")
    return _whole(interpreter, "numpy.eye", arrays.integer(trace, length), **given)


@rule_for(np.diagflat)
def _diagflat(interpreter: Interpreter, /, v: Symbol, k: Symbol = Constant(0)) -> Symbol:  # noqa: B008  it is immutable
    flat = interpreter.call(Constant(np.ravel), (v,))
    return interpreter.call(Constant(np.diag), (flat, k))


@method("compress")
def _compress(
    interpreter: Interpreter, a: Symbol, /, condition: Symbol, axis: Symbol = NONE
) -> Symbol:
    return interpreter.call(Constant(np.compress), (condition, a, axis))


@rule_for(np.putmask)
def _putmask(interpreter: Interpreter, a: Symbol, /, mask: Symbol, values: Symbol) -> Symbol:
    """A number where a mask of the array's shape says so."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "numpy.putmask")
    where, value = array_argument(interpreter, mask, "numpy.putmask"), trace.look(values)
    is_alike = where.type.ndim == array.type.ndim and all(
        map(trace.sizes.equal, where.type.shape, array.type.shape)
    )
    if not is_alike or where.type.dtype.kind != "b" or not arrays.is_number(value):
        raise GraphBreak("numpy-call", "numpy.putmask with these arguments")
    indexing.store_chosen(trace, array, where, value)
    return NONE


@rule_for(np.einsum)
def _einsum(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    """Of one array with its axes in another order a view; else a sum of products."""
    given = [interpreter.trace.look(one) for one in arguments]
    text = given[0].value if given and isinstance(given[0], Constant) else None
    if type(text) is str and len(given) == 2 and not keywords and isinstance(given[1], Array):
        before, arrow, behind = text.replace(" ", "").partition("->")
        is_order = len(set(before)) == len(before) == given[1].type.ndim and before.isalpha()
        if arrow and is_order and sorted(before) == sorted(behind):
            return arrays.transpose(interpreter.trace, given[1], tuple(map(before.index, behind)))
    return _whole(interpreter, "numpy.einsum", *arguments, **keywords)


@rule_for(np.linalg.eig, np.linalg.eigvals)
def _eigenvalues(_: Interpreter, /, *arguments: Symbol) -> Symbol:
    """Nothing: values decide the dtype of what NumPy gives."""
    raise GraphBreak("numpy-call", "numpy.linalg.eig, which is real or complex by its values,")


def _called(name: str) -> Rule:
    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        return _whole(interpreter, name, *arguments, **keywords)

    return rule


# Written in Python, with views that repeat elements; and what NumPy's own code calls by another name.
for _function in (np.tril_indices, np.triu_indices):
    rule_for(_function)(_called(f"numpy.{_function.__name__}"))
rule_for(np.concatenate.__wrapped__)(_called("numpy.concatenate"))  # type: ignore[attr-defined]


# Results that go into an array -----------------------------------------------------------------------------------


@method("ufunc.accumulate")
def _accumulate(
    interpreter: Interpreter,
    of: Symbol,
    /,
    array: Symbol,
    axis: Symbol | None = None,
    dtype: Symbol | None = None,
    out: Symbol | None = None,
) -> Symbol:
    ufunc = arrays.plain(interpreter.trace, of)
    name = f"numpy.{ufunc.__name__}.accumulate"
    if not ops.is_numpys(ufunc):
        raise GraphBreak("numpy-call", name)
    named = {} if axis is None else {"axis": axis}
    target = NONE if out is None else interpreter.trace.look(out)
    if isinstance(target, Tuple) and len(target.items) == 1:
        target = interpreter.trace.look(target.items[0])
    if dtype is not None and not is_none(interpreter.trace.look(dtype)):
        named["dtype"] = dtype
    made = _whole(interpreter, name, array, **named)
    return made if is_none(target) else _stored(interpreter, made, target, name)


def _stored(interpreter: Interpreter, made: Symbol, out: Symbol, what: str) -> Symbol:
    """`out`, which takes a result of its own dtype and shape."""
    trace = interpreter.trace
    if not isinstance(out, Array) or not isinstance(made, Array):
        raise GraphBreak("numpy-call", f"{what} with out=")
    if made.type.dtype != out.type.dtype or made.type.ndim != out.type.ndim:
        raise GraphBreak("numpy-call", f"{what} with an out= of another type")
    if not all(map(trace.sizes.equal, made.type.shape, out.type.shape)):
        raise GraphBreak("eager-raises", f"{what} with an out= of another shape")
    if out.buffer.visible:
        trace.arrays.check_writable(out.buffer)
    trace.store(out, trace.graph.value(made), "same_kind")
    return out


def store_where(
    trace: Trace, ufunc: np.ufunc, operands: Sequence[Symbol], out: Symbol | None, mask: Array
) -> Symbol:
    """`ufunc(x, y, out=out, where=mask)`: elsewhere `out` keeps what it has, and ones are computed with.

    Of ufuncs whose bits do not depend on which elements are computed together, and which raise no flag for ones.
    """
    name = ufunc.__name__
    nodes = [arrays.node_of(trace, one) for one in operands]
    kinds = [one.type.dtype for one in nodes if isinstance(one.type, ArrayType)]
    is_plain = (
        name in EXACT_OF_ONES
        and ops.is_numpys(ufunc)
        and len(kinds) == len(nodes)
        and len(set(kinds)) == 1
    )
    if (
        not is_plain
        or kinds[0].char not in "fd"
        or not isinstance(out, Array)
        or mask.type.dtype.kind != "b"
    ):
        raise GraphBreak("numpy-call", f"numpy.{name} with where")
    types = [mask.type, *[one.type for one in nodes]]
    if out.type.dtype != kinds[0] or any(
        not isinstance(one, ArrayType) or one.shape != out.type.shape for one in types
    ):
        raise GraphBreak("numpy-call", f"numpy.{name} with where")
    if out.buffer.visible:
        trace.arrays.check_writable(out.buffer)
    graph = trace.graph
    where, one = graph.value(mask), graph.constant(kinds[0].type(1))
    given = tuple(graph.node(ops.WHERE, (where, node, one)) for node in nodes)
    made = graph.node(ops.op_of(ufunc), given)
    trace.store(out, graph.node(ops.WHERE, (where, made, graph.value(out))), "same_kind")
    return out


@method("ufunc.at")
def _at(
    interpreter: Interpreter,
    of: Symbol,
    /,
    a: Symbol,
    indices: Symbol,
    b: Symbol | None = None,
) -> Symbol:
    """`ufunc.at(a, indices, b)`: NumPy looks at the places before it writes.

    It warns behind its writes, where plain Python could no longer begin anew: so an array that the program can see is
    of a dtype of which nothing warns. Of a part of an array it is done to a copy, which is then stored.
    """
    trace, array = interpreter.trace, array_argument(interpreter, a, "ufunc.at")
    ufunc, value = arrays.plain(trace, of), NONE if b is None else trace.look(b)
    name, graph = f"numpy.{ufunc.__name__}.at", trace.graph
    dtype = array.type.dtype
    is_alike = (
        isinstance(value, Array) and value.type.dtype == dtype and value.buffer is not array.buffer
    )
    if not ops.is_numpys(ufunc):
        raise GraphBreak("numpy-call", f"{ufunc.__name__}.at, which is not NumPy's own,")
    if array.buffer.frozen is not None:
        raise array.buffer.frozen
    if not is_alike and not indexing.goes_into(trace, value, dtype):
        raise GraphBreak("numpy-call", f"{name} of values of another dtype")
    is_quiet = dtype.kind in "iub" and ufunc in QUIET
    if (
        graph.first_write is not None
        or graph.in_late_side
        or (array.buffer.visible and not is_quiet and not array.path)
    ):
        raise GraphBreak("raise-after-write", name)
    if array.buffer.visible:
        trace.arrays.check_writable(array.buffer)
    key = indexing.picking_key(trace, array, indices)
    if not array.path:
        arrays.call_writing(trace, name, (array, key, value))
        return NONE
    copy = graph.fresh(graph.node(ops.COPY, (graph.value(array),), {"order": "C"}))
    assert isinstance(copy, Array)
    arrays.call_writing(trace, name, (copy, key, value))
    trace.store(array, graph.value(copy), "same_kind")
    return NONE


@method("sort")
def _sort(
    interpreter: Interpreter,
    a: Symbol,
    /,
    axis: Symbol = Constant(-1),  # noqa: B008  it is immutable
    kind: Symbol | None = None,
) -> Symbol:
    """`a.sort()`: of a whole array in place, of a part of one as a sorted copy that is stored."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "sort")
    if is_none(trace.look(axis)):  # `numpy.sort`, which is called here, takes it
        raise GraphBreak("eager-raises", "TypeError: an axis of numpy.ndarray.sort that is None")
    named = {"axis": axis} if kind is None else {"axis": axis, "kind": kind}
    if array.buffer.visible:
        trace.arrays.check_writable(array.buffer)
    made = arrays.call_whole(trace, "numpy.sort", (array,), named)
    _stored(interpreter, made, array, "numpy.ndarray.sort")
    return NONE


# Numbers ---------------------------------------------------------------------------------------------------------

PYTHONS = {"b": "bool", "i": "int", "u": "int", "f": "float"}  # the number that an element becomes


@method("item")
def _item(interpreter: Interpreter, a: Symbol, /, *place: Symbol) -> Symbol:
    """An element, or NumPy's number itself, as Python's."""
    value = interpreter.trace.look(a)
    if place and isinstance(value, Array):
        key = interpreter.trace.look(place[0]) if len(place) == 1 else Tuple(place)
        parts = key.items if isinstance(key, Tuple) else (key,)
        if not all(indexing.is_whole_number(interpreter.trace.look(one)) for one in parts):
            raise GraphBreak("numpy-call", "item at what may be no whole number")
        return _item(interpreter, indexing.item(interpreter.trace, value, key))
    if isinstance(value, Array):
        return _whole(interpreter, "numpy.ndarray.item", value)
    kind = value.node.type if isinstance(value, Number) else None
    if not isinstance(kind, ArrayType) or kind.dtype.kind not in PYTHONS or place:
        raise GraphBreak("numpy-call", f"item of {described(value)}")
    return scalar(interpreter.trace, PYTHONS[kind.dtype.kind], value)
