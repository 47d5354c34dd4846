"""CUDA C++ for kernels with reductions: of everything, or of rows, with what is computed before and behind them.

The order of a fold is one of its own: it depends on the lengths alone, never on which thread is first. A thread folds
every T-th element; the T threads of a row are folded by shuffles, then warp by warp in order. Single precision is
summed in double.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ufuse.backends.cupy.text import VARYING, Dialect, Form, Writer, kernel_name
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.backends.planning.loops import Fold, Loop
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType

# What two values give. Of a NaN and a number `maximum` and `minimum` give the NaN.
# fmt: off
COMBINED = {
    "add":         "a + b",
    "multiply":    "a * b",
    "maximum":     "(a > b || a != a) ? a : b",
    "minimum":     "(a < b || a != a) ? a : b",
    "logical_or":  "a || b",
    "logical_and": "a && b",
}
# fmt: on
NEEDS_ONE = frozenset(("maximum", "minimum"))  # those that nothing has no result for
KINDS = ("reduce", "total")


@dataclass(frozen=True, slots=True)
class RowForm:
    """How a kernel walks over rows.

    threads: how many a row has. items: how many elements each keeps in registers; 0: it reads them again instead.
    axes: those that rows are counted along. columns: each array's step along a row if it is 0 or 1, else VARYING.
    """

    threads: int
    items: int
    axes: int
    columns: tuple[int, ...]


def fold_along(node: Node) -> Fold | str:
    """The fold of a reduction over every axis or the last, or why no kernel does it."""
    source, type_ = node.inputs[0].type, node.type
    assert isinstance(source, ArrayType)
    assert isinstance(type_, ArrayType)
    if node.op.ufunc is None:
        return "no kernel folds so"
    name, dtype = node.op.ufunc.__name__, type_.dtype
    if name not in COMBINED or dtype.char not in "?bBhHiIlLqQfd":
        return "no kernel folds so"
    axes = node.attributes.get("axis")
    one = (axes,) if isinstance(axes, int) else axes
    folded = set(range(source.ndim)) if one is None else {axis % source.ndim for axis in one}
    loop = Loop("ufunc", name, (dtype, dtype, dtype))
    if folded == {source.ndim - 1} and source.ndim > 1:
        return Fold("reduce", loop, None)
    if folded == set(range(source.ndim)) and not type_.ndim and source.ndim:
        return Fold("total", loop, None)
    return "it is not along the last axis"


def folds_of(plan: KernelPlan) -> list[Segment]:
    """The reductions of a kernel."""
    return [segment for segment in plan.segments if segment.kind in KINDS]


def sum_dtype(fold: Segment) -> np.dtype:
    """What a fold is computed in."""
    dtype = fold.loop.dtypes[-1]
    if dtype.char == "f" and fold.loop.name == "add":
        return np.dtype("f8")
    return np.dtype("i4") if dtype.char in "?bBhH" else dtype


def start_of(dtype: np.dtype, name: str) -> str:
    """What changes nothing in a fold."""
    if name in ("add", "logical_or"):
        return "0"
    if name in ("multiply", "logical_and"):
        return "1"
    sign = "-" if name == "maximum" else ""
    if dtype.kind == "f":
        return f"{sign}__int_as_float(0x7f800000)"
    if dtype.kind == "b":
        return "0" if name == "maximum" else "1"
    limits = np.iinfo(dtype)
    if dtype.kind == "u":
        return f"{0 if name == 'maximum' else limits.max}ULL"
    return f"(-{limits.max}LL - 1)" if name == "maximum" else f"{limits.max}LL"


class FoldWriter(Writer):
    """Writes the parts that kernels with reductions have in common."""

    def __init__(self, plan: KernelPlan, form: Form, dialect: Dialect) -> None:
        super().__init__(plan, form, dialect)
        self.folds = folds_of(plan)

    def kind_of(self, fold: Segment) -> str:
        """The type that a fold is computed in."""
        return self.type_name(sum_dtype(fold))

    def functions(self) -> Iterator[str]:
        """A function for each fold, of two values."""
        for fold in self.folds:
            kind, name = self.kind_of(fold), fold.outputs[0]
            text = COMBINED[fold.loop.name]
            yield f"__device__ __forceinline__ {kind} fold{name}({kind} a, {kind} b) {{ return {text}; }}"

    def starts(self, folds: Iterable[Segment]) -> Iterator[str]:
        """What a thread begins with."""
        for fold in folds:
            name = fold.outputs[0]
            start = start_of(self.plan.dtype(name), fold.loop.name)
            yield f"{self.kind_of(fold)} a{name} = {start};"

    def folded(self, fold: Segment) -> str:
        """One more element."""
        name, (value,) = fold.outputs[0], fold.inputs
        return f"a{name} = fold{name}(a{name}, v{value});"

    def across(self, fold: Segment, threads: int, row: str) -> Iterator[str]:
        """All of a row's threads: each has the result."""
        name = fold.outputs[0]
        width = min(threads, 32)
        yield f"for (int s = {width // 2}; s; s >>= 1)"
        yield f"    a{name} = fold{name}(a{name}, __shfl_down_sync(0xffffffffu, a{name}, s, {width}));"
        if threads <= width:
            yield f"a{name} = __shfl_sync(0xffffffffu, a{name}, 0, {width});"
            return
        yield f"if (lane % 32 == 0) part{name}[{row} * {threads // 32} + lane / 32] = a{name};"
        yield "__syncthreads();"
        yield f"a{name} = part{name}[{row} * {threads // 32}];"
        yield f"for (int s = 1; s < {threads // 32}; ++s)"
        yield f"    a{name} = fold{name}(a{name}, part{name}[{row} * {threads // 32} + s]);"

    def shared(self, threads: int, rows: int) -> Iterator[str]:
        """What warps leave for one another."""
        if threads > 32:
            for fold in self.folds:
                count = rows * threads // 32
                yield f"__shared__ {self.kind_of(fold)} part{fold.outputs[0]}[{count}];"

    def finished(self, fold: Segment) -> str:
        """The value of a fold."""
        name = fold.outputs[0]
        made = self.type_name(self.plan.dtype(name))
        return f"const {made} v{name} = ({made})a{name};"

    def with_functions(self, *functions: str) -> str:
        """The whole text."""
        return self.headed([*self.functions(), *functions])


