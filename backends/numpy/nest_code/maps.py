"""Array statements of nests in LLVM's language: a table of where their arrays lie, and a call.

What does the work is a strided loop for the innermost axis, machine code of its own that is shared by all nests;
`nest/maps.c` walks the other axes. A step that has no exact short form is NumPy's own loop, on tiles of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ufuse.backends.numpy.llvm.compiler import compiled_rows, row_name
from ufuse.backends.numpy.llvm.functions import Native, Operation
from ufuse.backends.numpy.llvm.instructions import why_not_native
from ufuse.backends.numpy.llvm.symbols import loop_symbol
from ufuse.backends.numpy.loops import depends_on_operands, depends_on_strides
from ufuse.backends.numpy.nest_code.body import TYPES, ZEROS, Body
from ufuse.backends.planning.loops import Loop, cast_loop, copy_loop
from ufuse.graph import ops
from ufuse.graph.nest import Instruction, Map, Nest, Scalar, Step, View
from ufuse.graph.nest_types import ELEMENTS, F64, I1, I64, MAP_AXES, Value
from ufuse.graph.records import record

SCRATCHES = 1  # memories of a nest behind its temporaries'
WORDS = 2 + MAP_AXES  # of a NestMemory
MOST_OPERANDS = 60
# Arrays of a statement whose elements machine code takes one by one, and the bytes of the least element then.
MOST_APART = 8
LEAST_APART = 4
# Elements of a row that C may have threads share, as in `nest/sharing.c`.
FEWEST_SHARED = 1 << 13
ITEM = 8  # bytes of the widest real element
# An element of an array statement against a turn of an inner loop: a part of its time.
ELEMENTS_A_TURN_BITS = 2


# Loops


def loop_of(step: Step) -> Loop:
    """The inner loop of a step.

    Raises:
        LookupError: NumPy has no such function.

    """
    if step.name == "cast":
        return cast_loop(*step.dtypes)
    if step.name == "copy":
        return copy_loop(step.dtypes[-1])
    if step.name == "where":
        return Loop("where", "where", step.dtypes)
    op = ops.UFUNCS.get(step.name)
    if op is None:
        raise LookupError(f"NumPy has no elementwise {step.name}")
    return Loop("ufunc", step.name, step.dtypes, op.ufunc)


@record
class Segment:
    """Steps that one function does, with the numbers of the values that it takes and gives."""

    native: Native | None
    loop: Loop
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def words(self, body: Body, numbers: dict[int, int]) -> list[str]:
        """The segment as C reads it."""
        arguments = [numbers[value] for value in (*self.inputs, *self.outputs)]
        name = loop_symbol(self.loop) if self.native is None else row_of(body, self.native)
        code = [f"ptrtoint (ptr {body.symbol(name)} to i64)", "0"]
        if self.native is not None:
            code.reverse()
        return [*code, *map(str, (len(arguments), *arguments))]


def row_of(body: Body, native: Native) -> str:
    """The symbol of what does the rows."""
    return row_name(native, is_better=body.is_fast)


def prepare(nest: Nest, *, is_better: bool = False) -> tuple[str, ...] | None:
    """Compile what does the rows of a nest's array statements, all at once; the keys of what is kept."""
    return compiled_rows(
        [
            segment.native
            for block in nest.blocks
            for one in block.instructions
            if one.op == "map"
            for segment in segments_in(nest, one.attributes[0], is_better=is_better)
            if segment.native is not None
        ],
        is_better=is_better,
    )


@lru_cache(maxsize=256)
def segments_of(what: Map) -> list[Segment]:
    """The steps in runs of those with an exact short form, each of which is one function."""
    made: list[Segment] = []
    run: list[int] = []
    for place, step in enumerate(what.steps):
        loop = loop_of(step)
        if why_not_native(loop) is None:
            run.append(place)
            continue
        if run:
            made.append(_fused(what, run))
            run = []
        output = len(what.operands) + place
        made.append(Segment(None, loop, step.inputs, (output,)))
    return [*made, _fused(what, run)] if run else made


