"""Arrays in the trace: from symbols to nodes, elementwise results, whole calls of NumPy, attributes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import flags
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.trace.draft import OneArray, computation
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import LARGEST_INT
from ufuse.frame_hook.trace.symbols import (
    AnyArray,
    Array,
    ArrayMethod,
    Constant,
    Deque,
    DeviceArray,
    Integer,
    List,
    Number,
    Slice,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, signals, size
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.size import Size
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType, NumberType, TupleType, Type, c_order
from ufuse.graph.typing import infer
from ufuse.graph.typing.calls import makes_length, may_fail, takes_output
from ufuse.graph.typing.device_calls import DEVICE_METHOD
from ufuse.graph.typing.sample import NUMBERS
from ufuse.graph.typing.shapes import is_c_like, joined_axes

OWNERS = (Kind.MAP, Kind.CREATE, Kind.REDUCE)  # nodes whose results have memory of their own
# Functions and methods of NumPy's that give such arrays, whatever they are given.
OWNING_CALLS = frozenset(
    [f"numpy.{name}" for name in (
        """append choose clip compress concatenate convolve correlate cumprod cumsum delete dot extract insert interp
        linalg.inv linalg.solve matmul nan_to_num outer pad partition repeat round select sort stack take
        take_along_axis fft.fft fft.ifft fft.rfft fft.irfft""".split()
    )]
    + [f"numpy.ndarray.{name}" for name in "clip cumprod cumsum dot flatten repeat round take".split()]
    + [f"numpy.random.Generator.{name}" for name in "exponential normal random standard_normal uniform".split()]
    + [f"numpy.random.RandomState.{name}" for name in "normal rand randn random random_sample uniform".split()]
)  # fmt: skip
PICKING = frozenset({"operator.getitem", "numpy.ndarray.__getitem__"})
WARN_OF_NOTHING = frozenset(
    "mean median std var cov corrcoef average nanmean nanstd nanvar nanmedian".split()
)
FAIL_OF_NOTHING = frozenset({"argmax", "argmin"})
LONGER_FIRST = {"numpy.convolve": "full", "numpy.correlate": "valid"}  # and their usual modes


def node_of(trace: Trace, symbol: Symbol) -> Node:
    """The node of an array or number operand.

    Raises:
        GraphBreak: it is neither.

    """
    symbol = trace.look(symbol)
    match symbol:
        case Array():
            return trace.graph.value(symbol)
        case Number(node=node):
            return node
        case Integer(size=value):
            return trace.graph.size_node(value)
        case Constant(value=int() | float() | complex() | np.generic() as value):
            return trace.graph.constant(value)
        case Deque(items=members):
            return node_of(trace, List(list(members)))
        case List() | Tuple():
            return trace.graph.node(
                ops.CALL,
                (),
                {
                    "function": "numpy.array",
                    "arguments": (("const", plain(trace, symbol)),),
                    "keywords": (),
                },
            )
    raise GraphBreak(
        "operator", f"array arithmetic with a {type(getattr(symbol, 'value', symbol)).__name__}"
    )


def plain(trace: Trace, symbol: Symbol) -> Any:
    """The Python value of a symbol that is known entirely, containers included.

    Raises:
        GraphBreak: part of it is known only when the program runs.

    """
    symbol = trace.look(symbol)
    match symbol:
        case Constant(value=value):
            return value
        case Tuple(items=items):
            return tuple(plain(trace, item) for item in items)
        case List(items=items) | Deque(items=items):  # to NumPy every sequence is a list
            return [plain(trace, item) for item in items]
        case Slice():
            return slice(
                plain(trace, symbol.start), plain(trace, symbol.stop), plain(trace, symbol.step)
            )
        case Integer(size=value):
            return trace.sizes.fixed(value)
    raise GraphBreak("operator", "a NumPy call whose argument is computed here")


def integer(trace: Trace, value: Size) -> Symbol:
    """The symbol of a whole number expression."""
    if isinstance(value, int):
        return Constant(value)
    if made := trace.sizes.are_made(value):
        if not made <= trace.graph.long.keys():
            trace.sizes.refuse(made)
        return Number(trace.graph.size_node(value))
    example = trace.sizes.example(value)
    if max(abs(example), *(abs(factor) for _, factor in value.terms)) >= LARGEST_INT:
        raise GraphBreak("operator", "arithmetic with very large numbers")
    return Integer(value, example)


# Elementwise -----------------------------------------------------------------------------------------------------


def elementwise(trace: Trace, ufunc: np.ufunc, operands: Sequence[Symbol]) -> Symbol:
    """The result of a ufunc, a new array."""
    nodes = tuple(node_of(trace, symbol) for symbol in operands)
    return trace.graph.fresh(_ufunc_node(trace, ufunc, nodes))


def _ufunc_node(trace: Trace, ufunc: np.ufunc, nodes: tuple[Node, ...]) -> Node:
    if ufunc.nout != 1 or ufunc.signature is not None:
        raise GraphBreak("numpy-call", ufunc.__name__)
    return trace.graph.node(ops.op_of(ufunc), nodes, may_raise=may_raise(ufunc.__name__, nodes))


def may_raise(name: str, nodes: tuple[Node, ...]) -> bool:
    """Whether running it could raise: an int that does not fit, a negative power of ints."""
    types = [node.type for node in nodes if node.op is not ops.CONST]
    unknown = {type_.kind for type_ in types if isinstance(type_, NumberType)} - {"bool"}
    if not unknown and name != "power":
        return False
    dtypes = [node.type.dtype for node in nodes if isinstance(node.type, ArrayType)]
    if not any(dtype.kind in "fc" for dtype in dtypes):
        return name == "power" or "int" in unknown
    return bool(unknown) and any(dtype.char in "efF" for dtype in dtypes)


def store_result(
    trace: Trace, ufunc: np.ufunc, operands: Sequence[Symbol], target: Array
) -> Symbol:
    """A ufunc with `out=target`, as in-place operators call it."""
    nodes = tuple(node_of(trace, symbol) for symbol in operands)
    if target.buffer.visible:
        trace.arrays.check_writable(target.buffer)
    within = [
        one
        for one in map(trace.look, operands)
        if isinstance(one, Array) and one.buffer is target.buffer
    ]
    if target.type.dtype.kind == "c" and within:
        # NumPy's inner loop rounds otherwise where a single element is written over its own operand.
        if trace.sizes.decide("eq", total(target.type.shape), 1):
            raise GraphBreak("numpy-call", f"{ufunc.__name__} of one complex number in place")
    value = _ufunc_node(trace, ufunc, nodes)
    kind = value.type
    assert isinstance(kind, ArrayType)
    is_repeated = kind.shape != target.type.shape
    has_gaps = is_repeated or not target.type.contiguous
    if ops.depends_on_strides(ufunc.__name__, kind.dtype):
        if kind.scalar and kind.dtype != target.type.dtype:
            # NumPy's loop writes into a buffer, a single element, and is not its vector code.
            raise GraphBreak("numpy-call", f"{ufunc.__name__} of one number into another dtype")
        if has_gaps:
            raise GraphBreak("numpy-call", f"{ufunc.__name__} into memory with gaps")
        if any(one.path != target.path for one in within):
            # Memory overlaps, and NumPy's vector code is not used.
            raise GraphBreak("numpy-call", f"{ufunc.__name__} over another part of its operand")
    if len(kind.shape) > target.type.ndim:
        raise GraphBreak("eager-raises", "the result does not fit the output array")
    if is_repeated and trace.sizes.decide("eq", total(target.type.shape), 0):
        # NumPy computes nothing then, and so warns of nothing.
        raise GraphBreak("numpy-call", f"{ufunc.__name__} into an array without elements")
    if target.type.dtype.kind in "fc" and not np.can_cast(kind.dtype, target.type.dtype, "safe"):
        # The cast may overflow, and NumPy's warning then names the ufunc.
        raise GraphBreak("numpy-call", f"{ufunc.__name__} with a result narrower than its loop")
    if (
        kind.scalar
        and kind.dtype != target.type.dtype
        and np.can_cast(kind.dtype, target.type.dtype, "same_kind")
    ):
        # As an array: an assignment would refuse a NumPy number that does not fit.
        value = trace.graph.node(ops.CAST, (value,), {"dtype": target.type.dtype})
    trace.store(target, value, "same_kind")
    return target


def matmul(trace: Trace, left: Symbol, right: Symbol, *, in_place: bool) -> Symbol:
    """`left @ right`."""
    if in_place:
        raise GraphBreak("numpy-call", "in-place matmul")
    return call_whole(trace, "numpy.matmul", (left, right))


def call_whole(
    trace: Trace,
    function: str,
    arguments: Sequence[Symbol],
    keywords: dict[str, Symbol] | None = None,
    *,
    may_raise: bool = False,
    makes: bool = False,
) -> Symbol:
    """A call of a NumPy function as one node, with a new array as its result.

    `makes`: values decide how long it is, though they do not where others are given.
    """
    keywords = _without_output(trace, function, keywords or {})
    if function.rpartition(".")[2] in WARN_OF_NOTHING:
        _refuse_empty(trace, function, (*arguments, *keywords.values()))
    if function in LONGER_FIRST:
        _refuse_shorter_first(trace, function, arguments, keywords)
    inputs: list[Node] = []
    given = tuple(argument_of(trace, symbol, inputs) for symbol in arguments)
    named = tuple(
        (name, _keyword(trace, name, symbol, inputs)) for name, symbol in keywords.items()
    )
    attributes: dict[str, Any] = {"function": function, "arguments": given, "keywords": named}
    made = _made_length(trace, function, inputs) if makes or makes_length(function) else None
    if made is not None:
        attributes["sizes"] = (made,)
    fails = may_raise and may_fail(function)
    if fails and function.rpartition(".")[2] in FAIL_OF_NOTHING and not keywords:
        fails = not _has_elements(trace, [trace.look(one) for one in arguments])
    node = trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=fails)
    is_tuple = isinstance(node.type, TupleType)
    items = _items(trace, node) if is_tuple else [node]
    if made is not None:
        for one in (one for one in items if _is_as_long(one, made)):
            trace.graph.note_length(made, one)
    for one in items:
        assure_layout(trace, one.type)
    found = tuple(map(trace.graph.fresh, items))
    return Tuple(found) if is_tuple else found[0]


def _without_output(trace: Trace, function: str, keywords: dict[str, Symbol]) -> dict[str, Symbol]:
    """The keywords without `out=None`, of a function that has such an argument."""
    if "out" not in keywords:
        return keywords
    out = trace.look(keywords["out"])
    if not isinstance(out, Constant) or out.value is not None or not takes_output(function):
        raise GraphBreak("numpy-call", f"{function} with out=")
    return {name: one for name, one in keywords.items() if name != "out"}


def assure_layout(trace: Trace, type_: Type) -> None:
    """Check that a length that values decide is not 1 or 0 where strides, and so what follows, depend on it.

    That is anywhere but along the slowest axis of an array in C order.
    """
    if not isinstance(type_, ArrayType) or type_.ndim < 2:
        return
    first = 1 if type_.order == c_order(type_.ndim) else 0
    for length in type_.shape[first:]:
        if trace.sizes.are_made(length) and not trace.sizes.decide("gt", length, 1):
            raise GraphBreak("size", "an axis of an array")


def _items(trace: Trace, node: Node) -> list[Node]:
    assert isinstance(node.type, TupleType)
    places = range(len(node.type.items))
    return [trace.graph.node(ops.ITEM, (node,), {"index": place}) for place in places]


def _is_as_long(node: Node, name: str) -> bool:
    type_ = node.type
    return isinstance(type_, ArrayType) and type_.ndim > 0 and str(type_.shape[0]) == name


# What gives as many elements as are not zero in its last input, or its first.
OF_MASK = {
    "numpy.ndarray.__getitem__": -1, "numpy.nonzero": 0, "numpy.ndarray.nonzero": 0, "numpy.flatnonzero": 0,
    "numpy.argwhere": 0, "numpy.compress": 0, "numpy.extract": 0,
}  # fmt: skip


def _made_length(trace: Trace, function: str, inputs: Sequence[Node]) -> str | None:
    """The symbol of the length that values decide: one for all that a mask picks."""
    types = [node.type for node in inputs]
    shapes = [type_.shape for type_ in types if isinstance(type_, ArrayType)]
    most = total(max(shapes, key=len)) if shapes else 1
    if function not in OF_MASK or not inputs:
        return trace.sizes.made("an array", most)
    mask = computation(inputs[OF_MASK[function]])
    if mask not in trace.graph.picked:
        trace.graph.picked[mask] = trace.sizes.made("what a mask picks", most, is_bound=True)
    return trace.graph.picked[mask]


def call_writing(trace: Trace, function: str, arguments: Sequence[Symbol]) -> None:
    """A call that writes its first argument, a whole buffer: what it holds from then on."""
    array = arguments[0]
    assert isinstance(array, Array)
    inputs: list[Node] = []
    given = tuple(argument_of(trace, symbol, inputs) for symbol in arguments)
    attributes = {"function": function, "arguments": given, "keywords": (), "writes": (0,)}
    node = trace.graph.node(ops.CALL, tuple(inputs), attributes)
    trace.graph.note_write(array.buffer)
    trace.graph.replace(array.buffer, trace.graph.node(ops.ITEM, (node,), {"index": 1}))


def _refuse_empty(trace: Trace, function: str, arguments: Sequence[Symbol]) -> None:
    """NumPy's Python code warns of empty arrays; a graph abandoned afterwards would have warned already."""
    for symbol in map(trace.look, arguments):
        if isinstance(symbol, Array) and trace.sizes.decide("eq", total(symbol.type.shape), 0):
            raise GraphBreak("numpy-call", f"{function} of an empty array")


