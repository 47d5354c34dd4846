"""The table of NumPy functions that a graph calls whole: one row each, with the shape of the result.

dtype, layout and scalar-ness come from asking NumPy on samples (sample.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np

from ufuse.graph.size import Size, divide
from ufuse.graph.types import NumberType
from ufuse.graph.typing.analysis import ANALYSIS, over, quantile
from ufuse.graph.typing.arranging import ARRANGING
from ufuse.graph.typing.call import (
    BY_NAME,
    Argument,
    Call,
    Rule,
    ShapeRule,
    Shapes,
    nested_shape,
)
from ufuse.graph.typing.counting import COUNTING
from ufuse.graph.typing.draws import DRAWING
from ufuse.graph.typing.elementary import ELEMENTARY
from ufuse.graph.typing.gathering import GATHERING, put
from ufuse.graph.typing.matrices import MATRICES
from ufuse.graph.typing.missing import MISSING
from ufuse.graph.typing.raising import raising
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import (
    Shape,
    broadcast,
    count,
    normalised_axes,
    reduced,
    same,
    the_axis,
)

MOST_STEPS = 1_000_000  # of a range of floats whose length NumPy is asked for

# Shapes, by kind of function


def _same(call: Call) -> Shape:
    return call.shape(0, "a")


def _broadcast(call: Call) -> Shape:
    return broadcast(
        [call.shape(k, f"argument {k}") for k in range(len(call.arguments))], call.facts
    )


def _broadcast_twice(call: Call) -> list[Shape]:
    return [_broadcast(call)] * 2


def _flat(call: Call) -> Shape:
    return (count(call.shape(0, "a")),)


def _along(place: int) -> ShapeRule:
    """One result for each element, `axis=None` meaning the flattened array."""

    def shape(call: Call) -> Shape:
        if call.constant(place, "axis") is None:
            return _flat(call)
        return _same(call)

    return shape


def _sorted(call: Call) -> Shape:
    return _flat(call) if call.constant(1, "axis", -1) is None else _same(call)


def _chosen(keepdims: int) -> ShapeRule:
    """As `over`, of the elements that `where=` says, which has the array's shape, or from a number on."""

    def shape(call: Call) -> Shape:
        source = call.shape(0, "a")
        mask = source if call.argument(BY_NAME, "where") is None else call.shape(BY_NAME, "where")
        if len(mask) != len(source) or not all(
            same(a, b, call.facts) for a, b in zip(mask, source, strict=True)
        ):
            raise CannotInfer(f"{call.name} with where= of another shape")
        return over(keepdims)(call)  # type: ignore[return-value]

    return shape


def _matmul(call: Call) -> Shape:
    left, right = call.shape(0, "x1"), call.shape(1, "x2")
    if not left or not right:
        raise CannotInfer("matmul of a scalar")
    _contract(left[-1], right[-2] if len(right) > 1 else right[0], call)
    stack = broadcast([left[:-2], right[:-2]], call.facts)
    return (*stack, *left[-2:-1], *right[-1:]) if len(right) > 1 else (*stack, *left[-2:-1])


def _contract(a: Size, b: Size, call: Call) -> None:
    if not same(a, b, call.facts):
        raise CannotInfer(f"{call.name} contracts lengths {a} and {b}")


def _dot(call: Call) -> Shape:
    left, right = call.shape(0, "a"), call.shape(1, "b")
    if not left or not right:
        return left or right
    _contract(left[-1], right[-2] if len(right) > 1 else right[0], call)
    return (*left[:-1], *right[:-2], *right[-1:]) if len(right) > 1 else left[:-1]


def _vdot(call: Call) -> Shape:
    _contract(count(call.shape(0, "a")), count(call.shape(1, "b")), call)
    return ()


def _vecdot(call: Call) -> Shape:
    left, right = call.shape(0, "x1"), call.shape(1, "x2")
    if not left or not right:
        raise CannotInfer("vecdot of a scalar")
    _contract(left[-1], right[-1], call)
    return broadcast([left[:-1], right[:-1]], call.facts)