def segments_in(nest: Nest, what: Map, *, is_better: bool) -> list[Segment]:
    """The segments of a statement; in better code one that does it all takes elements that lie apart as they lie."""
    segments = segments_of(what)
    native = segments[0].native
    if not is_better or what.ndim != 1 or len(segments) != 1 or native is None:
        return segments
    apart = tuple(place for place, view in enumerate(_views(what)) if _is_apart(nest, view))
    narrowest = min(native.dtype(value).itemsize for value in range(len(native.inputs)))
    if (
        not 0 < len(apart) <= MOST_APART
        or narrowest < LEAST_APART
        or not _is_in_order(what, segments)
    ):
        return segments
    return [replace(segments[0], native=replace(native, apart=apart))]


def _views(what: Map) -> tuple[View | Scalar, ...]:
    return (*what.operands, what.target)


def _is_apart(nest: Nest, view: View | Scalar) -> bool:
    """Whether elements of a vector are hardly neighbours: those along other axes than the last, or with steps."""
    if not isinstance(view, View):
        return False
    return view.axes[0] not in {None, (nest.numbered[view.array].ndim - 1, 1)}


def _is_in_order(what: Map, segments: list[Segment]) -> bool:
    """Whether a function that does it all takes each array of the statement once, as they come."""
    order = [*segments[0].inputs, len(what.operands)]
    return len(segments) == 1 and order == list(range(len(order)))


def _fused(what: Map, run: list[int]) -> Segment:
    count = len(what.operands)
    inside = [count + place for place in run]
    steps = [what.steps[place] for place in run]
    taken = [value for step in steps for value in step.inputs if value not in inside]
    inputs = tuple(sorted(set(taken)))
    later = {value for step in what.steps[run[-1] + 1 :] for value in step.inputs}
    last = count + len(what.steps) - 1
    outputs = tuple(value for value in inside if value in later or value == last)
    numbers = {value: place for place, value in enumerate((*inputs, *inside))}
    operations = tuple(
        Operation(loop_of(step), tuple(numbers[value] for value in step.inputs), numbers[value])
        for step, value in zip(steps, inside, strict=True)
    )
    native = Native(
        tuple((_dtype(what, value), _is_single(what, value)) for value in inputs),
        operations,
        tuple(numbers[value] for value in outputs),
    )
    return Segment(native, operations[0].loop, inputs, outputs)


def _dtype(what: Map, value: int) -> np.dtype:
    """The dtype of a value that a step takes."""
    return next(
        dtype
        for step in what.steps
        for dtype, each in zip(step.dtypes, step.inputs, strict=False)
        if each == value
    )


def _is_single(what: Map, value: int) -> bool:
    if value >= len(what.operands):
        return False
    operand = what.operands[value]
    return isinstance(operand, Scalar) or operand.axes[-1] is None


# Tables


class Table:
    """The words that describe a statement, which are written anew each time."""

    def __init__(self, body: Body, axes: int, arrays: int) -> None:
        self.body = body
        self.axes = axes
        self.arrays = arrays
        self.used = axes + arrays + axes * arrays

    def store(self, word: int, text: str, type_: str = "i64") -> str:
        """Append the store of a word, unless it is there; its address."""
        known = self.body.known.table
        if known.get(word) == f"{type_} {text}":
            return ""
        # Not that of an earlier statement: it would have to be kept.
        at = self.body.add_new(f"getelementptr i64, ptr %table, i64 {word}")
        self.body.lines.append(f"store {type_} {text}, ptr {at}")
        self.body.table = max(self.body.table, word + 1)
        known[word] = f"{type_} {text}"
        return at

    def array(self, number: int, data: str, steps: Sequence[str]) -> None:
        """Write where an array lies."""
        self.store(self.axes + number, data, "ptr")
        for axis, step in enumerate(steps):
            self.store(self.axes + self.arrays * (1 + axis) + number, step)

    def scalar(self, number: int, type_: str, text: str) -> None:
        """Write a number, and where it lies."""
        at = self.store(self.used, text, type_) or self.at(self.used)
        self.used += 1
        self.array(number, at, ["0"] * self.axes)

    def at(self, word: int) -> str:
        """The address of a word."""
        return self.body.add(f"getelementptr i64, ptr %table, i64 {word}")


