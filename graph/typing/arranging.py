"""Rows of the table of calls: arrays joined, repeated, padded and spread out."""

from __future__ import annotations

from functools import reduce
from math import prod
from operator import itemgetter

from ufuse.graph.size import Size, add, divide, multiply
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.call import BY_NAME, Call, Rule, Sequenced, is_whole
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape, count, same, the_axis

PAD_MODES = frozenset(
    "constant edge wrap reflect symmetric linear_ramp maximum mean median minimum".split()
)
MOST_REPEATED = 4096  # times that a sample is repeated


def _tiled(call: Call) -> Shape:
    source, times = call.shape(0, "A"), _repetitions(call)
    if 0 in source:
        raise CannotInfer("numpy.tile of an empty array, which is a view of it")
    shape = (*[1] * (len(times) - len(source)), *source)
    times = [*[1] * (len(shape) - len(times)), *times]
    return tuple(multiply(length, by) for length, by in zip(shape, times, strict=True))


def _repetitions(call: Call) -> list[Size]:
    """How often an array is repeated along each axis; where that is not known, and may be once, only one in C order."""
    times = call.whole_numbers(call.argument(1, "reps"), "reps")
    known = [one for one in times if isinstance(one, int)]
    if any(one < 0 for one in known) or prod(known) > MOST_REPEATED:
        raise CannotInfer("a number of repetitions that is large, or negative")
    source = call.argument(0, "A")
    if len(known) < len(times) and isinstance(source, ArrayType):
        in_order = source.order == tuple(range(source.ndim))
        if source.ndim > 1 and not (in_order and source.contiguous):
            raise CannotInfer(f"how often {call.name} repeats is not known while tracing")
    return times


def _kronecker(call: Call) -> Shape:
    left, right = call.shape(0, "a"), call.shape(1, "b")
    left = (*[1] * (len(right) - len(left)), *left)
    right = (*[1] * (len(left) - len(right)), *right)
    return tuple(map(multiply, left, right))


def _concatenated(shapes: list[Shape], axis: int | None, call: Call) -> Shape:
    if axis is None:
        return (reduce(add, map(count, shapes)),)
    axis = the_axis(axis, len(shapes[0]))
    result = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(result):
            raise CannotInfer(f"{call.name} of arrays with different numbers of axes")
        for place, length in enumerate(shape):
            if place == axis:
                result[axis] = result[axis] + length
            elif not same(result[place], length, call.facts):
                raise CannotInfer(f"{call.name} of lengths {result[place]} and {length}")
    return tuple(result)


def _concatenate(call: Call) -> Shape:
    return _concatenated(call.shapes(0, "arrays"), call.constant(1, "axis", 0), call)


def _stack(call: Call) -> Shape:
    shapes = call.shapes(0, "arrays")
    axis = call.constant(1, "axis", 0)
    axis = the_axis(axis, len(shapes[0]) + 1)
    grown = [(*shape[:axis], 1, *shape[axis:]) for shape in shapes]
    return _concatenated(grown, axis, call)


def _vstack(call: Call) -> Shape:
    shapes = [
        shape if len(shape) > 1 else (1, *(shape or (1,))) for shape in call.shapes(0, "arrays")
    ]
    return _concatenated(shapes, 0, call)


def _hstack(call: Call) -> Shape:
    shapes = [shape or (1,) for shape in call.shapes(0, "arrays")]
    return _concatenated(shapes, 0 if len(shapes[0]) == 1 else 1, call)


def _columns(call: Call) -> Shape:
    shapes = call.shapes(0, "tup")
    if not all(len(shape) in (1, 2) for shape in shapes):
        raise CannotInfer(f"{call.name} of arrays that are neither columns nor tables")
    return _concatenated([(*shape, 1)[:2] for shape in shapes], 1, call)


def _inserted(call: Call) -> Shape:
    """`np.insert(arr, obj, values)` at known places of a vector: at one as many values as there are."""
    source, values = call.shape(0, "arr"), call.shape(2, "values")
    if call.constant(3, "axis", None) not in (None, 0, -1) or len(source) != 1 or len(values) > 1:
        raise CannotInfer(f"{call.name} of more than vectors")
    given = call.constant(1, "obj")
    places = given if isinstance(given, list | tuple) else [given]
    if not places or not all(type(one) is int for one in places):
        raise CannotInfer(f"{call.name} at other places than known ones")
    return (source[0] + (len(places) if len(places) > 1 else values[0] if values else 1),)


def _window(call: Call) -> Shape:
    """A window of a whole number of points."""
    points = call.size(0, "M")
    if call.argument(1, "beta") is not None and call.shape(1, "beta"):
        raise CannotInfer(f"{call.name} with an array of shapes")
    return (max(points, 0) if isinstance(points, int) else points,)


def _appended(call: Call) -> Shape:
    given = [call.shape(0, "arr"), call.shape(1, "values")]
    return _concatenated(given, call.constant(2, "axis"), call)


def _padded(call: Call) -> Shape:
    source, mode = call.shape(0, "array"), call.constant(2, "mode", "constant")
    if mode not in PAD_MODES:
        raise CannotInfer(f"{call.name} in this mode")
    for name in ("constant_values", "end_values", "stat_length", "reflect_type"):
        call.argument(BY_NAME, name)
    widths = _widths(call, len(source))
    return tuple(
        length + (before + after) for length, (before, after) in zip(source, widths, strict=True)
    )


