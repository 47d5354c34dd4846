"""CUDA C++ for kernels that fold everything, in two steps, with what is computed before."""

from __future__ import annotations

from collections.abc import Iterator

from ufuse.backends.cupy.texts.folds import FoldWriter, indented
from ufuse.backends.cupy.texts.text import Dialect, Form, opened
from ufuse.backends.cupy.texts.vectors import BYTES, is_simple
from ufuse.backends.planning.kernels import KernelPlan

TOTAL_THREADS = 256
# A group that is read once: whatever else is in caches stays there.
ONCE = """\
template<int bytes> struct ufuse_word;
template<> struct ufuse_word<1> { typedef unsigned char type; };
template<> struct ufuse_word<2> { typedef unsigned short type; };
template<> struct ufuse_word<4> { typedef unsigned int type; };
template<> struct ufuse_word<8> { typedef uint2 type; };
template<> struct ufuse_word<16> { typedef uint4 type; };

template<typename T> __device__ __forceinline__ T ufuse_once(const T* from)
{
    typedef typename ufuse_word<sizeof(T)>::type word;
    union { word loaded; T made; } both;
    both.loaded = __ldcs(reinterpret_cast<const word*>(from));
    return both.made;
}"""


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

    def _element(self, place: int) -> str:
        return f"g{place}.at[e]" if self._is_packed(place) else super()._element(place)

    def _is_packed(self, place: int) -> bool:
        return not self.form.axes and is_simple(self.plan.operands[place].dtype)

    def read_once(self, place: int, pack: str, where: str) -> str:
        """A group of an operand, which no other thread reads; larger ones than a load are several."""
        pointer = f"reinterpret_cast<const {pack}*>({where})"
        size = self.plan.operands[place].dtype.itemsize * self.group
        return f"ufuse_once({pointer})" if size <= BYTES else f"*{pointer}"

    def _loads(self) -> Iterator[str]:
        """Groups that are read at once, or one by one where there are fewer or memory is not aligned."""
        packed = [p for p in self.walked if p in self.read and self._is_packed(p)]
        packs = {place: self.pack(self.plan.operands[place].dtype, self.group) for place in packed}
        yield from (f"{pack} g{place};" for place, pack in packs.items())
        if packs:
            yield f"if (is_aligned && at + {self.group} <= n) {{"
            for place, pack in packs.items():
                yield f"    g{place} = {self.read_once(place, pack, f'p{place} + at')};"
            yield "} else {"
            yield f"    for (int e = 0; e < {self.group}; ++e)"
            each = " ".join(f"g{place}.at[e] = p{place}[min(at + e, n - 1)];" for place in packs)
            yield f"        {{ {each} }}"
            yield "}"

    def text(self, name: str) -> str:
        """Both kernels."""
        group, index = self.group, self.index
        body = [
            line
            for one in self.plan.segments
            for line in ([self.folded(one, "is_there")] if one in self.folds else self.segment(one))
        ]
        across = [line for fold in self.folds for line in self.across(fold, TOTAL_THREADS, "0")]
        shared = list(self.shared(TOTAL_THREADS, 1))
        left = [f"t{f.outputs[0]}[blockIdx.x] = a{f.outputs[0]};" for f in self.folds]
        packed = [(f"p{p}", self.plan.operands[p].dtype) for p in self.walked if self._is_packed(p)]
        first = [
            *opened(name, self.parameters(), TOTAL_THREADS),
            *indented(1, shared),
            "    const int lane = threadIdx.x;",
            f"    const bool is_aligned = {self.are_aligned(packed, group)};",
            *indented(1, self.starts(self.folds)),
            f"    for ({index} at = (({index})blockIdx.x * blockDim.x + threadIdx.x) * {group}; at < n;",
            f"         at += ({index})gridDim.x * blockDim.x * {group}) {{",
            *indented(2, self._loads()),
            "        #pragma unroll",
            f"        for (int e = 0; e < {group}; ++e) {{",
            "            const bool is_there = at + e < n;",
            f"            const {index} i = is_there ? at + e : n - 1;",
            *indented(3, (*self.places(), *body)),
            *indented(3, (f"if (is_there) {one}" for one in self.stores())),
            "        }",
            "    }",
            *indented(1, across),
            *indented(1, (f"if (lane == 0) {one}" for one in left)),
            "}",
        ]
        return self.with_functions(ONCE, *first, *self._rest(name, shared, across))

    def _rest(self, name: str, shared: list[str], across: list[str]) -> Iterator[str]:
        given = [f"const {self.kind_of(f)}* __restrict__ t{f.outputs[0]}" for f in self.folds]
        made = {f.outputs[0]: self.type_name(self.plan.dtype(f.outputs[0])) for f in self.folds}
        results = [f"{kind}* __restrict__ r{value}" for value, kind in made.items()]
        yield from opened(f"{name}_rest", (*given, *results, "const int n"), TOTAL_THREADS)
        yield from indented(1, shared)
        yield "    const int lane = threadIdx.x;"
        yield from indented(1, self.starts(self.folds))
        yield f"    for (int i = lane; i < n; i += {TOTAL_THREADS}) {{"
        yield from indented(2, (f"a{v} = fold{v}(a{v}, t{v}[i]);" for v in made))
        yield "    }"
        yield from indented(1, across)
        yield from (f"    if (lane == 0) *r{v} = ({kind})a{v};" for v, kind in made.items())
        yield "}"


def total_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel that folds everything."""
    return TotalWriter(plan, form, dialect).text(name)
