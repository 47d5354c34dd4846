"""Rows of the table of calls: what values choose, so that they alone decide how long the result is.

Such a length is a symbol of the node's own, named by its attribute `sizes`.
"""

from __future__ import annotations

from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.bounds import BOUNDS
from ufuse.graph.typing.call import BY_NAME, Argument, Call, Rule, Sequenced, shape_of
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape, same, the_axis


def _masked(call: Call) -> Shape:
    """`array[mask]`."""
    source, mask = call.shape(0, "a"), call.shape(1, "mask")
    if not mask or not _is_of(call.argument(1, "mask"), "b"):
        raise CannotInfer("the key is no array of booleans")
    _check_fit(call, mask, source)
    return (call.made(), *source[len(mask) :])


def _check_fit(call: Call, mask: Shape, source: Shape) -> None:
    if len(mask) > len(source) or not all(
        same(one, other, call.facts) for one, other in zip(mask, source, strict=False)
    ):
        raise CannotInfer("the mask has another shape")


MORE = ((1, "index"), (2, "inverse"), (3, "counts"))  # what `np.unique` returns besides


def _is_of(argument: Argument | None, kinds: str) -> bool:
    type_ = argument.type if isinstance(argument, Constant) else argument
    return isinstance(type_, ArrayType) and not type_.scalar and type_.dtype.kind in kinds


def _axes(call: Call) -> int:
    shape = call.shape(0, "a")
    if not shape:
        raise CannotInfer(f"{call.name} of a number")
    return len(shape)


def _places(call: Call) -> list[Shape]:
    """Of what is not zero, an array for each axis."""
    return [(call.made(),)] * _axes(call)


def _flat_places(call: Call) -> Shape:
    call.shape(0, "a")
    return (call.made(),)


def _rows_of_places(call: Call) -> Shape:
    return (call.made(), _axes(call))


def _compressed(call: Call) -> Shape:
    """`np.compress(condition, a)` of vectors of one length."""
    condition, source = call.shape(0, "condition"), call.shape(1, "a")
    if len(condition) != 1 or len(source) != 1 or call.constant(2, "axis") not in (None, 0, -1):
        raise CannotInfer(f"{call.name} of these arrays")
    _check_fit(call, condition, source)
    return (call.made(),)


def _extracted(call: Call) -> Shape:
    condition, source = call.shape(0, "condition"), call.shape(1, "arr")
    _check_fit(call, condition, source)
    if len(condition) != len(source):
        raise CannotInfer(f"{call.name} of these arrays")
    return (call.made(),)


def _unique(call: Call) -> Shape | list[Shape]:
    """Of a vector; what else is asked for comes behind, in this order."""
    source = call.shape(0, "ar")
    if call.argument(4, "axis") is not None and call.constant(4, "axis") is not None:
        return _unique_rows(call, source)
    if not source:
        raise CannotInfer(f"{call.name} of a number")
    found = (call.made(),)
    more: list[Shape] = []
    for place, (name, shape) in enumerate(
        (("return_index", found), ("return_inverse", source), ("return_counts", found)), 1
    ):
        wanted = call.constant(place, name, default=False)
        if type(wanted) is not bool:
            raise CannotInfer(f"{name} of {call.name} is neither True nor False")
        more += [shape] * wanted
    for name in ("equal_nan", "sorted"):
        call.argument(BY_NAME, name)
    return [found, *more] if more else found


def _unique_rows(call: Call, source: Shape) -> Shape | list[Shape]:
    """Of what lies along the first axis; what else is asked for comes behind."""
    wanted = [call.constant(k, f"return_{what}", default=False) for k, what in MORE]
    if the_axis(call.constant(4, "axis"), len(source)) != 0:
        raise CannotInfer(f"{call.name} along an axis")
    found, more = (call.made(),), ((call.made(),), source[:1], (call.made(),))
    shapes = [shape for shape, one in zip(more, wanted, strict=True) if one]
    rows = (*found, *source[1:])
    return [rows, *shapes] if shapes else rows


def _deleted(call: Call) -> Shape:
    """Of what lies along the first axis, without what is at given places, or picked: some may be given twice."""
    source, places = call.shape(0, "arr"), call.shape(1, "obj")
    axis = call.constant(2, "axis")
    if len(places) != 1 or not (axis in (0, -1, None) if len(source) == 1 else axis == 0):
        raise CannotInfer(f"{call.name} of these arrays")
    return (call.made(), *source[1:])


