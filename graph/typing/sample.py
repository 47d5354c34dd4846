"""Asking NumPy: small arrays of ones with a type's dtype, memory order and 1-dims stand for the real values.

What NumPy returns for them has the dtype, the layout and the scalar-ness of the real result; only the
sizes must be worked out (shapes.py). So promotion and layout rules are never restated here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ufuse.graph import signals
from ufuse.graph.records import record
from ufuse.graph.size import Size
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import (
    ArrayType,
    NothingType,
    NumberType,
    TupleType,
    Type,
    c_order,
)

NUMBERS: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
NUMBER_TYPES = {kind: NumberType(name) for name, kind in NUMBERS.items()}
# Of two codes for the same numbers, such as l and q, the one that NumPy's names stand for: dtypes of the two are equal.
DTYPE_CODES = frozenset(
    code for code in "?bBhHiIlLqQefdgFDG" if np.dtype(np.dtype(code).str).char == code
)


class CannotInfer(Exception):  # noqa: N818  a refusal, not an error
    """No rule predicts the type of a result; the text says why."""


class Facts(Protocol):
    """What is known of sizes. A tracer may answer by adding a guard."""

    def equal(self, a: Size, b: Size) -> bool:
        """Whether the sizes are the same in every run."""

    def is_one(self, a: Size) -> bool:
        """Whether the size is 1 in every run; false promises that it is 1 in none."""

    def at_most(self, a: Size, b: Size) -> bool:
        """Whether the one size is no more than the other in every run; false: it is more in every run.

        Raises:
            CannotInfer: it may be either.

        """


class Structural:
    """Sizes are equal where their canonical expressions are."""

    def equal(self, a: Size, b: Size) -> bool:
        """Whether the sizes are the same expression."""
        return a == b

    def is_one(self, a: Size) -> bool:
        """Whether the size is the number 1."""
        return a == 1

    def at_most(self, a: Size, b: Size) -> bool:
        """Whether the difference is a number, and none above 0."""
        difference = a - b
        if not isinstance(difference, int):
            raise CannotInfer(f"it is not known which of {a} and {b} is less")
        return difference <= 0


STRUCTURAL = Structural()


@record
class Constant:
    """An operand whose value is known while tracing."""

    value: Any

    @property
    def type(self) -> Type:
        """The type of the value."""
        return type_of(self.value)


Operand = Type | Constant


def why_not_dtype(dtype: np.dtype) -> str | None:
    """Why arrays of this dtype are left to NumPy, or None."""
    if dtype.char not in DTYPE_CODES or dtype.metadata is not None:
        return f"dtype {dtype_words(dtype)} is left to NumPy"
    if not dtype.isnative:
        return f"dtype {dtype.str} is not in this machine's byte order"
    return None


def dtype_words(dtype: np.dtype) -> str:
    """A dtype in words that tell it from those that are equal to it."""
    is_second = dtype.kind in "iufc" and dtype.char not in DTYPE_CODES
    words = dtype.type.__name__ if is_second else str(dtype)
    return words if dtype.metadata is None else f"{words} with metadata"


def checked_dtype(dtype: np.dtype) -> np.dtype:
    """The same dtype, where it is one that graphs compute with.

    Raises:
        CannotInfer: it is not.

    """
    if dtype.char in DTYPE_CODES and dtype.metadata is None and dtype.isnative:
        return dtype
    reason = why_not_dtype(dtype)
    if reason is not None:
        raise CannotInfer(reason)
    return dtype


def is_number(value: object) -> bool:
    """Whether this is a Python number: weak in promotion, but for bool."""
    return type(value) in NUMBER_TYPES


def type_of(value: object) -> Type:
    """The type of a real value, its sizes as numbers; NothingType for what is no number or array."""
    kind = NUMBER_TYPES.get(type(value))
    if kind is not None:
        return NumberType("int", value) if type(value) is int else kind
    if isinstance(value, np.generic):
        return ArrayType(value.dtype, (), (), scalar=True)
    if isinstance(value, np.ndarray):
        order, contiguous = layout_of(value)
        return ArrayType(value.dtype, tuple(map(int, value.shape)), order, contiguous)
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    return NothingType()


def strides_of(shape: Sequence[int], order: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides of a fresh array whose memory order is `order`."""
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def layout_of(array: np.ndarray) -> tuple[tuple[int, ...] | None, bool]:
    """The memory order of a real array (None: strides negative, zero or equal), and whether it has no gaps."""
    shape, strides = array.shape, array.strides
    ndim = array.ndim
    if ndim <= 1:
        return c_order(ndim), array.flags.c_contiguous
    order = tuple(sorted(range(ndim), key=lambda axis: (-strides[axis], shape[axis] == 1, axis)))
    wide = [axis for axis in order if shape[axis] != 1]
    if array.size == 0:
        return c_order(ndim), True
    if strides == strides_of(shape, order, array.itemsize):
        return order, True
    if array.flags.c_contiguous:
        return c_order(ndim), True
    if array.flags.f_contiguous:
        return tuple(reversed(range(ndim))), True
    # Of equal strides NumPy takes the earlier axis for the slower one.
    order = tuple(sorted(range(ndim), key=lambda axis: (-abs(strides[axis]), axis)))
    wide = [axis for axis in order if shape[axis] != 1]
    if any(strides[axis] <= 0 for axis in wide):
        return None, False
    if any(strides[a] == strides[b] for a, b in pairwise(wide)):
        return None, False
    step, contiguous = array.itemsize, True
    for axis in reversed(wide):
        contiguous = contiguous and strides[axis] == step
        step *= shape[axis]
    return order, contiguous


