"""Shapes of results, worked out on symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ufuse.graph.size import Size, multiply
from ufuse.graph.types import ArrayType, Span, c_order
from ufuse.graph.typing.sample import CannotInfer, Facts

Shape = tuple[Size, ...]
Index = tuple[Size | Span | None, ...]


def same(a: Size, b: Size, facts: Facts) -> bool:
    """Whether two sizes are equal, the cheap answer first."""
    return a == b or facts.equal(a, b)


def joined(a: Size, b: Size, facts: Facts) -> Size:
    """The size of an axis after broadcasting.

    Raises:
        CannotInfer: the sizes are not known to fit.

    """
    if b in (1, a):
        return a
    if a == 1:
        return b
    if not (isinstance(a, int) and isinstance(b, int)) and facts.equal(a, b):
        return b if isinstance(b, int) else a
    if not isinstance(a, int) and facts.is_one(a):
        return b
    if not isinstance(b, int) and facts.is_one(b):
        return a
    raise CannotInfer(f"sizes {a} and {b} are not known to broadcast")


def broadcast(shapes: Sequence[Shape], facts: Facts) -> Shape:
    """The common shape of operands.

    Raises:
        CannotInfer: they are not known to broadcast.

    """
    shapes = [shape for shape in shapes if shape]
    longest = max(shapes, key=len, default=())
    if shapes.count(longest) == len(shapes):
        return longest
    result: list[Size] = []
    for shape in shapes:
        missing = len(shape) - len(result)
        result[:0] = shape[:missing] if missing > 0 else ()
        start = len(result) - len(shape)
        for place, length in enumerate(shape):
            result[start + place] = joined(result[start + place], length, facts)
    return tuple(result)


def why_not_stored(value: Shape, place: Shape, facts: Facts) -> str | None:
    """Why a value of the first shape does not fit into a place of the second, or None."""
    while len(value) > len(place) and value[0] == 1:
        value = value[1:]
    if len(value) > len(place):
        return f"a value with {len(value)} axes is stored into {len(place)}"
    for length, room in zip(reversed(value), reversed(place), strict=False):
        if length != 1 and not same(length, room, facts):
            return f"a value of length {length} is stored into {room}"
    return None


def normalised_axes(axis: object, ndim: int) -> tuple[int, ...]:
    """The axes meant by an `axis` argument, counted from 0; None means all.

    Raises:
        CannotInfer: an axis is out of range or named twice.

    """
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for entry in axis if isinstance(axis, tuple) else (axis,):
        if not isinstance(entry, int) or not -ndim <= entry < ndim:
            raise CannotInfer(f"axis {entry!r} of an array with {ndim} axes")
        axes.append(entry % ndim)
    if len(set(axes)) != len(axes):
        raise CannotInfer("an axis is named twice")
    return tuple(axes)


def the_axis(axis: object, ndim: int) -> int:
    """The one axis meant by an `axis` argument, counted from 0.

    Raises:
        CannotInfer: it is out of range, or there are more or fewer than one.

    """
    axes = normalised_axes(axis, ndim)
    if len(axes) != 1:
        raise CannotInfer(f"axis {axis!r}, where there has to be one")
    return axes[0]


def reduced(shape: Shape, axis: object, keepdims: bool) -> Shape:
    """The shape after reducing over `axis`."""
    axes = normalised_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if place in axes else length for place, length in enumerate(shape))
    return tuple(length for place, length in enumerate(shape) if place not in axes)


def is_c_like(type_: ArrayType) -> bool:
    """Whether the elements are known to lie in C order without gaps (axes of length 1 do not matter)."""
    if type_.ndim <= 1:
        return type_.contiguous
    if type_.order is None or not type_.contiguous:
        return False
    wide = [axis for axis in type_.order if type_.shape[axis] != 1]
    return wide == sorted(wide)


def is_f_like(type_: ArrayType) -> bool:
    """The same for Fortran order."""
    if type_.ndim <= 1:
        return type_.contiguous
    if type_.order is None or not type_.contiguous:
        return False
    wide = [axis for axis in type_.order if type_.shape[axis] != 1]
    return wide == sorted(wide, reverse=True)


def canonical(type_: ArrayType) -> ArrayType:
    """The same view with the plainer of equivalent orders: NumPy looks at its C and F flags first."""
    if not type_.contiguous or type_.order is None:
        return type_
    wide = [axis for axis in type_.order if type_.shape[axis] != 1]
    order = type_.order
    if wide == sorted(wide):
        order = c_order(type_.ndim)
    elif wide == sorted(wide, reverse=True):
        order = tuple(reversed(range(type_.ndim)))
    return ArrayType(type_.dtype, type_.shape, order, device=type_.device)


def indexed(type_: ArrayType, index: Index) -> ArrayType:
    """The view that a normalised basic index gives.

    Raises:
        CannotInfer: the index does not name every axis.

    """
    entries = [entry for entry in index if entry is not None]
    if len(entries) != type_.ndim:
        raise CannotInfer(f"an index of {len(entries)} entries for {type_.ndim} axes")
    shape: list[Size] = []
    place: dict[int, int] = {}  # axis of the array -> axis of the view
    fresh: list[int] = []
    axis = 0
    for entry in index:
        if entry is None:
            fresh.append(len(shape))
            shape.append(1)
            continue
        if isinstance(entry, Span):
            place[axis] = len(shape)
            shape.append(entry.length)
        axis += 1
    back = {
        a for a, e in enumerate(entries) if isinstance(e, Span) and e.step < 0 and e.length != 1
    }
    order: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    if not shape or (len(shape) == 1 and type_.device):
        order = c_order(len(shape))
    elif len(shape) == 1:
        (step,) = _indexed_steps(type_, index)
        order = None if step is None else (0,)
        steps = steps_between(tuple(shape), (step,))
    elif type_.order is not None and not back:
        order = (*[place[a] for a in type_.order if a in place], *fresh)
    else:
        given = _indexed_steps(type_, index)
        steps, order = steps_between(tuple(shape), given), _order_of(tuple(shape), given)
    contiguous = _stays_contiguous(type_, entries)
    return canonical(
        ArrayType(type_.dtype, tuple(shape), order, contiguous, device=type_.device, steps=steps)
    )


# Steps: law: along an axis that is n times as long as another one's reach they are in another level, a power of APART.

APART = 1000


def steps_of(type_: ArrayType) -> tuple[int, ...] | None:
    """Strides that compare as those of an array do; None where that is not known."""
    if type_.order is None or type_.steps is not None:
        return type_.steps
    steps = [0] * type_.ndim
    for level, axis in enumerate(reversed(type_.order)):
        steps[axis] = APART**level
    return tuple(steps)


def _level(step: int) -> int:
    """Which power of `APART` a step is in."""
    level, step = 0, abs(step)
    while step >= APART:
        level, step = level + 1, step // APART
    return level


def _indexed_steps(type_: ArrayType, index: Index) -> list[int | None]:
    """The steps of a view; None for one that may be as long as one of another level."""
    known = steps_of(type_)
    given: Iterator[int | None] = iter([None] * type_.ndim if known is None else known)
    steps: list[int | None] = []
    for entry in index:
        if entry is None:
            steps.append(0)
            continue
        step = next(given)
        if isinstance(entry, Span):
            is_far = step is not None and _level(step * entry.step) != _level(step)
            steps.append(None if step is None or is_far else step * entry.step)
    return steps


def _order_of(shape: Shape, steps: Sequence[int | None]) -> tuple[int, ...] | None:
    """The memory order of a view whose axes surely lie in one another; it may have gaps."""
    known = [step for step in steps if step is not None and step > 0]
    levels = set(map(_level, known))
    if len(known) < len(shape) or len(levels) < len(shape) or {0, 1} & set(shape):
        return None
    return tuple(sorted(range(len(shape)), key=lambda axis: -known[axis]))


def steps_between(shape: Shape, steps: Sequence[int | None]) -> tuple[int, ...] | None:
    """Steps, the levels without gaps; None where it is not known that they leave some in memory, or repeat elements."""
    known = [step for step in steps if step is not None]
    wide = [pair for pair in zip(known, shape, strict=False) if pair[1] != 1]
    if len(known) < len(steps) or 0 in shape or not (_turns(wide) or _overlaps(wide)):
        return None
    levels = sorted({_level(step) for step in known if step})
    lower = {level: APART ** (level - levels.index(level)) for level in levels}
    return tuple(step // lower[_level(step)] if step else 0 for step in known)


def _turns(wide: Sequence[tuple[int, Size]]) -> bool:
    """Whether an axis of several elements goes backwards, or nowhere."""
    return any(step <= 0 for step, _ in wide)


def _overlaps(wide: Sequence[tuple[int, Size]]) -> bool:
    """Whether an axis steps over fewer or more elements than the next faster one of its level has."""
    ordered = sorted(wide, key=lambda pair: pair[0])
    return any(
        _level(step) == _level(slower) and isinstance(length, int) and slower != step * length
        for (step, length), (slower, _) in pairwise(ordered)
    ) or len({step for step, _ in wide}) < len(wide)


def part(type_: ArrayType) -> ArrayType:
    """The view of the real, or of the imaginary parts of complex numbers."""
    dtype = type_.dtype.type(0).real.dtype
    contiguous = _stays_contiguous(type_, [Span(0, length, 2) for length in type_.shape])
    order, steps = type_.order, type_.steps
    return canonical(
        ArrayType(dtype, type_.shape, order, contiguous, device=type_.device, steps=steps)
    )


def _stays_contiguous(type_: ArrayType, entries: Sequence[Size | Span]) -> bool:
    lengths = [entry.length if isinstance(entry, Span) else 1 for entry in entries]
    if all(length == 1 for length in lengths) or 0 in lengths:
        return True
    order = type_.order if type_.ndim > 1 else c_order(type_.ndim)
    if order is None or not type_.contiguous:
        return False
    started = False
    for axis in order:
        entry, length = entries[axis], lengths[axis]
        if started:
            if length != type_.shape[axis] or (
                isinstance(entry, Span) and entry.step != 1 and length != 1
            ):
                return False
        elif length != 1:
            started = True
            if isinstance(entry, Span) and entry.step != 1:
                return False
    return True


def transposed(type_: ArrayType, axes: Sequence[int]) -> ArrayType:
    """The view whose axis j is axis `axes[j]`."""
    if sorted(axes) != list(range(type_.ndim)):
        raise CannotInfer(f"axes {tuple(axes)} do not permute {type_.ndim} axes")
    shape = tuple(type_.shape[axis] for axis in axes)
    places = tuple(axes)
    order = steps = None
    if type_.order is not None:
        order = tuple(map(places.index, type_.order))
    if type_.steps is not None:
        steps = tuple(type_.steps[axis] for axis in axes)
    return ArrayType(type_.dtype, shape, order, type_.contiguous, device=type_.device, steps=steps)


def count(shape: Shape) -> Size:
    """The number of elements."""
    total: Size = 1
    for length in shape:
        total = multiply(total, length)
    return total


def reshaped(type_: ArrayType, shape: Shape, facts: Facts) -> ArrayType | None:
    """The view with another shape (C order of elements), or None where NumPy copies.

    Raises:
        CannotInfer: the sizes do not fit, or it is not known whether NumPy copies.

    """
    if not same(count(type_.shape), count(shape), facts):
        raise CannotInfer(f"{count(type_.shape)} elements are reshaped to {count(shape)}")
    if is_c_like(type_):
        return ArrayType(type_.dtype, shape, c_order(len(shape)), device=type_.device)
    new = [axis for axis in range(len(shape)) if shape[axis] != 1]
    if type_.order is None and type_.ndim > 1:
        if len(new) == 1 and _is_apart(type_):
            return None
        raise CannotInfer("the memory order of a reshaped array is not known")
    order = type_.order if type_.order is not None else c_order(type_.ndim)
    old = [axis for axis in range(type_.ndim) if type_.shape[axis] != 1]
    if takes := _divided(type_.shape, shape, old, new):
        return _with_axes(type_, shape, order, takes)
    head, tail = _common(type_, shape, old, new, facts)
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    merges = _merges(type_, order, middle_old, facts)
    if merges is None:
        return None
    takes = {}
    for axis, view_axis in zip(old[:head], new[:head], strict=True):
        takes[axis] = [view_axis]
    for axis, view_axis in zip(old[len(old) - tail :], new[len(new) - tail :], strict=True):
        takes[axis] = [view_axis]
    if middle_old:
        takes[middle_old[0]] = middle_new
    return _with_axes(type_, shape, order, takes)


def _is_apart(type_: ArrayType) -> bool:
    """Whether an axis is surely not stepped over by the one before it as one axis would be."""
    steps = [s for s, n in zip(type_.steps or (), type_.shape, strict=False) if n != 1]
    return any(
        (slow > 0) - (slow < 0) != (fast > 0) - (fast < 0) or 0 < abs(slow) <= abs(fast)
        for slow, fast in pairwise(steps)
    )


def joined_axes(type_: ArrayType, shape: Shape, facts: Facts) -> tuple[list[int], list[int]]:
    """Which axes a reshape joins, and which it makes of them; those before and behind stay as they are."""
    old = [axis for axis in range(type_.ndim) if type_.shape[axis] != 1]
    new = [axis for axis in range(len(shape)) if shape[axis] != 1]
    head, tail = _common(type_, shape, old, new, facts)
    return old[head : len(old) - tail], new[head : len(new) - tail]


Takes = dict[int, list[int]]  # axis of an array -> axes of its view, slowest first


def _divided(given: Shape, shape: Shape, old: list[int], new: list[int]) -> Takes:
    """Which axes each axis is divided into, where none are joined: no copy is needed then; {} if that is not known."""
    takes: Takes = {}
    rest = iter(new)
    for axis in old:
        product: Size = 1
        takes[axis] = []
        for view_axis in rest:
            takes[axis].append(view_axis)
            product = multiply(product, shape[view_axis])
            if product == given[axis]:
                break
        else:
            return {}
    return {} if next(rest, None) is not None else takes


def _with_axes(type_: ArrayType, shape: Shape, order: tuple[int, ...], takes: Takes) -> ArrayType:
    """The view with these axes in the places of the array's."""
    ones = [axis for axis in range(len(shape)) if shape[axis] == 1]
    view_order = [view_axis for axis in order for view_axis in takes.get(axis, ())] + ones
    if len(view_order) != len(shape):
        raise CannotInfer("it is not known whether this reshape copies")
    order = tuple(view_order)
    if type_.steps is not None:  # of a vector: they go on backwards, or nowhere
        lengths = enumerate(reversed(order))
        levels = {axis: type_.steps[0] * APART**level for level, axis in lengths}
        steps = steps_between(shape, [levels[axis] for axis in range(len(shape))])
        return ArrayType(type_.dtype, shape, None, contiguous=False, steps=steps)
    return canonical(ArrayType(type_.dtype, shape, order, type_.contiguous, device=type_.device))


def _common(
    type_: ArrayType, shape: Shape, old: list[int], new: list[int], facts: Facts
) -> tuple[int, int]:
    """How many axes at the start and at the end stay as they are."""
    head = 0
    while head < min(len(old), len(new)) and type_.shape[old[head]] == shape[new[head]]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and same(
        type_.shape[old[-1 - tail]], shape[new[-1 - tail]], facts
    ):
        tail += 1
    return head, tail


def _merges(type_: ArrayType, order: tuple[int, ...], axes: list[int], facts: Facts) -> bool | None:
    """True where the axes can be seen as one; None where NumPy would copy."""
    if len(axes) <= 1:
        return True
    for axis in axes:
        if not isinstance(type_.shape[axis], int) and facts.is_one(type_.shape[axis]):
            raise CannotInfer("it is not known whether this reshape copies")
    if not type_.contiguous:
        raise CannotInfer("it is not known whether a reshape of a strided array copies")
    wide = [axis for axis in order if type_.shape[axis] != 1]
    start = wide.index(axes[0])
    return True if wide[start : start + len(axes)] == axes else None
