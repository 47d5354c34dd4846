"""The type of what a call of CuPy's own function or method gives.

Where NumPy has a row for the function, shape and dtype follow from that, for the dtypes of which CuPy's are the same;
results are new memory in C order. Each run compares: what is otherwise is thrown away, and plain Python runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record
from ufuse.graph.size import symbol
from ufuse.graph.types import ArrayType, NothingType, NumberType, TupleType, Type, c_order
from ufuse.graph.typing.call import Argument, Sequenced, shape_of
from ufuse.graph.typing.call_types import bound, call_type
from ufuse.graph.typing.counting import LENGTH
from ufuse.graph.typing.device_draws import RANDOM
from ufuse.graph.typing.device_launches import LAUNCH, WAITS
from ufuse.graph.typing.device_streams import type_of as type_about_streams
from ufuse.graph.typing.library import CUDA, IMAGES, LABEL, cupy
from ufuse.graph.typing.sample import CannotInfer, Constant, Facts, Operand, checked_dtype
from ufuse.graph.typing.shapes import (
    Shape,
    broadcast,
    is_c_like,
    is_f_like,
    normalised_axes,
    reduced,
    same,
    why_not_stored,
)

Attributes = Mapping[str, Any]

DEVICE_METHOD = "cupy.ndarray."  # what names of methods begin with
DEVICE_FUNCTION = "cupy."  # those of functions
KERNEL = "cupy.kernel."  # those of elementwise kernels that are objects
UFUNC = "cupy.ufunc."  # those of elementwise functions that are called with numbers alone
GETITEM, SETITEM = "cupy.ndarray.__getitem__", "cupy.ndarray.__setitem__"
TAKE = DEVICE_METHOD + "take"
PICKING = frozenset((GETITEM, TAKE))
SORT = "cupy.ndarray.sort"
# At these the host waits: the only element as Python's number, and all of them as an array of NumPy's.
READ, GET = DEVICE_METHOD + "item", DEVICE_METHOD + "get"
HOST_ITEM = "numpy.ndarray.item"
PUT, AT = "cupy.ndarray.put", "cupy.at."
# What writes all of an array that is its first argument; `at` of an elementwise function with the dtypes of its atoms.
ATOMIC = {"add": "iIlLfd", "subtract": "iI", "maximum": "iIlLfd", "minimum": "iIlLfd"}
WRITING = (SORT, PUT, *(AT + name for name in ATOMIC))
NONZERO = "_core._routines_indexing._ndarray_argwhere"
TENSORDOT = "_core._routines_linalg.tensordot_core"
PYTHONS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
EVERY, NUMBERS, REAL, INEXACT = "?bBhHiIlLfdFD", "bBhHiIlLfdFD", "bBhHiIlLfd", "fdFD"


@record
class Row:
    """A function whose result is as NumPy's.

    Attributes:
        dtypes: of arrays that it is given, for which that is so.
        numpys: NumPy's name, where it is not the same.
        made: a dtype that is CuPy's, not NumPy's.
        alike: whether arrays must have one dtype.
        ordered: whether the result takes over an order of memory, so that it is C order where the array's is.
        layout: whether the result is known to be in C order.

    """

    dtypes: str
    numpys: str = ""
    made: str = ""
    alike: bool = False
    ordered: bool = False
    layout: bool = True


# fmt: off
ROWS: dict[str, Row] = {
    # of numbers
    "arange":             Row(""),
    "linspace":           Row(""),
    "array":              Row(EVERY),
    # products
    "matmul":             Row(EVERY),
    "dot":                Row(EVERY),
    "einsum":             Row(INEXACT, alike=True, layout=False),
    "trace":              Row(REAL),
    # order
    "sort":               Row(REAL),
    "argsort":            Row(REAL),
    "partition":          Row(REAL),
    "argpartition":       Row(REAL),
    "searchsorted":       Row(REAL),
    "digitize":           Row(REAL),
    "convolve":           Row("fd", alike=True),
    # transforms
    "fft.fft":            Row(NUMBERS, layout=False),
    "fft.ifft":           Row(NUMBERS, layout=False),
    "fft.rfft":           Row(REAL, layout=False),
    "fft.irfft":          Row(NUMBERS, layout=False),
    "fft.fft2":           Row(NUMBERS, layout=False),
    "fft.ifft2":          Row(NUMBERS, layout=False),
    "fft.fftn":           Row(NUMBERS, layout=False),
    "fft.ifftn":          Row(NUMBERS, layout=False),
    "fft.rfft2":          Row(REAL, layout=False),
    "fft.rfftn":          Row(REAL, layout=False),
    # solvers and decompositions, which CuPy's other functions of matrices call
    "linalg.solve":       Row(NUMBERS, layout=False),
    "linalg.inv":         Row(NUMBERS, layout=False),
    "linalg.cholesky":    Row(NUMBERS, layout=False),
    "linalg.qr":          Row(NUMBERS, layout=False),
    "linalg.svd":         Row(NUMBERS, layout=False),
    "linalg.eigh":        Row(NUMBERS, layout=False),
    "linalg.lstsq":       Row("fd", alike=True),
    "linalg.eigvalsh":    Row(NUMBERS),
    "linalg.slogdet":     Row(NUMBERS),
    # repeating and choosing
    "repeat":             Row(EVERY),
    "pad":                Row(EVERY, ordered=True),
    "isin":               Row(REAL),
    "interp":             Row(REAL),
    "nan_to_num":         Row("fd"),
    # statistics
    "median":             Row(REAL),
    "percentile":         Row("fd"),
    "quantile":           Row("fd"),
    "average":            Row("fd", alike=True),
    "cov":                Row("fd", alike=True),
    "corrcoef":           Row("fd", alike=True),
    "ptp":                Row(REAL),
    "bincount":           Row(REAL),
    "unique":             Row(REAL),
    "histogram":          Row(REAL),
    "histogram2d":        Row("d", layout=False),
    NONZERO:              Row(EVERY, numpys="numpy.argwhere"),
}
# fmt: on


# Fourier transforms whose order of memory is known: along which axes, and how their arguments are called.
ALONG = ("a", "n", "axis", "norm")
TRANSFORMS: dict[str, tuple[Any, tuple[str, ...]]] = {
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft"), (-1, ALONG)),
    **dict.fromkeys(("fft.fft2", "fft.ifft2"), ((-2, -1), ("a", "s", "axes", "norm"))),
    **dict.fromkeys(("fft.fftn", "fft.ifftn"), (None, ("a", "s", "axes", "norm"))),
}


def _summed_dtype(dtype: np.dtype) -> np.dtype:
    return cupy().reduced_dtype(ops.OPS["reduce_add"], dtype)


QUIET = frozenset(
    ("arange", "linspace", "matmul", "dot", "sort", "argsort", "trace", "nan_to_num", NONZERO)
)  # functions that raise for no values and no sizes that their types allow
SUMMED = ("sum", "prod", "mean")  # methods with a dtype in which they add, or multiply
SCANS = {"cumsum": ops.OPS["reduce_add"], "cumprod": ops.OPS["reduce_multiply"]}


def _mean_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype("f8") if dtype.kind in "biu" else dtype


# fmt: off
STATISTICS: dict[str, Callable[[np.dtype], np.dtype]] = {
    "mean":   _mean_dtype,
    "var":    lambda dtype: _mean_dtype(dtype.type(0).real.dtype),
    "std":    lambda dtype: _mean_dtype(dtype.type(0).real.dtype),
    "argmax": lambda dtype: np.dtype("i8"),  # noqa: ARG005
    "argmin": lambda dtype: np.dtype("i8"),  # noqa: ARG005
}
# Functions of an array, an axis and `keepdims` that give one number for each part.
REDUCERS: dict[str, Callable[[np.dtype], np.dtype]] = {
    "nansum":        _summed_dtype,
    "nanprod":       _summed_dtype,
    "nanmean":       _mean_dtype,
    "nanvar":        STATISTICS["var"],
    "nanstd":        STATISTICS["std"],
    "nanmedian":     _mean_dtype,
    "count_nonzero": lambda dtype: np.dtype("i8"),  # noqa: ARG005
}
# fmt: on


def type_on_device(inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    """The type of a CALL node of CuPy's.

    Raises:
        CannotInfer: no rule predicts it.

    """
    name = attributes["function"]
    if name == LENGTH:
        return NumberType("int", _array(inputs[0]).shape[0])
    about_streams = type_about_streams(name)
    if about_streams is not None:
        return about_streams
    if name.startswith(RANDOM):
        drawn = "dtype" in attributes
        return fresh(attributes["dtype"], attributes["shape"]) if drawn else NothingType()
    if name in WAITS:
        return NothingType()
    if name.startswith(LAUNCH):
        written = (_array(inputs[place]) for place in attributes["writes"])
        return TupleType((NothingType(), *written))
    if name == READ:
        return NumberType(PYTHONS[_array(inputs[0]).dtype.kind])
    if name == GET:
        type_ = _array(inputs[0])
        return ArrayType(checked_dtype(type_.dtype), type_.shape, c_order(type_.ndim))
    if name == GETITEM:
        return _gathered(inputs, attributes, facts)
    if name == SETITEM or name.startswith(AT):
        return _scattered(inputs, attributes, facts)
    if name in WRITING:
        return TupleType((NothingType(), _array(inputs[0])))
    if not name.startswith(DEVICE_METHOD):
        return _function_on_device(inputs, attributes, facts)
    return _method_on_device(name.removeprefix(DEVICE_METHOD), inputs, attributes)


def is_read(node: Node) -> bool:
    """Whether a node is a number that the host has waited for."""
    return node.op is ops.CALL and node.attributes["function"] == READ


def is_fetched(node: Node) -> bool:
    """Whether a node is NumPy's array with what the host has waited for, or a view of it."""
    while node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node.op is ops.CALL and node.attributes["function"] == GET


