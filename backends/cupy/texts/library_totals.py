"""CUDA C++ for kernels that fold everything as CUB does: blocks take every so many-th tile, one more folds the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ufuse.backends.cupy.operations import cub
from ufuse.backends.cupy.texts.folds import library_folds
from ufuse.backends.cupy.texts.library_order import is_tree
from ufuse.backends.cupy.texts.text import Dialect, Form, opened
from ufuse.backends.cupy.texts.totals import ONCE, TOTAL_THREADS, TotalWriter
from ufuse.backends.planning.kernels import KernelPlan, Segment

assert TOTAL_THREADS == cub.BLOCK


class LibraryTotalWriter(TotalWriter):
    """Writes both kernels; `l…` is what a thread reads of a tile, `q…` what it adds as a tree."""

    def __init__(self, plan: KernelPlan, form: Form, dialect: Dialect) -> None:
        super().__init__(plan, form, dialect)
        self.group = cub.GROUP
        (dtype,) = {one.loop.dtypes[-1] for one in library_folds(plan)}
        self.items = cub.BYTES // dtype.itemsize
        self.trees = [fold for fold in self.folds if is_tree(fold)]

    def _element(self, place: int) -> str:
        return f"l{place}[k]" if self._is_packed(place) else super()._element(place)

    def text(self, name: str) -> str:
        """Both kernels."""
        tile, index = cub.BLOCK * self.items, self.index
        packed = [p for p in self.walked if p in self.read and self._is_packed(p)]
        dtypes = {place: self.plan.operands[place].dtype for place in packed}
        aligned = self.are_aligned(((f"p{p}", dtypes[p]) for p in packed), self.group)
        operations = [one for one in self.plan.segments if one not in self.folds]
        body = [line for one in operations for line in self.segment(one)]
        shared = list(self.shared(TOTAL_THREADS, 1))
        across = [line for fold in self.folds for line in self.across(fold, TOTAL_THREADS, "0")]
        first = [
            *opened(name, self.parameters(), TOTAL_THREADS),
            *_indented(1, shared),
            "    const int lane = threadIdx.x;",
            f"    const bool is_aligned = {aligned};",
            f"    const {index} left = n - ({index})blockIdx.x * {tile};",
            f"    const int valid = left < {cub.BLOCK} ? (int)left : {cub.BLOCK};",
            *_indented(1, self.starts(self.folds)),
            f"    for ({index} begin = ({index})blockIdx.x * {tile}; begin < n;) {{",
            f"        const bool is_first = begin == ({index})blockIdx.x * {tile}, is_whole = n - begin >= {tile};",
            *_indented(2, (f"{self.type_name(dtypes[p])} l{p}[{self.items}];" for p in packed)),
            *_indented(2, self._room()),
            *_indented(2, self._tile(packed)),
            *_indented(2, self._each()),
            f"            const bool is_there = {self._where()} < n;",
            f"            const {index} i = is_there ? {self._where()} : n - 1;",
            *_indented(3, (*self.places(), *body)),
            *_indented(3, (self._taken(fold, f"v{fold.inputs[0]}") for fold in self.folds)),
            *_indented(3, (f"if (is_there) {one}" for one in self.stores())),
            "        }",
            *_indented(2, self._trees()),
            f"        if (n - begin <= ({index})gridDim.x * {tile}) break;",
            f"        begin += ({index})gridDim.x * {tile};",
            "    }",
            *_indented(1, across),
            *(f"    if (lane == 0) t{f.outputs[0]}[blockIdx.x] = a{f.outputs[0]};" for f in self.folds),
            "}",
        ]  # fmt: skip
        return self.with_functions(ONCE, *first, *self._rest(name, shared, across))

    def _rest(self, name: str, shared: list[str], across: list[str]) -> Iterator[str]:
        """The kernel of one block that folds what the others have left."""
        tile = cub.BLOCK * self.items
        parameters = [f"const {self.kind_of(f)}* __restrict__ t{f.outputs[0]}" for f in self.folds]
        made = {f.outputs[0]: self.type_name(self.plan.dtype(f.outputs[0])) for f in self.folds}
        parameters += [f"{kind}* __restrict__ r{value}" for value, kind in made.items()]
        yield from opened(f"{name}_rest", (*parameters, "const int n"), TOTAL_THREADS)
        yield from _indented(1, shared)
        yield f"    const int lane = threadIdx.x, valid = n < {cub.BLOCK} ? n : {cub.BLOCK};"
        yield from _indented(1, self.starts(self.folds))
        yield f"    for (int begin = 0; begin < n; begin += {tile}) {{"
        yield f"        const bool is_first = begin == 0, is_whole = n - begin >= {tile};"
        yield from _indented(2, self._room())
        yield from _indented(2, self._each())
        yield f"            const int i = {self._where()};"
        yield "            const bool is_there = i < n;"
        for fold in self.folds:
            yield f"            {self._taken(fold, f't{fold.outputs[0]}[is_there ? i : 0]')}"
        yield "        }"
        yield from _indented(2, self._trees())
        yield "    }"
        yield from _indented(1, across)
        for fold in self.folds:
            yield f"    if (lane == 0) *r{fold.outputs[0]} = {self.result(fold)};"
        yield "}"

    def _room(self) -> Iterator[str]:
        return (f"{self.kind_of(fold)} q{fold.outputs[0]}[{self.items}];" for fold in self.trees)

    def _each(self) -> Iterator[str]:
        """The elements that a thread has of a tile."""
        yield "#pragma unroll"
        yield f"for (int k = 0; k < {self.items}; ++k) {{"

    def _where(self) -> str:
        """Where such an element is: neighbours in a whole tile."""
        group, threads = self.group, cub.BLOCK
        grouped = f"((k / {group}) * {threads} + lane) * {group} + k % {group}"
        return f"(begin + (is_whole ? {grouped} : lane + k * {threads}))"

    def _tile(self, packed: list[int]) -> Iterator[str]:
        """Read a thread's elements of a tile."""
        group, threads = self.group, cub.BLOCK
        if not packed:
            return
        yield "if (is_whole && is_aligned) {"
        yield "    #pragma unroll"
        yield f"    for (int g = 0; g < {self.items // group}; ++g) {{"
        for place in packed:
            pack = self.pack(self.plan.operands[place].dtype, group)
            where = f"p{place} + begin + (g * {threads} + lane) * {group}"
            yield f"        const {pack} d{place} = {self.read_once(place, pack, where)};"
            yield f"        for (int e = 0; e < {group}; ++e) l{place}[g * {group} + e] = d{place}.at[e];"
        yield "    }"
        yield "} else {"
        yield "    #pragma unroll"
        yield f"    for (int k = 0; k < {self.items}; ++k) {{"
        yield f"        const {self.index} at = {self._where()};"
        yield from (f"        l{place}[k] = p{place}[at < n ? at : n - 1];" for place in packed)
        yield "    }"
        yield "}"

    def _taken(self, fold: Segment, value: str) -> str:
        name = fold.outputs[0]
        if fold in self.trees:
            return f"q{name}[k] = {value};"
        return f"if (is_there) a{name} = fold{name}(a{name}, {value});"

    def _trees(self) -> Iterator[str]:
        for fold in self.trees:
            name = fold.outputs[0]
            yield f"if (is_whole) a{name} = ufuse_tree<{self.items}, Fold{name}>(q{name}, is_first, a{name});"
            yield f"else for (int k = 0; k < {self.items}; ++k)"
            yield f"    if ({self._where()} < n) a{name} = fold{name}(a{name}, q{name}[k]);"


def library_total_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel that folds everything as CUB does."""
    return LibraryTotalWriter(plan, form, dialect).text(name)


def _indented(depth: int, lines: Iterable[str]) -> Iterator[str]:
    return (" " * (4 * depth) + line for line in lines)