def place_of(body: Body, view: View, places: Sequence[Value]) -> tuple[str, list[str]]:
    """Where a view begins, and its step in bytes along each axis of the space."""
    offset = ""
    ndim = body.numbered[view.array].ndim
    for axis, place in enumerate(places[:ndim]):
        if body.constant(place) == 0:
            continue
        part = body.add(f"mul i64 {body.operand(place)}, {body.stride(view.array, axis)}")
        offset = body.add(f"add i64 {offset}, {part}") if offset else part
    data = body.data(view.array)
    if offset:
        data = body.add(f"getelementptr i8, ptr {data}, i64 {offset}")
    computed = iter(places[ndim:])
    return data, [_step(body, view.array, one, computed) for one in view.axes]


def _step(
    body: Body, array: int, axis: tuple[int, int | None] | None, computed: Iterator[Value]
) -> str:
    if axis is None:
        return "0"
    stride = body.stride(array, axis[0])
    if axis[1] is None:
        return body.add(f"mul i64 {stride}, {body.operand(next(computed))}")
    return stride if axis[1] == 1 else body.add(f"mul i64 {stride}, {axis[1]}")


class Inputs:
    """The inputs of an instruction, taken one after another."""

    def __init__(self, body: Body, one: Instruction) -> None:
        self.body = body
        self.waiting = list(one.inputs)

    def take(self, count: int) -> list[Value]:
        """The next ones."""
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken

    def of_view(self, view: View) -> list[Value]:
        """Where a view begins, and its computed steps."""
        return self.take(self.body.numbered[view.array].ndim + view.computed_steps)


def emit_map(body: Body, one: Instruction) -> str:
    """Append an array statement."""
    (what,) = one.attributes
    if len(what.operands) > MOST_OPERANDS:
        raise LookupError(f"an array statement of {len(what.operands)} operands")
    inputs = Inputs(body, one)
    lengths = [body.operand(value) for value in inputs.take(what.ndim)]
    given = [
        inputs.take(1) if isinstance(operand, Scalar) else inputs.of_view(operand)
        for operand in what.operands
    ]
    target = inputs.of_view(what.target)
    table = Table(body, what.ndim, len(what.operands) + 1)
    for axis, length in enumerate(lengths):
        table.store(axis, length)
    for number, (operand, values) in enumerate(zip(what.operands, given, strict=True)):
        if isinstance(operand, Scalar):
            table.scalar(number, *_converted(body, values[0], operand.dtype))
        else:
            table.array(number, *place_of(body, operand, values))
    table.array(len(what.operands), *place_of(body, what.target, target))
    shared = sum(
        1 << number
        for number, (operand, values) in enumerate(zip(what.operands, given, strict=True))
        if isinstance(operand, View) and _may_share(body, what.target, target, operand, values)
    )
    body.doubt_if(body.add_new(f"icmp ne i32 {_call(body, what, lengths[0], table, shared)}, 0"))
    body.known.forget(one)
    lose_patience(body, lengths)
    return ""


def _may_share(
    body: Body, target: View, places: list[Value], operand: View, values: list[Value]
) -> bool:
    """Whether an operand may share memory with the target, other than element for element."""
    given = body.given
    if target.array != operand.array:
        return not body.is_fast and target.array < given and operand.array < given
    same = [body.operand(value) for value in places] == [body.operand(value) for value in values]
    return not (same and target.axes == operand.axes)