def always_fits(node: Node, dtype: np.dtype) -> bool:
    """Whether a number that a graph computes goes into a dtype whatever its value is."""
    if isinstance(node.type, ArrayType):
        return np.can_cast(node.type.dtype, dtype, "safe")
    if isinstance(node.type, NumberType):
        if node.type.kind == "bool" or (node.type.kind == "float" and dtype.char in "dD"):
            return True
    if node.op is ops.SCALAR and node.attributes["operator"] == "float":
        (node,) = node.inputs
    is_whole = isinstance(node.type, NumberType) and node.type.kind == "int"
    if is_whole and (node.op is ops.SIZE or is_read(node)) and dtype.char in "fdFD":
        return True  # it has 64 bits
    if not is_read(node):
        return False
    return np.can_cast(_array(node.inputs[0].type).dtype, dtype, "safe")


def may_fail(name: str, first: Operand | None = None) -> bool:
    """Whether a call of CuPy's may raise for operands that have a type; `first` is the first of them."""
    if name in PICKING:  # from nothing, which the trace has looked at
        return not isinstance(first, ArrayType) or 0 in first.shape
    name = name.removeprefix(DEVICE_FUNCTION)
    return name in ROWS and name not in QUIET


def _array(operand: Operand) -> ArrayType:
    type_ = _type(operand)
    if not isinstance(type_, ArrayType):
        raise CannotInfer("an operand is not an array")
    return type_