def _matvec(call: Call) -> Shape:
    left, right = call.shape(0, "x1"), call.shape(1, "x2")
    if len(left) < 2 or not right:
        raise CannotInfer("matvec takes a matrix and a vector")
    _contract(left[-1], right[-1], call)
    return (*broadcast([left[:-2], right[:-1]], call.facts), left[-2])


def _vecmat(call: Call) -> Shape:
    left, right = call.shape(0, "x1"), call.shape(1, "x2")
    if len(right) < 2 or not left:
        raise CannotInfer("vecmat takes a vector and a matrix")
    _contract(left[-1], right[-2], call)
    return (*broadcast([left[:-1], right[:-2]], call.facts), right[-1])


def _inner(call: Call) -> Shape:
    left, right = call.shape(0, "a"), call.shape(1, "b")
    if not left or not right:
        return left or right
    _contract(left[-1], right[-1], call)
    return (*left[:-1], *right[:-1])


def _outer(call: Call) -> Shape:
    return (count(call.shape(0, "a")), count(call.shape(1, "b")))


def _ufunc_outer(call: Call) -> Shape:
    return (*call.shape(0, "A"), *call.shape(1, "B"))


def _accumulated(call: Call) -> Shape:
    shape = call.shape(0, "array")
    the_axis(call.constant(1, "axis", 0), len(shape))
    return shape


def _sections(call: Call) -> Shape:
    """`ufunc.reduceat`: one result for each place where a section begins."""
    shape, places = call.shape(0, "array"), call.shape(1, "indices")
    axis = the_axis(call.constant(2, "axis", 0), len(shape))
    if len(places) != 1:
        raise CannotInfer(f"{call.name} at other places than a vector")
    return (*shape[:axis], places[0], *shape[axis + 1 :])


def _reduced_by_ufunc(call: Call) -> Shape:
    kept = bool(call.constant(4, "keepdims", default=False))
    return reduced(call.shape(0, "array"), call.constant(1, "axis", 0), kept)


def _searchsorted(call: Call) -> Shape:
    return call.shape(1, "v")


def _take(call: Call) -> Shape:
    source, where = call.shape(0, "a"), call.shape(1, "indices")
    axis = call.constant(2, "axis")
    if axis is None:
        return where
    axis = the_axis(axis, len(source))
    return (*source[:axis], *where, *source[axis + 1 :])


def _repeat(call: Call) -> Shape:
    source, axis = call.shape(0, "a"), call.constant(2, "axis")
    given = call.argument(1, "repeats")
    if given is not None and nested_shape(given, call.name, call.facts):
        if axis is None and len(source) == 1:
            return (call.made(),)
        raise CannotInfer(f"{call.name} of more than a vector")
    repeats = call.size(1, "repeats")
    if axis is None:
        return (count(source) * repeats,)
    axis = the_axis(axis, len(source))
    return (*source[:axis], source[axis] * repeats, *source[axis + 1 :])


def _diagonal_axes(call: Call) -> tuple[Shape, Size, Size, Any]:
    shape = call.shape(0, "a")
    offset = call.constant(1, "offset", 0)
    pair = (call.constant(2, "axis1", 0), call.constant(3, "axis2", 1))
    one, two = normalised_axes(pair, len(shape))
    rest = tuple(length for place, length in enumerate(shape) if place not in (one, two))
    return rest, shape[one], shape[two], offset


def _trace(call: Call) -> Shape:
    return _diagonal_axes(call)[0]


def _matrices(call: Call) -> Shape:
    shape = call.shape(0, "a")
    if len(shape) < 2:
        raise CannotInfer(f"{call.name} takes a matrix")
    return shape


def _inverse(call: Call) -> Shape:
    shape = _matrices(call)
    _contract(shape[-1], shape[-2], call)
    return shape


def _determinant(call: Call) -> Shape:
    return _inverse(call)[:-2]


def _determinants(call: Call) -> Shapes:
    """Signs, and logarithms."""
    return [_determinant(call)] * 2


def _eigenvalues(call: Call) -> Shape:
    call.argument(1, "UPLO")
    return _inverse(call)[:-1]


def _eigenvectors(call: Call) -> Shapes:
    call.argument(1, "UPLO")
    return [_inverse(call)[:-1], _inverse(call)]