def _has_elements(trace: Trace, arguments: Sequence[Symbol]) -> bool:
    """Whether the one argument is an array that has elements, whatever the values are."""
    if len(arguments) != 1 or not isinstance(arguments[0], Array):
        return False
    count = total(arguments[0].type.shape)
    return not trace.sizes.are_made(count) and not trace.sizes.decide("eq", count, 0)


def _refuse_shorter_first(
    trace: Trace, function: str, arguments: Sequence[Symbol], keywords: dict[str, Symbol]
) -> None:
    """How long a part of the result is depends on which of the two vectors is the shorter one."""
    given = dict(zip(("a", "v", "mode"), arguments, strict=False)) | keywords
    mode = trace.look(given.get("mode", Constant(LONGER_FIRST[function])))
    if isinstance(mode, Constant) and mode.value == "full":
        return
    lengths: list[Size] = []
    for symbol in (trace.look(given[name]) for name in ("a", "v") if name in given):
        if isinstance(symbol, Array) and symbol.type.ndim == 1:
            lengths += symbol.type.shape
        elif isinstance(symbol, List | Tuple):
            lengths.append(len(symbol.items))
    is_known = len(lengths) == 2 and not trace.sizes.decide("eq", lengths[1], 0)
    if not is_known or not trace.sizes.decide("ge", *lengths):
        raise GraphBreak("numpy-call", f"{function} of these arrays")


