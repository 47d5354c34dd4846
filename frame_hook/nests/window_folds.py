"""Sums, means, extremes and medians of windows: their elements one by one, in the order in which NumPy takes them.

The elements of a window are loads, and what they come to is arithmetic of the nest's own, so its bits and flags are
those of any other. Where the window is not as it most likely is, or where the order of its elements would tell what a
NaN or a zero of either sign leaves, a side way has NumPy's own reduction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ufuse.frame_hook.nests import windows
from ufuse.frame_hook.nests.values import (
    NP_FLOAT,
    Array,
    Axis,
    Generated,
    Item,
    Length,
    NotNativeError,
    Number,
    NumberKind,
    Part,
    TemporaryKind,
    Window,
)
from ufuse.graph.nest import ELEMENTS, F32, F64, I1, I64, SELDOM, Value

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.code import Code
    from ufuse.frame_hook.nests.reader import Reader

LANES = 8  # of NumPy's sums
MOST_BLOCKS = 100  # of a nest, with the sides of windows
MOST_COMPARED = 25  # elements whose extremes are looked for
MOST_SORTED = 13
REAL = np.dtype(float)
Term = TypeVar("Term")


class Fold(NamedTuple):
    """What the elements of a window come to; `is_odd`: where it is not that."""

    value: Value
    is_odd: Value | None = None


class Rule(NamedTuple):
    """How a fold of so many elements at most is computed, and the kind of its result, by the dtype of the elements."""

    fold: Callable[[Code, Sequence[Value], np.dtype], Fold]
    kind: Callable[[np.dtype], np.dtype | None]  # None: it is not computed here
    most: int
    ordered: str = ""  # the characters of the dtypes for which the bits depend on the order


# The order of sums -----------------------------------------------------------------------------------------------


def _pairwise(items: Sequence[Term], add: Callable[[Term, Term], Term]) -> Term:
    """A sum in NumPy's order: of eight and more elements every eighth goes to a sum of its own."""
    if len(items) < LANES:
        return functools.reduce(add, items)
    lanes = list(items[:LANES])
    whole = len(items) // LANES * LANES
    for place in range(LANES, whole):
        lanes[place % LANES] = add(lanes[place % LANES], items[place])
    while len(lanes) > 1:
        lanes = [add(*lanes[place : place + 2]) for place in range(0, len(lanes), 2)]
    return functools.reduce(add, items[whole:], lanes[0])


@functools.cache
def _adds_so() -> bool:
    """Whether this NumPy adds the elements of windows in that order, wherever they lie."""
    given = np.random.default_rng(1).standard_normal((12, 13, 14)) * 1e3
    views: list[Callable[[np.ndarray], np.ndarray]] = [
        *(lambda a, n=n: a[1, 2, :n] for n in range(1, 14)),
        *(lambda a, n=n: a[:n, 2, 1] for n in range(1, 12)),
        *(lambda a, n=n, m=m: a[2, 1 : 1 + n, 2 : 2 + m] for n in range(1, 8) for m in range(1, 8)),
        *(lambda a, n=n: a[1 : 1 + n, 2 : 2 + n, 3] for n in (2, 3, 5)),
        lambda a: a[1:4, 2:5, 1:4],
        lambda a: a[2, ::2, ::3],
        lambda a: a[3, :3],
    ]
    return all(_is_so(view(given.astype(dtype))) for dtype in "dfl" for view in views)


def _is_so(view: np.ndarray) -> bool:
    items: list[Any] = [*(view if view.dtype.kind == "f" else view.astype(float)).ravel()]
    total = items[0] * 0 + _pairwise(items, lambda one, other: one + other)
    if view.dtype.kind == "f":
        return bool(np.add.reduce(view, axis=None).tobytes() == total.tobytes())
    return bool(np.mean(view).tobytes() == (total / view.size).tobytes())


# What is computed of the elements --------------------------------------------------------------------------------


def _sum(code: Code, items: Sequence[Value], dtype: np.dtype) -> Fold:
    if dtype.kind == "f":
        total = _real_sum(code, items)
        return Fold(total, code.op("fne", I1, total, total))
    type_ = ELEMENTS[_dtype_of_sum(dtype) or dtype]
    wide = [_as(code, one, type_) for one in items]
    return Fold(functools.reduce(functools.partial(code.op, "add", type_), wide))


def _real_sum(code: Code, items: Sequence[Value]) -> Value:
    """NumPy's sums begin with a zero, so that of negative zeros alone is none."""
    type_ = items[0].type
    add = functools.partial(code.op, "add", type_)
    return add(code.constant(type_, 0.0), _pairwise(items, add))


def _as(code: Code, value: Value, type_: str) -> Value:
    if value.type == type_:
        return value
    if value.type == I1:
        value = code.op("widen", I64, value)
        return value if type_ == I64 else code.op(f"to_{type_}", type_, value)
    return code.op(f"to_{type_}", type_, value)


