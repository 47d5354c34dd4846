"""CUDA C++ for kernels that fold rows, with what is computed before and behind the folds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ufuse.backends.cupy.operations.spread import squares_of
from ufuse.backends.cupy.texts.folds import KINDS, FoldWriter, group_of, indented, library_folds
from ufuse.backends.cupy.texts.library_order import (
    has_library_order,
    is_tree,
)
from ufuse.backends.cupy.texts.text import VARYING, Dialect, Form, opened
from ufuse.backends.cupy.texts.vectors import is_simple
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.graph.records import record

UNROLLED = 8  # squares of which a thread reads what they are made of at once
AGAIN = 2  # groups that a thread has under way of a row that is read again


@record
class RowForm:
    """How a kernel walks over rows.

    threads: how many a row has. items: how many elements each keeps in registers, whole groups; 0: it reads them again.
    group: how many neighbouring ones it takes at once. whole: the row has as many as its threads can keep. axes: those
    that rows are counted along. columns: each array's step along a row if it is 0 or 1, else VARYING. tile: how many
    elements of a thread CUB folds as one (cub.py); 0: none. mixed: rows have part of a tile, or begin anywhere.
    holders: how many threads CuPy has fold the squares of a row.
    """

    threads: int
    items: int
    group: int
    whole: bool
    axes: int
    columns: tuple[int, ...]
    tile: int = 0
    mixed: bool = False
    holders: int = 0


class Store(NamedTuple):
    """A result of rows: the name of a group, where a row of it begins, the step along it (None: 1), the value."""

    name: str
    row: str
    step: str | None
    value: int
    packed: bool  # whether a group can be written at once


class RowWriter(FoldWriter):
    """Writes a kernel that folds rows: a pass over the row for each fold that waits for another, then one for results.

    What a pass has read or computed and a later one needs is kept in registers, or read and computed again.
    """

    def __init__(self, plan: KernelPlan, form: RowForm, dialect: Dialect) -> None:
        super().__init__(plan, Form(0, wide=True), dialect)
        self.rows = form
        self.arrays = [place for place, is_one in enumerate(self.is_array) if is_one]
        self.steps = dict(zip(self.arrays, form.columns, strict=True))
        self.made = {value: one for one in plan.segments for value in one.outputs}
        self.level = _levels(plan)
        self.kept: dict[int, int] = {}  # values of elements, by the first pass that has made them
        self.crossing: dict[int, None] = {}  # those that another pass takes
        self.here: set[int] = set()  # those that this pass has
        self.singles: set[int] = set()  # operands of one element that have been read
        self.loaded: dict[int, None] = {}  # arrays that this pass reads
        self.is_striped = False  # what is written walks along the row in steps of its own
        self.squares = squares_of(plan)

    def parameters(self) -> Iterator[str]:
        """The operands, the results, how many rows there are, and how long; lengths and steps."""
        for parameter in super().parameters():
            if parameter == f"const {self.index} n":
                yield f"const {self.index} rows"
                yield "const long long m"
            else:
                yield parameter
        yield from (f"const long long n{axis}" for axis in range(1, self.rows.axes))
        for place in self.arrays:
            yield from (f"const long long s{place}_{axis}" for axis in range(self.rows.axes))
            if self.steps[place] == VARYING:
                yield f"const long long c{place}"

    def text(self, name: str, together: int) -> str:
        """The kernel, of blocks with so many rows."""
        threads = self.rows.threads
        self._passes()  # finds out what crosses from one to another
        passes = self._passes()
        kept = [
            f"{self.type_name(self.plan.dtype(value))} k{value}[{self.rows.items}];"
            for value in self.crossing
        ]
        index = "int" if self.rows.items else "long long"
        return self.with_functions(
            *opened(name, self.parameters(), threads * together),
            *indented(1, self.shared(threads, together)),
            f"    const int lane = threadIdx.x % {threads}, own = threadIdx.x / {threads};",
            f"    for (long long first = (long long)blockIdx.x * {together}; first < rows;",
            f"         first += (long long)gridDim.x * {together}) {{",
            "        const long long i = first + own;",
            f"        const {index} count = {self._count(together)};",
            *indented(2, self._valid()),
            *indented(2, (*self._row(), *kept, *passes)),
            *(["        __syncthreads();"] if threads > 32 else []),
            "    }",
            "}",
        )

    def _valid(self) -> Iterator[str]:
        """How many threads have elements."""
        if any(map(has_library_order, self.folds)):
            yield f"const int valid = count < {self.rows.threads} ? (int)count : {self.rows.threads};"

    def _count(self, together: int) -> str:
        """How long the row is that a thread has; where all have all their elements, the compiler knows it."""
        length = str(self.rows.threads * self.rows.items) if self.rows.whole else "m"
        return length if together == 1 else f"i < rows ? {length} : 0"

    def _passes(self) -> list[str]:
        self.kept.clear()
        self.singles.clear()
        return [line for number in range(self._last() + 1) for line in self._pass(number)]

    def _last(self) -> int:
        return max((self.level[fold.outputs[0]] for fold in self.folds), default=0)

    def _row(self) -> Iterator[str]:
        """Where the row begins in each array."""
        axes = self.rows.axes
        yield from self._indices("i", axes)
        for place in self.arrays:
            offset = " + ".join(f"i{axis} * s{place}_{axis}" for axis in range(axes))
            const = "" if place in self.targets else "const "
            kind = self.type_name(self.plan.operands[place].dtype)
            yield f"{const}{kind}* b{place} = p{place} + {offset};"
            if self.steps[place] == 0 and place in self.read:
                yield f"const {kind} z{place} = count ? b{place}[0] : ({kind})0;"
        for one in self._stores():
            if one.row.startswith("o"):
                kind = self.type_name(self.plan.dtype(one.value))
                yield f"{kind}* {one.row} = r{one.row[1:]} + i * m;"
        packed = [(f"b{p}", self.plan.dtype(p)) for p in self.arrays if self._is_packed(p)]
        packed += [(one.row, self.plan.dtype(one.value)) for one in self._stores() if one.packed]
        yield f"const bool is_aligned = {self.are_aligned(packed, self.rows.group)};"

    def _element(self, place: int, j: str = "j") -> str:
        step = self.steps[place]
        at = "0" if step == 0 else j if step == 1 else f"{j} * c{place}"
        return f"b{place}[{at}]"

    def _is_packed(self, place: int) -> bool:
        return self.steps[place] == 1 and is_simple(self.plan.operands[place].dtype)

    def _pass(self, number: int) -> Iterator[str]:
        """One walk along the row, and what is made of its folds."""
        self.here.clear()
        self.loaded.clear()
        folds = [one for one in self.folds if self.level[one.outputs[0]] - 1 == number]
        is_last = number == self._last()
        yield from self._of_rows(number)
        yield from self.starts(folds)
        striped = [fold for fold in folds if fold in self.squares]
        walked = [fold for fold in folds if fold not in striped]
        wanted = [fold.inputs[0] for fold in walked]
        if is_last:
            wanted += [one.value for one in self.plan.results if not self._is_row(one.value)]
        body = [line for value in wanted for line in self._computed(value, number)]
        trees = [fold for fold in walked if self._is_tree(fold)]
        for fold in walked:
            name, (value,) = fold.outputs[0], fold.inputs
            body.append(
                f"q{name}[k] = v{value};" if fold in trees else self.folded(fold, "j < count")
            )
        stores = list(self._stores()) if is_last else []
        if body or stores:
            yield from self._walk(body, stores, trees)
        for fold in walked:
            yield from self.across(fold, self.rows.threads, "own")
            yield self.finished(fold)
        for fold in striped:
            yield from self._folded_squares(fold, number)
            yield self.finished(fold)
        if is_last:
            for place, result in enumerate(self.plan.results):
                if result.how[0] == "rows":
                    yield f"if (lane == 0 && i < rows) r{place}[i] = v{result.value};"

    def _folded_squares(self, fold: Segment, number: int) -> Iterator[str]:
        """All of a row's squares as CuPy folds them: so many threads take every so many-th, then halves are folded."""
        threads, holders = self.rows.threads, self.rows.holders
        lanes, each = min(threads, holders), max(1, holders // threads)
        name, (value,), kind = fold.outputs[0], fold.inputs, self.kind_of(fold)
        index = "int" if self.rows.items else "long long"
        here, self.here, self.is_striped = self.here, set(), True
        body = list(self._computed(value, number))
        self.here, self.is_striped = here, False
        begin = f"lane + w * {threads}" if lanes == threads else f"lane < {lanes} ? lane : count"
        yield f"{kind} h{name}[{each}];"
        yield "#pragma unroll"
        yield f"for (int w = 0; w < {each}; ++w) {{"
        yield f"    {kind} s = 0;"
        yield f"    #pragma unroll {min(UNROLLED, -(-self.rows.items * threads // holders) or UNROLLED)}"
        yield f"    for ({index} j = {begin}; j < count; j += {holders}) {{"
        yield from indented(2, body)
        yield f"        s = s + v{value} * v{value};"  # distances, of which nothing is fused with others
        yield "    }"
        yield f"    h{name}[w] = s;"
        yield "}"
        for half in (each >> n for n in range(1, each.bit_length())):
            yield "#pragma unroll"
            yield f"for (int w = 0; w < {half}; ++w) h{name}[w] = fold{name}(h{name}[w], h{name}[w + {half}]);"
        yield f"a{name} = h{name}[0];"
        yield from self._lanes(fold, lanes, min(threads, 32))
        if threads > 32:
            place = f"part{name}[own * {threads // 32}]"
            yield f"if (lane == 0) {place} = a{name};"
            yield "__syncthreads();"
            yield f"a{name} = {place};"
        elif threads > 1:
            yield f"a{name} = __shfl_sync(0xffffffffu, a{name}, 0, {threads});"

    def _is_tree(self, fold: Segment) -> bool:
        return self.rows.tile > 0 and is_tree(fold)

    def _trees(self, folds: list[Segment], count: int) -> Iterator[str]:
        """Fold the tiles that a thread has so many elements of."""
        tile, threads = self.rows.tile, self.rows.threads
        for fold in folds:
            name = fold.outputs[0]
            for first in range(0, count, tile):
                is_first = str(first == 0).lower() if self.rows.items else "begin == 0"
                tree = f"a{name} = ufuse_tree<{tile}, Fold{name}>(q{name} + {first}, {is_first}, a{name});"
                if not self.rows.mixed:
                    yield tree
                    continue
                yield f"if (begin + {threads * tile} <= count) {tree}"
                yield f"else for (int k = 0; k < {tile}; ++k)"
                yield f"    if (begin + lane + k * {threads} < count) a{name} = fold{name}(a{name}, q{name}[k]);"

    def _where(self) -> str:
        """Where along the row the element `e` of a group is."""
        if not self.rows.mixed:
            return "at + e"
        threads, group = self.rows.threads, self.rows.group
        return f"(is_grouped ? at + e : begin + lane + (g * {group} + e) * {threads})"

    def _are_grouped(self) -> str:
        """Whether a group of a thread's is neighbours, and all there."""
        condition = f"is_aligned && at + {self.rows.group} <= count"
        return f"is_grouped && {condition}" if self.rows.mixed else condition

    def _walk(self, body: list[str], stores: list[Store], trees: list[Segment]) -> Iterator[str]:
        """Every element: all that a thread reads of a row is on its way before it computes."""
        threads, group = self.rows.threads, self.rows.group
        groups = (self.rows.items or self.rows.tile) // group or AGAIN
        index, begin = ("int", "") if self.rows.items else ("long long", "begin + ")
        each = ["#pragma unroll", f"for (int g = 0; g < {groups}; ++g) {{"]
        each.append(f"    const {index} at = {begin}(lane + g * {threads}) * {group};")
        if not self.rows.items:
            yield f"for (long long begin = 0; begin < count; begin += {threads * group * groups}) {{"
        if self.rows.mixed:
            whole = f"begin + {threads * self.rows.tile} <= count"
            yield f"const bool is_grouped = {whole} && i * m % {group} == 0;"
        for fold in trees:
            yield f"{self.kind_of(fold)} q{fold.outputs[0]}[{groups * group}];"
        for place in self.loaded:
            if place not in self.crossing:
                yield f"{self.type_name(self.plan.dtype(place))} l{place}[{groups * group}];"
        if self.loaded:
            yield from (*each, *indented(1, self._loads()), "}")
        yield from each
        for one in stores:
            yield f"    {self.pack(self.plan.dtype(one.value), group)} {one.name};"
        yield "    #pragma unroll"
        yield f"    for (int e = 0; e < {group}; ++e) {{"
        yield f"        const {index} j = {self._where()};"
        yield f"        const int k = g * {group} + e;"
        yield from indented(2, body)
        yield from (f"        {one.name}.at[e] = v{one.value};" for one in stores)
        yield "    }"
        yield from (*indented(1, self._written(stores)), "}")
        yield from self._trees(trees, groups * group)
        if not self.rows.items:
            yield "}"

    def _kept(self, place: int) -> str:
        return f"k{place}" if place in self.crossing else f"l{place}"

    def _loads(self) -> Iterator[str]:
        """A group of each array: at once, or one by one where there are fewer or memory is not aligned."""
        group = self.rows.group
        packed = [place for place in self.loaded if self._is_packed(place)]
        if packed:
            yield f"if ({self._are_grouped()}) {{"
            for place in packed:
                pack = self.pack(self.plan.dtype(place), group)
                yield f"    const {pack} d{place} = *reinterpret_cast<const {pack}*>(b{place} + at);"
                yield f"    for (int e = 0; e < {group}; ++e) {self._kept(place)}[g * {group} + e] = d{place}.at[e];"
            yield "} else {"
            yield from indented(1, map(self._one_by_one, packed))
            yield "}"
        yield from (self._one_by_one(place) for place in self.loaded if place not in packed)

    def _one_by_one(self, place: int) -> str:
        kind, group = self.type_name(self.plan.dtype(place)), self.rows.group
        where = self._where()
        element = self._element(place, f"({where})")
        return (
            f"for (int e = 0; e < {group}; ++e)"
            f" {self._kept(place)}[g * {group} + e] = {where} < count ? {element} : ({kind})0;"
        )

    def _written(self, stores: list[Store]) -> Iterator[str]:
        """A group of each result."""
        packed = [one for one in stores if one.packed]
        if packed:
            yield f"if ({self._are_grouped()}) {{"
            for one in packed:
                pack = self.pack(self.plan.dtype(one.value), self.rows.group)
                yield f"    *reinterpret_cast<{pack}*>({one.row} + at) = {one.name};"
            yield "} else {"
            yield from indented(1, map(self._put, packed))
            yield "}"
        yield from (self._put(one) for one in stores if not one.packed)

    def _put(self, one: Store) -> str:
        """The elements of a group that are there."""
        where = self._where()
        at = one.row + (f"[{where}]" if one.step is None else f"[({where}) * {one.step}]")
        return f"for (int e = 0; e < {self.rows.group}; ++e) if ({where} < count) {at} = {one.name}.at[e];"

    def _is_row(self, value: int) -> bool:
        count = len(self.plan.operands)
        return value >= count and self.plan.temporaries[value - count].is_row

    def _of_rows(self, number: int) -> Iterator[str]:
        """Values with one element a row that wait for no later fold."""
        for segment in self.plan.segments:
            (value,) = segment.outputs
            if segment.kind != "map_row" or self.level[value] != number:
                continue
            for place in segment.inputs:
                if place in self.arrays and place not in self.singles:
                    self.singles.add(place)
                    yield f"const {self.type_name(self.plan.dtype(place))} v{place} = p{place}[0];"
            yield from self.segment(segment)

    def _computed(self, value: int, number: int) -> Iterator[str]:
        """What gives an element of a value in a pass, with all that it is made of."""
        is_operand = value < len(self.plan.operands)
        if (is_operand and not self.is_array[value]) or self._is_row(value) or value in self.here:
            return
        self.here.add(value)
        kind = self.type_name(self.plan.dtype(value))
        if is_operand and self.steps[value] == 0:
            yield f"const {kind} v{value} = z{value};"
            return
        if self.is_striped and is_operand:
            yield f"const {kind} v{value} = {self._element(value)};"
            return
        if self.rows.items and not self.is_striped and self.kept.setdefault(value, number) < number:
            self.crossing.setdefault(value)
            yield f"const {kind} v{value} = k{value}[k];"
            return
        if is_operand:
            self.loaded.setdefault(value)
            yield f"const {kind} v{value} = {self._kept(value)}[k];"
            return
        segment = self.made[value]
        for source in segment.inputs:
            yield from self._computed(source, number)
        yield from self.segment(segment)
        if value in self.crossing and not self.is_striped:
            yield f"k{value}[k] = v{value};"

    def _stores(self) -> Iterator[Store]:
        """The results that have an element for each of the row."""
        for place, result in enumerate(self.plan.results):
            name, packs = f"w{place}", is_simple(self.plan.dtype(result.value))
            if result.how[0] == "into":
                target = result.how[1]
                step = {0: "0", 1: None}.get(self.steps[target], f"c{target}")
                yield Store(name, f"b{target}", step, result.value, packs and step is None)
            elif result.how[0] == "new":
                yield Store(name, f"o{place}", None, result.value, packs)


MOST_REGISTERS = 96  # of a thread, for what it keeps


def row_text(plan: KernelPlan, name: str, form: RowForm, together: int, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel over rows, of blocks with so many; it keeps nothing where that would be too much."""
    writer = RowWriter(plan, form, dialect)
    text = writer.text(name, together)
    words = sum(-(-plan.dtype(value).itemsize // 4) for value in writer.crossing)
    if words * form.items <= MOST_REGISTERS:
        return text
    group = form.group if library_folds(plan) else group_of(plan)
    long = replace(form, items=0, group=group, whole=False)
    return RowWriter(plan, long, dialect).text(name, together)


def _levels(plan: KernelPlan) -> dict[int, int]:
    """How many folds, one behind the other, each value waits for."""
    level = dict.fromkeys(range(len(plan.operands)), 0)
    for segment in plan.segments:
        before = max((level[value] for value in segment.inputs), default=0)
        level.update(dict.fromkeys(segment.outputs, before + (segment.kind in KINDS)))
    return level
