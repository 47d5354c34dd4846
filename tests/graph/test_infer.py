"""Predicted types against what NumPy returns: dtype, shape, strides, scalar or array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from ufuse.graph import ops
from ufuse.graph.ops import Op
from ufuse.graph.size import evaluate, symbol
from ufuse.graph.types import ArrayType, NothingType, NumberType, Span, TupleType, Type, array
from ufuse.graph.typing.calls import CALLS, REFUSED, function_named
from ufuse.graph.typing.infer import (
    CannotInfer,
    Constant,
    Operand,
    loop_dtypes,
    result_type,
    type_of,
    view_through,
)
from ufuse.graph.typing.sample import layout_of, strides_of

DTYPES = "? i1 u1 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
BINDINGS = {f"s{length}": length for length in range(100)}
MORE = settings(max_examples=5 * settings.default.max_examples)  # type: ignore[union-attr]
n, m, k = symbol("n"), symbol("m"), symbol("k")


@st.composite
def arrays(
    draw: st.DrawFn, ndim: int | None = None, dtypes: Any = DTYPES, lengths: Any = (1, 2, 3)
) -> np.ndarray:
    """Small arrays with permuted axes, axes of length 1 and gaps."""
    ndim = draw(st.integers(0, 3)) if ndim is None else ndim
    shape = [draw(st.sampled_from(lengths)) for _ in range(ndim)]
    gaps = [draw(st.sampled_from((1, 1, 1, 2))) for _ in range(ndim)]
    whole = np.ones(
        [a * b for a, b in zip(shape, gaps, strict=True)], draw(st.sampled_from(dtypes))
    )
    index: Any = (*[slice(0, a * b, b) for a, b in zip(shape, gaps, strict=True)], ...)
    cut: np.ndarray = whole[index]
    return cut.transpose(draw(st.permutations(range(ndim))))


def symbolic(type_: Type) -> Type:
    """The same type with every size but 1 a symbol, equal sizes the same."""
    if not isinstance(type_, ArrayType):
        return NumberType(type_.kind) if isinstance(type_, NumberType) else type_
    shape = tuple(1 if s == 1 else symbol(f"s{s}") for s in type_.shape)
    return ArrayType(type_.dtype, shape, type_.order, type_.contiguous, type_.scalar)


def check(predicted: Type, actual: Any, *, fresh: bool = True) -> None:
    """The prediction says all of what came."""
    if isinstance(predicted, TupleType):
        assert isinstance(actual, tuple)
        for one, other in zip(predicted.items, actual, strict=True):
            check(one, other, fresh=fresh)
        return
    if isinstance(predicted, NumberType):
        assert type(actual).__name__ == predicted.kind
        return
    if isinstance(predicted, NothingType):
        assert actual is None
        return
    assert predicted.scalar == isinstance(actual, np.generic)
    assert predicted.dtype == actual.dtype
    shape = tuple(evaluate(size, BINDINGS) for size in predicted.shape)
    assert shape == actual.shape
    if predicted.scalar:
        return
    if fresh:
        assert predicted.order is not None
        if actual.size:
            assert strides_of(shape, predicted.order, actual.itemsize) == actual.strides
        return
    order, contiguous = layout_of(actual)
    if predicted.contiguous:
        assert contiguous
    if predicted.order is not None and order is not None:
        wide = [axis for axis in predicted.order if shape[axis] != 1]
        assert wide == [axis for axis in order if shape[axis] != 1]


def infer(op: Op, values: list[Any], **attributes: Any) -> Type:
    """The predicted type of an op on real values, sizes unknown; the test case ends where there is none."""
    inputs: list[Operand] = [
        symbolic(type_of(v)) if isinstance(v, (np.ndarray, np.generic)) else Constant(v)
        for v in values
    ]
    try:
        return result_type(op, inputs, attributes)
    except CannotInfer:
        reject()
        raise


def eager(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What NumPy returns; the test case ends where it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    except (TypeError, ValueError, OverflowError, np.linalg.LinAlgError):
        assume(condition=False)
        raise


BINARY = "add subtract multiply divide floor_divide less equal maximum logical_and hypot bitwise_xor copysign".split()
NUMBERS = st.sampled_from(
    [1, 0, -1, 2.5, True, 1j, 100, 300, np.float32(2), np.int8(3), np.float64(1)]
)


@MORE
@given(st.sampled_from(BINARY), arrays(), st.one_of(arrays(), NUMBERS), st.booleans())
def test_elementwise(name: str, left: np.ndarray, right: Any, swap: bool) -> None:
    """dtype, broadcasting and K order of a ufunc's result are NumPy's."""
    values = [right, left] if swap else [left, right]
    actual = eager(getattr(np, name), *values)
    check(infer(ops.OPS[name], values), actual)


@given(st.sampled_from(sorted(name for name, op in ops.UFUNCS.items() if op.arity == 1)), arrays())
def test_every_unary_ufunc(name: str, value: np.ndarray) -> None:
    """A ufunc of one array predicts like any other."""
    check(infer(ops.OPS[name], [value]), eager(getattr(np, name), value))


@given(arrays(dtypes=["?", "i4"]), st.one_of(arrays(), NUMBERS), st.one_of(arrays(), NUMBERS))
def test_where(condition: np.ndarray, x: Any, y: Any) -> None:
    """A choice takes its layout from all three operands."""
    check(infer(ops.WHERE, [condition, x, y]), eager(np.where, condition, x, y))


@given(arrays(), st.sampled_from(DTYPES), st.sampled_from("CK"), st.booleans())
def test_casts_and_copies(value: Any, dtype: str, order: Any, scalar: bool) -> None:
    """Both keep K order; a NumPy scalar stays a scalar."""
    if scalar and value.ndim == 0:
        value = value[()]
    if value.dtype.kind != "c" or np.dtype(dtype).kind == "c":
        check(infer(ops.CAST, [value], dtype=np.dtype(dtype)), value.astype(dtype))
    actual = value.copy() if isinstance(value, np.generic) else value.copy(order=order)
    check(infer(ops.COPY, [value], order=order), actual)


@MORE
@given(
    st.sampled_from(sorted(ops.REDUCTIONS)),
    arrays(),
    st.data(),
    st.booleans(),
    st.sampled_from([None, "f8", "i8"]),
)
def test_reductions(
    name: str, value: np.ndarray, data: st.DataObject, keepdims: bool, dtype: Any
) -> None:
    """dtype, axes and layout of a reduction are NumPy's."""
    axes = (
        st.sets(st.integers(0, value.ndim - 1)).map(lambda s: tuple(sorted(s)))
        if value.ndim
        else st.just(())
    )
    axis = data.draw(st.one_of(st.none(), axes))
    ufunc = ops.REDUCTIONS[name].ufunc
    assert ufunc is not None
    assume(dtype is None or value.dtype.kind != "c")
    attributes = {
        "axis": axis,
        "keepdims": keepdims,
        "dtype": None if dtype is None else np.dtype(dtype),
    }
    actual = eager(ufunc.reduce, value, **attributes)
    check(infer(ops.REDUCTIONS[name], [value], **attributes), actual)