def _type(operand: Operand) -> Type:
    return operand.type if isinstance(operand, Constant) else operand


def fresh(dtype: np.dtype, shape: Shape) -> ArrayType:
    """New memory in C order."""
    return ArrayType(checked_dtype(dtype), shape, c_order(len(shape)), device=CUDA)


# Methods


def _method_on_device(name: str, inputs: tuple[Operand, ...], attributes: Attributes) -> ArrayType:
    type_ = _array(inputs[0])
    given = {key: value for key, (_, value) in attributes["keywords"]}
    axis = given.get("axis")
    if name == "take":
        return _taken_on_device(type_, _array(inputs[1]), axis)
    if name in ("reshape", "flatten", "ravel"):  # one that copies
        return fresh(type_.dtype, tuple(attributes["shape"]))
    if name == "astype":
        wanted = checked_dtype(np.dtype(given["dtype"]))
        if not is_f_like(type_) or (type_.dtype.kind == "c" and wanted.kind != "c"):
            raise CannotInfer("a cast of an array in another order, or to real numbers")
        order = tuple(reversed(range(type_.ndim)))
        return ArrayType(wanted, type_.shape, order, device=CUDA)
    if name in SCANS:
        dtype = cupy().reduced_dtype(SCANS[name], type_.dtype)
        if axis is None:
            return fresh(dtype, (math.prod(type_.shape),))
        normalised_axes(axis, type_.ndim)
        made = fresh(dtype, type_.shape)
        return made if is_c_like(type_) else replace(made, order=None, contiguous=False)
    if name in SUMMED and given.get("dtype") is not None:
        dtype = checked_dtype(np.dtype(given["dtype"]))
        if type_.dtype.kind == "c" and dtype.kind != "c":
            raise CannotInfer("a cast that discards the imaginary part warns")
        return reduced_on_device(type_, dtype, axis, given.get("keepdims"))
    if name not in STATISTICS or attributes["arguments"] != (0,):
        raise CannotInfer(f"{attributes['function']} is left to CuPy")
    dtype = STATISTICS[name](checked_dtype(type_.dtype))
    return reduced_on_device(type_, dtype, axis, given.get("keepdims"))


