"""CUDA C++ for kernels that fold along axes as CuPy's own reduction kernel does, with what is computed before.

Which thread folds which elements, in which order, and how threads' results are folded, are CuPy's: so are the bits.
512 threads share `stride` neighbouring results. A thread begins with CuPy's own start, takes every (512 / stride)-th
element of one result, and halves of the block are folded until one element for each result is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ufuse.backends.cupy.operations import spread
from ufuse.backends.cupy.texts.text import CUPYS, Dialect, Form, opened
from ufuse.backends.cupy.texts.tiles import SpreadWriter, tile_of
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.backends.planning.loops import Fold, Loop
from ufuse.graph.node import Node
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, c_order
from ufuse.graph.typing.infer import CannotInfer
from ufuse.graph.typing.library import Folding
from ufuse.graph.typing.library import cupy as library

THREADS = 512  # of a block, as CuPy has them
MOST = 8  # elements that a thread reads at once: there are few threads


@record
class TreeForm:
    """How a kernel walks: `walk` over what is folded, slowest, and the results; `long`: more than 2**31 for one."""

    walk: Form
    long: bool


def tree_along(node: Node) -> Fold | str:
    """The fold of a reduction as CuPy's own kernel does it, or why no kernel does."""
    source, type_ = node.inputs[0].type, node.type
    assert isinstance(source, ArrayType)
    assert isinstance(type_, ArrayType)
    if not source.contiguous or source.order != c_order(source.ndim):
        return "what is folded is not in C order"
    given = node.attributes.get("axis")
    axes = range(source.ndim) if given is None else (given,) if isinstance(given, int) else given
    folded = tuple(sorted(axis % source.ndim for axis in axes))
    if not folded:
        return "it folds along no axis"
    try:
        made = library().folding_of(node.op, source.dtype).dtypes[1]
    except CannotInfer as refusal:
        return str(refusal)
    if made != type_.dtype:
        return "CuPy's own has another dtype"
    loop = Loop("ufunc", node.op.name, (source.dtype, source.dtype, made))
    return Fold("tree", loop, None, folded)


def trees_of(plan: KernelPlan) -> list[Segment]:
    """The reductions of a kernel."""
    return [segment for segment in plan.segments if segment.kind == "tree"]


def operations_of(plan: KernelPlan) -> list[Segment]:
    """The other operations of a kernel."""
    return [segment for segment in plan.segments if segment.kind != "tree"]