def _dtype_of_sum(dtype: np.dtype) -> np.dtype | None:
    if dtype.kind in "biu":
        wide = np.dtype(np.uint) if dtype.kind == "u" else np.dtype(int)
        return dtype if dtype.itemsize == wide.itemsize else wide
    return dtype if dtype.char in "df" else None


def _mean(code: Code, items: Sequence[Value], dtype: np.dtype) -> Fold:
    if dtype.kind != "f":
        items = [_as(code, one, F64) for one in items]
    total, count = _real_sum(code, items), code.constant(F64, float(len(items)))
    if total.type == F32:
        quotient = code.op("div", F64, code.op("to_f64", F64, total), count)
        found = code.op("to_f32", F32, quotient)
    else:
        found = code.op("div", F64, total, count)
    return Fold(found, code.op("fne", I1, found, found))


def _dtype_of_mean(dtype: np.dtype) -> np.dtype | None:
    if dtype.char in "df":
        return dtype
    return REAL if dtype.kind in "biu" and dtype.char not in "LQ" else None


def _extreme(name: str) -> Callable[[Code, Sequence[Value], np.dtype], Fold]:
    def rule(code: Code, items: Sequence[Value], dtype: np.dtype) -> Fold:
        sign = "f" if dtype.kind == "f" else "i"
        best, *others = items
        for one in others:
            is_better = code.op(sign + name, I1, one, best)
            best = code.op("select", one.type, is_better, one, best)
        return Fold(best, _depends_on_order(code, items, best) if sign == "f" else None)

    return rule


def _depends_on_order(code: Code, items: Sequence[Value], found: Value) -> Value:
    """Whether some element is NaN, or what is found is a zero that may have either sign."""
    either = functools.partial(code.op, "or", I1)
    is_nan = functools.reduce(either, [code.op("fne", I1, one, one) for one in items])
    has_minus = functools.reduce(either, [code.op("minus_zero", I1, one) for one in items])
    is_zero = code.op("feq", I1, found, code.constant(found.type, 0.0))
    return either(is_nan, code.op("and", I1, has_minus, is_zero))


