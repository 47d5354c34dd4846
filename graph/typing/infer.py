"""The type of every operation's result, from its inputs' types: `result_type` and one rule for each op."""

from __future__ import annotations

import builtins
import math
import operator as operators
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np

from ufuse.graph import ops, signals
from ufuse.graph.ops import Kind, Op
from ufuse.graph.size import multiply
from ufuse.graph.types import (
    ArrayType,
    NothingType,
    NumberType,
    Span,
    TupleType,
    Type,
    c_order,
)
from ufuse.graph.typing.call import shape_of
from ufuse.graph.typing.call_types import call_type, reshaped_sample
from ufuse.graph.typing.calls import CALLS
from ufuse.graph.typing.device_calls import reduced_on_device, type_on_device
from ufuse.graph.typing.library import CUDA, cupy, device_of
from ufuse.graph.typing.sample import (
    NUMBERS,
    STRUCTURAL,
    CannotInfer,
    Constant,
    Facts,
    Operand,
    Structural,
    ask,
    checked_dtype,
    is_number,
    known_order,
    ordered_for,
    pattern,
    type_of,
)
from ufuse.graph.typing.shapes import (
    broadcast,
    indexed,
    is_c_like,
    normalised_axes,
    part,
    reduced,
    reshaped,
    same,
    steps_between,
    steps_of,
    transposed,
    why_not_stored,
)

__all__ = [
    "CALLS", "CannotInfer", "Constant", "Facts", "Operand", "Structural", "broadcast", "loop_dtypes",
    "operand_of", "result_type", "type_of",
]  # fmt: skip

Attributes = Mapping[str, Any]


def result_type(
    op: Op, inputs: Sequence[Operand], attributes: Attributes, facts: Facts = STRUCTURAL
) -> Type:
    """The type of what `op` gives for these inputs.

    A constant input is given as `Constant(value)`, so that rules can look at the value; everything else as
    its type.

    Raises:
        CannotInfer: no rule predicts it; the text says why.

    """
    if op.arity is not None and len(inputs) != op.arity:
        raise CannotInfer(f"{op.name} takes {op.arity} inputs, not {len(inputs)}")
    if device_of(inputs) or (op is ops.CALL and attributes.get("device")):
        return _on_device(op, tuple(inputs), attributes, facts)
    rule = BY_NAME.get(op.name) or BY_KIND.get(op.kind)
    if rule is None:
        raise CannotInfer(f"the type of {op.name} is given, not inferred")
    return rule(op, tuple(inputs), attributes, facts)


def operand_of(node: Any) -> Operand:
    """What `result_type` takes for a node: its value where it is a constant, else its type."""
    return Constant(node.attributes["value"]) if node.op is ops.CONST else cast("Type", node.type)


def _type(operand: Operand) -> Type:
    return operand.type if isinstance(operand, Constant) else operand


def _array(operand: Operand) -> ArrayType:
    type_ = _type(operand)
    if not isinstance(type_, ArrayType):
        raise CannotInfer("an operand is not an array")
    return type_


# Elementwise


def _weak(operand: Operand) -> Any:
    """What `resolve_dtypes` takes: a dtype, or the Python type of a weak number."""
    type_ = _type(operand)
    if isinstance(type_, NumberType):
        return np.dtype(bool) if type_.kind == "bool" else NUMBERS[type_.kind]
    if isinstance(type_, ArrayType):
        return checked_dtype(type_.dtype)
    raise CannotInfer("an operand is neither an array nor a number")


def loop_dtypes(ufunc: np.ufunc, inputs: Sequence[Operand]) -> tuple[np.dtype, ...]:
    """The dtypes of the loop that NumPy runs: each input is cast to its entry; the results follow.

    Raises:
        CannotInfer: there is no loop, or it is one that graphs leave to NumPy, or a constant does not fit.

    """
    dtypes = _resolved(ufunc, *map(_weak, inputs))
    for operand, dtype in zip(inputs, dtypes, strict=False):
        if isinstance(operand, Constant):
            why = why_not_fitting(operand.value, dtype)
            if why is not None:
                raise CannotInfer(why)
    return dtypes