def _call(body: Body, what: Map, length: str, table: Table, shared: int) -> str:
    """Append the work of a statement: a call of machine code for the row that it is, or of C."""
    segments = segments_in(body.nest, what, is_better=body.is_fast)
    native = segments[0].native

    def row() -> str:
        assert native is not None
        given = f"ptr {table.at(1)}, ptr %table, ptr {table.at(1 + table.arrays)}, ptr null"
        return body.call(row_of(body, native), "i32", given)

    def mapped() -> str:
        plan = _plan(body, what, segments, shared)
        scratch = WORDS * len(body.nest.temporaries)
        memory = body.add(f"getelementptr i64, ptr %memory, i64 {scratch}")
        return body.call("helper.map", "i32", f"ptr {plan}, ptr %table, ptr {memory}")

    views = [view for view in _views(what) if isinstance(view, View)]
    near = [view for view in views if what.ndim == 1 and not _is_apart(body.nest, view)]
    is_row = what.ndim == 1 and not shared and _is_in_order(what, segments)
    if native is None or not is_row or not (native.apart or len(near) == len(views)):
        return mapped()
    if not body.is_fast:
        return row()
    as_expected = _are_few_neighbours(body, length, near)
    status = body.otherwise(as_expected, "0", "i32", mapped)
    return body.otherwise(body.add(f"xor i1 {as_expected}, true"), status, "i32", row)


def _are_few_neighbours(body: Body, length: str, views: Sequence[View]) -> str:
    """Whether a row is for one thread, and elements along the last axes of arrays lie side by side."""
    found = body.add(f"icmp ult i64 {length}, {FEWEST_SHARED}")
    for view in views:
        if view.axes[0] is not None and view.array < body.given:
            array = body.numbered[view.array]
            stride = body.stride(view.array, array.ndim - 1)
            one = body.add(f"icmp eq i64 {stride}, {array.dtype.itemsize}")
            found = body.add(f"and i1 {found}, {one}")
    return found


def _plan(body: Body, what: Map, segments: list[Segment], shared: int) -> str:
    """What C knows of a statement, as a constant of the module."""
    count = len(what.operands)
    last = count + len(what.steps) - 1
    numbers = {value: value for value in range(count)} | {last: count}
    rows = [value for one in segments for value in one.outputs if value != last]
    numbers |= {value: count + 1 + place for place, value in enumerate(rows)}
    dtypes = [_operand_dtype(body, operand) for operand in (*what.operands, what.target)]
    dtypes += [what.steps[value - count].dtypes[-1] for value in rows]
    loops = [one.loop for one in segments if one.native is None]
    copies = all(step.name in {"copy", "cast"} for step in what.steps)
    item = max(ITEM, *(dtype.itemsize for dtype in dtypes))
    words = [what.ndim, count + 1, int(copies), _fresh(loops), item, len(rows), len(segments)]
    words.append(shared)
    words.append(sum(1 << value for value in range(count) if _is_single(what, value)))
    native = segments[0].native
    words.append(sum(1 << place for place in native.apart) if native is not None else 0)
    words += [dtype.itemsize for dtype in dtypes]
    texts = [*map(str, words), *(word for one in segments for word in one.words(body, numbers))]
    name = f"@plan{len(body.globals)}"
    text = ", ".join(f"i64 {word}" for word in texts)
    body.globals.append(f"{name} = private constant [{len(texts)} x i64] [{text}]")
    return name


def _fresh(loops: Sequence[Loop]) -> int:
    """What NumPy's loops need for their own bits, as `nest/maps.c` numbers it."""
    if any(depends_on_operands(loop) for loop in loops):
        return 1
    return 2 if any(map(depends_on_strides, loops)) else 0


def _operand_dtype(body: Body, operand: View | Scalar) -> np.dtype:
    return operand.dtype if isinstance(operand, Scalar) else body.numbered[operand.array].dtype