def reduced_on_device(type_: ArrayType, dtype: np.dtype, axis: Any, keepdims: Any) -> ArrayType:
    """One number for each part of an array."""
    normalised_axes(axis, type_.ndim)
    return fresh(dtype, reduced(type_.shape, axis, bool(keepdims)))


def _taken_on_device(type_: ArrayType, places: ArrayType, axis: int | None) -> ArrayType:
    if places.dtype.kind not in "iu" or not places.ndim:
        raise CannotInfer("CuPy takes elements by an array of whole numbers")
    if axis is None:
        return fresh(type_.dtype, places.shape)
    (place,) = normalised_axes(axis, type_.ndim)
    return fresh(type_.dtype, (*type_.shape[:place], *places.shape, *type_.shape[place + 1 :]))


# Functions


def row_of(name: str) -> Row:
    """The row of a function.

    Raises:
        CannotInfer: it has none.

    """
    row = ROWS.get(name.removeprefix(DEVICE_FUNCTION))
    if row is None:
        raise CannotInfer(f"{name} is left to CuPy")
    return row


def _function_on_device(inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> Type:
    name = attributes["function"]
    if name.startswith(KERNEL):
        return _kernel_on_device(name.removeprefix(KERNEL), inputs, attributes, facts)
    if name.startswith(UFUNC):
        op = cupy().row_named(name.removeprefix(UFUNC))
        if op is None:
            raise CannotInfer(f"there is no {name}")
        return fresh(cupy().routine_of(op, inputs).dtypes[-1], ())
    if name == DEVICE_FUNCTION + TENSORDOT:
        dtypes = {_array(one).dtype for one in inputs if isinstance(_type(one), ArrayType)}
        if len(dtypes) > 1:
            raise CannotInfer("a product of two dtypes")
        return fresh(dtypes.pop(), tuple(attributes["shape"]))
    if name == LABEL:
        image = _array(inputs[0])
        if image.dtype.kind not in "biuf":
            raise CannotInfer("CuPy raises here: TypeError: Complex type not supported")
        return TupleType((fresh(np.dtype("i4"), image.shape), NumberType("int")))
    if name.startswith(IMAGES):
        return _filtered(name, inputs, attributes)
    if "shape" in attributes:
        return _transformed(name.rpartition(".")[2], _array(inputs[0]), tuple(attributes["shape"]))
    if name.removeprefix(DEVICE_FUNCTION) in REDUCERS:
        return _reducer_on_device(name.removeprefix(DEVICE_FUNCTION), inputs, attributes)
    row = row_of(name)
    kinds = [type_ for one in inputs if isinstance(type_ := _type(one), ArrayType)]
    if any(type_.dtype.char not in row.dtypes for type_ in kinds):
        raise CannotInfer("CuPy has other rules for these dtypes")
    if row.alike and len({type_.dtype for type_ in kinds}) > 1:
        raise CannotInfer("CuPy has other rules for several dtypes")
    if row.ordered and not all(map(is_c_like, kinds)):
        raise CannotInfer("the result of an array that is not in C order")
    numpys = numpys_name(name.removeprefix(DEVICE_FUNCTION))
    on_host = tuple(map(_on_host, inputs))
    made = call_type(on_host, {**attributes, "function": numpys}, facts)
    in_order = row.layout or _is_transformed_in_order(name, kinds[:1], attributes)
    if isinstance(made, TupleType):
        return TupleType(tuple(_sent(one, row, in_order) for one in made.items))
    if name == DEVICE_FUNCTION + "array" and isinstance(made, ArrayType) and not is_c_like(made):
        raise CannotInfer("what is sent keeps its order of memory")
    return _sent(made, row, in_order)


def _is_transformed_in_order(name: str, given: list[ArrayType], attributes: Attributes) -> bool:
    """Whether a Fourier transform is in C order: the last axis is transformed, and last.

    Of several axes cuFFT may do all at once, and then keeps the order of what it takes.
    """
    name = name.removeprefix(DEVICE_FUNCTION)
    if name not in TRANSFORMS or not given:
        return False
    along, names = TRANSFORMS[name]
    named = dict(zip(names, attributes["arguments"], strict=False)) | dict(attributes["keywords"])
    axes = named.get(names[2], ("const", along))
    if not isinstance(axes, tuple) or axes[0] != "const":
        return False
    last = axes[1] if names[2] == "axis" else (axes[1] or (-1,))[-1]
    return last in (-1, given[0].ndim - 1) and (names[2] == "axis" or is_c_like(given[0]))


def _transformed(name: str, given: ArrayType, shape: Shape) -> ArrayType:
    """What a Fourier transform gives, of a shape that is known, in an order of memory that is not."""
    if given.dtype.char not in (REAL if name.startswith("rfft") else NUMBERS):
        raise CannotInfer("CuPy has other rules for these dtypes")
    kinds = "fd" if name.startswith("irfft") else "FD"
    made = fresh(np.dtype(kinds[given.dtype.char not in "fF"]), shape)
    return made if made.ndim < 2 else replace(made, order=None, contiguous=False)


def _filtered(name: str, inputs: tuple[Operand, ...], attributes: Attributes) -> ArrayType:
    """What a filter gives: an array of the shape and dtype of the one that it filters, or booleans.

    What is resampled has another shape.
    """
    image, *others = [one for one in map(_type, inputs) if isinstance(one, ArrayType)]
    if image.dtype.char not in EVERY or any(one.dtype.kind == "c" for one in others):
        raise CannotInfer("CuPy has other rules for these dtypes")
    if "shape" in attributes:
        if image.dtype.char not in NUMBERS:
            raise CannotInfer("CuPy has other rules for booleans")
        return fresh(image.dtype, tuple(attributes["shape"]))
    if ".binary_" not in name:
        return fresh(image.dtype, image.shape)
    if not is_c_like(image):
        raise CannotInfer("the result of an array that is not in C order")
    return fresh(np.dtype(bool), image.shape)


def _reduction_on_device(
    kernel: Any, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> ArrayType:
    """What a `ReductionKernel` gives: its operands are broadcast, then reduced."""
    if any(one.raw for one in (*kernel.in_params, *kernel.out_params)):
        raise CannotInfer(f"{kernel.name} of raw arrays")
    arrays = [_array(one) for one in inputs]
    try:
        dtypes = tuple(checked_dtype(one.dtype).type for one in arrays)
        found = cupy().dtypes_of_kernel(kernel.in_params, kernel.out_params, dtypes, ())
    except (TypeError, ValueError) as error:
        raise CannotInfer(f"CuPy raises here: {error}") from None
    shape = broadcast([one.shape for one in arrays], facts)
    given = {key: value for key, (_, value) in attributes["keywords"]}
    normalised_axes(given["axis"], len(shape))
    return fresh(np.dtype(found[1][0]), reduced(shape, given["axis"], given["keepdims"]))


def _kernel_on_device(
    name: str, inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts
) -> Type:
    """What an `ElementwiseKernel` gives: CuPy is asked for dtypes, and arrays that are not `raw` are broadcast."""
    kernel, types = cupy().kernel_named(name), list(map(_type, inputs))
    if isinstance(kernel, cupy().own_reduction):
        return _reduction_on_device(kernel, inputs, attributes, facts)
    if isinstance(kernel, cupy().ufunc):
        wanted = dict(attributes["keywords"]).get("dtype", ("const", None))[1]
        shape = broadcast([shape_of(one) for one in inputs], facts)
        several = [fresh(one, shape) for one in cupy().made_by(kernel, inputs, wanted)]
        return TupleType(tuple(several)) if len(several) > 1 else several[0]
    arrays = [one if isinstance(one, ArrayType) and not one.scalar else None for one in types]
    dtypes = tuple(None if one is None else checked_dtype(one.dtype) for one in arrays)
    try:
        found = kernel._decide_params_type(dtypes[: kernel.nin], dtypes[kernel.nin :])
    except (TypeError, ValueError) as error:
        raise CannotInfer(f"CuPy raises here: {error}") from None
    if any(
        one is None and given.dtype is None and np.dtype(dtype).kind not in "fc"
        for one, given, dtype in zip(dtypes, kernel.in_params, found[0], strict=False)
    ):
        raise CannotInfer("a number of a type that is not known")
    if attributes.get("writes"):
        written = arrays[-1]
        assert written is not None
        return TupleType((NothingType(), written))
    size = dict(attributes["keywords"]).get("size")
    given = zip(arrays, kernel.in_params, strict=True)
    shapes = [one.shape for one, param in given if one is not None and not param.raw]
    if (size is None) == (not shapes) or any(one.raw for one in kernel.out_params):
        raise CannotInfer(f"{kernel.name} over a number of elements that is not known")
    shape = broadcast(shapes, facts) if size is None else (size[1],)
    made = tuple(fresh(np.dtype(dtype), shape) for dtype in found[1])
    return TupleType(made) if len(made) > 1 or kernel.return_tuple else made[0]


def numpys_name(name: str) -> str:
    """The function of NumPy's whose row says what a function gives."""
    return ROWS[name].numpys or f"numpy.{name}"


def _reducer_on_device(name: str, inputs: tuple[Operand, ...], attributes: Attributes) -> ArrayType:
    type_ = _array(inputs[0])
    given = dict(zip(("a", "axis"), attributes["arguments"], strict=False))
    given |= dict(attributes["keywords"])
    if len(attributes["arguments"]) > 2 or set(given) - {"a", "axis", "keepdims"}:
        raise CannotInfer(f"cupy.{name} with these arguments")
    axis, keepdims = (given.get(key, ("const", None)) for key in ("axis", "keepdims"))
    if len(inputs) > 1 or isinstance(axis, int) or isinstance(keepdims, int):
        raise CannotInfer(f"cupy.{name} with an axis that is not known")
    if type_.dtype.kind not in "biuf" or type_.dtype.char == "e":
        raise CannotInfer("CuPy has other rules for these dtypes")
    made = REDUCERS[name](checked_dtype(type_.dtype))
    return reduced_on_device(type_, made, axis[1], keepdims[1])


def _on_host(operand: Operand) -> Operand:
    if isinstance(operand, ArrayType) and operand.device:
        return ArrayType(operand.dtype, operand.shape, c_order(operand.ndim))
    return operand


def _sent(made: Type, row: Row, in_order: bool) -> ArrayType:
    """What NumPy gives, as CuPy has it: numbers are arrays there."""
    if isinstance(made, NumberType):
        return fresh(np.dtype(made.kind), ())
    if not isinstance(made, ArrayType) or made.dtype.kind not in "biufc":
        raise CannotInfer("CuPy gives something else")
    found = fresh(np.dtype(row.made or made.dtype), made.shape)
    return found if in_order or found.ndim < 2 else replace(found, order=None, contiguous=False)


# Elements by arrays


def _key(inputs: tuple[Operand, ...], attributes: Attributes) -> tuple[Argument, ...]:
    key = bound(attributes["arguments"][1], inputs)
    return key.items if isinstance(key, Sequenced) else (key,)


def _is_whole_axis(part: Argument) -> bool:
    return isinstance(part, Constant) and isinstance(part.value, slice)


def _picked(
    source: Shape, parts: tuple[Argument, ...], facts: Facts, made: Any
) -> tuple[Shape, bool]:
    """The shape of `array[key]` for a part for each axis: whole axes, numbers and arrays; whether values decide it."""
    places: list[int] = []
    kept: list[tuple[int, Any]] = []
    shapes: list[Shape] = []
    axis = 0
    counted = False
    for number, part in enumerate(parts):
        if isinstance(part, Sequenced):
            raise CannotInfer("a sequence in a key")
        if _is_whole_axis(part):
            kept.append((number, source[axis]))
            axis += 1
            continue
        type_ = _type(part)
        if isinstance(type_, ArrayType) and type_.dtype.kind == "b" and not type_.scalar:
            lengths = source[axis : axis + type_.ndim]
            if (
                not type_.ndim
                or len(lengths) < type_.ndim
                or not all(
                    same(one, other, facts) for one, other in zip(type_.shape, lengths, strict=True)
                )
            ):
                raise CannotInfer("the mask has another shape")
            counted = True
            places.append(number)
            shapes.append((made,))
            axis += type_.ndim
        elif isinstance(type_, ArrayType) and type_.dtype.kind in "iu" and not type_.scalar:
            places.append(number)
            shapes.append(type_.shape)
            axis += 1
        elif isinstance(type_, NumberType) and type_.kind == "int":
            places.append(number)
            shapes.append(())
            axis += 1
        else:
            raise CannotInfer("a key of other things than whole numbers and arrays")
    mixed = counted and sum(shape != () for shape in shapes) > 1  # a mask beside other arrays
    if axis != len(source) or not places or mixed:
        raise CannotInfer("such a key")
    picked = broadcast(shapes, facts)
    are_together = places == list(range(places[0], places[-1] + 1))
    front = [length for number, length in kept if are_together and number < places[0]]
    return (*front, *picked, *(length for _, length in kept[len(front) :])), counted


def _gathered(inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> ArrayType:
    """`array[key]`, new memory."""
    type_ = _array(inputs[0])
    sizes = attributes.get("sizes", ())
    made = symbol(sizes[0]) if sizes else None
    shape, counted = _picked(type_.shape, _key(inputs, attributes), facts, made)
    if counted and made is None:
        raise CannotInfer("the size of its result depends on values")
    return fresh(type_.dtype, shape)


def _scattered(inputs: tuple[Operand, ...], attributes: Attributes, facts: Facts) -> TupleType:
    """`array[key] = value`."""
    type_ = _array(inputs[0])
    value = bound(attributes["arguments"][2], inputs)
    if isinstance(value, Sequenced):
        raise CannotInfer("a store of a sequence")
    stored = _type(value)
    shape: Shape = stored.shape if isinstance(stored, ArrayType) else ()
    length = attributes.get("length")
    made = None if length is None else symbol(length)
    place, _ = _picked(type_.shape, _key(inputs, attributes), facts, made)
    if isinstance(stored, ArrayType) and stored.dtype.kind == "c" and type_.dtype.kind != "c":
        raise CannotInfer("a cast that discards the imaginary part warns")
    why = why_not_stored(shape, place, facts)
    if why is not None:
        raise CannotInfer(why)
    return TupleType((NothingType(), replace(type_)))