class TreeWriter(SpreadWriter):
    """Writes a kernel that folds as CuPy's own; a thread reads several elements at once and folds them in turn."""

    def __init__(self, plan: KernelPlan, form: TreeForm, dialect: Dialect) -> None:
        super().__init__(plan, replace(form.walk, few=tile_of(plan, MOST)), dialect)
        self.tree = form
        self.folds = trees_of(plan)
        self.is_made = any(result.how[0] == "new" for result in plan.results)

    def parameters(self) -> Iterator[str]:
        """Those of an elementwise kernel; how many results there are, how many of them a block has, their steps."""
        yield from super().parameters()
        yield "const long long m"
        yield "const int stride"
        if self.is_made:
            yield from (f"const {self.index} e{axis}" for axis in range(self.form.axes))

    def stores(self) -> Iterator[str]:
        """The results with an element for each that is folded."""
        made = " + ".join(f"i{axis} * e{axis}" for axis in range(self.form.axes)) or "i"
        for place, result in enumerate(self.plan.results):
            if result.how[0] == "new":
                yield f"r{place}[{made}] = v{result.value};"

    def text(self, name: str) -> str:
        """The kernel."""
        body = [line for one in operations_of(self.plan) for line in self.segment(one)]
        structs = [line for fold in self.folds for line in self._struct(fold)]
        self.preambles.insert(0, f"typedef {'long long' if self.tree.long else 'int'} IndexT;")
        few = self.form.few
        element = [*self.places(), *body, *self.stores(), *self._folded()]
        lines = [
            "struct Count { long long count; __device__ __forceinline__ long long size() const { return count; } };",
            *structs,
            *opened(name, self.parameters()),
            *_indented(1, self._shared()),
            "    const int thread = threadIdx.x, column = thread & (stride - 1), shift = __popc(stride - 1);",
            f"    const int own = thread >> shift, rows = {THREADS} >> shift;",
            "    const long long step = rows * m;",
            "    for (long long first = (long long)blockIdx.x * stride; first < m;",
            "         first += (long long)gridDim.x * stride) {",
            "        const long long place = first + column;",
            *_indented(2, self._starts()),
            "        IndexT _J = own;",
            "        if (place < m)",
            f"            for (long long j = place + own * m; j < n; j += {few} * step, _J += {few} * rows) {{",
            *_indented(4, self.room()),
            f"                if (j + {few - 1} * step < n) {{",
            *_indented(5, ("#pragma unroll", f"for (int k = 0; k < {few}; ++k) {{")),
            *_indented(6, (f"const {self.index} i = ({self.index})(j + k * step);", *self.loads())),
            "                    }",
            *_indented(5, ("#pragma unroll", f"for (int k = 0; k < {few}; ++k) {{")),
            f"                        const {self.index} i = ({self.index})(j + k * step);",
            "                        const IndexT J = _J + k * rows;",
            *_indented(6, element),
            "                    }",
            "                } else {",
            "                    IndexT J = _J;",
            "                    for (long long at = j; at < n; at += step, J += rows) {",
            f"                        const {self.index} i = ({self.index})at;",
            "                        const int k = 0;",
            *_indented(6, ("{", *(f"    {line}" for line in self.loads()), "}", *element)),
            "                    }",
            "                }",
            "            }",
            *_indented(2, (line for fold in self.folds for line in self._across(fold))),
            "    }",
            "}",
        ]
        return self.headed(lines)

    def _struct(self, fold: Segment) -> Iterator[str]:
        """The texts of CuPy's reduction, as functions."""
        texts = self.dialect_folding(fold)
        given, made = map(self.type_name, texts.dtypes)
        self.preambles.append(texts.preamble)
        device = "    static __device__ __forceinline__"
        yield f"struct Fold{fold.outputs[0]} {{"
        yield f"    typedef {given} type_in0_raw; typedef {made} type_out0_raw; typedef {texts.kind} _type_reduce;"
        yield f"{device} _type_reduce start() {{ return _type_reduce({texts.start}); }}"
        yield f"{device} _type_reduce each(const type_in0_raw in0, const IndexT _J)"
        yield f"    {{ return static_cast<_type_reduce>({texts.each}); }}"
        yield f"{device} _type_reduce both(const _type_reduce a, const _type_reduce b) {{ return ({texts.both}); }}"
        yield f"{device} void last(const _type_reduce a, type_out0_raw& out0,"
        yield f"    const Count _in_ind, const Count _out_ind) {{ {texts.last}; }}"
        yield "};"

    def dialect_folding(self, fold: Segment) -> Folding:
        """CuPy's own texts; in NumPy's code single precision is summed in double."""
        node = self.nodes[self.plan.nodes[fold.node].position]
        dtype = fold.loop.dtypes[0]
        if node.op is spread.SQUARES:
            return spread.texts_of(dtype, self.type_name(dtype))
        texts = library().folding_of(node.op, dtype)
        is_sum = node.op.name in ("reduce_add", "reduce_multiply")
        if self.dialect is not CUPYS and is_sum and texts.dtypes[1] == np.dtype("f4"):
            return replace(texts, kind="double")
        return texts

    def _shared(self) -> Iterator[str]:
        """Room for one fold after the other."""
        widest = "0"
        for fold in self.folds:
            kind = f"sizeof(Fold{fold.outputs[0]}::_type_reduce)"
            name = f"w{fold.outputs[0]}"
            yield f"const unsigned int {name} = {kind} > {widest} ? {kind} : {widest};"
            widest = name
        yield f"__align__(16) __shared__ char shared[{THREADS} * {widest}];"

    def _starts(self) -> Iterator[str]:
        for fold in self.folds:
            name = fold.outputs[0]
            yield f"Fold{name}::_type_reduce a{name} = Fold{name}::start();"

    def _folded(self) -> Iterator[str]:
        """One more element."""
        for fold in self.folds:
            name, (value,) = fold.outputs[0], fold.inputs
            one = f"Fold{name}::each({self.apart(value)}, J)"
            yield f"a{name} = Fold{name}::both(a{name}, {one});"

    def _across(self, fold: Segment) -> Iterator[str]:
        """What the threads of a block have, as one element for each result."""
        name = fold.outputs[0]
        (place,) = (p for p, one in enumerate(self.plan.results) if one.value == name)
        yield "{"
        yield f"    typedef Fold{name}::_type_reduce Kind; Kind* const held = reinterpret_cast<Kind*>(shared);"
        yield f"    held[thread] = a{name};"
        yield "    __syncthreads();"
        yield f"    for (int half = {THREADS // 2}; half >= stride; half >>= 1) {{"
        yield f"        if (thread < half) held[thread] = Fold{name}::both(held[thread], held[thread + half]);"
        yield "        __syncthreads();"
        yield "    }"
        yield "    if (thread < stride && place < m)"
        yield f"        Fold{name}::last(held[thread], r{place}[place], Count{{n}}, Count{{m}});"
        yield "    __syncthreads();"
        yield "}"


def tree_text(plan: KernelPlan, name: str, form: TreeForm, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel that folds as CuPy's own."""
    return TreeWriter(plan, form, dialect).text(name)


def _indented(depth: int, lines: Iterable[str]) -> Iterator[str]:
    return (" " * (4 * depth) + line for line in lines)