def _keyword(trace: Trace, name: str, symbol: Symbol, inputs: list[Node]) -> Any:
    found = argument_of(trace, symbol, inputs)
    if name != "dtype" or found == ("const", None):
        return found
    match found:
        case ("const", type() | str() | np.dtype() as value):
            return "const", dtype_of(value)
    raise GraphBreak("numpy-call", "a dtype that is computed here")


def dtype_of(value: Any) -> np.dtype:
    """The dtype that a value names.

    Raises:
        GraphBreak: it names none, or with a warning.

    """
    try:
        named: np.dtype = run_strictly("raise", np.dtype, value)  # old names are warned of
    except Exception as error:  # noqa: BLE001  whatever it is, plain Python raises it again
        signals.pass_on(error)
        raise GraphBreak("eager-raises", f"{type(error).__name__}: {error}") from None
    return named


def argument_of(trace: Trace, symbol: Symbol, inputs: list[Node]) -> Any:
    """An argument as an attribute of a call says it; what is known only later becomes one of the inputs."""
    symbol = trace.look(symbol)
    if isinstance(symbol, Deque):
        symbol = List(list(symbol.items))
    if isinstance(symbol, Array | Number | Integer):
        inputs.append(node_of(trace, symbol))
        return len(inputs) - 1
    if isinstance(symbol, Tuple | List) and _is_partly_unknown(trace, symbol):
        kind = "tuple" if isinstance(symbol, Tuple) else "list"
        return (kind, tuple(argument_of(trace, item, inputs) for item in symbol.items))
    return ("const", plain(trace, symbol))