@MORE
@given(arrays(), st.data())
def test_indexing(value: np.ndarray, data: st.DataObject) -> None:
    """The order and contiguity of a view are those of its real strides, where they are claimed."""
    index: list[Any] = []
    real: list[Any] = []
    for length in value.shape:
        if data.draw(st.booleans(), "new axis"):
            index.append(None)
            real.append(None)
        start = data.draw(st.integers(0, length - 1))
        if data.draw(st.booleans(), "integer"):
            index.append(start)
            real.append(start)
            continue
        kept = data.draw(st.integers(1, length - start))
        step = data.draw(st.sampled_from((1, 1, 2, -1)))
        kept = min(kept, start + 1 if step < 0 else -(-(length - start) // step))
        size = symbol(f"s{length}")
        span = Span(start, size if kept == length != 1 else kept, step)
        index.append(span)
        stop = start + step * kept
        real.append(slice(start, None if stop < 0 else stop, step))
    actual = value[(*real, ...)]
    check(infer(ops.INDEX, [value], index=tuple(index)), actual, fresh=False)


@given(arrays(), st.data())
def test_transposing(value: np.ndarray, data: st.DataObject) -> None:
    """Axes move, and memory order with them."""
    axes = tuple(data.draw(st.permutations(range(value.ndim))))
    check(infer(ops.TRANSPOSE, [value], axes=axes), value.transpose(axes), fresh=False)


@given(arrays(dtypes=("c8", "c16")), st.sampled_from(("real", "imag")))
def test_parts_of_complex_numbers(value: np.ndarray, of: str) -> None:
    """The parts lie where the numbers do, with a gap behind each."""
    check(infer(ops.PART, [value], of=of), getattr(value, of), fresh=False)


@given(arrays(dtypes=("f8", "i8")), st.sampled_from(("i8", "f8", "u8", "M8[s]")))
def test_seen_as_elements_of_another_dtype(value: np.ndarray, dtype: str) -> None:
    """The same bytes in the same places; what is no number has no type."""
    wanted = np.dtype(dtype)
    if wanted.kind == "M":
        with pytest.raises(CannotInfer):
            infer(ops.RETYPE, [value], dtype=wanted)
        return
    check(infer(ops.RETYPE, [value], dtype=wanted), value.view(wanted), fresh=False)


def test_diagonals() -> None:
    """A diagonal has a step of its own: more than an element, where both axes have positive ones."""
    for value in (np.ones((4, 3)), np.ones((4, 3), order="F"), np.ones((8, 9))[::2, ::3]):
        found = infer(ops.DIAGONAL, [value], offset=-1, axes=(0, 1), length=3)
        check(found, value.diagonal(-1), fresh=False)
    unknown = ArrayType(np.dtype(float), (n, m), None, contiguous=False)
    with pytest.raises(CannotInfer, match="order"):
        result_type(ops.DIAGONAL, [unknown], {"offset": 0, "axes": (0, 1), "length": n})


def test_windows() -> None:
    """Windows have equal strides, so no memory order is known of them, but how these compare is."""
    for value, widths, axes, steps in (
        (np.ones(9), (3,), (0,), (1, 1)),
        (np.ones((5, 6)), (2, 3), (0, 1), (1000, 1, 1000, 1)),
        (np.ones((5, 6)), (4,), (1,), (1000, 1, 1)),
    ):
        given = type_of(value)
        found = result_type(ops.WINDOWS, [given], {"widths": widths, "axes": axes})
        assert isinstance(found, ArrayType)
        assert found.shape == np.lib.stride_tricks.sliding_window_view(value, widths, axes).shape
        assert (found.order, found.steps) == (None, steps)
    with pytest.raises(CannotInfer, match="other axes"):
        result_type(
            ops.WINDOWS, [ArrayType(np.dtype(float), (n, m))], {"widths": (2,), "axes": (0, 1)}
        )


def spans(draw: st.DrawFn, length: int) -> Span:
    """Some of the elements along an axis, forwards or backwards."""
    step = draw(st.sampled_from((1, 1, -1, 2, -2)))
    count = draw(st.integers(1, (length - 1) // abs(step) + 1))
    most = length - 1 - (count - 1) * abs(step)
    start = draw(st.integers(0, most))
    return Span(start if step > 0 else start + (count - 1) * -step, count, step)


def turned(draw: st.DrawFn, value: np.ndarray) -> tuple[Op, dict[str, Any], np.ndarray]:
    """A view of a view: its op and attributes, and NumPy's own."""
    ndim = value.ndim
    match draw(st.sampled_from(("repeat", "windows", "index", "index", "transpose"))):
        case "repeat":
            lengths = [draw(st.integers(2, 4)) if n == 1 else n for n in value.shape]
            shape = (*draw(st.lists(st.integers(2, 3), max_size=1)), *lengths)
            return ops.BROADCAST, {"shape": shape}, np.broadcast_to(value, shape)
        case "windows":
            axes = [axis for axis in range(ndim) if value.shape[axis] > 2]
            chosen = (
                tuple(draw(st.lists(st.sampled_from(axes), min_size=1, unique=True)))
                if axes
                else ()
            )
            attributes = {"widths": (2,) * len(chosen), "axes": chosen}
            return ops.WINDOWS, attributes, sliding_window_view(value, (2,) * len(chosen), chosen)
        case "index":
            entries = tuple(
                spans(draw, n) if draw(st.integers(0, 5)) else n - 1 for n in value.shape
            )
            real = [
                slice(e.start, stop if (stop := e.start + e.length * e.step) >= 0 else None, e.step)
                if isinstance(e, Span)
                else e
                for e in entries
            ]
            return ops.INDEX, {"index": entries}, value[(*real, ...)]
    order = tuple(draw(st.permutations(range(ndim))))
    return ops.TRANSPOSE, {"axes": order}, value.transpose(order)


@settings(max_examples=20 * settings.default.max_examples)  # type: ignore[union-attr]
@given(arrays(dtypes=["f8"], lengths=(1, 2, 3, 5, 8)), st.data())
def test_steps(value: np.ndarray, data: st.DataObject) -> None:
    """Steps that are known compare as strides do, and say that there are gaps: so copies lie as is predicted."""
    type_: Type = type_of(value)
    for _ in range(data.draw(st.integers(1, 4))):
        if value.ndim == 0 or value.ndim > 5:
            break
        op, attributes, value = turned(data.draw, value)
        type_ = infer_view(op, type_, attributes)
        assert isinstance(type_, ArrayType)
        assert type_.shape == value.shape
        if type_.steps is not None:
            assert not value.flags.forc
            wide = [axis for axis, length in enumerate(value.shape) if length != 1]
            known = [(type_.steps[axis], value.strides[axis]) for axis in wide]
            for step, stride in known:
                assert np.sign(step) == np.sign(stride)
                for other, its in known:
                    assert (abs(step) < abs(other)) == (abs(stride) < abs(its))
        if 1 not in value.shape and (type_.steps or type_.order):
            check(result_type(ops.COPY, [type_], {}), np.copy(value))


def infer_view(op: Op, type_: Type, attributes: dict[str, Any]) -> Type:
    """The type of a view; the test case ends where it is not predicted."""
    try:
        return result_type(op, [type_], attributes)
    except CannotInfer:
        reject()
        raise


@st.composite
def shapes_of(draw: st.DrawFn, size: int) -> list[int]:
    """Shapes with so many elements."""
    shape = []
    while size > 1:
        shape.append(draw(st.sampled_from([d for d in range(2, size + 1) if size % d == 0])))
        size //= shape[-1]
    for _ in range(draw(st.integers(0, 2))):
        shape.insert(draw(st.integers(0, len(shape))), 1)
    return shape


@MORE
@given(arrays(lengths=(1, 2, 3, 4)), st.booleans(), st.data())
def test_reshaping(value: np.ndarray, known: bool, data: st.DataObject) -> None:
    """A reshape is called a view exactly where NumPy makes one."""
    shape = data.draw(shapes_of(value.size))
    actual = value.reshape(shape)
    type_ = type_of(value)
    target: Any = tuple(shape)
    if not known:
        type_ = symbolic(type_)
        target = tuple(1 if s == 1 else symbol(f"s{s}") for s in shape)
    try:
        predicted = result_type(ops.RESHAPE, [type_], {"shape": target})
    except CannotInfer as refusal:
        if "copies" in str(refusal) and "known" not in str(refusal):
            assert not np.shares_memory(actual, value)
        return
    assert np.shares_memory(actual, value)
    check(predicted, actual, fresh=False)


def call(name: str, *values: Any, arguments: Any = None, **keywords: Any) -> Type:
    """The predicted type of a call."""
    return infer(
        ops.CALL,
        list(values),
        function=name,
        arguments=tuple(range(len(values))) if arguments is None else arguments,
        keywords=tuple((key, ("const", value)) for key, value in keywords.items()),
    )


@given(
    arrays(),
    arrays(),
    st.sampled_from(["matmul", "dot", "inner", "outer", "vdot", "vecdot", "matvec", "vecmat"]),
)
def test_products(left: np.ndarray, right: np.ndarray, name: str) -> None:
    """Products of matrices and vectors."""
    assume(hasattr(np, name))
    assume(left.ndim and right.ndim)
    check(call(f"numpy.{name}", left, right), eager(getattr(np, name), left, right))


ALONG = "cumsum cumprod argmax argmin sort argsort add.accumulate mean var std median".split()


@given(arrays(), st.sampled_from(ALONG), st.data())
def test_along_an_axis(value: np.ndarray, name: str, data: st.DataObject) -> None:
    """Functions with an axis argument."""
    assume(value.ndim)
    axis = data.draw(st.one_of(st.none(), st.integers(-value.ndim, value.ndim - 1)))
    assume(axis is not None or "accumulate" not in name)
    actual = eager(function_named(f"numpy.{name}"), value, axis=axis)
    check(call(f"numpy.{name}", value, axis=axis), actual)


@given(
    st.lists(arrays(ndim=2), min_size=1, max_size=3),
    st.sampled_from(["concatenate", "stack"]),
    st.data(),
)
def test_joining(values: list[np.ndarray], name: str, data: st.DataObject) -> None:
    """Arrays side by side."""
    axis = data.draw(st.integers(-2, 1))
    actual = eager(getattr(np, name), tuple(values), axis=axis)
    spec = (("tuple", tuple(range(len(values)))),)
    check(call(f"numpy.{name}", *values, arguments=spec, axis=axis), actual)


@given(st.lists(arrays(), min_size=1, max_size=3), st.sampled_from(["vstack", "hstack"]))
def test_stacking(values: list[np.ndarray], name: str) -> None:
    """Arrays above and beside each other."""
    actual = eager(getattr(np, name), list(values))
    spec = (("list", tuple(range(len(values)))),)
    check(call(f"numpy.{name}", *values, arguments=spec), actual)


@given(arrays(), arrays(dtypes=["i8", "i4"]), st.data())
def test_choosing(value: np.ndarray, places: np.ndarray, data: st.DataObject) -> None:
    """Arrays picked by whole numbers."""
    assume(value.ndim)
    axis = data.draw(st.one_of(st.none(), st.integers(-value.ndim, value.ndim - 1)))
    places = places * 0
    check(call("numpy.take", value, places, axis=axis), eager(np.take, value, places, axis=axis))
    check(call("numpy.repeat", value, repeats=3, axis=axis), eager(np.repeat, value, 3, axis=axis))


@given(
    arrays(),
    st.sampled_from("clip round trace flatten divmod modf frexp searchsorted norm conj".split()),
)
def test_other_calls(value: np.ndarray, name: str) -> None:
    """The rest of the table."""
    table: dict[str, tuple[str, tuple[Any, ...]]] = {
        "clip": ("numpy.clip", (value, 0, 2)),
        "round": ("numpy.round", (value,)),
        "trace": ("numpy.trace", (value,)),
        "flatten": ("numpy.ndarray.flatten", (value,)),
        "divmod": ("numpy.divmod", (value, 2)),
        "modf": ("numpy.modf", (value,)),
        "frexp": ("numpy.frexp", (value,)),
        "searchsorted": ("numpy.searchsorted", (np.ones(3), value)),
        "norm": ("numpy.linalg.norm", (value,)),
        "conj": ("numpy.ndarray.conj", (value,)),
    }
    function, values = table[name]
    check(call(function, *values), eager(function_named(function), *values))


@given(
    arrays(lengths=(1, 3), dtypes=["f4", "f8", "c16", "i4"]),
    arrays(lengths=(1, 3), dtypes=["f4", "f8"]),
)
def test_linear_algebra(matrix: np.ndarray, right: np.ndarray) -> None:
    """Solving and inverting."""
    length = matrix.shape[-1] if matrix.ndim else 1
    matrix = np.moveaxis(
        np.repeat(matrix.reshape(*matrix.shape[:-1], 1, length), length, -2), -1, -2
    )
    matrix[...] = np.eye(matrix.shape[-1])
    for name in ("inv", "det", "cholesky"):
        check(call(f"numpy.linalg.{name}", matrix), eager(getattr(np.linalg, name), matrix))
    assume(right.ndim)
    check(call("numpy.linalg.solve", matrix, right), eager(np.linalg.solve, matrix, right))


@MORE
@given(st.integers(1, 3).flatmap(lambda ndim: arrays(ndim=ndim)), st.data())
def test_picking_by_arrays(value: np.ndarray, data: st.DataObject) -> None:
    """Keys of arrays of whole numbers, with whole axes and numbers beside them."""
    wanted = st.sampled_from(([2], [1, 2], [2, 2], [2, 1], [1, 1, 2]))
    picks = wanted.map(lambda shape: np.zeros(shape, data.draw(st.sampled_from(["i8", "u1"])), "F"))
    part = st.one_of(picks, st.just(slice(None)), st.just(0))
    parts = [data.draw(part) for _ in range(data.draw(st.integers(1, value.ndim)))]
    parts[data.draw(st.integers(0, len(parts) - 1))] = data.draw(picks)
    values = [value, *(one for one in parts if isinstance(one, np.ndarray))]
    numbers = iter(range(1, len(values)))
    spec = tuple(next(numbers) if isinstance(one, np.ndarray) else ("const", one) for one in parts)
    key = ("tuple", spec)
    check(call("operator.getitem", *values, arguments=(0, key)), value[tuple(parts)])


@given(arrays(), st.sampled_from("fft ifft rfft irfft".split()), st.data())
def test_transforms(value: np.ndarray, name: str, data: st.DataObject) -> None:
    """Transforms along an axis, which may become longer or shorter."""
    assume(value.ndim)
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    length = data.draw(st.sampled_from([None, 1, 2, 5]))
    actual = eager(getattr(np.fft, name), value, n=length, axis=axis)
    check(call(f"numpy.fft.{name}", value, n=length, axis=axis), actual)


@given(arrays(), arrays(), st.sampled_from("tile kron append pad cov average isin".split()))
def test_arranging(value: np.ndarray, other: np.ndarray, name: str) -> None:
    """Arrays repeated, joined and padded, and statistics of them."""
    table: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "tile": ((value,), {"reps": (2, 1)}),
        "kron": ((value, other), {}),
        "append": ((value, other), {}),
        "pad": ((value,), {"pad_width": (1, 2)}),
        "cov": ((value,), {}),
        "average": ((value,), {}),
        "isin": ((value, other), {}),
    }
    values, keywords = table[name]
    check(call(f"numpy.{name}", *values, **keywords), eager(getattr(np, name), *values, **keywords))


SCALARS = [
    1,
    3,
    -2,
    1.5,
    True,
    2j,
    np.float32(2),
    np.float64(0.5),
    np.int8(3),
    np.int64(4),
    np.bool_(1),
]
OPERATORS = "add sub mul truediv floordiv mod lt eq ge and_ or_ xor lshift pow".split()


@given(
    st.sampled_from(OPERATORS), st.sampled_from(SCALARS), st.sampled_from(SCALARS), st.booleans()
)
def test_scalar_operators(name: str, left: Any, right: Any, known: bool) -> None:
    """Python's operators on numbers give what Python gives."""
    inputs = [symbolic(type_of(left)), Constant(right) if known else symbolic(type_of(right))]
    try:
        predicted = result_type(ops.SCALAR, inputs, {"operator": name})
    except CannotInfer:
        return
    check(predicted, eager(getattr(ops_module(), name), left, right))


def ops_module() -> Any:
    """Python's own operator module."""
    return __import__("operator")


REFUSALS = [
    (ops.STORE, [array("i4", (n,)), Constant(1e30)], {}, "out of bounds for int32"),
    (ops.OPS["add"], [array("i1", (n,)), Constant(300)], {}, "out of bounds for int8"),
    (ops.OPS["less"], [array("i1", (n,)), Constant(300)], {}, "out of bounds for int8"),
    (ops.OPS["add"], [array("f2", (n,)), Constant(1e30)], {}, "out of bounds for float16"),
    (ops.OPS["add"], [array("O", (n,)), Constant(3)], {}, "left to NumPy"),
    (ops.OPS["add"], [array("M8[s]", (n,)), Constant(3)], {}, "left to NumPy"),
    (ops.OPS["add"], [array(">f8", (n,)), Constant(3)], {}, "byte order"),
    (ops.OPS["bitwise_and"], [array("f8", (n,)), Constant(3)], {}, "TypeError"),
    (ops.OPS["add"], [array("f8", (n,)), array("f8", (m,))], {}, "not known to broadcast"),
    (ops.OPS["add"], [ArrayType(np.dtype("f8"), (n, m), None), Constant(1)], {}, "memory order"),
    (ops.OPS["reduce_add"], [array("f8", (n,))], {"axis": (1,)}, "axis 1 of an array with 1 axes"),
    (ops.CAST, [array("c16", (n,))], {"dtype": np.dtype("f8")}, "imaginary"),
    (ops.SCALAR, [NumberType("int"), NumberType("int")], {"operator": "pow"}, "depends on values"),
    (ops.INDEX, [array("f8", (n, m))], {"index": (0,)}, "1 entries for 2 axes"),
    (ops.STORE, [array("f8", (n,)), array("f8", (m,))], {}, "a value of length m is stored into n"),
    (ops.STORE, [array("i4", (n,)), array("f8", (n,))], {"casting": "same_kind"}, "in place"),
    (
        ops.CALL,
        [array("i8", (n,))],
        {"function": "numpy.bincount", "arguments": (0,)},
        "depends on values",
    ),
    (ops.CALL, [array("i8", (n,))], {"function": "numpy.nothing", "arguments": (0,)}, "no rule"),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "reason"), REFUSALS)
def test_refusals_say_why(
    op: Op, inputs: list[Operand], attributes: dict[str, Any], reason: str
) -> None:
    """What no rule predicts is refused with its reason."""
    with pytest.raises(CannotInfer, match=reason):
        result_type(op, inputs, attributes)


def test_guards_may_join_sizes() -> None:
    """Facts decide whether two symbols are one size."""

    class Guarded:
        def equal(self, a: object, b: object) -> bool:
            return True

        def is_one(self, a: object) -> bool:
            return False

        def at_most(self, a: object, b: object) -> bool:
            return True

    found = result_type(ops.OPS["add"], [array("f8", (n,)), array("f8", (m,))], {}, Guarded())
    assert found == array("f8", (n,))


def test_loop_dtypes_are_numpys() -> None:
    """Weak numbers do not widen; NumPy scalars do."""
    f4 = np.dtype("f4")
    assert loop_dtypes(np.add, [array("f4", (n,)), Constant(1.5)]) == (f4, f4, f4)
    double = ArrayType(np.dtype("f8"), (), (), scalar=True)
    assert loop_dtypes(np.add, [array("f4", (n,)), double])[-1] == np.dtype("f8")
    assert loop_dtypes(np.add, [array("?", (n,)), NumberType("bool")])[-1] == np.dtype("?")


def test_paths_of_stores() -> None:
    """A store's path is a chain of views."""
    path = (("transpose", {"axes": (1, 0)}), ("index", {"index": (0, Span(1, n - 1))}))
    view = view_through(array("f8", (n, m)), path)
    assert view.shape == (n - 1,)


def test_samples_are_small() -> None:
    """Asking NumPy never takes the memory that the program would."""
    length = 10**15
    assert call("numpy.arange", arguments=(("const", length),)) == array("i8", (length,))
    many = call("numpy.repeat", np.ones(3), arguments=(0, ("const", length)))
    assert many == array("f8", (symbol("s3") * length,))


def test_every_row_of_calls_names_a_function() -> None:
    """Rows and refusals are about functions that exist."""
    missing = [name for name in (*CALLS, *REFUSED) if not callable(function_named(name))]
    assert not missing