TOTAL_THREADS = 256


class TotalWriter(FoldWriter):
    """Writes a kernel that folds everything, and the one that folds what its blocks have left."""

    def parameters(self) -> Iterator[str]:
        """Those of an elementwise kernel; for each total an array with one element a block."""
        totals = {fold.outputs[0]: fold for fold in self.folds}
        results = [result for result in self.plan.results if result.how[0] != "into"]
        names = {
            f"r{place}": result.value
            for place, result in enumerate(self.plan.results)
            if result in results and result.how[0] == "scalar"
        }
        for parameter in super().parameters():
            name = parameter.rpartition(" ")[2]
            if name in names:
                value = names[name]
                yield f"{self.kind_of(totals[value])}* __restrict__ t{value}"
            else:
                yield parameter

    def stores(self) -> Iterator[str]:
        """What is left beside totals."""
        skipped = {f"r{p}[" for p, one in enumerate(self.plan.results) if one.how[0] == "scalar"}
        return (line for line in super().stores() if not line.startswith(tuple(skipped) or ("\0",)))

    def text(self, name: str) -> str:
        """Both kernels."""
        body = [
            line
            for segment in self.plan.segments
            for line in ([self.folded(segment)] if segment in self.folds else self.segment(segment))
        ]
        across = [line for fold in self.folds for line in self.across(fold, TOTAL_THREADS, "0")]
        shared = list(self.shared(TOTAL_THREADS, 1))
        left = [f"t{f.outputs[0]}[blockIdx.x] = a{f.outputs[0]};" for f in self.folds]
        first = [
            f'extern "C" __global__ void {kernel_name(name)}({", ".join(self.parameters())})',
            "{",
            *_indented(1, shared),
            "    const int lane = threadIdx.x;",
            *_indented(1, self.starts(self.folds)),
            f"    for ({self.index} i = ({self.index})blockIdx.x * blockDim.x + threadIdx.x; i < n;",
            f"         i += ({self.index})gridDim.x * blockDim.x) {{",
            *_indented(2, (*self.places(), *body, *self.stores())),
            "    }",
            *_indented(1, across),
            *_indented(1, (f"if (lane == 0) {one}" for one in left)),
            "}",
        ]
        return self.with_functions(*first, *self._rest(name, shared, across))

    def _rest(self, name: str, shared: list[str], across: list[str]) -> Iterator[str]:
        given = [f"const {self.kind_of(f)}* __restrict__ t{f.outputs[0]}" for f in self.folds]
        made = {f.outputs[0]: self.type_name(self.plan.dtype(f.outputs[0])) for f in self.folds}
        results = [f"{kind}* __restrict__ r{value}" for value, kind in made.items()]
        yield f'extern "C" __global__ void {kernel_name(name)}_rest({", ".join((*given, *results))}, const int n)'
        yield "{"
        yield from _indented(1, shared)
        yield "    const int lane = threadIdx.x;"
        yield from _indented(1, self.starts(self.folds))
        yield f"    for (int i = lane; i < n; i += {TOTAL_THREADS}) {{"
        yield from _indented(2, (f"a{v} = fold{v}(a{v}, t{v}[i]);" for v in made))
        yield "    }"
        yield from _indented(1, across)
        yield from (f"    if (lane == 0) *r{v} = ({kind})a{v};" for v, kind in made.items())
        yield "}"


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
        return self.with_functions(
            f'extern "C" __global__ void __launch_bounds__({threads * together})',
            f"{kernel_name(name)}({', '.join(self.parameters())})",
            "{",
            *_indented(1, self.shared(threads, together)),
            f"    const int lane = threadIdx.x % {threads}, own = threadIdx.x / {threads};",
            f"    for (long long first = (long long)blockIdx.x * {together}; first < rows;",
            f"         first += (long long)gridDim.x * {together}) {{",
            "        const long long i = first + own;",
            "        const long long count = i < rows ? m : 0;",
            *_indented(2, (*self._row(), *kept, *passes)),
            *(["        __syncthreads();"] if threads > 32 else []),
            "    }",
            "}",
        )

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

    def _element(self, place: int) -> str:
        step = self.steps[place]
        at = "0" if step == 0 else "j" if step == 1 else f"j * c{place}"
        return f"b{place}[{at}]"

    def _pass(self, number: int) -> Iterator[str]:
        """One walk along the row, and what is made of its folds."""
        self.here.clear()
        folds = [one for one in self.folds if self.level[one.outputs[0]] - 1 == number]
        stores = list(self._stores()) if number == self._last() else []
        yield from self._of_rows(number)
        yield from self.starts(folds)
        wanted = [fold.inputs[0] for fold in folds]
        if number == self._last():
            wanted += [one.value for one in self.plan.results if not self._is_row(one.value)]
        body = [line for value in wanted for line in self._computed(value, number)]
        body += [self.folded(fold) for fold in folds]
        if body or stores:
            yield from self._walk([*body, *stores])
        for fold in folds:
            yield from self.across(fold, self.rows.threads, "own")
            yield self.finished(fold)
        if number == self._last():
            for place, result in enumerate(self.plan.results):
                if result.how[0] == "rows":
                    yield f"if (lane == 0 && i < rows) r{place}[i] = v{result.value};"

    def _walk(self, body: list[str]) -> Iterator[str]:
        threads, items = self.rows.threads, self.rows.items
        if items:
            yield "#pragma unroll"
            yield f"for (int k = 0; k < {items}; ++k) {{"
            yield f"    const int j = lane + k * {threads};"
            yield "    if (j < count) {"
            yield from _indented(2, body)
            yield "    }"
        else:
            yield f"for (long long j = lane; j < count; j += {threads}) {{"
            yield from _indented(1, body)
        yield "}"

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
        is_number = value < len(self.plan.operands) and not self.is_array[value]
        if is_number or self._is_row(value) or value in self.here:
            return
        self.here.add(value)
        kind = self.type_name(self.plan.dtype(value))
        if self.rows.items and self.kept.setdefault(value, number) < number:
            self.crossing.setdefault(value)
            yield f"const {kind} v{value} = k{value}[k];"
            return
        if value in self.made:
            segment = self.made[value]
            for source in segment.inputs:
                yield from self._computed(source, number)
            yield from self.segment(segment)
        else:
            yield f"const {kind} v{value} = {self._element(value)};"
        if value in self.crossing:
            yield f"k{value}[k] = v{value};"

    def _stores(self) -> Iterator[str]:
        """The results that have an element for each of the row."""
        for place, result in enumerate(self.plan.results):
            if result.how[0] == "into":
                yield f"{self._element(result.how[1])} = v{result.value};"
            elif result.how[0] == "new":
                yield f"r{place}[i * m + j] = v{result.value};"


MOST_REGISTERS = 96  # of a thread, for what it keeps


def total_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel that folds everything."""
    return TotalWriter(plan, form, dialect).text(name)


def row_text(plan: KernelPlan, name: str, form: RowForm, together: int, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel over rows, of blocks with so many; it keeps nothing where that would be too much."""
    writer = RowWriter(plan, form, dialect)
    text = writer.text(name, together)
    words = sum(-(-plan.dtype(value).itemsize // 4) for value in writer.crossing)
    if words * form.items <= MOST_REGISTERS:
        return text
    return RowWriter(plan, replace(form, items=0), dialect).text(name, together)


def _levels(plan: KernelPlan) -> dict[int, int]:
    """How many folds, one behind the other, each value waits for."""
    level = dict.fromkeys(range(len(plan.operands)), 0)
    for segment in plan.segments:
        before = max((level[value] for value in segment.inputs), default=0)
        level.update(dict.fromkeys(segment.outputs, before + (segment.kind in KINDS)))
    return level


def _indented(depth: int, lines: Iterable[str]) -> Iterator[str]:
    return (" " * (4 * depth) + line for line in lines)