def _inverted(call: Call) -> Shape:
    """The pseudo-inverse, also of matrices that are not square."""
    shape = _matrices(call)
    call.argument(1, "rcond")
    call.argument(2, "hermitian")
    call.argument(BY_NAME, "rtol")
    return (*shape[:-2], shape[-1], shape[-2])


def _cholesky(call: Call) -> Shape:
    return _inverse(call)


def _solve(call: Call) -> Shape:
    matrix, right = _inverse(call), call.shape(1, "b")
    if not right:
        raise CannotInfer("solve of a scalar")
    if len(right) == 1:
        _contract(matrix[-1], right[0], call)
        return (*matrix[:-2], matrix[-1])
    _contract(matrix[-1], right[-2], call)
    return (*broadcast([matrix[:-2], right[:-2]], call.facts), *right[-2:])


def _shortest(call: Call) -> tuple[Shape, Size, Size, Size]:
    """Of a stack of matrices: the shape of the stack, their rows and columns, and the lesser of the two."""
    shape = _matrices(call)
    rows, columns = shape[-2:]
    return shape[:-2], rows, columns, rows if call.facts.at_most(rows, columns) else columns


def _singular(call: Call) -> Shapes:
    """Of matrices: left vectors, values and right vectors, or values alone."""
    if call.constant(3, "hermitian", default=False):
        raise CannotInfer(f"{call.name} with hermitian=")
    stack, rows, columns, least = _shortest(call)
    whole = call.constant(1, "full_matrices", default=True)
    if not call.constant(2, "compute_uv", default=True):
        return (*stack, least)
    left, right = (rows, columns) if whole else (least, least)
    return [(*stack, rows, left), (*stack, least), (*stack, right, columns)]


def _orthogonal(call: Call) -> Shapes:
    """Of matrices: one with orthogonal columns and a triangular one, or this alone."""
    mode = call.constant(1, "mode", "reduced")
    stack, rows, columns, least = _shortest(call)
    if mode == "r":
        return (*stack, least, columns)
    if mode not in ("reduced", "complete"):
        raise CannotInfer(f"{call.name} in this mode")
    between = least if mode == "reduced" else rows
    return [(*stack, rows, between), (*stack, between, columns)]


def _norm(call: Call) -> Shape:
    shape, axis = call.shape(0, "x"), call.constant(2, "axis")
    kept = bool(call.constant(3, "keepdims", default=False))
    return reduced(shape, axis, kept)