def _median(code: Code, items: Sequence[Value], _: np.dtype) -> Fold:
    ordered, count = list(items), len(items)
    middle = {(count - 1) // 2, count // 2}
    for low, high in _comparators(count, middle):
        one, other = ordered[low], ordered[high]
        is_less = code.op("flt", I1, other, one)
        ordered[low] = code.op("select", F64, is_less, other, one)
        ordered[high] = code.op("select", F64, is_less, one, other)
    found = ordered[count // 2]
    if len(middle) > 1:
        total = code.op("add", F64, ordered[count // 2 - 1], found)
        found = code.op("div", F64, total, code.constant(F64, 2.0))
    size = code.op("abs", F64, found)
    is_finite = code.op("flt", I1, size, code.constant(F64, float("inf")))
    is_odd = code.op("or", I1, code.op("not", I1, is_finite), _depends_on_order(code, items, found))
    return Fold(found, is_odd)


def _comparators(count: int, wanted: set[int]) -> list[tuple[int, int]]:
    """Pairs of places: the less of both elements goes to the first one, and what is wanted is in its place at last.

    Batcher's merge exchange (Knuth, algorithm 5.2.2 M), without what has no part in it.
    """
    found: list[tuple[int, int]] = []
    for pair in reversed([*_merge_exchange(count)]):
        if not wanted.isdisjoint(pair):
            wanted = wanted.union(pair)
            found.insert(0, pair)
    return found


def _merge_exchange(count: int) -> Iterator[tuple[int, int]]:
    first = 1 << max(0, (count - 1).bit_length() - 1)
    part = first
    while part:
        limit, rest, apart = first, 0, part
        while True:
            yield from ((i, i + apart) for i in range(count - apart) if i & part == rest)
            if limit == part:
                break
            limit, rest, apart = limit >> 1, part, limit - part
        part >>= 1


def _every(name: str) -> Callable[[Code, Sequence[Value], np.dtype], Fold]:
    def rule(code: Code, items: Sequence[Value], _: np.dtype) -> Fold:
        return Fold(functools.reduce(functools.partial(code.op, name, I1), items))

    return rule


def _dtype_of_any(dtype: np.dtype) -> np.dtype | None:
    return dtype if dtype.kind == "b" else None


def _dtype_of_extreme(dtype: np.dtype) -> np.dtype | None:
    return dtype if dtype in ELEMENTS and dtype.kind != "b" else None


def _dtype_of_median(dtype: np.dtype) -> np.dtype | None:
    return dtype if dtype == REAL else None


RULES = {
    "add": Rule(_sum, _dtype_of_sum, windows.MOST_ELEMENTS, "df"),
    "mean": Rule(_mean, _dtype_of_mean, windows.MOST_ELEMENTS, "dflq"),
    "maximum": Rule(_extreme("gt"), _dtype_of_extreme, MOST_COMPARED),
    "minimum": Rule(_extreme("lt"), _dtype_of_extreme, MOST_COMPARED),
    "logical_or": Rule(_every("or"), _dtype_of_any, MOST_COMPARED),
    "logical_and": Rule(_every("and"), _dtype_of_any, MOST_COMPARED),
    "median": Rule(_median, _dtype_of_median, MOST_SORTED),
}


# Ways ------------------------------------------------------------------------------------------------------------


def folded(reader: Reader, name: str, item: Item, general: Callable[[Item], Item]) -> Item:
    """What all elements of an array come to: of a window element by element, else as in `general`."""
    rule = RULES.get(name)
    if rule is None or not isinstance(item, Array | Part) or not _is_known(reader, rule, item):
        return general(item)
    out = reader.out
    try:
        reader.stack.append(item)
        version = reader.version(reader.at.position)
    except NotNativeError:
        reader.stack.pop()
        return general(item)
    container, window = _window(reader)
    kind = _kind(rule, container, reader)
    inside = reader.new_label()
    seldom, behind = f"{inside}{SELDOM}", f"{inside}.behind"
    needed = windows.conditions(reader, container, window)
    fits = functools.reduce(
        functools.partial(out.op, "and", I1), needed or [out.constant(I1, value=True)]
    )
    out.end("branch", inside, seldom, condition=fits)
    out.begin(inside)
    reader.take_stack(version)
    _fold_inside(reader, rule, (seldom, behind), behind)
    out.begin(seldom)
    reader.take_stack(version)
    _fold_otherwise(reader, general, kind, behind)
    out.begin(behind)
    reader.take_stack(version)
    reader.stack.pop()
    return Number(kind, out.get(_result(behind), ELEMENTS[kind.dtype]))


def _result(behind: str) -> str:
    return f"{behind}.result"


def _fold_inside(reader: Reader, rule: Rule, odd: tuple[str, str], behind: str) -> None:
    """The way of a window that is as it most likely is."""
    out = reader.out
    container, window = _window(reader)
    reader.stack.pop()
    dtype = reader.dtype(container.holder)
    items = windows.elements(reader, container, window, ELEMENTS[dtype])
    value, is_odd = rule.fold(out, items, dtype)
    if is_odd is None:
        out.set(_result(behind), value)
        out.end("jump", behind)
        return
    # What is kept is no NaN, of which the bits would be looked at.
    nothing = out.constant(value.type, 0.0)
    out.set(_result(behind), out.op("select", value.type, is_odd, nothing, value))
    out.end("branch", *odd, condition=is_odd)


def _fold_otherwise(
    reader: Reader, general: Callable[[Item], Item], kind: NumberKind, behind: str
) -> None:
    """The side way."""
    item = reader.stack.pop()
    try:
        found = general(item)
    except NotNativeError:
        found = item
    if not isinstance(found, Number) or found.type != kind:
        reader.go_to_doubt()
        return
    reader.out.set(_result(behind), found.value)
    reader.out.end("jump", behind)


def _window(reader: Reader) -> tuple[Array | Part, Window]:
    """What stands on top of the stack."""
    item = reader.stack[-1]
    assert isinstance(item, Array | Part)
    window = windows.of(reader, item)
    assert window is not None
    return item, window


def _is_known(reader: Reader, rule: Rule, item: Array | Part) -> bool:
    """Whether an array is most likely a window of which the elements can be folded so."""
    holder, window = item.holder, windows.of(reader, item)
    if window is None or len(reader.out.blocks) > MOST_BLOCKS or _has_generators(reader):
        return False
    if not isinstance(holder, TemporaryKind) and not isinstance(
        reader.given(holder.slot), np.ndarray
    ):
        return False
    count = functools.reduce(lambda one, other: one * max(1, other), window.counts, 1)
    dtype = reader.dtype(holder)
    if dtype not in ELEMENTS or rule.kind(dtype) is None or count > rule.most:
        return False
    if reader.item_kind(holder) != reader.element_kind(dtype) or reader.outside.is_text(holder):
        return False
    return dtype.char not in rule.ordered or (_adds_so() and _is_in_order(reader, item, window))


def _has_generators(reader: Reader) -> bool:
    return any(isinstance(one, Generated) for one in reader.stack)


def _is_in_order(reader: Reader, item: Array | Part, window: Window) -> bool:
    """Whether the elements lie in memory as they follow one another; the nest relies on it then."""
    axes = [axis for axis, count in enumerate(window.counts) if count]
    if len(axes) < 2:
        return True
    holder, dtype = item.holder, reader.dtype(item.holder)
    walked = tuple(Axis(Length(reader.length(holder, axis).value), axis) for axis in axes)
    try:
        reader.keep_order(Part(holder, dtype, (), walked))
    except NotNativeError:
        return False
    return True


def _kind(rule: Rule, container: Array | Part, reader: Reader) -> NumberKind:
    dtype = rule.kind(reader.dtype(container.holder))
    assert dtype is not None
    return NP_FLOAT if dtype == REAL else reader.element_kind(dtype)