def known_order(type_: ArrayType) -> tuple[int, ...]:
    """The memory order of an operand.

    Raises:
        CannotInfer: it is not known.

    """
    if type_.ndim <= 1:
        return c_order(type_.ndim)
    if type_.order is None:
        raise CannotInfer("the memory order of an operand is not known")
    return type_.order


def ordered_for(type_: ArrayType, *results: tuple[Size, ...]) -> ArrayType:
    """The type with a memory order, where it has none and no result has several axes: those lie in one way alone."""
    if type_.order is not None or any(len(shape) > 1 for shape in results):
        return type_
    return replace(type_, order=c_order(type_.ndim), contiguous=True)


@record
class _Pattern:
    """All of an operand's type that decides what NumPy returns, sizes apart."""

    dtype: np.dtype
    shape: tuple[int, ...]
    order: tuple[int, ...]
    contiguous: bool
    scalar: bool
    fill: str
    steps: tuple[int, ...] | None

    def sample(self) -> Any:
        """A real value of this pattern."""
        inner = [self.shape[axis] for axis in self.order]
        cut: tuple[Any, ...] = (...,)
        if not self.contiguous:  # a gap in every axis, so that no two strides are equal
            cut = tuple(slice(None, None, 2) for _ in inner)
            inner = [2 * length for length in inner]
        if self.steps is None:
            array = np.full(inner, 0 if self.fill == "zero" else 1, self.dtype)[cut]
            array = array.transpose(sorted(range(len(self.order)), key=self.order.__getitem__))
        else:
            array = self._stepping(self.steps)
        if self.fill == "eye" and array.ndim > 1:
            array[...] = np.eye(*array.shape[-2:], dtype=self.dtype)
        if self.fill == "range":
            array[...] = np.arange(array.size).reshape(array.shape)
        return array[()] if self.scalar else array

    def _stepping(self, steps: tuple[int, ...]) -> np.ndarray:
        """An array with gaps whose strides compare as steps do."""
        sizes = sorted({abs(step) for step in steps} - {0})
        signs = [(step > 0) - (step < 0) for step in steps]
        elements = [
            sign * 4 ** (sizes.index(abs(step)) + 1) if sign else 0
            for step, sign in zip(steps, signs, strict=True)
        ]
        first = sum(-one for one in elements if one < 0)
        memory = np.full(
            first + sum(map(abs, elements)) + 1, 0 if self.fill == "zero" else 1, self.dtype
        )
        strides = [one * self.dtype.itemsize for one in elements]
        return as_strided(memory[first:], self.shape, strides)