def _widths(call: Call, axes: int) -> list[tuple[Size, Size]]:
    """How wide the margins are, as `numpy.pad` reads its argument."""
    given = call.argument(1, "pad_width")
    pairs: list[list[Size]] = []
    if isinstance(given, Constant) and isinstance(given.value, tuple | list):
        given = Sequenced("tuple", tuple(map(Constant, given.value)))
    if isinstance(given, Sequenced) and not any(map(is_whole, given.items)):
        pairs = [call.whole_numbers(one, "pad_width") for one in given.items]
    elif given is not None:
        lengths = call.whole_numbers(given, "pad_width")
        pairs = [lengths * 2 if len(lengths) == 1 else lengths] * axes
    known = [one for pair in pairs for one in pair if isinstance(one, int)]
    if len(pairs) != axes or any(len(one) != 2 for one in pairs) or any(one < 0 for one in known):
        raise CannotInfer("margins that are not known")
    return [(before, after) for before, after in pairs]


def _grid(call: Call) -> list[Shape]:
    """Of two vectors or more, copied."""
    if not call.constant(BY_NAME, "copy", default=True):
        raise CannotInfer(f"{call.name} that gives views")
    lengths = [count(call.shape(place, "xi")) for place in range(len(call.arguments))]
    if len(lengths) < 2:
        raise CannotInfer(f"{call.name} of one vector")
    axes = list(range(len(lengths)))  # along which each of them lies
    if call.constant(BY_NAME, "indexing", default="xy") == "xy":
        axes[:2] = 1, 0
    whole = [length for _, length in sorted(zip(axes, lengths, strict=True), key=itemgetter(0))]
    if call.constant(BY_NAME, "sparse", default=False):
        return [tuple(whole[k] if k == axis else 1 for k in range(len(axes))) for axis in axes]
    return [tuple(whole)] * len(axes)


def _bytes(call: Call) -> Shape:
    """`np.packbits` of all bits, or of those along one axis."""
    shape, axis = call.shape(0, "a"), call.constant(1, "axis")
    call.constant(2, "bitorder")
    if axis is None:
        return (divide("//", count(shape) + 7, 8),)
    axis = the_axis(axis, len(shape))
    return (*shape[:axis], divide("//", shape[axis] + 7, 8), *shape[axis + 1 :])


def _bits(call: Call) -> Shape:
    shape, axis = call.shape(0, "a"), call.constant(1, "axis")
    call.constant(3, "bitorder")
    if call.constant(2, "count") is not None:
        raise CannotInfer(f"{call.name} of so many bits")
    if axis is None:
        return (multiply(count(shape), 8),)
    axis = the_axis(axis, len(shape))
    return (*shape[:axis], multiply(shape[axis], 8), *shape[axis + 1 :])


def _powers(call: Call) -> Shape:
    """`np.vander`: so many powers of each element."""
    source = call.shape(0, "x")
    call.constant(2, "increasing")
    if len(source) != 1:
        raise CannotInfer(f"{call.name} of more than a vector")
    given = call.argument(1, "N")
    if given is None or (isinstance(given, Constant) and given.value is None):
        return (source[0], source[0])
    number = call.constant(1, "N")
    if type(number) is not int or number < 1:
        raise CannotInfer(f"{call.name} of this number of columns")
    return (source[0], number)


def _on_diagonal(call: Call) -> Shape:
    """`np.diag` of a vector: a matrix with it on a diagonal."""
    source, offset = call.shape(0, "v"), call.constant(1, "k", 0)
    if len(source) != 1 or type(offset) is not int:
        raise CannotInfer(f"{call.name} of these arguments")
    return (source[0] + abs(offset),) * 2


def _identity(call: Call) -> Shape:
    """`np.eye(N)`: as many columns as rows."""
    return (call.size(0, "N"),) * 2


def _triangle(call: Call) -> list[Shape]:
    """Rows and columns of the places in one half of a matrix."""
    for place, name in enumerate(("n", "k", "m")):
        given = call.argument(place, name)
        if given is not None and not (isinstance(given, Constant) and given.value is None):
            call.size(place, name)
    return [(call.made(),)] * 2


# fmt: off
ARRANGING: dict[str, Rule] = {
    "numpy.concatenate":       Rule(_concatenate, items=True),
    "numpy.stack":             Rule(_stack, items=True),
    "numpy.vstack":            Rule(_vstack, items=True),
    "numpy.hstack":            Rule(_hstack, items=True),
    "numpy.tile":              Rule(_tiled),
    "numpy.kron":              Rule(_kronecker),
    "numpy.column_stack":      Rule(_columns, items=True),
    "numpy.append":            Rule(_appended, lists=(0, 1, "values")),
    "numpy.insert":            Rule(_inserted, keys=(1,)),
    "numpy.bartlett":          Rule(_window, counts=(0, 1), counted=3),
    "numpy.blackman":          Rule(_window, counts=(0, 1), counted=3),
    "numpy.hamming":           Rule(_window, counts=(0, 1), counted=3),
    "numpy.hanning":           Rule(_window, counts=(0, 1), counted=3),
    "numpy.kaiser":            Rule(_window, counts=(0, 1), counted=3),
    "numpy.pad":               Rule(_padded),
    "numpy.meshgrid":          Rule(_grid),
    "numpy.packbits":          Rule(_bytes),
    "numpy.unpackbits":        Rule(_bits),
    "numpy.vander":            Rule(_powers),
    "numpy.diag":              Rule(_on_diagonal, counts=(1, 2), counted=0),
    "numpy.eye":               Rule(_identity, counts=(0, 1)),
    "numpy.tril_indices":      Rule(_triangle, makes=True, counts=(0, 3), counted=3),
    "numpy.triu_indices":      Rule(_triangle, makes=True, counts=(0, 3), counted=3),
}
# fmt: on
