"""CUDA C++ for kernels with reductions: of everything, or of rows, with what is computed before and behind them.

The order of a fold is one of its own: it depends on the lengths alone, never on which thread is first. A thread folds
every T-th group of neighbouring elements, which it reads at once where memory is aligned to that; the T threads of a
row are folded by shuffles, and so are its warps. Single precision is summed in double.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ufuse.backends.cupy.operations import cub
from ufuse.backends.cupy.operations.spread import SQUARES
from ufuse.backends.cupy.texts.library_order import (
    FUNCTION_OF,
    functions_of,
    has_library_order,
)
from ufuse.backends.cupy.texts.text import Dialect, Form, Writer, is_array
from ufuse.backends.cupy.texts.vectors import BYTES, MOST, PACK, is_simple
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.backends.planning.loops import Fold, Loop
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, c_order

# What two values give. Of a NaN and a number `maximum` and `minimum` give the NaN.
# fmt: off
COMBINED = {
    "add":         "a + b",
    "multiply":    "a * b",
    "maximum":     "(a > b || a != a) ? a : b",
    "minimum":     "(a < b || a != a) ? a : b",
    "logical_or":  "a || b",
    "logical_and": "a && b",
    SQUARES.name:  "a + b",
}
# fmt: on
# One instruction for single precision, on processors that have it; so is the NaN of a NaN and a number.
AT_ONCE = {"maximum": "max.NaN.f32", "minimum": "min.NaN.f32"}
NEEDS_ONE = frozenset(("maximum", "minimum"))  # those that nothing has no result for
KINDS = ("reduce", "total")


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


def library_folds(plan: KernelPlan) -> list[Segment]:
    """The reductions of a kernel whose order is CUB's."""
    return [fold for fold in folds_of(plan) if has_library_order(fold)]


def library_fold_along(node: Node) -> Fold | str:
    """The fold of floats over every axis or the last in CUB's order, or why no kernel does it."""
    source, found = node.inputs[0].type, fold_along(node)
    if not isinstance(found, Fold):
        return found
    assert isinstance(source, ArrayType)
    name, dtypes = found.loop.name, found.loop.dtypes
    if name not in cub.METHODS or dtypes[-1].char not in "fd" or source.dtype != dtypes[-1]:
        return "CUB folds others"
    if name == "add" and dtypes[-1].char not in cub.SUMMED:
        return "which NaN a sum of several has is not known"
    if not source.contiguous or source.order != c_order(source.ndim):
        return "what is folded is not in C order"
    if found.kind == "total" and not cub.are_totals_known(name):
        return "CUB folds everything in another order here"
    if _is_written(node.inputs[0]):
        return "by the address of what was written CUB reads neighbours at once or not"
    return replace(found, loop=replace(found.loop, kind="library"))


def _is_written(source: Node) -> bool:
    """Whether a value is what a store has left in memory, which may begin anywhere."""
    while source.op.kind is Kind.VIEW:
        source = source.inputs[0]
    return source.op.kind is Kind.STORE


def folds_of(plan: KernelPlan) -> list[Segment]:
    """The reductions of a kernel."""
    return [segment for segment in plan.segments if segment.kind in KINDS]


