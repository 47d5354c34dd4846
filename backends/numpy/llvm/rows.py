"""Strided loops for the rows of array statements, as text that takes a millisecond to compile without optimisation.

Rows where every element lies next to the one before are done as vectors, their rest with a mask: lanes beyond the rest
do what the first element of the rest does, so they raise no flag of their own. Others are done one by one. Laws:

1. Every operation is one instruction (or an exact sequence) on the same operands in the same order; every result is
   used. The flags are those that NumPy's loops raise.
2. The function returns 1 where the bits of a result are NumPy's only by luck: a NaN that may be either of two unlike
   ones, or what an operation says that it cannot vouch for.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

import numpy as np

from ufuse.backends.numpy.llvm.functions import Native
from ufuse.backends.numpy.llvm.instructions import Body, emit, memory_type

LANES = {8: 16, 4: 32}  # by the bytes of the widest element
MOST_LANES = 64
GROUP = 4  # elements that are not neighbours, at a time
# Of more operations NumPy makes more passes: one element at a time is fast enough, and less to compile.
MOST_GROUPED = 2
# What gives back a NaN as it is, but for making it quiet.
KEEPS_NANS = frozenset(
    "sqrt floor ceil trunc rint square reciprocal positive conjugate copy".split()
)
ARITHMETIC = frozenset("add subtract multiply divide".split())


def rows_text(functions: Mapping[str, Native], *, masks: bool) -> str:
    """A module with functions of NumPy's strided-loop signature; `masks`: the machine has vectors with masks."""
    lines: list[str] = []
    declared: set[str] = set()
    for name, native in functions.items():
        text = _Text(native, masks=masks)
        lines += text.lines(name)
        declared |= text.declared
    attributes = 'nounwind "prefer-vector-width"="512" "no-trapping-math"="false"'
    return "\n".join([*lines, *sorted(declared), f"attributes #0 = {{ {attributes} }}", ""])


def values_in_doubt(native: Native, *, singles_are_numbers: bool) -> set[int]:
    """The values whose NaNs may come from two sources: they are up to the order of operands.

    Two values of one source are never unlike NaNs: where it is NaN they are that NaN, else the one that the machine
    makes. `singles_are_numbers`: operands that are one element for all are never NaN.
    """
    sources = {
        value: value
        for value, (dtype, single) in enumerate(native.inputs)
        if dtype.kind == "f" and not (single and singles_are_numbers)
    }
    clashed: set[int] = set()
    for one in native.operations:
        if one.loop.dtypes[-1].kind != "f":
            continue
        given = [value for value in one.inputs if native.dtype(value).kind == "f"]
        known = {sources[value] for value in given if value in sources}
        if (one.loop.name in ARITHMETIC and len(known) > 1) or not clashed.isdisjoint(given):
            clashed.add(one.output)
        keeps = one.loop.name in ARITHMETIC | KEEPS_NANS and len(known) == 1
        sources[one.output] = known.pop() if keeps else one.output
    return clashed