@lru_cache(maxsize=4096)
def _resolved(ufunc: np.ufunc, *weak: Any) -> tuple[np.dtype, ...]:
    """What NumPy says of dtypes and weak Python types, asked once."""
    try:
        dtypes = ufunc.resolve_dtypes((*weak, *[None] * ufunc.nout))
    except Exception as error:  # noqa: BLE001  whatever NumPy raises is a refusal
        signals.pass_on(error)
        raise CannotInfer(f"NumPy raises {type(error).__name__}: {error}") from None
    for dtype in dtypes:
        checked_dtype(dtype)
    return dtypes


def why_not_fitting(value: object, dtype: np.dtype) -> str | None:
    """Why converting a Python number to `dtype` would raise or warn, or None."""
    if not is_number(value) or isinstance(value, bool):
        return None
    if isinstance(value, int) and dtype.kind in "iu":
        least, largest = _limits(dtype.char)
        if not least <= value <= largest:
            return f"Python integer {value} is out of bounds for {dtype}"
    if isinstance(value, float) and dtype.kind in "iu":
        least, largest = _limits(dtype.char)
        if not math.isfinite(value) or not least <= int(value) <= largest:
            return f"{value} is out of bounds for {dtype}"
    if dtype.kind in "fc":
        largest = _limits(dtype.char)[1]
        for part in _parts(value):
            if math.isfinite(part) and abs(part) > largest:
                return f"{value} is out of bounds for {dtype}"
            if not math.isfinite(part) and isinstance(value, int):
                return f"Python integer {value} is out of bounds for {dtype}"
    return None


@cache
def _limits(code: str) -> tuple[float, float]:
    """The least and the largest finite number of a dtype; of the longest floats none is too large."""
    if code in "gG":
        return -math.inf, math.inf
    if np.dtype(code).kind in "iu":
        return np.iinfo(code).min, np.iinfo(code).max
    return float(np.finfo(code).min), float(np.finfo(code).max)


def _parts(value: Any) -> tuple[float, ...]:
    if isinstance(value, complex):
        return (value.real, value.imag)
    try:
        return (float(value),)
    except OverflowError:
        return (math.inf,)