def _counts(call: Call) -> Shape:
    """Of whole numbers, perhaps weighed."""
    source = call.shape(0, "x")
    if len(source) != 1 or not _is_of(call.argument(0, "x"), "iu"):
        raise CannotInfer(f"{call.name} of these values")
    weights = call.argument(1, "weights")
    is_given = weights is not None and not (isinstance(weights, Constant) and weights.value is None)
    if is_given and not same(call.shape(1, "weights")[0], source[0], call.facts):
        raise CannotInfer(f"{call.name} with weights of another length")
    if call.argument(2, "minlength") is not None:
        call.size(2, "minlength")
    return (call.made(),)


def _of_sets(call: Call) -> Shape | list[Shape]:
    """What two vectors have in common, and the like; where these are in each may come behind."""
    for place, name in enumerate(("ar1", "ar2")):
        if not _is_list_of_numbers(call.argument(place, name)):
            if len(call.shape(place, name)) != 1:
                raise CannotInfer(f"{call.name} of more than vectors")
    found = (call.made(),)
    is_asked = call.name == "numpy.intersect1d" and call.constant(3, "return_indices", False)
    return [found] * 3 if is_asked else found


def _is_list_of_numbers(argument: Argument | None) -> bool:
    if isinstance(argument, Sequenced):
        return not any(isinstance(one, Sequenced) or shape_of(one) for one in argument.items)
    given = argument.value if isinstance(argument, Constant) else None
    return isinstance(given, list | tuple) and all(type(one) in (int, float) for one in given)


def _least_squares(call: Call) -> list[Shape]:
    """Solutions, residuals (which may be none), the rank and the singular values."""
    matrix, right = call.shape(0, "a"), call.shape(1, "b")
    if len(matrix) != 2 or len(right) != 1 or not same(matrix[0], right[0], call.facts):
        raise CannotInfer(f"{call.name} of these arrays")
    call.argument(2, "rcond")
    rows, columns = matrix
    least = rows if call.facts.at_most(rows, columns) else columns
    return [(columns,), (call.made(),), (), (least,)]


def _length(call: Call) -> Shape:
    given = call.argument(0, "obj")
    if given is None or isinstance(given, Sequenced) or not shape_of(given):
        raise CannotInfer("the length of what has none")
    return ()


def _number(call: Call) -> Shape:
    """A whole number that says where a part begins, or how long something is."""
    for argument in call.arguments:
        is_none = isinstance(argument, Constant) and argument.value is None
        type_ = argument.type if isinstance(argument, Constant) else argument
        is_whole = isinstance(type_, NumberType) and type_.kind == "int"
        is_numpys = isinstance(type_, ArrayType) and type_.scalar and type_.dtype.kind in "iu"
        if not (is_none or is_whole or is_numpys):
            raise CannotInfer(f"{call.name} of other things than whole numbers")
    return ()


# fmt: off
COUNTING: dict[str, Rule] = {
    "numpy.ndarray.__getitem__": Rule(_masked, makes=True, fails=False),
    "numpy.nonzero":             Rule(_places, makes=True, fails=False),
    "numpy.ndarray.nonzero":     Rule(_places, makes=True, fails=False),
    "numpy.flatnonzero":         Rule(_flat_places, makes=True, fails=False),
    "numpy.argwhere":            Rule(_rows_of_places, makes=True, fails=False),
    "numpy.compress":            Rule(_compressed, makes=True, fails=False),
    "numpy.extract":             Rule(_extracted, makes=True, fails=False),
    "numpy.unique":              Rule(_unique, makes=True),
    "numpy.delete":             Rule(_deleted, fill=("one", "zero"), makes=True),
    "numpy.bincount":            Rule(_counts, makes=True, counts=(2, 3)),
    "numpy.union1d":             Rule(_of_sets, makes=True),
    "numpy.intersect1d":         Rule(_of_sets, makes=True),
    "numpy.setdiff1d":           Rule(_of_sets, makes=True),
    "numpy.setxor1d":            Rule(_of_sets, makes=True),
    "numpy.linalg.lstsq":        Rule(_least_squares, makes=True),
    BOUNDS + "place":          Rule(_number, makes=True, is_size=True),
    BOUNDS + "begin":          Rule(_number, makes=True, is_size=True, fails=False),
    BOUNDS + "extent":         Rule(_number, makes=True, is_size=True, fails=False),
    BOUNDS + "amount":         Rule(_number, makes=True, is_size=True),
    "builtins.len":              Rule(_length, fails=False),
}
# fmt: on
LENGTH = "builtins.len"
MASKED = "numpy.ndarray.__getitem__"