def _is_partly_unknown(trace: Trace, symbol: Symbol, above: tuple[Symbol, ...] = ()) -> bool:
    """Whether something in nested tuples and lists is known only when the program runs."""
    symbol = trace.look(symbol)
    if not isinstance(symbol, Tuple | List):
        return isinstance(symbol, Array | Number | Integer)
    if symbol in above:
        raise GraphBreak("call", "an object that holds itself")
    return any(_is_partly_unknown(trace, item, (*above, symbol)) for item in symbol.items)


def known_int(symbol: Symbol) -> int | None:
    """The value of a whole number that is known; None for all else, a bool too."""
    is_known = isinstance(symbol, Constant) and type(symbol.value) is int
    return symbol.value if is_known else None  # type: ignore[union-attr]


def is_number(symbol: Symbol) -> bool:
    """Whether it is a number, known or not."""
    if isinstance(symbol, Constant):
        return isinstance(symbol.value, (int, float, complex, np.generic))
    return isinstance(symbol, (Number, Integer))


def total(shape: Sequence[Size]) -> Size:
    """The number of elements of a shape."""
    result: Size = 1
    for dimension in shape:
        result = size.multiply(result, dimension)
    return result


def size_or_none(trace: Trace, symbol: Symbol) -> Size | None:
    """A whole number, as in the shape of `reshape` or the bounds of a slice; None for None.

    Raises:
        GraphBreak: it is neither.

    """
    symbol = trace.look(symbol)
    match symbol:
        case Constant(value=None):
            return None
        case Constant(value=int() | np.integer() as value):
            return int(value)
        case Integer(size=value):
            return value
    raise GraphBreak("index", "with a bound that is not a whole number")


