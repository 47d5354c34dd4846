"""Machine code for runs of operations that IEEE 754 or two's complement define exactly.

The text of LLVM's language is written as vectors already, and goes to the code generator without any optimiser:
compilation takes about two milliseconds, and no pass can trade a bit or a floating-point flag for speed. Laws:

1. Every operation is one instruction (or an exact sequence) on the same operands in the same order. There
   are no constants from the program: numbers are operands with step 0.
2. The function returns 1 where an output is a NaN whose sign and payload would be NumPy's only by luck (`_watched`), or
   where an operation says that it cannot vouch for its bits; NumPy's own loops then do the tile again.
3. Every flag that NumPy's loops would raise is raised; more may be. What is made must therefore be used
   (`tiers.native_segments`).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ufuse.backends.numpy.llvm.instructions import Body, emit, memory_type
from ufuse.backends.planning.loops import Loop
from ufuse.graph.records import record


@record
class Operation:
    """One instruction of a native segment; values are numbered within the segment, inputs first."""

    loop: Loop
    inputs: tuple[int, ...]
    output: int


@record
class Native:
    """A native segment: `inputs` are (dtype, one element for all), `outputs` are numbers of values.

    `apart`: the arguments, inputs first, whose elements are taken one by one as they are not expected to be neighbours.
    """

    inputs: tuple[tuple[np.dtype, bool], ...]
    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]
    apart: tuple[int, ...] = ()

    def dtype(self, value: int) -> np.dtype:
        """The dtype of a numbered value."""
        if value < len(self.inputs):
            return self.inputs[value][0]
        return next(op.loop.dtypes[-1] for op in self.operations if op.output == value)


def function_text(native: Native, name: str) -> str:
    """The segment as a module with one function of NumPy's strided-loop signature."""
    widest = max(
        native.dtype(value).itemsize for value in range(len(native.inputs) + len(native.operations))
    )
    lanes = {8: 16, 4: 32}.get(widest, 64)
    vector, scalar = Body(lanes, "v"), Body(1, "s")
    arguments = len(native.inputs) + len(native.outputs)
    lines = [f"define i32 @{name}(ptr %data, ptr %dims, ptr %steps, ptr %unused) #0 {{", "entry:"]
    for place in range(arguments):
        lines += [
            f"%p{place}.at = getelementptr ptr, ptr %data, i64 {place}",
            f"%p{place} = load ptr, ptr %p{place}.at",
            f"%d{place}.at = getelementptr i64, ptr %steps, i64 {place}",
            f"%d{place} = load i64, ptr %d{place}.at",
        ]
    lines += ["%n = load i64, ptr %dims", *_step_test(native, lanes), *_number_test(native)]
    lines += ["br i1 %fast, label %vector.head, label %scalar.head"]
    lines += _vector_loop(native, vector)
    lines += _scalar_loop(native, scalar, vector)
    lines += ["}"]
    lines += sorted(vector.declared | scalar.declared)
    if vector.doubts:
        lines.append(f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({vector.type('i1')})")
    lines.append(
        'attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="false" }'
    )
    return "\n".join(lines) + "\n"


def _step_test(native: Native, lanes: int) -> list[str]:
    """Instructions for %whole (elements done as vectors) and %fast (steps are as expected)."""
    lines = [f"%whole = and i64 %n, {-lanes}", "%some = icmp ne i64 %whole, 0"]
    last = "%some"
    wanted = [0 if single else dtype.itemsize for dtype, single in native.inputs]
    wanted += [native.dtype(value).itemsize for value in native.outputs]
    for place, step in enumerate(wanted):
        lines += [
            f"%e{place} = icmp eq i64 %d{place}, {step}",
            f"%f{place} = and i1 {last}, %e{place}",
        ]
        last = f"%f{place}"
    return [*lines, f"%fast = and i1 {last}, {last}"]


def _number_test(native: Native) -> list[str]:
    """Instructions for %number.bad: whether one of the numbers that are to be none is a NaN."""
    lines, last = [], "false"
    for place in _watched(native)[1]:
        type_ = memory_type(native.inputs[place][0])
        lines += [
            f"%q{place} = load {type_}, ptr %p{place}, align 1",
            f"%r{place} = fcmp uno {type_} %q{place}, %q{place}",
            f"%u{place} = or i1 {last}, %r{place}",
        ]
        last = f"%u{place}"
    return [*lines, f"%number.bad = or i1 {last}, false"]


# A NaN that these make is that of an operand, or the one that the processor makes of an operation without a result. Not
# `reciprocal`: the code generator makes `-1 / x` of `-(1 / x)`, where a NaN keeps its sign.
OF_ONE = frozenset(("square", "sqrt", "negative"))
OF_TWO = frozenset(("add", "subtract", "multiply", "divide"))
# Where one operand of these is a NaN, and the other is not the same, they are in doubt.
EXTREMES = frozenset(("maximum", "minimum"))
SAME = frozenset(("copy", "cast", "positive", "conjugate"))


@lru_cache(maxsize=256)
def _watched(native: Native) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The outputs of which a NaN is a doubt, and the inputs of one element of which it is.

    Of two unlike NaNs the processor takes the first, and which that is the compiler chooses, here and in NumPy. So a
    NaN's bits are known where it comes from memory, or from operations of which only one operand may be a NaN.
    """
    known = set(range(len(native.inputs)))  # of which NaNs have NumPy's bits
    never = {place for place, (dtype, _) in enumerate(native.inputs) if dtype.kind != "f"}
    numbers: set[int] = set()
    for operation in native.operations:
        name = operation.loop.kind if operation.loop.kind != "ufunc" else operation.loop.name
        operands = operation.inputs[1:] if name == "where" else operation.inputs
        may_be = [value for value in dict.fromkeys(operands) if value not in never]
        is_known = known.issuperset(operands)
        if name in OF_TWO and len(may_be) == 2:
            single = [one for one in may_be if one < len(native.inputs) and native.inputs[one][1]]
            numbers.update(single[:1] if is_known else ())
            is_known = is_known and bool(single)
        elif name not in OF_ONE | OF_TWO | SAME | EXTREMES | {"where"}:
            is_known = False
        if is_known:
            known.add(operation.output)
        if native.dtype(operation.output).kind != "f" or (name in SAME | {"where"} and not may_be):
            never.add(operation.output)
    outputs = (one for one in native.outputs if native.dtype(one).kind == "f")
    return tuple(one for one in outputs if one not in known), tuple(sorted(numbers))


def _vector_loop(native: Native, body: Body) -> list[str]:
    lanes = body.lanes
    head = ["vector.head:"]
    values: dict[int, str] = {}
    for place, (dtype, single) in enumerate(native.inputs):
        if single:
            element = memory_type(dtype)
            head += [
                f"%h{place} = load {element}, ptr %p{place}, align 1",
                f"%i{place} = insertelement {body.type(element)} poison, {element} %h{place}, i64 0",
                (
                    f"%j{place} = shufflevector {body.type(element)} %i{place}, "
                    f"{body.type(element)} poison, <{lanes} x i32> zeroinitializer"
                ),
            ]
            if dtype.kind == "b":
                head.append(f"%k{place} = icmp ne {body.type('i8')} %j{place}, zeroinitializer")
            values[place] = f"%k{place}" if dtype.kind == "b" else f"%j{place}"
    for place, (dtype, single) in enumerate(native.inputs):
        if not single:
            values[place] = _load(body, dtype, f"%p{place}", "%at")
    _compute(native, body, values)
    for place, value in enumerate(native.outputs, len(native.inputs)):
        _store(body, native.dtype(value), values[value], f"%p{place}", "%at")
    doubt = _all_doubts(body, "%doubt")
    lines = [*head, "br label %vector.loop", "vector.loop:"]
    lines.append("%at = phi i64 [0, %vector.head], [%at.next, %vector.loop]")
    if body.doubts:
        lines.append(
            f"%doubt = phi {body.type('i1')} [zeroinitializer, %vector.head], [{doubt}, %vector.loop]"
        )
    lines += body.lines
    lines += [
        f"%at.next = add i64 %at, {lanes}",
        "%more = icmp slt i64 %at.next, %whole",
        "br i1 %more, label %vector.loop, label %vector.done",
        "vector.done:",
    ]
    if body.doubts:
        lines += [
            f"%vector.any = call i1 @llvm.vector.reduce.or.v{lanes}i1({body.type('i1')} {doubt})",
            "%vector.bad = or i1 %vector.any, %number.bad",
        ]
    else:
        lines.append("%vector.bad = or i1 %number.bad, false")
    return [*lines, "br label %scalar.head"]


def _scalar_loop(native: Native, body: Body, vector: Body) -> list[str]:
    lines = [
        "scalar.head:",
        "%first = phi i64 [0, %entry], [%whole, %vector.done]",
        "%bad.first = phi i1 [%number.bad, %entry], [%vector.bad, %vector.done]",
        "%any = icmp slt i64 %first, %n",
        "br i1 %any, label %scalar.loop, label %done",
        "scalar.loop:",
        "%one = phi i64 [%first, %scalar.head], [%one.next, %scalar.loop]",
        "%bad = phi i1 [%bad.first, %scalar.head], [%bad.next, %scalar.loop]",
    ]
    values: dict[int, str] = {}
    for place, (dtype, _) in enumerate(native.inputs):
        values[place] = _load(body, dtype, f"%p{place}", "%one", f"%d{place}")
    _compute(native, body, values)
    for place, value in enumerate(native.outputs, len(native.inputs)):
        _store(body, native.dtype(value), values[value], f"%p{place}", "%one", f"%d{place}")
    doubt = _all_doubts(body, "%bad")
    return [
        *lines,
        *body.lines,
        f"%bad.next = or i1 {doubt}, false",
        "%one.next = add i64 %one, 1",
        "%again = icmp slt i64 %one.next, %n",
        "br i1 %again, label %scalar.loop, label %done",
        "done:",
        "%bad.last = phi i1 [%bad.first, %scalar.head], [%bad.next, %scalar.loop]",
        "%result = zext i1 %bad.last to i32",
        "ret i32 %result",
    ]


def _load(body: Body, dtype: np.dtype, pointer: str, place: str, step: str = "") -> str:
    element = memory_type(dtype)
    at = _address(body, element, pointer, place, step)
    value = body.add(f"load {body.type(element)}, ptr {at}, align 1")
    if dtype.kind == "b":
        zero = "0" if body.lanes == 1 else "zeroinitializer"
        value = body.add(f"icmp ne {body.type('i8')} {value}, {zero}")
    return value


def _address(body: Body, element: str, pointer: str, place: str, step: str) -> str:
    if step:
        offset = body.add(f"mul i64 {place}, {step}")
        return body.add(f"getelementptr i8, ptr {pointer}, i64 {offset}")
    return body.add(f"getelementptr {element}, ptr {pointer}, i64 {place}")


def _store(
    body: Body, dtype: np.dtype, value: str, pointer: str, place: str, step: str = ""
) -> None:
    element = memory_type(dtype)
    if dtype.kind == "b":
        value = body.add(f"zext {body.type('i1')} {value} to {body.type('i8')}")
    at = _address(body, element, pointer, place, step)
    body.lines.append(f"store {body.type(element)} {value}, ptr {at}, align 1")


def _compute(native: Native, body: Body, values: dict[int, str]) -> None:
    for operation in native.operations:
        values[operation.output] = emit(
            body, operation.loop, [values[place] for place in operation.inputs]
        )
    for value in _watched(native)[0]:
        dtype = native.dtype(value)
        body.doubt(body.add(f"fcmp uno {body.value_type(dtype)} {values[value]}, {values[value]}"))


def _all_doubts(body: Body, start: str) -> str:
    for condition in dict.fromkeys(body.doubts):
        start = body.add(f"or {body.type('i1')} {start}, {condition}")
    return start