def lose_patience(body: Body, lengths: Sequence[str]) -> None:
    """Take off the patience that so many elements cost."""
    elements = lengths[0]
    for length in lengths[1:]:
        elements = body.add(f"mul i64 {elements}, {length}")
    body.lose_patience(body.add(f"ashr i64 {elements}, {ELEMENTS_A_TURN_BITS}"))


# Numbers as operands


def _converted(body: Body, value: Value, dtype: np.dtype) -> tuple[str, str]:
    """A number as a dtype: its type in memory, and its text. What does not fit is a doubt."""
    body.settle(value)
    text = body.operand(value)
    if value.type != I1 and value.type == ELEMENTS.get(dtype):
        return TYPES[value.type], text
    if value.type not in {F64, I64, I1}:
        raise LookupError(f"a number of {value.type} as an operand of {dtype}")
    if dtype.kind == "b":
        return "i8", body.add(f"zext i1 {_truth(body, value.type, text)} to i8")
    if dtype.kind == "f":
        return _real(body, value.type, text, "double" if dtype.itemsize == 8 else "float")
    return _whole(body, value.type, text, dtype)


def _truth(body: Body, type_: str, text: str) -> str:
    if type_ == I1:
        return text
    return (
        body.compare("une", text, ZEROS[F64])
        if type_ == F64
        else body.add(f"icmp ne i64 {text}, 0")
    )


def _real(body: Body, type_: str, text: str, wanted: str) -> tuple[str, str]:
    short = "f64" if wanted == "double" else "f32"
    if type_ == I1:
        return wanted, body.add(f"select i1 {text}, {wanted} 1.0, {wanted} 0.0")
    if type_ == I64:
        return wanted, body.strict(f"sitofp.{short}.i64", wanted, [("i64", text)])
    if wanted == "double":
        return wanted, text
    return wanted, body.strict("fptrunc.f32.f64", wanted, [("double", text)])


def _whole(body: Body, type_: str, text: str, dtype: np.dtype) -> tuple[str, str]:
    wanted = f"i{8 * dtype.itemsize}"
    if type_ == I1:
        return wanted, body.add(f"zext i1 {text} to {wanted}")
    if type_ == F64:
        text = body.towards_zero(text)
    if dtype.kind == "u" and dtype.itemsize == ITEM:
        body.go_on_if(body.add(f"icmp sge i64 {text}, 0"))
    if dtype.itemsize == ITEM:
        return wanted, text
    short = body.add(f"trunc i64 {text} to {wanted}")
    back = body.add(f"{'zext' if dtype.kind == 'u' else 'sext'} {wanted} {short} to i64")
    body.go_on_if(body.add(f"icmp eq i64 {back}, {text}"))
    return wanted, short


# Temporaries


def emit_alloc(body: Body, one: Instruction) -> str:
    """Append memory for a temporary, and its lengths."""
    (number,) = one.attributes
    first = WORDS * (number - body.given)
    lengths = [body.operand(value) for value in one.inputs]
    size = str(body.numbered[number].dtype.itemsize)
    for length in lengths:
        size = body.with_overflow("smul", size, length)
    memory = body.add(f"getelementptr i64, ptr %memory, i64 {first}")
    status = body.call("helper.grow", "i32", f"ptr {memory}, i64 {size}")
    body.doubt_if(body.add_new(f"icmp ne i32 {status}, 0"))
    body.known.forget(one)
    data = body.add_new(f"load ptr, ptr {memory}")
    body.keep_own(number, "data", "ptr", data)
    for axis, length in enumerate(lengths):
        at = body.add(f"getelementptr i64, ptr %memory, i64 {first + 2 + axis}")
        body.lines.append(f"store i64 {length}, ptr {at}")
        body.keep_own(number, f"length{axis}", "i64", length)
    return ""