def group_of(plan: KernelPlan) -> int:
    """How many neighbouring elements a thread folds one behind the other."""
    arrays = [one.dtype for place, one in enumerate(plan.operands) if is_array(plan, place)]
    sizes = [dtype.itemsize for dtype in arrays if is_simple(dtype)]
    return max(1, min(MOST, BYTES // min(sizes, default=BYTES)))


def sum_dtype(fold: Segment) -> np.dtype:
    """What a fold is computed in."""
    dtype = fold.loop.dtypes[-1]
    if has_library_order(fold):
        return dtype
    if dtype.char == "f" and fold.loop.name == "add":
        return np.dtype("f8")
    return np.dtype("i4") if dtype.char in "?bBhH" else dtype


def start_of(dtype: np.dtype, name: str) -> str:
    """What changes nothing in a fold."""
    if name in ("add", "logical_or", SQUARES.name):
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
        self.group = group_of(plan)

    def pack(self, dtype: np.dtype, group: int) -> str:
        """The type of neighbouring elements that are read or written at once."""
        return f"ufuse_pack<{self.type_name(dtype)}, {group}>"

    def are_aligned(self, addresses: Iterable[tuple[str, np.dtype]], group: int) -> str:
        """Whether a group can be read at once from all of some addresses."""
        checks = [
            f"(size_t){address} % {min(BYTES, dtype.itemsize * group)} == 0"
            for address, dtype in addresses
            if dtype.itemsize * group > 1
        ]
        return " && ".join(checks) or "true"

    def kind_of(self, fold: Segment) -> str:
        """The type that a fold is computed in."""
        return self.type_name(sum_dtype(fold))

    def functions(self) -> Iterator[str]:
        """A function for each fold, of two values."""
        chars = sorted({one.loop.dtypes[-1].char for one in self.folds if has_library_order(one)})
        if chars:
            yield from functions_of(chars)
        for fold in self.folds:
            kind, name = self.kind_of(fold), fold.outputs[0]
            yield f"__device__ __forceinline__ {kind} fold{name}({kind} a, {kind} b) {{"
            if has_library_order(fold):
                yield f"    return {FUNCTION_OF[fold.loop.name]}(a, b);"
                yield "}"
                yield f"struct Fold{name} {{"
                yield f"    static __device__ {kind} both({kind} a, {kind} b) {{ return fold{name}(a, b); }}"
                yield "};"
                continue
            one = AT_ONCE.get(fold.loop.name) if kind == "float" else None
            if one is not None:
                yield "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800"
                yield f'    asm("{one} %0, %1, %2;" : "=f"(a) : "f"(a), "f"(b));'
                yield "    return a;"
                yield "#else"
            yield f"    return {COMBINED[fold.loop.name]};"
            if one is not None:
                yield "#endif"
            yield "}"

    def starts(self, folds: Iterable[Segment]) -> Iterator[str]:
        """What a thread begins with."""
        for fold in folds:
            name = fold.outputs[0]
            start = start_of(self.plan.dtype(name), fold.loop.name)
            yield f"{self.kind_of(fold)} a{name} = {start};"

    def folded(self, fold: Segment, there: str) -> str:
        """One more element, if it is there."""
        name, (value,) = fold.outputs[0], fold.inputs
        return f"if ({there}) a{name} = fold{name}(a{name}, v{value});"

    def across(self, fold: Segment, threads: int, row: str) -> Iterator[str]:
        """All of a row's threads: each has the result."""
        name = fold.outputs[0]
        width = min(threads, 32)
        if has_library_order(fold):
            yield from self._across_as_library(fold, threads, row)
            return
        yield from self._lanes(fold, width)
        if threads > width:
            width = threads // 32
            yield f"if (lane % 32 == 0) part{name}[{row} * {width} + lane / 32] = a{name};"
            yield "__syncthreads();"
            yield f"a{name} = part{name}[{row} * {width} + lane % {width}];"
            yield from self._lanes(fold, width)
        yield f"a{name} = __shfl_sync(0xffffffffu, a{name}, 0, {width});"

    def _across_as_library(self, fold: Segment, threads: int, row: str) -> Iterator[str]:
        """All of a row's threads, in CUB's order: lanes that are there, and warps in turn."""
        name, kind, warps = fold.outputs[0], self.kind_of(fold), threads // 32
        if warps:
            yield "for (int s = 1; s < 32; s <<= 1) {"
            yield f"    const {kind} b = __shfl_down_sync(0xffffffffu, a{name}, s);"
            yield f"    if (lane % 32 + s < 32 && lane + s < valid) a{name} = fold{name}(a{name}, b);"
            yield "}"
        if warps > 1:
            yield f"if (lane % 32 == 0) part{name}[{row} * {warps} + lane / 32] = a{name};"
            yield "__syncthreads();"
            yield f"a{name} = part{name}[{row} * {warps}];"
            yield f"for (int w = 1; w < {warps}; ++w)"
            yield f"    if (w * 32 < valid) a{name} = fold{name}(a{name}, part{name}[{row} * {warps} + w]);"
        elif warps:
            yield f"a{name} = __shfl_sync(0xffffffffu, a{name}, 0);"

    def _lanes(self, fold: Segment, count: int, width: int = 0) -> Iterator[str]:
        """So many threads of a warp, or of a part of one: the first has the result."""
        name, width = fold.outputs[0], width or count
        yield f"for (int s = {count // 2}; s; s >>= 1)"
        yield f"    a{name} = fold{name}(a{name}, __shfl_down_sync(0xffffffffu, a{name}, s, {width}));"

    def shared(self, threads: int, rows: int) -> Iterator[str]:
        """What warps leave for one another."""
        if threads > 32:
            for fold in self.folds:
                count = rows * threads // 32
                yield f"__shared__ {self.kind_of(fold)} part{fold.outputs[0]}[{count}];"

    def result(self, fold: Segment) -> str:
        """The result of a fold: CUB begins its sums from zero, at last."""
        name = fold.outputs[0]
        is_sum = has_library_order(fold) and fold.loop.name == "add"
        total = f"fold{name}(0, a{name})" if is_sum else f"a{name}"
        return f"({self.type_name(self.plan.dtype(name))}){total}"

    def finished(self, fold: Segment) -> str:
        """The value of a fold."""
        name = fold.outputs[0]
        return f"const {self.type_name(self.plan.dtype(name))} v{name} = {self.result(fold)};"

    def with_functions(self, *functions: str) -> str:
        """The whole text."""
        return self.headed([PACK, *self.functions(), *functions])


def indented(depth: int, lines: Iterable[str]) -> Iterator[str]:
    """Lines of a text, so many levels in."""
    return (" " * (4 * depth) + line for line in lines)