class _Text:
    """The lines of a function."""

    def __init__(self, native: Native, *, masks: bool) -> None:
        self.native = native
        widest = max(
            native.dtype(value).itemsize
            for value in range(len(native.inputs) + len(native.operations))
        )
        lanes = LANES.get(widest, MOST_LANES)
        self.vector, self.group, self.scalar = Body(lanes, "v"), Body(GROUP, "g"), Body(1, "s")
        self.gathered = Body(lanes // 2, "a") if native.apart else None
        self.masked = Body(lanes // 2, "m") if masks else None
        self.arguments = [*range(len(native.inputs)), *native.outputs]  # values
        # Along a row of vectors, and where elements lie anywhere: there no operand is one element for all.
        self.doubtful = values_in_doubt(native, singles_are_numbers=True)
        self.doubtful_anywhere = values_in_doubt(native, singles_are_numbers=False)
        # Operands that must be numbers.
        self.checked = [
            place
            for place, (dtype, single) in enumerate(native.inputs)
            if self.doubtful_anywhere and single and dtype.kind == "f"
        ]
        self.declared: set[str] = set()

    def lines(self, name: str) -> Iterator[str]:
        """The function; `declared` is complete behind it."""
        yield f"define i32 @{name}(ptr %data, ptr %dims, ptr %steps, ptr %unused) #0 {{"
        yield from self._entry()
        yield from self._whole_vectors(self.vector, "vector", (), "rest")
        if self.gathered:
            yield from self._whole_vectors(self.gathered, "gather", self.native.apart, "gathered")
            yield from self._rest_of("gathered", "gather")
        yield from self._rest() if self.masked else self._rest_of("rest", "vector")
        yield from self._elements()
        yield "}"
        bodies = [self.vector, self.group, self.scalar, self.gathered, self.masked]
        self.declared.update(*(body.declared for body in bodies if body))

    def _entry(self) -> Iterator[str]:
        yield "entry:"
        for place in range(len(self.arguments)):
            yield f"%p{place}.at = getelementptr ptr, ptr %data, i64 {place}"
            yield f"%p{place} = load ptr, ptr %p{place}.at"
            yield f"%d{place}.at = getelementptr i64, ptr %steps, i64 {place}"
            yield f"%d{place} = load i64, ptr %d{place}.at"
        yield "%n = load i64, ptr %dims"
        yield "%some = icmp sgt i64 %n, 0"
        yield "br i1 %some, label %begin, label %nothing"
        yield "nothing:"
        yield "ret i32 0"
        yield "doubt:"
        yield "ret i32 1"
        yield "begin:"
        bad = "false"
        for place in self.checked:
            element = memory_type(self.native.dtype(place))
            yield f"%c{place} = load {element}, ptr %p{place}, align 1"
            yield f"%c{place}.nan = fcmp uno {element} %c{place}, %c{place}"
            yield f"%c{place}.bad = or i1 {bad}, %c{place}.nan"
            bad = f"%c{place}.bad"
        yield f"br i1 {bad}, label %doubt, label %look"
        yield "look:"
        apart = self.native.apart
        others = [place for place in range(len(self.arguments)) if place not in apart]
        fast = yield from self._neighbours(others)
        vectors = "look.apart" if apart else "vectors"
        yield f"br i1 {fast}, label %{vectors}, label %elements"
        if apart:
            yield "look.apart:"
            near = yield from self._neighbours(apart)
            yield f"br i1 {near}, label %vectors, label %gathers"

    def _neighbours(self, places: Iterable[int]) -> Generator[str, None, str]:
        """Whether the elements of arguments lie side by side, or are one for all where that is expected."""
        found = "true"
        for place in places:
            size = self.native.dtype(self.arguments[place]).itemsize
            yield f"%e{place} = icmp eq i64 %d{place}, {0 if self._is_single(place) else size}"
            yield f"%f{place} = and i1 {found}, %e{place}"
            found = f"%f{place}"
        return found

    def _is_single(self, place: int) -> bool:
        return place < len(self.native.inputs) and self.native.inputs[place][1]

    def _whole_vectors(
        self, body: Body, name: str, apart: Sequence[int], behind: str
    ) -> Iterator[str]:
        """As many whole vectors as there are; elements of arguments that are `apart` are taken from where they lie."""
        at = f"%{name}.at"
        yield f"{name}s:"
        yield f"%{name}.whole = and i64 %n, {-body.lanes}"
        yield f"%{name}.any = icmp ne i64 %{name}.whole, 0"
        yield f"br i1 %{name}.any, label %{name}.head, label %{behind}"
        yield f"{name}.head:"
        values: dict[int, str] = {}
        for place, (dtype, single) in enumerate(self.native.inputs):
            if single:
                values[place] = _splat(body, dtype, f"%p{place}")
        head = list(body.lines)
        body.lines.clear()
        for place, (dtype, single) in enumerate(self.native.inputs):
            if place in apart:
                values[place] = _gather(body, dtype, _ways(body, place, at))
            elif not single:
                start = body.add(f"getelementptr {memory_type(dtype)}, ptr %p{place}, i64 {at}")
                values[place] = _load(body, dtype, start)
        doubt = self._compute(body, values, f"%{name}.wrong", self.doubtful)
        for place, value in self._outputs():
            dtype = self.native.dtype(value)
            if place in apart:
                _scatter(body, dtype, values[value], _ways(body, place, at))
            else:
                start = body.add(f"getelementptr {memory_type(dtype)}, ptr %p{place}, i64 {at}")
                _store(body, dtype, values[value], start)
        yield from head
        yield f"br label %{name}.loop"
        yield f"{name}.loop:"
        yield f"{at} = phi i64 [0, %{name}.head], [{at}.next, %{name}.loop]"
        if doubt != f"%{name}.wrong":
            bits = f"{body.type('i1')} [zeroinitializer, %{name}.head], [{doubt}, %{name}.loop]"
            yield f"%{name}.wrong = phi {bits}"
        yield from body.lines
        yield f"{at}.next = add i64 {at}, {body.lanes}"
        yield f"%{name}.more = icmp slt i64 {at}.next, %{name}.whole"
        yield f"br i1 %{name}.more, label %{name}.loop, label %{name}.done"
        yield f"{name}.done:"
        if doubt == f"%{name}.wrong":
            yield f"br label %{behind}"
            return
        yield f"%{name}.bad = {self._any(body, doubt)}"
        yield f"br i1 %{name}.bad, label %doubt, label %{behind}"

    def _rest_of(self, label: str, name: str) -> Iterator[str]:
        """The rest of a row, behind whole vectors, is done element by element."""
        yield f"{label}:"
        yield f"%{label}.first = phi i64 [0, %{name}s], [%{name}.whole, %{name}.done]"
        yield f"%{label}.any = icmp ne i64 %{label}.first, %n"
        yield f"br i1 %{label}.any, label %elements, label %nothing"

    def _rest(self) -> Iterator[str]:
        """The rest of a row, which is shorter than a vector, as one or two vectors of half the lanes."""
        body = self.masked
        if body is None:
            return
        lanes = body.lanes
        yield "rest:"
        yield "%first = phi i64 [0, %vectors], [%vector.whole, %vector.done]"
        yield "%left = sub i64 %n, %first"
        yield "%any.left = icmp ne i64 %left, 0"
        yield "br i1 %any.left, label %rest.loop, label %nothing"
        yield "rest.loop:"
        yield "%from = phi i64 [%first, %rest], [%from.next, %rest.next]"
        yield "%here = sub i64 %n, %from"
        yield "%short = trunc i64 %here to i32"
        yield f"%one.lane = insertelement <{lanes} x i32> poison, i32 %short, i64 0"
        zeros = f"<{lanes} x i32> zeroinitializer"
        yield f"%lengths = shufflevector <{lanes} x i32> %one.lane, <{lanes} x i32> poison, {zeros}"
        numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
        yield f"%mask = icmp ult <{lanes} x i32> <{numbers}>, %lengths"
        values = {}
        for place, (dtype, single) in enumerate(self.native.inputs):
            if single:
                values[place] = _splat(body, dtype, f"%p{place}")
            else:
                values[place] = self._masked_load(body, dtype, f"%p{place}")
        doubt = self._compute(body, values, "zeroinitializer", self.doubtful)
        for place, value in self._outputs():
            self._masked_store(body, self.native.dtype(value), values[value], f"%p{place}")
        yield from body.lines
        if doubt == "zeroinitializer":
            yield "br label %rest.next"
        else:
            yield f"%rest.bad = {self._any(body, doubt)}"
            yield "br i1 %rest.bad, label %doubt, label %rest.next"
        yield "rest.next:"
        yield f"%from.next = add i64 %from, {lanes}"
        yield "%again = icmp slt i64 %from.next, %n"
        yield "br i1 %again, label %rest.loop, label %nothing"

    def _masked_load(self, body: Body, dtype: np.dtype, pointer: str) -> str:
        element = memory_type(dtype)
        type_, bits = body.type(element), body.type("i1")
        at = body.add(f"getelementptr {element}, ptr {pointer}, i64 %from")
        other = _splat_bits(body, dtype, at)
        full = f"@llvm.masked.load.v{body.lanes}{_suffix(element)}.p0"
        self.declared.add(f"declare {type_} {full}(ptr, i32, {bits}, {type_})")
        value = body.add(f"call {type_} {full}(ptr {at}, i32 1, {bits} %mask, {type_} {other})")
        return _as_value(body, dtype, value)

    def _masked_store(self, body: Body, dtype: np.dtype, value: str, pointer: str) -> None:
        element = memory_type(dtype)
        type_, bits = body.type(element), body.type("i1")
        if dtype.kind == "b":
            value = body.add(f"zext {bits} {value} to {type_}")
        at = body.add(f"getelementptr {element}, ptr {pointer}, i64 %from")
        full = f"@llvm.masked.store.v{body.lanes}{_suffix(element)}.p0"
        self.declared.add(f"declare void {full}({type_}, ptr, i32, {bits})")
        body.lines.append(f"call void {full}({type_} {value}, ptr {at}, i32 1, {bits} %mask)")

    def _elements(self) -> Iterator[str]:
        """Elements anywhere, some at a time, then one by one."""
        yield "elements:"
        ways = ["[0, %look]"]
        if not self.masked:
            ways.append("[%rest.first, %rest]")
        if self.gathered:
            ways.append("[%gathered.first, %gathered]")
        yield f"%start = phi i64 {', '.join(ways)}"
        for place in range(len(self.arguments)):
            yield f"%o{place} = mul i64 %start, %d{place}"
            yield f"%b{place} = getelementptr i8, ptr %p{place}, i64 %o{place}"
        yield "%span = sub i64 %n, %start"
        yield f"%groups = and i64 %span, {-GROUP}"
        yield "%stop = add i64 %start, %groups"
        yield "%any.group = icmp ne i64 %groups, 0"
        if len(self.native.operations) > MOST_GROUPED:
            yield "br label %single.head"
            yield from self._singles("%start", "%b{}")
            return
        yield "br i1 %any.group, label %group, label %singles"
        yield from self._loop(self.group, "group", "elements", "%start", "%b{}", "%stop", "singles")
        yield "singles:"
        yield "%single.first = phi i64 [%start, %elements], [%stop, %group.last]"
        for place in range(len(self.arguments)):
            yield f"%t{place} = phi ptr [%b{place}, %elements], [%group{place}.next, %group.last]"
        yield "%any.single = icmp slt i64 %single.first, %n"
        yield "br i1 %any.single, label %single.head, label %nothing"
        yield from self._singles("%single.first", "%t{}")

    def _singles(self, first: str, bases: str) -> Iterator[str]:
        yield "single.head:"
        yield "br label %single"
        yield from self._loop(self.scalar, "single", "single.head", first, bases, "%n", "nothing")

    def _loop(
        self, body: Body, name: str, before: str, first: str, bases: str, stop: str, behind: str
    ) -> Iterator[str]:
        """A loop of as many elements at a time as the body has lanes."""
        places = range(len(self.arguments))
        ways: list[list[str]] = []  # for each array where its elements lie
        for place in places:
            at = [f"%{name}{place}"]
            for _ in range(body.lanes - 1):
                at.append(body.add(f"getelementptr i8, ptr {at[-1]}, i64 %d{place}"))
            ways.append(at)
        values = {
            place: _gather(body, dtype, ways[place])
            for place, (dtype, _) in enumerate(self.native.inputs)
        }
        doubt = self._compute(body, values, f"%{name}.wrong", self.doubtful_anywhere)
        for place, value in self._outputs():
            _scatter(body, self.native.dtype(value), values[value], ways[place])
        none = "false" if body.lanes == 1 else "zeroinitializer"
        yield f"{name}:"
        yield f"%{name}.at = phi i64 [{first}, %{before}], [%{name}.next, %{name}]"
        for place in places:
            base = bases.format(place)
            yield f"%{name}{place} = phi ptr [{base}, %{before}], [%{name}{place}.next, %{name}]"
        if doubt != f"%{name}.wrong":
            type_ = body.type("i1")
            yield f"%{name}.wrong = phi {type_} [{none}, %{before}], [{doubt}, %{name}]"
        yield from body.lines
        yield f"%{name}.next = add i64 %{name}.at, {body.lanes}"
        for place in places:
            yield f"%{name}{place}.next = getelementptr i8, ptr {ways[place][-1]}, i64 %d{place}"
        yield f"%{name}.more = icmp slt i64 %{name}.next, {stop}"
        yield f"br i1 %{name}.more, label %{name}, label %{name}.last"
        yield f"{name}.last:"
        if doubt == f"%{name}.wrong":
            yield f"br label %{behind}"
            return
        if body.lanes > 1:
            yield f"%{name}.bad = {self._any(body, doubt)}"
            doubt = f"%{name}.bad"
        yield f"br i1 {doubt}, label %doubt, label %{behind}"

    def _outputs(self) -> list[tuple[int, int]]:
        count = len(self.native.inputs)
        return [(count + place, value) for place, value in enumerate(self.native.outputs)]

    def _any(self, body: Body, bits: str) -> str:
        full = f"@llvm.vector.reduce.or.v{body.lanes}i1"
        self.declared.add(f"declare i1 {full}({body.type('i1')})")
        return f"call i1 {full}({body.type('i1')} {bits})"

    def _compute(self, body: Body, values: dict[int, str], doubt: str, doubtful: set[int]) -> str:
        """Append the operations; where something is in doubt, or was."""
        for one in self.native.operations:
            values[one.output] = emit(body, one.loop, [values[value] for value in one.inputs])
        for value in doubtful.intersection(self.native.outputs):
            type_ = body.value_type(self.native.dtype(value))
            body.doubt(body.add(f"fcmp uno {type_} {values[value]}, {values[value]}"))
        for condition in dict.fromkeys(body.doubts):
            doubt = body.add(f"or {body.type('i1')} {doubt}, {condition}")
        return doubt


def _suffix(element: str) -> str:
    return {"float": "f32", "double": "f64"}.get(element, element)


def _as_value(body: Body, dtype: np.dtype, bits: str) -> str:
    """What lies in memory as it is computed with."""
    if dtype.kind != "b":
        return bits
    zero = "0" if body.lanes == 1 else "zeroinitializer"
    return body.add(f"icmp ne {body.type('i8')} {bits}, {zero}")


def _load(body: Body, dtype: np.dtype, at: str) -> str:
    element = body.type(memory_type(dtype))
    return _as_value(body, dtype, body.add(f"load {element}, ptr {at}, align 1"))


def _gather(body: Body, dtype: np.dtype, places: Sequence[str]) -> str:
    """Elements from anywhere."""
    element, type_ = memory_type(dtype), body.type(memory_type(dtype))
    if body.lanes == 1:
        return _load(body, dtype, places[0])
    bits = "poison"
    for lane, at in enumerate(places):
        one = body.add(f"load {element}, ptr {at}, align 1")
        bits = body.add(f"insertelement {type_} {bits}, {element} {one}, i64 {lane}")
    return _as_value(body, dtype, bits)


def _ways(body: Body, place: int, at: str) -> list[str]:
    """Where the elements of a vector lie, of an array in which they are not neighbours."""
    offset = body.add(f"mul i64 {at}, %d{place}")
    ways = [body.add(f"getelementptr i8, ptr %p{place}, i64 {offset}")]
    for _ in range(body.lanes - 1):
        ways.append(body.add(f"getelementptr i8, ptr {ways[-1]}, i64 %d{place}"))
    return ways


def _scatter(body: Body, dtype: np.dtype, value: str, places: Sequence[str]) -> None:
    element, type_ = memory_type(dtype), body.type(memory_type(dtype))
    if body.lanes == 1:
        _store(body, dtype, value, places[0])
        return
    if dtype.kind == "b":
        value = body.add(f"zext {body.type('i1')} {value} to {type_}")
    for lane, at in enumerate(places):
        one = body.add(f"extractelement {type_} {value}, i64 {lane}")
        body.lines.append(f"store {element} {one}, ptr {at}, align 1")


def _splat_bits(body: Body, dtype: np.dtype, at: str) -> str:
    element, type_ = memory_type(dtype), body.type(memory_type(dtype))
    one = body.add(f"load {element}, ptr {at}, align 1")
    first = body.add(f"insertelement {type_} poison, {element} {one}, i64 0")
    zeros = f"<{body.lanes} x i32> zeroinitializer"
    return body.add(f"shufflevector {type_} {first}, {type_} poison, {zeros}")


def _splat(body: Body, dtype: np.dtype, at: str) -> str:
    """One element in all lanes."""
    return _as_value(body, dtype, _splat_bits(body, dtype, at))


def _store(body: Body, dtype: np.dtype, value: str, at: str) -> None:
    type_ = body.type(memory_type(dtype))
    if dtype.kind == "b":
        value = body.add(f"zext {body.type('i1')} {value} to {type_}")
    body.lines.append(f"store {type_} {value}, ptr {at}, align 1")