def pattern(operand: Operand, fill: str = "one") -> Hashable:
    """What stands for an operand when NumPy is asked: a hashable description of a sample.

    Raises:
        CannotInfer: the layout or dtype is not one that can be asked about.

    """
    if isinstance(operand, Constant) and type(operand.value) in (tuple, list):
        # item by item, as (1, 2) and (1.0, 2.0) are equal
        parts = [pattern(Constant(item)) for item in operand.value]
        return group(type(operand.value).__name__, parts)
    if isinstance(operand, Constant) and not isinstance(operand.value, np.ndarray):
        return ("constant", type(operand.value), operand.value)
    operand = operand.type if isinstance(operand, Constant) else operand  # an array may be large
    if isinstance(operand, NumberType):
        return ("number", operand.kind)
    if not isinstance(operand, ArrayType):
        raise CannotInfer("an operand is neither an array nor a number")
    if operand.device:
        raise CannotInfer("NumPy is not asked of arrays that are on a device")
    checked_dtype(operand.dtype)
    shape = tuple(1 if length == 1 else 2 for length in operand.shape)
    contiguous = operand.contiguous or 2 not in shape
    steps = operand.steps
    order = c_order(operand.ndim) if steps else known_order(operand)
    return _Pattern(operand.dtype, shape, order, contiguous, operand.scalar, fill, steps)


def group(kind: str, parts: Sequence[Hashable]) -> Hashable:
    """The pattern of a tuple or list of operands."""
    return (kind, tuple(parts))


def realised(description: Any) -> Any:
    """The sample that a pattern describes."""
    if isinstance(description, _Pattern):
        return description.sample()
    match description:
        case ("constant", _, value):
            return value
        case ("number", kind):
            return NUMBERS[kind](1)
        case ("tuple", parts):
            return tuple(map(realised, parts))
        case ("list", parts):
            return [realised(part) for part in parts]
    raise TypeError(f"no pattern: {description!r}")


def ask(
    function: Callable[..., Any],
    patterns: Sequence[Hashable],
    keywords: Sequence[tuple[str, Hashable]] = (),
) -> Type:
    """The type of what `function` returns for samples; each size is 1, or 2 for any other.

    Raises:
        CannotInfer: the function raised.

    """
    try:
        return _ask_once(function, tuple(patterns), tuple(keywords))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
    return _ask(function, tuple(patterns), tuple(keywords))


def _ask(
    function: Callable[..., Any], patterns: tuple[Any, ...], keywords: tuple[tuple[str, Any], ...]
) -> Type:
    positional = [realised(part) for part in patterns]
    named = {name: realised(part) for name, part in keywords}
    try:
        result = run_strictly("ignore", function, *positional, **named)
    except Exception as error:  # noqa: BLE001  whatever NumPy raises is a refusal
        signals.pass_on(error)
        text = str(error).replace("unhashable", "not hashable")
        raise CannotInfer(f"NumPy raises {type(error).__name__} here: {text}") from None
    _refuse_alias(result, (*positional, *named.values()))
    return _checked(type_of(result))


def _refuse_alias(result: Any, given: Sequence[Any]) -> None:
    """Refuse a function that returns its argument or a view of it: a result of a graph's call is fresh."""
    if not isinstance(result, np.ndarray):
        return
    if any(isinstance(one, np.ndarray) and np.may_share_memory(one, result) for one in given):
        raise CannotInfer("the result shares memory with an argument")


def _checked(type_: Type) -> Type:
    if isinstance(type_, ArrayType):
        checked_dtype(type_.dtype)
    if isinstance(type_, NumberType):
        return NumberType(type_.kind)  # the sample's value means nothing
    return type_


_ask_once = lru_cache(maxsize=4096)(_ask)
