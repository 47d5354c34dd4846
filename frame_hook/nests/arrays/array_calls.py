"""Functions and methods of arrays in loops that are read as nests."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from ufuse.frame_hook.nests.arrays import (
    arranged,
    composed,
    elementwise,
    flattening,
    joining,
    making,
    padding,
    reductions,
    views,
    window_folds,
)
from ufuse.frame_hook.nests.arrays.elementwise import is_array
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part, Row
from ufuse.frame_hook.nests.known.containers import MadeList, RaggedRow
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import CALLABLE, Item, Items, Listed, Method, SliceOf
from ufuse.frame_hook.nests.numbers import arithmetic, complexes
from ufuse.frame_hook.nests.reading.operations import ATTRIBUTE, METHOD
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph import ops
from ufuse.graph.nest_types import I64

Rule = Callable[..., Item]


def called(
    reader: Reader, function: Any, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> Item | None:
    """The result of a function of arrays; None where it is none of those.

    Raises:
        NotNativeError: its arguments are not followed.

    """
    if not isinstance(function, CALLABLE):
        return None
    rule = FUNCTIONS.get(function)
    if rule is None and isinstance(function, np.ufunc) and any(map(is_array, arguments)):
        rule = functools.partial(_ufunc, function=function)
    if _is_of_complex_number(function, arguments) and not keywords:
        return _of_complex_number(reader, function, *arguments)
    if function in OF_LISTS and arguments and isinstance(arguments[0], MadeList | Listed | Items):
        arguments = making.array(reader, arguments[0]), *arguments[1:]
    if rule is None or not (function in OF_NUMBERS or any(map(is_array, arguments))):
        return None
    return _applied(reader, rule, arguments, keywords)


def _is_of_complex_number(function: Any, arguments: Sequence[Item]) -> TypeGuard[np.ufunc]:
    """Whether a call computes an elementwise function of a complex number as its loop does it in an array."""
    return (
        isinstance(function, np.ufunc)
        and ops.is_numpys(function)
        and len(arguments) == function.nin == 1
        and function.__name__ in ops.OPERANDS_ANYHOW_COMPLEX
        and complexes.is_complex(arguments[0])
    )


def _of_complex_number(reader: Reader, function: np.ufunc, item: Item) -> Complex:
    given = elementwise.complex_operand(reader, item)
    found = elementwise.computed(reader, elementwise.apply(reader, function, given))
    assert isinstance(found, Array)
    first = reader.out.constant(I64, 0)
    return complexes.load(reader.out, reader.array(found.holder), (first,))


@METHOD.of(Array, Part, Lazy, Row, RaggedRow)
def called_method(
    reader: Reader, owner: Item, name: str, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> Item:
    """The result of a method of an array.

    Raises:
        NotNativeError: it is not followed.

    """
    rule = METHODS.get(name)
    if rule is None:
        raise NotNativeError(f"the method {name} of an array is not compiled yet")
    return _applied(reader, rule, (owner, *arguments), keywords)


@ATTRIBUTE.of(Array, Part, Lazy)
def attribute(reader: Reader, owner: Array | Part | Lazy, name: str) -> Item:
    """`owner.name` of an array."""
    if name == "ndim":
        return Known(len(_shape(reader, owner)))
    if name == "shape":
        return Items(_shape(reader, owner))
    if name == "T":
        return _transposed(reader, owner)
    if name == "size":
        return functools.reduce(
            functools.partial(arithmetic.binary, reader.out, "*"), _shape(reader, owner)
        )
    if name == "dtype":
        return Known(elementwise.dtype(reader, owner))
    if name in METHODS:
        return Method(owner, name)
    raise NotNativeError(f"the attribute {name} of an array is not compiled yet")


def _shape(reader: Reader, owner: Item) -> tuple[Number, ...]:
    if isinstance(owner, Array) and not owner.indices:
        return tuple(
            reader.length(owner.holder, axis) for axis in range(len(reader.seen(owner.holder)))
        )
    assert isinstance(owner, Array | Part | Lazy)
    lengths = owner.lengths if isinstance(owner, Lazy) else views.part(reader, owner).lengths
    return tuple(Number(INT, length.value) for length in lengths)


def _length(reader: Reader, item: Item) -> Number:
    if not isinstance(item, Array | Part | Lazy):
        raise refusals.not_of("takes the length of", item, "array")
    return _shape(reader, item)[0]


def _applied(
    reader: Reader, rule: Rule, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> Item:
    try:
        inspect.signature(rule).bind(reader, *arguments, **keywords)
    except TypeError:
        raise NotNativeError("a function of arrays has arguments that are not followed") from None
    return rule(reader, *arguments, **keywords)


def _ufunc(reader: Reader, *items: Item, function: np.ufunc, out: Item | None = None) -> Item:
    if len(items) == function.nin + 1 and out is None:
        *items, out = items  # type: ignore[assignment]
    if function is np.matmul and out is None and len(items) == 2:
        return reductions.product(reader, "matmul", *items)
    result = elementwise.apply(reader, function, *items)
    if out is None or (isinstance(out, Known) and out.value is None):
        return result
    if not isinstance(out, Array | Part):
        raise refusals.not_of("puts a result into", out, "array")
    elementwise.update_with(reader, views.part(reader, out), result)
    return out


def _fold(name: str) -> Rule:
    def rule(
        reader: Reader, item: Item, axis: Item | None = None, *, keepdims: Item | None = None
    ) -> Item:
        if name in ("maximum", "minimum") and not is_array(item):
            raise refusals.not_of("takes the largest or smallest of", item, "array")
        if axis is None and keepdims is None:
            return window_folds.folded(
                reader,
                window_folds.RULES.get(name),
                item,
                lambda one: reductions.fold(reader, name, one),
            )
        return reductions.fold(reader, name, item, axis, keepdims)

    return rule


def _mean(
    reader: Reader, item: Item, axis: Item | None = None, *, keepdims: Item | None = None
) -> Item:
    if axis is None and keepdims is None:
        return window_folds.folded(
            reader, window_folds.RULES["mean"], item, lambda one: reductions.mean(reader, one)
        )
    return reductions.mean(reader, item, axis, keepdims)


def _median(reader: Reader, item: Item) -> Item:
    rule = window_folds.RULES["median"]
    return window_folds.folded(reader, rule, item, lambda one: arranged.median(reader, one))


def _spread(general: Callable[..., Item]) -> Rule:
    """`np.var` or `np.std`."""

    def rule(
        reader: Reader,
        item: Item,
        axis: Item | None = None,
        *,
        ddof: Item | None = None,
        keepdims: Item | None = None,
    ) -> Item:
        freedom = ddof.value if isinstance(ddof, Known) else 0
        if axis is None and keepdims is None and type(freedom) is int:
            if ddof is None or isinstance(ddof, Known):
                fold = window_folds.variance(freedom, is_root=general is composed.deviation)
                return window_folds.folded(
                    reader, fold, item, lambda one: general(reader, one, ddof=ddof)
                )
        return general(reader, item, axis, ddof=ddof, keepdims=keepdims)

    return rule


def _dot(name: str) -> Rule:
    def rule(reader: Reader, left: Item, right: Item) -> Number:
        return reductions.dot(reader, name, left, right)

    return rule


def _product(reader: Reader, left: Item, right: Item) -> Item:
    return reductions.product(reader, "dot", left, right)


def _solve(reader: Reader, left: Item, right: Item) -> Item:
    return reductions.product(reader, "solve", left, right)


def _inverse(reader: Reader, item: Item) -> Item:
    one = reductions.array_of(reader, item)
    return reductions.product(reader, "inv", one, one)


def _position(name: str) -> Rule:
    def rule(
        reader: Reader, item: Item, axis: Item | None = None, *, keepdims: Item | None = None
    ) -> Item:
        return reductions.position(reader, name, item, axis, keepdims)

    return rule


def _copy(reader: Reader, item: Item) -> Item:
    if not isinstance(item, Array | Part | Lazy):
        raise refusals.not_of("copies", item, "array")
    return elementwise.computed(reader, elementwise.copied(reader, item))


def _conjugate(reader: Reader, item: Item) -> Item:
    """The method `conj`: of reals it is the array itself."""
    if not isinstance(item, Array | Part | Lazy) or elementwise.dtype(reader, item).kind != "c":
        raise NotNativeError("the method conj of what is not complex is not compiled yet")
    return elementwise.apply(reader, np.conjugate, item)


def _flip(reader: Reader, item: Item) -> Item:
    nothing = Known(None)
    return views.taken(reader, reductions.row(reader, item), SliceOf(nothing, nothing, Known(-1)))


def _where(reader: Reader, condition: Item, then: Item | None = None, *other: Item) -> Item:
    if then is None:
        return arranged.nonzero(reader, condition)
    return elementwise.where(reader, condition, then, *other)


def _shape_of(reader: Reader, item: Item) -> Item:
    return attribute(reader, _array(item), "shape")


def _size_of(reader: Reader, item: Item, axis: Item | None = None) -> Item:
    if axis is None:
        return attribute(reader, _array(item), "size")
    shape = _shape(reader, _array(item))
    if not isinstance(axis, Known) or axis.value not in range(len(shape)):
        raise NotNativeError("the size of an axis that is not known")
    found: Item = shape[axis.value]
    return found


def _axes_of(reader: Reader, item: Item) -> Item:
    return attribute(reader, _array(item), "ndim")


def _array(item: Item) -> Array | Part | Lazy:
    if not isinstance(item, Array | Part | Lazy):
        raise refusals.not_of("takes the shape of", item, "array")
    return item


def _transposed(reader: Reader, item: Item) -> Item:
    if not isinstance(item, Array | Part | Lazy):
        raise refusals.not_of("transposes", item, "array")
    return views.transposed(reader, elementwise.computed(reader, item))


# fmt: off
FOLDS = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and",
}
MAKERS: dict[Any, Rule] = {
    np.zeros: making.maker(0), np.ones: making.maker(1), np.empty: making.maker(None), np.ndarray: making.maker(None),
    np.full: making.full,
    np.eye: arranged.identity, np.identity: arranged.identity, np.array: making.array,
    np.asarray: making.as_array, np.concatenate: joining.concatenate,
    np.vstack: joining.vstack, np.hstack: joining.hstack, np.stack: making.stacked,
    np.arange: arranged.arange, np.linspace: arranged.linspace,
}
OF_NUMBERS: dict[Any, Rule] = {**MAKERS, np.isclose: composed.close, np.allclose: composed.all_close}
FUNCTIONS: dict[Any, Rule] = {
    **OF_NUMBERS,
    np.zeros_like: making.maker_like(0), np.ones_like: making.maker_like(1), np.empty_like: making.maker_like(None),
    **{getattr(np, name): _fold(ufunc) for name, ufunc in FOLDS.items()},
    np.mean: _mean, np.copy: _copy, np.flip: _flip, np.where: _where, np.transpose: _transposed,
    np.dot: _product, np.inner: _dot("dot"), np.vdot: _dot("matmul"),
    np.argmax: _position("argmax"), np.argmin: _position("argmin"),
    abs: functools.partial(_ufunc, function=np.absolute),
    len: _length,
    np.linalg.solve: _solve, np.linalg.inv: _inverse,
    np.linalg.norm: composed.norm, np.outer: composed.outer, np.diff: composed.diff, np.roll: composed.roll,
    np.append: composed.append, np.pad: padding.pad,
    np.clip: composed.clip, np.var: _spread(composed.variance), np.std: _spread(composed.deviation),
    np.ptp: composed.extent, np.cov: composed.covariance, np.corrcoef: composed.correlation,
    np.cumsum: arranged.accumulated("add"), np.cumprod: arranged.accumulated("multiply"),
    np.flatnonzero: arranged.places, np.nonzero: arranged.nonzero, np.count_nonzero: arranged.count_nonzero,
    np.sort: arranged.ordered, np.argsort: arranged.order, np.median: _median,
    np.round: composed.rounded, np.around: composed.rounded, np.ravel: flattening.ravel,
    np.shape: _shape_of, np.size: _size_of, np.ndim: _axes_of,
}
OF_LISTS = {  # which take a list of numbers as the array of them
    *(getattr(np, name) for name in ("sum", "prod", "max", "min", "any", "all")),
    np.mean, np.var, np.std, np.median, np.argmax, np.argmin, np.sort, np.argsort, np.cumsum, np.cumprod, np.diff,
}
ATTRIBUTES = frozenset({"T", "shape", "ndim", "size", "dtype"})
METHODS: dict[str, Rule] = {
    **{name: _fold(ufunc) for name, ufunc in FOLDS.items()},
    "argmax": _position("argmax"), "argmin": _position("argmin"),
    "var": _spread(composed.variance), "std": _spread(composed.deviation),
    "clip": composed.clip, "round": composed.rounded,
    "astype": composed.converted, "fill": composed.filled,
    "argsort": arranged.order,
    "cumsum": arranged.accumulated("add"), "cumprod": arranged.accumulated("multiply"), "nonzero": arranged.nonzero,
    "conj": _conjugate, "conjugate": _conjugate,
    "ravel": flattening.ravel, "flatten": flattening.flatten,
    "mean": _mean, "copy": _copy, "dot": _product, "transpose": _transposed,
}
# fmt: on


def method(name: str) -> Callable[[Rule], Rule]:
    """Register a method of arrays."""

    def register(rule: Rule) -> Rule:
        assert name not in METHODS, name
        METHODS[name] = rule
        return rule

    return register