# Attributes ------------------------------------------------------------------------------------------------------


def array_attribute(trace: Trace, array: Array, name: str) -> Symbol:
    """An attribute of an array, or a method to be called."""
    kind = array.type
    match name:
        case "shape":
            return Tuple(tuple(integer(trace, dimension) for dimension in kind.shape))
        case "ndim":
            return Constant(kind.ndim)
        case "size":
            return integer(trace, total(kind.shape))
        case "dtype":
            return Constant(kind.dtype)
        case "itemsize":
            return Constant(kind.dtype.itemsize)
        case "nbytes":
            return integer(trace, size.multiply(total(kind.shape), kind.dtype.itemsize))
        case "strides":
            return strides(trace, array)
        case "T":
            return transpose(trace, array, tuple(reversed(range(kind.ndim))))
        case "real" if kind.dtype.kind != "c":
            return array
        case "real" | "imag" if kind.dtype.kind == "c":
            return part(trace, array, name)
        case "base":
            return _base(trace, array)
    found = classes.static_lookup(np.ndarray, name)
    if name in ("flat", "flags") or callable(found):
        return ArrayMethod(array, name)
    if found is classes.ABSENT:
        raise classes.missing(trace, np.ndarray, name)
    raise GraphBreak("attribute", f"{name} of an array")


def strides(trace: Trace, array: AnyArray) -> Symbol:
    """`array.strides`, of what lies in memory that is filled; those of axes of length 1 may be anything."""
    steps, shape = flags.strides_of(array), array.type.shape
    if steps is None or not all(n != 1 and trace.sizes.decide("ge", n, 2) for n in shape):
        raise GraphBreak("attribute", "strides of an array")
    itemsize = array.type.dtype.itemsize
    return Tuple(tuple(integer(trace, size.multiply(step, itemsize)) for step in steps))