def _map(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    assert op.ufunc is not None
    if op.ufunc.nout != 1 or op.ufunc.signature is not None:
        raise CannotInfer(f"{op.name} is not elementwise with one result")
    dtypes = loop_dtypes(op.ufunc, inputs)
    shape = broadcast([shape_of(operand) for operand in inputs], facts)
    sampled = ask(op.ufunc, [_by_type(operand) for operand in inputs])
    if isinstance(sampled, ArrayType) and sampled.dtype != dtypes[-1]:
        raise CannotInfer(f"{op.name} chooses its loop by value")
    return reshaped_sample(sampled, shape)


def _by_type(operand: Operand) -> Any:
    """The pattern of an operand, its value left out."""
    return pattern(_type(operand))


def _cast(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    dtype = checked_dtype(np.dtype(attributes["dtype"]))
    checked_dtype(type_.dtype)
    if type_.dtype.kind == "c" and dtype.kind not in "cb":
        raise CannotInfer("a cast that discards the imaginary part warns")
    method = np.generic.astype if type_.scalar else np.ndarray.astype
    return reshaped_sample(
        ask(method, [pattern(type_), ("constant", np.dtype, dtype)]), type_.shape
    )


def _copy(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    checked_dtype(type_.dtype)
    if attributes.get("order", "K") == "C":
        return ArrayType(type_.dtype, type_.shape, c_order(type_.ndim), scalar=type_.scalar)
    if type_.scalar:
        return type_
    order = ("constant", str, "K")
    return reshaped_sample(ask(np.ndarray.copy, [pattern(type_), order]), type_.shape)


def _where(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    shape = broadcast([shape_of(operand) for operand in inputs], facts)
    sampled = ask(np.where, [_by_type(operand) for operand in inputs])
    if isinstance(sampled, ArrayType):
        for operand in inputs[1:]:
            why = why_not_fitting(_value(operand), sampled.dtype)
            if why is not None:
                raise CannotInfer(why)
    return reshaped_sample(sampled, shape)


def _value(operand: Operand) -> Any:
    return operand.value if isinstance(operand, Constant) else None


# Reductions


def _reduce(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    assert op.ufunc is not None
    checked_dtype(type_.dtype)
    axis = attributes.get("axis")
    keepdims = bool(attributes.get("keepdims", False))
    dtype = attributes.get("dtype")
    normalised_axes(axis, type_.ndim)
    if (
        dtype is not None
        and type_.dtype.kind == "c"
        and checked_dtype(np.dtype(dtype)).kind not in "cb"
    ):
        raise CannotInfer("a cast that discards the imaginary part warns")
    keywords = [
        ("axis", ("constant", type(axis), axis)),
        ("keepdims", ("constant", bool, keepdims)),
        ("dtype", ("constant", type(dtype), dtype)),
    ]
    shape = reduced(type_.shape, axis, keepdims)
    sampled = ask(op.ufunc.reduce, [pattern(ordered_for(type_, shape))], keywords)
    return reshaped_sample(sampled, shape)


# Views


def _index(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    if type_.scalar:
        raise CannotInfer("a NumPy scalar has no views")
    return indexed(type_, attributes["index"])


def _element(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    index = attributes["index"]
    if len(index) != type_.ndim or any(entry is None or isinstance(entry, Span) for entry in index):
        raise CannotInfer("an element is named by one whole number for each axis")
    return ArrayType(checked_dtype(type_.dtype), (), (), scalar=True)


def _transpose(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    if type_.scalar:
        raise CannotInfer("a NumPy scalar has no views")
    return transposed(type_, attributes["axes"])


def _reshape(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    if type_.scalar:
        raise CannotInfer("a NumPy scalar has no views")
    view = reshaped(type_, attributes["shape"], facts)
    if view is None:
        raise CannotInfer("this reshape copies")
    return view


def _part(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _array(inputs[0])
    if type_.scalar or checked_dtype(type_.dtype).kind != "c":
        raise CannotInfer("only arrays of complex numbers have a part of these that is a view")
    return part(type_)


def _diagonal(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_, length = _array(inputs[0]), attributes["length"]
    first, second = normalised_axes(attributes["axes"], type_.ndim)
    if type_.scalar:
        raise CannotInfer("a NumPy scalar has no views")
    known_order(type_)  # else the step from element to element may be of any size
    rest = tuple(n for axis, n in enumerate(type_.shape) if axis not in (first, second))
    shape = (*rest, length)
    contiguous = all(n == 1 for n in shape)
    return ArrayType(type_.dtype, shape, None if rest else (0,), contiguous, device=type_.device)


def _windows(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    """Parts of these widths along these axes, one from each place; law: the tracer has shown that there are several."""
    type_ = _array(inputs[0])
    widths, axes = tuple(attributes["widths"]), attributes["axes"]
    if type_.scalar or type_.device:
        raise CannotInfer("a NumPy scalar has no views, and those on a device are not followed")
    if len(normalised_axes(axes, type_.ndim)) != len(widths):
        raise CannotInfer("windows along other axes than they have widths for")
    shape, steps = list(type_.shape), steps_of(type_)
    for axis, width in zip(axes, widths, strict=True):
        shape[axis] = shape[axis] - (width - 1)
    both = (*shape, *widths)
    known = steps and steps_between(both, (*steps, *(steps[axis] for axis in axes)))
    return ArrayType(type_.dtype, both, None, contiguous=False, steps=known or None)


def _retype(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_, dtype = _array(inputs[0]), checked_dtype(attributes["dtype"])
    if type_.scalar:
        raise CannotInfer("a NumPy scalar has no views")
    if dtype.kind == "b" and type_.dtype.kind != "b":
        raise CannotInfer("bytes that are seen as bools may be neither 0 nor 1")
    if dtype.itemsize == checked_dtype(type_.dtype).itemsize:
        return replace(type_, dtype=dtype)
    parts, rest = divmod(type_.dtype.itemsize, dtype.itemsize)
    if rest or type_.device or not is_c_like(type_) or {0, 1} & set(type_.shape) or not type_.ndim:
        raise CannotInfer("a view as elements of another size has another shape")
    shape = (*type_.shape[:-1], multiply(type_.shape[-1], parts))
    return ArrayType(dtype, shape, c_order(type_.ndim))


def _broadcast(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_, shape = _array(inputs[0]), tuple(attributes["shape"])
    if type_.scalar:
        raise CannotInfer("a NumPy scalar has no views")
    missing = len(shape) - type_.ndim
    if missing < 0 or not all(
        same(own, length, facts) or own == 1 or (not isinstance(own, int) and facts.is_one(own))
        for own, length in zip(type_.shape, shape[missing:], strict=True)
    ):
        raise CannotInfer("the array has another shape")
    if type_.shape == shape and (type_.contiguous or type_.device or 1 not in shape):
        return type_
    if type_.device:
        return ArrayType(type_.dtype, shape, None, contiguous=False, device=type_.device)
    own = (1,) * missing + type_.shape
    if len(shape) == 1:
        return ArrayType(type_.dtype, shape, (0,), contiguous=False, steps=(0,))
    if own == shape and type_.contiguous:
        return indexed(type_, (*[None] * missing, *[Span(0, length) for length in type_.shape]))
    steps = [0] * missing + list(steps_of(type_) or (None,) * type_.ndim)
    for axis, length in enumerate(own):
        if length == 1:
            steps[axis] = 0
        elif not same(length, shape[axis], facts):
            steps[axis] = None
    known = steps_between(shape, steps)
    return ArrayType(type_.dtype, shape, None, contiguous=False, steps=known)


VIEW_RULES: dict[str, Callable[[Op, tuple[Operand, ...], Attributes, Facts], Type]] = {
    "index": _index,
    "transpose": _transpose,
    "reshape": _reshape,
    "part": _part,
    "retype": _retype,
    "diagonal": _diagonal,
}


def view_through(
    type_: ArrayType, path: Sequence[tuple[str, Attributes]], facts: Facts | None = None
) -> ArrayType:
    """The type of the view that a path of steps makes of a buffer; without facts the graph is finished.

    Raises:
        CannotInfer: a step is out of range or would copy.

    """
    for name, attributes in path:
        if name not in VIEW_RULES:
            raise CannotInfer(f"{name} is not a step of a path")
        if facts is None and name == "reshape" and is_c_like(type_):
            # guards hold that the sizes fit, where `n` is not seen to be `2*(n // 2)`
            order = c_order(len(attributes["shape"]))
            type_ = ArrayType(type_.dtype, attributes["shape"], order, device=type_.device)
            continue
        view = VIEW_RULES[name](ops.OPS[name], (type_,), attributes, facts or STRUCTURAL)
        assert isinstance(view, ArrayType)
        type_ = view
    return type_


def target_type(store: Any) -> ArrayType:
    """The type of what a store writes: the view that its path makes of its buffer."""
    return view_through(store.type, store.attributes.get("path", ()))


# Memory


def _create(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    dtype, shape = attributes.get("dtype"), tuple(attributes["shape"])
    if dtype is None and inputs:
        asked = (
            type_of(np.array(_value(inputs[0]))) if isinstance(inputs[0], Constant) else inputs[0]
        )
        dtype = NUMBERS[asked.kind] if isinstance(asked, NumberType) else _array(asked).dtype
    dtype = checked_dtype(np.dtype(dtype))
    if inputs:
        why = why_not_fitting(_value(inputs[0]), dtype) or _why_not_cast(inputs[0], dtype, "unsafe")
        why = why or why_not_stored(shape_of(inputs[0]), shape, facts)
        if why is not None:
            raise CannotInfer(why)
    order = attributes.get("order")
    order = c_order(len(shape)) if order is None else tuple(order)
    return ArrayType(dtype, shape, order, device=attributes.get("device", ""))


def _why_not_cast(value: Operand, dtype: np.dtype, casting: str) -> str | None:
    """Why a value may not be stored as `dtype`, or None."""
    type_ = _type(value)
    if isinstance(type_, NumberType):
        kinds = "bool int float complex".split()
        if type_.kind == "complex" and dtype.kind != "c":
            return "a complex number is stored into real numbers"
        if casting == "same_kind" and kinds.index(type_.kind) > "biufc".index(dtype.kind):
            return f"a Python {type_.kind} is stored into {dtype} in place"
        return why_not_fitting(_value(value), dtype)
    if not isinstance(type_, ArrayType):
        return "what is stored is neither an array nor a number"
    checked_dtype(type_.dtype)
    if type_.dtype.kind == "c" and dtype.kind not in "cb":
        return "a cast that discards the imaginary part warns"
    if casting == "same_kind" and not np.can_cast(type_.dtype, dtype, "same_kind"):
        return f"{type_.dtype} is stored into {dtype} in place"
    return None


def _store(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    buffer, value = _array(inputs[0]), inputs[1]
    if buffer.scalar:
        raise CannotInfer("a NumPy scalar cannot be stored into")
    checked_dtype(buffer.dtype)
    view = view_through(buffer, attributes.get("path", ()), facts)
    why = _why_not_cast(value, view.dtype, attributes.get("casting", "unsafe"))
    why = why or why_not_stored(shape_of(value), view.shape, facts)
    if why is not None:
        raise CannotInfer(why)
    return buffer


# Python numbers

CONVERSIONS = ("float", "int", "bool", "complex", "round")
SIZE_OPERATORS = frozenset("add sub mul neg pos floordiv mod".split())


def scalar_function(name: str) -> Callable[..., Any]:
    """The function that a SCALAR node's `operator` names.

    Raises:
        CannotInfer: there is none.

    """
    found = getattr(builtins if name in CONVERSIONS else operators, name, None)
    if found is None or name.startswith("_"):
        raise CannotInfer(f"no operator {name}")
    return found  # type: ignore[no-any-return]


def _scalar(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    name = attributes["operator"]
    types = [_type(operand) for operand in inputs]
    for type_ in types:
        if not isinstance(type_, NumberType) and not (
            isinstance(type_, ArrayType) and type_.scalar
        ):
            raise CannotInfer("a scalar operator takes numbers only")
    why = _why_not_scalar(name, inputs, types)
    if why is not None:
        raise CannotInfer(why)
    result = ask(scalar_function(name), [pattern(operand) for operand in inputs])
    if isinstance(result, NumberType) and result.kind == "int" and name in SIZE_OPERATORS:
        return NumberType("int", _size_value(name, types))
    if isinstance(result, NumberType) or (isinstance(result, ArrayType) and result.scalar):
        return result
    raise CannotInfer(f"{name} gives something other than a number")


def _size_value(name: str, types: Sequence[Type]) -> Any:
    values = [type_.value if isinstance(type_, NumberType) else None for type_ in types]
    if any(value is None for value in values):
        return None
    try:
        return getattr(operators, name)(*values) if name != "pos" else values[0]
    except ZeroDivisionError:
        raise CannotInfer("a division by zero") from None


def _why_not_scalar(name: str, inputs: Sequence[Operand], types: Sequence[Type]) -> str | None:
    kinds = [type_.kind if isinstance(type_, NumberType) else None for type_ in types]
    if name == "pow" and None not in kinds:
        return _why_not_power(inputs, kinds)
    if None in kinds:
        strong = [type_.dtype for type_ in types if isinstance(type_, ArrayType)]
        for operand in inputs:
            why = why_not_fitting(_value(operand), np.result_type(*strong))
            if why is not None:
                return why
    return None


def _why_not_power(inputs: Sequence[Operand], kinds: Sequence[str | None]) -> str | None:
    """Python's power changes its result's type with the values: int ** -1, (-1.0) ** 0.5."""
    base, exponent = _value(inputs[0]), _value(inputs[1])
    if "complex" in kinds or isinstance(exponent, (int, bool)):
        return None
    if isinstance(exponent, float) and exponent.is_integer():
        return None
    if isinstance(base, (int, float)) and base > 0 and kinds[1] == "float":
        return None
    return "the type of this power depends on values"


# The rest


def _const(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = type_of(attributes["value"])
    if isinstance(type_, ArrayType):
        checked_dtype(type_.dtype)
    return type_


def _size(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    return NumberType("int", attributes["value"])


def _call(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    return call_type(inputs, attributes, facts)


def _loop(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    carried = tuple(node.type for node in attributes["body"].inputs)
    results = tuple(node.type for node in attributes["body"].outputs)
    if len(carried) != len(results) or len(carried) != len(inputs):
        raise CannotInfer("a loop carries other values than it is given")
    return TupleType(tuple(map(_any_round, carried)))


def _any_round(type_: Type) -> Type:
    """A carried type without what holds in one round only."""
    return NumberType(type_.kind) if isinstance(type_, NumberType) else type_


def _branch(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    then = tuple(node.type for node in attributes["then"].outputs)
    otherwise = tuple(node.type for node in attributes["otherwise"].outputs)
    if then != otherwise:
        raise CannotInfer("the two sides of a branch give different types")
    return TupleType(then)


def _check(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _type(inputs[0])
    if not isinstance(type_, NumberType) and not (isinstance(type_, ArrayType) and type_.scalar):
        raise CannotInfer("what is checked is no number")
    return NothingType()


def _item(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    type_ = _type(inputs[0])
    if not isinstance(type_, TupleType) or not 0 <= attributes["index"] < len(type_.items):
        raise CannotInfer("there is no such result")
    return type_.items[attributes["index"]]


# Arrays on a device


def _on_device(op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    rule = ON_DEVICE.get(op.name) or ON_DEVICE.get(op.kind.value)
    if rule is None:
        raise CannotInfer(f"{op.name} of arrays on a device is left to their library")
    return rule(op, inputs, attributes, facts)


def _map_on_device(
    op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> Type:
    routine = cupy().routine_of(op, inputs)
    for operand, dtype in zip(inputs, routine.dtypes, strict=False):
        why = why_not_fitting(operand.value, dtype) if isinstance(operand, Constant) else None
        if why is not None:
            raise CannotInfer(why)
    shape = broadcast([shape_of(operand) for operand in inputs], facts)
    return ArrayType(routine.dtypes[-1], shape, c_order(len(shape)), device=CUDA)


def _cast_on_device(
    op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> Type:
    type_ = _array(inputs[0])
    dtype = checked_dtype(np.dtype(attributes["dtype"]))
    if type_.dtype.kind == "c" and dtype.kind != "c":
        raise CannotInfer("a cast that discards the imaginary part warns")
    if not is_c_like(type_):
        raise CannotInfer(
            "a cast of an array that is not in C order keeps what it can of its layout"
        )
    return ArrayType(dtype, type_.shape, c_order(type_.ndim), device=type_.device)


def _copy_on_device(
    op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> Type:
    type_ = _array(inputs[0])
    return ArrayType(
        checked_dtype(type_.dtype), type_.shape, c_order(type_.ndim), device=type_.device
    )


def _reduce_on_device(
    op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> Type:
    type_ = _array(inputs[0])
    if attributes.get("dtype") is not None:
        raise CannotInfer("a reduction of CuPy's in a dtype that is asked for")
    dtype = cupy().reduced_dtype(op, type_.dtype)
    return reduced_on_device(type_, dtype, attributes.get("axis"), attributes.get("keepdims"))


def _call_on_device(
    op: Op, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> Type:
    return type_on_device(inputs, attributes, facts)


# fmt: off
Rule = Callable[[Op, tuple[Operand, ...], Attributes, Facts], Type]
ON_DEVICE: dict[str, Rule] = {
    "cast":      _cast_on_device,
    "copy":      _copy_on_device,
    "reduce":    _reduce_on_device,
    "store":     _store,
    "call":      _call_on_device,
    "index":     _index,
    "transpose": _transpose,
    "reshape":   _reshape,
    "part":      _part,
    "diagonal":  _diagonal,
    "retype":    _retype,
    "broadcast": _broadcast,
    "map":       _map_on_device,
}
BY_KIND: dict[Kind, Rule] = {
    Kind.CONST:  _const,
    Kind.SIZE:   _size,
    Kind.MAP:    _map,
    Kind.REDUCE: _reduce,
    Kind.CREATE: _create,
    Kind.STORE:  _store,
    Kind.SCALAR: _scalar,
    Kind.CALL:   _call,
    Kind.CHECK:  _check,
    Kind.LOOP:   _loop,
    Kind.BRANCH: _branch,
    Kind.ITEM:   _item,
}
BY_NAME: dict[str, Rule] = {
    "cast":      _cast,
    "where":     _where,
    "copy":      _copy,
    "index":     _index,
    "element":   _element,
    "transpose": _transpose,
    "reshape":   _reshape,
    "part":      _part,
    "diagonal":  _diagonal,
    "windows":   _windows,
    "retype":    _retype,
    "broadcast": _broadcast,
}
# fmt: on