def _arange(call: Call) -> Shape:
    """Whole steps only: the length of a float range is a computation of its own."""
    given = [call.argument(place, name) for place, name in enumerate(("start", "stop", "step"))]
    alone = given[1] is None or (isinstance(given[1], Constant) and given[1].value is None)
    names: tuple[str, ...] = ("start",) if alone else ("start", "stop")
    if call.argument(2, "step") is not None:
        names += ("step",)
    places = {"start": 0, "stop": 1, "step": 2}
    if not all(_is_whole(given[places[name]]) for name in names):
        if call.sizes:
            return (call.made(),)
        return (_length_of_known([given[places[name]] for name in names], alone=alone),)
    values = {name: call.size(places[name], name) for name in names}
    start, stop = (0, values["start"]) if alone else (values["start"], values["stop"])
    step = values.get("step", 1)
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int) and step != 0:
        return (max(0, -((start - stop) // step)),)  # range() has no length beyond 64 bits
    if not isinstance(step, int) or step == 0:
        raise CannotInfer("the length of this range is not known")
    # law: the tracer has shown that this is not negative
    distance = (stop - start) if step > 0 else (start - stop)
    return (divide("//", distance + (abs(step) - 1), abs(step)),)


def _length_of_known(given: list[Argument | None], *, alone: bool) -> int:
    """How many steps a range of known floats has, as NumPy counts them."""
    known = [one.value for one in given if isinstance(one, Constant)]
    if len(known) != len(given) or not all(type(one) in (int, float) for one in known):
        raise CannotInfer("the length of this range is not known")
    start, stop, step = (*([0] if alone else []), *known, 1)[:3]
    if step == 0 or not abs(stop - start) < MOST_STEPS * abs(step):
        raise CannotInfer("the length of this range is not known")
    return int(np.arange(start, stop, step).size)


def _is_whole(argument: Argument | None) -> bool:
    if isinstance(argument, Constant):
        return type(argument.value) is int
    return isinstance(argument, NumberType) and argument.value is not None


def _as_x(call: Call) -> Shape:
    return call.shape(0, "x")


def _of_number(call: Call) -> Shape:
    if call.shape(0, "val"):
        raise CannotInfer(f"{call.name} of an array is a view")
    return ()


def _scalar(call: Call) -> Shape:
    if not all(length == 1 for length in call.shape(0, "a")):
        raise CannotInfer("item of an array with several elements")
    return ()


def _array(call: Call) -> Shape:
    """np.array of an array, a number, or nested lists of these."""
    found = call.argument(0, "object")
    if found is None:
        raise CannotInfer(f"{call.name} of nothing")
    if isinstance(found, NumberType) and found.kind == "int" and found.value is None:
        raise CannotInfer("a whole number may be too large for 64 bits")
    return nested_shape(found, call.name, call.facts)


def _linspace(call: Call) -> Shape:
    number = call.size(2, "num") if call.argument(2, "num") is not None else 50
    call.argument(3, "endpoint")
    if call.constant(4, "retstep", default=False) or call.constant(6, "axis", 0) != 0:
        raise CannotInfer(f"{call.name} with retstep= or axis=")
    return (number, *broadcast([call.shape(0, "start"), call.shape(1, "stop")], call.facts))


def _close(call: Call) -> Shape:
    for place, name in ((2, "rtol"), (3, "atol")):
        if call.argument(place, name) is not None and call.shape(place, name):
            raise CannotInfer(f"{name} of {call.name} is an array")
    call.argument(4, "equal_nan")
    return broadcast([call.shape(0, "a"), call.shape(1, "b")], call.facts)


def _one_answer(call: Call) -> Shape:
    """Of a comparison of two arrays as a whole."""
    if call.name == "numpy.allclose":
        _close(call)
    call.shape(0, "a1" if call.name == "numpy.array_equal" else "a")
    call.argument(2, "equal_nan")
    return ()


def _finite(call: Call) -> Shape:
    if not call.constant(1, "copy", default=True):
        raise CannotInfer(f"{call.name} with copy=False")
    for place, name in enumerate(("nan", "posinf", "neginf"), 2):
        call.argument(place, name)
    return call.shape(0, "x")


def _rolled(call: Call) -> Shape:
    call.argument(1, "shift")
    call.argument(2, "axis")
    return call.shape(0, "a")


def _bins(call: Call) -> Shape:
    call.argument(1, "bins")
    call.argument(2, "right")
    return call.shape(0, "x")


def _partitioned(call: Call) -> Shape:
    given = call.argument(1, "kth")
    places = given.value if isinstance(given, Constant) else None
    if not isinstance(places, list | tuple) or not all(type(one) is int for one in places):
        call.size(1, "kth")
    return _flat(call) if call.constant(2, "axis", -1) is None else _same(call)


# fmt: off
CALLS: dict[str, Rule] = {
    # products
    "numpy.matmul":            Rule(_matmul, fails=False),
    "numpy.dot":               Rule(_dot, fails=False, lists=(0, 1)),
    "numpy.ndarray.dot":       Rule(_dot, fails=False),
    "numpy.vdot":              Rule(_vdot, fails=False, lists=(0, 1)),
    "numpy.vecdot":            Rule(_vecdot, fails=False),
    "numpy.matvec":            Rule(_matvec, fails=False),
    "numpy.vecmat":            Rule(_vecmat, fails=False),
    "numpy.inner":             Rule(_inner, fails=False, lists=(0, 1)),
    "numpy.outer":             Rule(_outer, fails=False),
    # several results
    "numpy.divmod":            Rule(_broadcast_twice),
    "numpy.modf":              Rule(_broadcast_twice),
    "numpy.frexp":             Rule(_broadcast_twice),
    # running sums
    "numpy.cumsum":            Rule(_along(1), fails=False),
    "numpy.cumprod":           Rule(_along(1), fails=False),
    "numpy.ndarray.cumsum":    Rule(_along(1), fails=False),
    "numpy.ndarray.cumprod":   Rule(_along(1), fails=False),
    # places and order
    "numpy.argmax":            Rule(over(3)),
    "numpy.argmin":            Rule(over(3)),
    "numpy.ndarray.argmax":    Rule(over(3)),
    "numpy.ndarray.argmin":    Rule(over(3)),
    "numpy.sort":              Rule(_sorted, fails=False),
    "numpy.argsort":           Rule(_sorted, fails=False),
    "numpy.ndarray.argsort":   Rule(_sorted, fails=False),
    "numpy.ndarray.sort":      Rule(_same, writes=True),
    "numpy.ndarray.partition": Rule(_same, writes=True),
    "numpy.ndarray.fill":      Rule(_same, writes=True),
    "numpy.searchsorted":      Rule(_searchsorted, lists=(0, 1, "v")),
    "numpy.ndarray.searchsorted": Rule(_searchsorted),
    "numpy.interp":            Rule(_as_x, lists=(0, 1, 2)),
    # joining and choosing
    "numpy.take":              Rule(_take, fill=("one", "zero")),
    "numpy.ndarray.take":      Rule(_take, fill=("one", "zero")),
    "numpy.repeat":            Rule(_repeat, counts=(1, 2), makes=True, lists=(1, "repeats")),
    "numpy.ndarray.repeat":    Rule(_repeat, counts=(1, 2), makes=True),
    "numpy.clip":              Rule(_broadcast),
    "numpy.ndarray.clip":      Rule(_broadcast),
    "numpy.round":             Rule(_same),
    "numpy.ndarray.round":     Rule(_same),
    "numpy.generic.round":     Rule(_same),
    "numpy.arange":            Rule(_arange, counts=(0, 3)),
    "numpy.array":             Rule(_array),
    "numpy.linspace":          Rule(_linspace, counts=(2, 3)),
    "numpy.roll":              Rule(_rolled),
    "numpy.partition":         Rule(_partitioned, counts=(1, 2), keys=(1,)),
    "numpy.argpartition":      Rule(_partitioned, counts=(1, 2), keys=(1,)),
    "numpy.ndarray.argpartition": Rule(_partitioned, counts=(1, 2), keys=(1,)),
    "numpy.nan_to_num":        Rule(_finite),
    "numpy.i0":                Rule(_as_x),
    "numpy.digitize":          Rule(_bins),
    # the flat and the diagonal
    "numpy.ndarray.flatten":   Rule(_flat, fails=False),
    "numpy.trace":             Rule(_trace),
    "numpy.ndarray.trace":     Rule(_trace),
    "numpy.ndarray.item":      Rule(_scalar),
    "numpy.ndarray.conjugate": Rule(_same, fails=False),
    "numpy.ndarray.conj":      Rule(_same, fails=False),
    "numpy.ndarray.byteswap":  Rule(_same),
    # reductions that are computed whole
    "numpy.ndarray.mean":      Rule(over(4)),
    "numpy.ndarray.var":       Rule(over(5)),
    "numpy.ndarray.std":       Rule(over(5)),
    "numpy.mean":              Rule(over(4)),
    "numpy.var":               Rule(over(5)),
    "numpy.std":               Rule(over(5)),
    "numpy.median":            Rule(over(4, 3)),
    "numpy.ptp":               Rule(over(3)),
    "numpy.percentile":        Rule(quantile),
    "numpy.quantile":          Rule(quantile),
    "numpy.sum":               Rule(_chosen(4)),
    "numpy.prod":              Rule(_chosen(4)),
    "numpy.max":               Rule(_chosen(3)),
    "numpy.min":               Rule(_chosen(3)),
    "numpy.any":               Rule(_chosen(3)),
    "numpy.all":               Rule(_chosen(3)),
    "numpy.count_nonzero":     Rule(over(9), fails=False),
    # comparisons as a whole
    # parts of complex numbers, of arrays they are views
    "numpy.real._implementation": Rule(_of_number, fails=False),
    "numpy.imag._implementation": Rule(_of_number, fails=False),
    "numpy.isclose":           Rule(_close),
    "numpy.allclose":          Rule(_one_answer),
    "numpy.array_equal":       Rule(_one_answer, fails=False),
    # linear algebra
    "numpy.linalg.inv":        Rule(_inverse, fill=("eye",)),
    "numpy.linalg.det":        Rule(_determinant, fill=("eye",)),
    "numpy.linalg.cholesky":   Rule(_cholesky, fill=("eye",)),
    "numpy.linalg.solve":      Rule(_solve, fill=("eye",)),
    "numpy.linalg.norm":       Rule(_norm),
    "numpy.linalg.slogdet":    Rule(_determinants, fill=("eye",)),
    "numpy.linalg.eigvalsh":   Rule(_eigenvalues, fill=("eye",)),
    "numpy.linalg.eigh":       Rule(_eigenvectors, fill=("eye",)),
    "numpy.linalg.pinv":       Rule(_inverted, fill=("eye",)),
    "numpy.linalg.svd":        Rule(_singular, fill=("eye",)),
    "numpy.linalg.qr":         Rule(_orthogonal, fill=("eye",)),
    **ANALYSIS,
    **ARRANGING,
    **COUNTING,
    **GATHERING,
    **DRAWING,
    **ELEMENTARY,
    **MATRICES,
    **MISSING,
}
REFUSED: dict[str, str] = {
    "numpy.diagonal":        "its result is a view that cannot be written",
    "numpy.ndarray.diagonal": "its result is a view that cannot be written",
    "numpy.ndarray.tolist":  "its result is a list",
    "numpy.ndarray.tobytes": "its result is bytes",
    "numpy.ndarray.resize":  "it moves the array's memory",
}
# fmt: on
COUNTS = {
    "repeats",
    "start",
    "stop",
    "step",
    "num",
    "kth",
    "n",
    "deg",
}  # keywords that say how much memory a result takes
NO_MATTER = {  # keywords that change no shape
    "dtype", "casting", "order", "kind", "mode", "side", "sorter", "decimals", "ddof", "correction", "where", "initial",
    "left", "right", "period", "ord", "overwrite_input", "device", "stable",
}  # fmt: skip
METHODS = {  # of ufuncs
    "accumulate": Rule(_accumulated),
    "outer": Rule(_ufunc_outer),
    "reduce": Rule(_reduced_by_ufunc),
    "at": Rule(put, fill=("one", "zero"), keys=(1,), writes=True),
    "reduceat": Rule(_sections, fill=("one", "zero"), lists=(1,)),
}


@lru_cache(maxsize=1024)
def function_named(name: str) -> Callable[..., Any]:
    """The function of a dotted name: `numpy.add.accumulate`, `numpy.ndarray.sort`.

    One whose Python code may warn raises instead.

    Raises:
        CannotInfer: there is none.

    """
    words = name.split(".")
    try:
        found: Any = __import__(words[0])
        for word in words[1:]:
            found = getattr(found, word)
    except (ImportError, AttributeError):
        raise CannotInfer(f"there is no function {name}") from None
    if not callable(found):
        raise CannotInfer(f"{name} is not a function")
    if name in CALLS and CALLS[name].warns:
        found = raising(found)
    return found  # type: ignore[no-any-return]


@lru_cache(maxsize=1024)
def takes_output(name: str) -> bool:
    """Whether a function has an argument `out`, as its signature or the first lines of its docstring say."""
    try:
        function = function_named(name)
    except CannotInfer:
        return False
    try:
        return "out" in signature(function).parameters
    except ValueError:  # written in C: before NumPy 2.4 only docstrings tell
        return "out=None" in (function.__doc__ or "").partition("\n\n")[0]


def makes_length(name: str) -> bool:
    """Whether values decide how long the result of a function is."""
    return name in CALLS and CALLS[name].makes


def may_fail(name: str) -> bool:
    """Whether a call of a function, with operands that have a type, may raise."""
    return name not in CALLS or CALLS[name].fails


def rule_for(name: str) -> Rule:
    """The row of a function.

    Raises:
        CannotInfer: it has none; the text says why.

    """
    if name in REFUSED:
        raise CannotInfer(f"{name}: {REFUSED[name]}")
    if name in CALLS:
        return CALLS[name]
    parent, _, method = name.rpartition(".")
    if method in METHODS and isinstance(function_named(parent), np.ufunc):
        return METHODS[method]
    raise CannotInfer(f"no rule for {name}")
