"""Rows of the table of calls: arrays repeated, joined, padded and spread out."""

from __future__ import annotations

from math import prod
from typing import Any

from ufuse.graph.size import Size, multiply
from ufuse.graph.typing.call import BY_NAME, Call, Rule, Sequenced, shape_of
from ufuse.graph.typing.sample import CannotInfer
from ufuse.graph.typing.shapes import Shape, count, same, the_axis

MOST_REPEATED = 4096  # times that a sample is repeated


def _tiled(call: Call) -> Shape:
    source, times = call.shape(0, "A"), _repetitions(call.constant(1, "reps"))
    shape = (*[1] * (len(times) - len(source)), *source)
    times = [*[1] * (len(shape) - len(times)), *times]
    return tuple(multiply(length, by) for length, by in zip(shape, times, strict=True))


def _repetitions(given: Any) -> list[int]:
    times = list(given) if isinstance(given, tuple | list) else [given]
    if not all(type(one) is int and one >= 0 for one in times) or prod(times) > MOST_REPEATED:
        raise CannotInfer("a number of repetitions that is large, or no number")
    return times


def _kronecker(call: Call) -> Shape:
    left, right = call.shape(0, "a"), call.shape(1, "b")
    left = (*[1] * (len(right) - len(left)), *left)
    right = (*[1] * (len(left) - len(right)), *right)
    return tuple(map(multiply, left, right))


def _columns(call: Call) -> Shape:
    given = call.argument(0, "tup")
    if not isinstance(given, Sequenced) or not given.items:
        raise CannotInfer(f"{call.name} takes a tuple or list of arrays")
    rows: Size | None = None
    width: Size = 0
    for one in given.items:
        if isinstance(one, Sequenced):
            raise CannotInfer(f"{call.name} of lists")
        shape = shape_of(one)
        if len(shape) not in (1, 2):
            raise CannotInfer(f"{call.name} of arrays that are neither columns nor tables")
        if rows is not None and not same(rows, shape[0], call.facts):
            raise CannotInfer(f"{call.name} of lengths {rows} and {shape[0]}")
        rows = shape[0]
        width = width + (shape[1] if len(shape) == 2 else 1)
    assert rows is not None
    return (rows, width)


def _appended(call: Call) -> Shape:
    source, more = call.shape(0, "arr"), call.shape(1, "values")
    axis = call.constant(2, "axis")
    if axis is None:
        return (count(source) + count(more),)
    axis = the_axis(axis, len(source))
    if len(source) != len(more):
        raise CannotInfer(f"{call.name} of arrays with different numbers of axes")
    for place in range(len(source)):
        if place != axis and not same(source[place], more[place], call.facts):
            raise CannotInfer(f"{call.name} of lengths {source[place]} and {more[place]}")
    return (*source[:axis], source[axis] + more[axis], *source[axis + 1 :])


def _padded(call: Call) -> Shape:
    source, mode = call.shape(0, "array"), call.constant(2, "mode", "constant")
    if mode not in ("constant", "edge", "wrap", "reflect", "symmetric"):
        raise CannotInfer(f"{call.name} in this mode")
    call.argument(3, "constant_values")
    widths = _widths(call.constant(1, "pad_width"), len(source))
    return tuple(
        length + (before + after) for length, (before, after) in zip(source, widths, strict=True)
    )


def _widths(given: Any, axes: int) -> list[tuple[int, int]]:
    """How wide the margins are, as `numpy.pad` reads its argument."""
    if type(given) is int:
        given = (given, given)
    if _is_pair(given):
        return [given] * axes
    if isinstance(given, tuple | list) and len(given) == axes and all(map(_is_pair, given)):
        return [tuple(one) for one in given]
    raise CannotInfer("margins that are not known")


def _is_pair(given: Any) -> bool:
    return (
        isinstance(given, tuple | list)
        and len(given) == 2
        and all(type(one) is int and one >= 0 for one in given)
    )


def _grid(call: Call) -> list[Shape]:
    """Of two vectors or more, copied."""
    if not call.constant(BY_NAME, "copy", default=True) or call.constant(
        BY_NAME, "sparse", default=False
    ):
        raise CannotInfer(f"{call.name} that gives views")
    lengths = [count(call.shape(place, "xi")) for place in range(len(call.arguments))]
    if len(lengths) < 2:
        raise CannotInfer(f"{call.name} of one vector")
    if call.constant(BY_NAME, "indexing", default="xy") == "xy":
        lengths[:2] = lengths[1::-1]
    return [tuple(lengths)] * len(lengths)


# fmt: off
ARRANGING: dict[str, Rule] = {
    "numpy.tile":              Rule(_tiled),
    "numpy.kron":              Rule(_kronecker),
    "numpy.column_stack":      Rule(_columns),
    "numpy.append":            Rule(_appended),
    "numpy.pad":               Rule(_padded),
    "numpy.meshgrid":          Rule(_grid),
}
# fmt: on