def _base(trace: Trace, array: Array) -> Symbol:
    """`array.base`: NumPy makes a view of a view one of the array that owns the memory."""
    buffer = array.buffer
    whole = buffer.root.type
    assert isinstance(whole, ArrayType)
    if buffer.source is not None and buffer.value is not None:
        base = trace.reader.attribute(buffer.source, buffer.value, "base")
        if isinstance(base, Constant):
            return Array(buffer, (), whole) if array.path else base
        if isinstance(base, Array) and base.buffer.source is not None:
            inner = trace.reader.attribute(base.buffer.source, buffer.value.base, "base")
            if isinstance(inner, Constant):
                return base
        if not array.path:
            return base
    elif not buffer.visible and owns_memory(buffer.root):
        return Array(buffer, (), whole) if array.path else Constant(None)
    raise GraphBreak("attribute", "base of an array")


def owns_memory(node: Node) -> bool:
    """Whether an array that a node makes is known to be no view, as what `np.roll` gives without an axis."""
    if node.op is not ops.CALL:
        return node.op.kind in OWNERS
    function = node.attributes["function"]
    if function == "numpy.roll":
        given = node.attributes["arguments"]
        return len(given) == 3 and given[2] != ("const", None)
    if function in PICKING:  # of several axes it may be the transpose of what was picked
        return all(isinstance(one, ArrayType) and one.ndim == 1 for one in _types(node))
    return function in OWNING_CALLS


def _types(node: Node) -> tuple[object, ...]:
    """The types of what a node gives and of what it takes first."""
    return node.type, *(one.type for one in node.inputs[:1])


def number_attribute(trace: Trace, number: Number, name: str) -> Symbol:
    """An attribute of a NumPy scalar, or a method to be called."""
    kind = number.node.type
    if isinstance(kind, ArrayType):
        match name:
            case "shape":
                return Tuple(())
            case "ndim":
                return Constant(0)
            case "size":
                return Constant(1)
            case "dtype":
                return Constant(kind.dtype)
            case "real" if kind.dtype.kind != "c":
                return number
            case "real" | "imag" if kind.dtype.kind == "c":
                return call_whole(trace, f"numpy.{name}._implementation", (number,))
        if callable(getattr(kind.dtype.type, name, None)):
            return ArrayMethod(number, name)
        owner: type = kind.dtype.type
    else:
        assert isinstance(kind, NumberType)
        owner = NUMBERS[kind.kind]
        if name == "real" and kind.kind in ("int", "float"):
            return number
    if classes.static_lookup(owner, name) is classes.ABSENT:
        raise classes.missing(trace, owner, name)
    raise GraphBreak("attribute", f"{name} of a number")


def part(trace: Trace, array: Array, name: str) -> Array:
    """The real or the imaginary parts of an array of complex numbers: a view, with gaps where it has elements."""
    if trace.sizes.decide("eq", total(array.type.shape), 0):
        raise GraphBreak("attribute", f"{name} of an empty array")
    return trace.graph.view(array, ops.PART, {"of": name})


def transpose(trace: Trace, array: Array, axes: tuple[int, ...]) -> Array:
    """The array with its axes in another order."""
    return trace.graph.view(array, ops.TRANSPOSE, {"axes": axes})


def is_bool(symbol: Symbol) -> bool:
    """Whether it is True or False, which NumPy accepts neither as a size nor as an axis."""
    return isinstance(symbol, Constant) and type(symbol.value) is bool


