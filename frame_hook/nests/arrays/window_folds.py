"""Sums, means, extremes and medians of windows: their elements one by one, in the order in which NumPy takes them.

The elements of a window are loads, and what they come to is arithmetic of the nest's own, so its bits and flags are
those of any other. Where the window is not as it most likely is, or where the order of its elements would tell what a
NaN or a zero of either sign leaves, a side way has NumPy's own reduction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ufuse.frame_hook.nests.arrays import windows
from ufuse.frame_hook.nests.arrays.window_operands import Operands, converted
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import ELEMENT_KINDS, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.values import Generated, Item
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, F32, F64, I1, SELDOM, Value

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
    given = (
        np.sin(np.arange(2184.0).reshape(12, 13, 14)) * 1e3
    )  # `np.random` takes long to be imported
    lengths, sizes = (
        (1, 2, 3, 7, 8, 9, 12),
        ((2, 2), (3, 3), (2, 4), (3, 5), (5, 5), (9, 9), (11, 11)),
    )
    views: list[Callable[[np.ndarray], np.ndarray]] = [
        *(lambda a, n=n: a[1, 2, :n] for n in lengths),
        *(lambda a, n=n: a[:n, 2, 1] for n in lengths),
        *(lambda a, n=n, m=m: a[2, 1 : 1 + n, 2 : 2 + m] for n, m in sizes),
        *(lambda a, n=n, m=m: a[1 : 1 + n, 2 : 2 + m, 3] for n, m in sizes[:4]),
        lambda a: a[1:4, 2:5, 1:4],
        lambda a: a[2, ::2, ::3],
        lambda a: a[3, :3],
        lambda a: a.ravel()[:77],
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
    wide = [converted(code, one, type_) for one in items]
    return Fold(functools.reduce(functools.partial(code.op, "add", type_), wide))


def _real_sum(code: Code, items: Sequence[Value]) -> Value:
    """NumPy's sums begin with a zero, so that of negative zeros alone is none."""
    type_ = items[0].type
    add = functools.partial(code.op, "add", type_)
    return add(code.constant(type_, 0.0), _pairwise(items, add))


def _dtype_of_sum(dtype: np.dtype) -> np.dtype | None:
    if dtype.kind in "biu":
        wide = np.dtype(np.uint) if dtype.kind == "u" else np.dtype(int)
        return dtype if dtype.itemsize == wide.itemsize else wide
    return dtype if dtype.char in "df" else None


def _mean(code: Code, items: Sequence[Value], dtype: np.dtype) -> Fold:
    if dtype.kind != "f":
        items = [converted(code, one, F64) for one in items]
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


def variance(freedom: int, *, is_root: bool) -> Rule:
    """That of `np.var` of float64, for as many degrees of freedom less, or `np.std`."""

    def fold(code: Code, items: Sequence[Value], dtype: np.dtype) -> Fold:
        if len(items) <= freedom:  # NumPy warns
            return Fold(code.constant(F64, 0.0), code.constant(I1, value=True))
        mean, _ = _mean(code, items, dtype)
        apart = [code.op("sub", F64, one, mean) for one in items]
        total = _real_sum(code, [code.op("mul", F64, one, one) for one in apart])
        count = code.constant(F64, float(len(items) - freedom))
        found = code.op("div", F64, total, count)
        if is_root:
            found = code.op("sqrt", F64, found)
        return Fold(found, code.op("fne", I1, found, found))

    return Rule(fold, _dtype_of_median, MOST_COMPARED, "d")


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


def folded(reader: Reader, rule: Rule | None, item: Item, general: Callable[[Item], Item]) -> Item:
    """What all elements of an array come to: of a window element by element, else as in `general`."""
    out = reader.out
    if rule is None or not isinstance(item, Array | Part | Lazy) or _is_in_the_midst(reader):
        return general(item)
    given, below = Operands(item), len(reader.stack)
    if given.why_not(reader, rule.most) is not None:
        return general(item)
    dtype = given.dtype(reader)
    kind = rule.kind(dtype)
    if kind is None or (
        dtype.char in rule.ordered and not (_adds_so() and given.are_in_order(reader))
    ):
        return general(item)
    needed = given.conditions(reader)
    try:
        reader.stack += given.leaves
        version = reader.version(reader.at.position)
    except NotNativeError:
        del reader.stack[below:]
        return general(item)
    fold = _Ways(reader, given, version, below, reader.new_label())
    both = functools.partial(out.op, "and", I1)
    fits = functools.reduce(both, needed) if needed else out.constant(I1, value=True)
    out.end("branch", fold.inside, fold.seldom, condition=fits)
    fold.go_inside(rule, dtype)
    fold.go_aside(general, ELEMENT_KINDS[ELEMENTS[kind]])
    return fold.result(ELEMENT_KINDS[ELEMENTS[kind]])


def _is_in_the_midst(reader: Reader) -> bool:
    """Whether no block may end here, or there are many already."""
    return len(reader.out.blocks) > MOST_BLOCKS or any(
        isinstance(one, Generated) for one in reader.stack
    )


class _Ways:
    """The ways of a fold, which meet `behind` it: `inside`, where windows are as they most likely are, and `seldom`."""

    def __init__(
        self, reader: Reader, given: Operands, version: Version, below: int, label: str
    ) -> None:
        self._reader, self._given, self._version, self._below = reader, given, version, below
        self.inside, self.seldom, self._behind = label, f"{label}{SELDOM}", f"{label}.behind"
        self._name = f"{label}.result"

    def _taken(self, label: str) -> list[Item]:
        """Begin a block; what is folded in it."""
        reader = self._reader
        reader.out.begin(label)
        reader.take_stack(self._version)
        leaves = reader.stack[self._below :]
        del reader.stack[self._below :]
        return leaves

    def go_inside(self, rule: Rule, dtype: np.dtype) -> None:
        """The way of windows that are as they most likely are."""
        out, leaves = self._reader.out, self._taken(self.inside)
        value, is_odd = rule.fold(out, self._given.elements(self._reader, leaves), dtype)
        if is_odd is None:
            out.set(self._name, value)
            out.end("jump", self._behind)
            return
        # What is kept is no NaN, of which the bits would be looked at.
        nothing = out.constant(value.type, 0.0)
        out.set(self._name, out.op("select", value.type, is_odd, nothing, value))
        out.end("branch", self.seldom, self._behind, condition=is_odd)

    def go_aside(self, general: Callable[[Item], Item], kind: NumberKind) -> None:
        """The side way; where there is no native code for it, a doubt."""
        reader, item = self._reader, self._given.whole(self._taken(self.seldom))
        try:
            found = general(item)
        except NotNativeError:
            found = item
        if not isinstance(found, Number) or found.type != kind:
            reader.go_to_doubt()
            return
        reader.out.set(self._name, found.value)
        reader.out.end("jump", self._behind)

    def result(self, kind: NumberKind) -> Number:
        """What is found, behind both."""
        self._taken(self._behind)
        return Number(kind, self._reader.out.get(self._name, ELEMENTS[kind.dtype]))