def reshape(trace: Trace, array: OneArray, shape: Sequence[Symbol]) -> Symbol:
    """`array.reshape(shape)`: a view where NumPy gives one, else a copy in C order."""
    if any(map(is_bool, shape)):
        raise GraphBreak("eager-raises", "TypeError: an integer is required")
    wanted: list[Size | None] = [size_or_none(trace, part) for part in shape]
    known: Size = 1
    open_axis = None
    for axis, dimension in enumerate(wanted):
        if dimension is None:
            raise GraphBreak("numpy-call", "reshape to what is no whole number")
        if isinstance(dimension, int) and dimension == -1:
            if open_axis is not None:
                raise GraphBreak(
                    "eager-raises", "ValueError: can only specify one unknown dimension"
                )
            open_axis = axis
        elif trace.sizes.decide("lt", dimension, 0):
            raise GraphBreak("eager-raises", "ValueError: negative dimension")
        else:
            known = size.multiply(known, dimension)
    count = total(array.type.shape)
    if open_axis is not None:
        if trace.sizes.decide("eq", known, 0) or not trace.sizes.decide(
            "eq", size.divide("%", count, known), 0
        ):
            raise GraphBreak("eager-raises", "ValueError: cannot reshape array")
        wanted[open_axis] = _quotient(trace, array.type.shape, count, known)
    elif not trace.sizes.equal(count, known):
        raise GraphBreak("eager-raises", "ValueError: cannot reshape array")
    final = tuple(dimension for dimension in wanted if dimension is not None)
    short = {0, 1} & set(array.type.shape)  # all other lengths are 2 or more
    if short and open_axis is not None and _is_shape(trace, array.type.shape, final):
        # For the same shape without -1 NumPy keeps the strides of axes of length 0 and 1; with -1 it may choose others.
        raise GraphBreak("layout", "reshape with -1 to the same shape")
    try:
        infer.result_type(ops.RESHAPE, (array.type,), {"shape": final}, trace.sizes)
    except infer.CannotInfer as refusal:
        if str(refusal) != "this reshape copies" and not _is_copied(trace, array, final):
            raise GraphBreak("layout", f"a reshape ({refusal})") from None
        if isinstance(array, DeviceArray):
            return reshaped_copy(trace, array, final, "reshape")
        copy = trace.graph.node(ops.COPY, (trace.graph.value(array),), {"order": "C"})
        fresh = trace.graph.fresh(copy)
        assert isinstance(fresh, type(array))
        return trace.graph.view(fresh, ops.RESHAPE, {"shape": final})
    return trace.graph.view(array, ops.RESHAPE, {"shape": final})


def _is_copied(trace: Trace, array: OneArray, shape: tuple[Size, ...]) -> bool:
    """Whether NumPy surely copies where several axes of a view become one: they do not follow each other in memory."""
    kind, strides = array.type, flags.strides_of(array)
    old, new = joined_axes(kind, shape, trace.sizes)
    if strides is None or len(new) != 1 or isinstance(array, DeviceArray):
        return False
    decide = trace.sizes.decide
    is_wide = all(decide("ge", length, 1) for length in kind.shape)
    return (is_wide and all(decide("ge", kind.shape[axis], 2) for axis in old)) and any(
        not decide("eq", strides[slow], size.multiply(strides[fast], kind.shape[fast]))
        for slow, fast in pairwise(old)
    )


def reshaped_copy(trace: Trace, array: DeviceArray, shape: tuple[Size, ...], method: str) -> Symbol:
    """A copy of another shape, by CuPy's own call: NumPy's is a view of a copy, CuPy's has memory of its own."""
    attributes = {
        "function": DEVICE_METHOD + method,
        "arguments": (0,),
        "keywords": (),
        "shape": shape,
    }
    value = trace.graph.value(array)
    return trace.graph.fresh(trace.graph.node(ops.CALL, (value,), attributes, may_raise=True))


def _is_shape(trace: Trace, shape: Sequence[Size], other: Sequence[Size]) -> bool:
    """Whether two shapes are the same, decided on the sizes of this call and guarded."""
    pairs = zip(shape, other, strict=False)
    return len(shape) == len(other) and all(trace.sizes.decide("eq", *pair) for pair in pairs)


def ravel(trace: Trace, array: Array) -> Symbol:
    """`array.ravel()`: a view of what is C-contiguous, else a flat copy."""
    if is_c_like(array.type):
        return reshape(trace, array, [Constant(-1)])
    if flags.lies_so(trace, array, "C", "ravel"):
        raise GraphBreak("layout", "ravel of an array that is contiguous by its lengths")
    return call_whole(trace, "numpy.ndarray.flatten", (array,))


def _quotient(trace: Trace, shape: Sequence[Size], count: Size, known: Size) -> Size:
    """`count // known`, simplified where `known` is one of the dimensions."""
    rest = list(shape)
    if isinstance(known, int) and known == 1:
        return count
    if known in rest:
        rest.remove(known)
        return total(rest)
    return size.divide("//", count, known)
