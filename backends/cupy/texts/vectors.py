"""Maps whose threads take several neighbouring elements at once: 16 bytes a load where memory is aligned to that.

Each element is computed as it is alone. The last thread may have fewer: it computes its last one several times.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ufuse.backends.cupy.texts.text import Dialect, Form, Writer, is_array, opened
from ufuse.backends.planning.kernels import KernelPlan

BYTES = 16  # of a load, at most
MOST = 4  # elements of a thread
MOST_SEGMENTS = 100  # of a kernel: its values are in registers several times
PACK = """\
template<typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) ufuse_pack { T at[N]; };"""


def is_simple(dtype: np.dtype) -> bool:
    """Whether elements are numbers of C's."""
    return dtype.kind in "biuf" and dtype.char != "e"


def few_of(plan: KernelPlan) -> int:
    """How many elements a thread takes at once; 1 where that gains nothing, or the types are no numbers of C's."""
    dtypes = [one.dtype for place, one in enumerate(plan.operands) if is_array(plan, place)]
    dtypes += [plan.dtype(result.value) for result in plan.results]
    if any(one.table for one in plan.operands):
        return 1  # places are anywhere
    if len(plan.segments) > MOST_SEGMENTS or not all(map(is_simple, dtypes)):
        return 1
    return max(1, min(BYTES // min(one.itemsize for one in dtypes), MOST))


def vector_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a map over elements that lie alike in all arrays."""
    writer = VectorWriter(plan, form, dialect)
    index, few = writer.index, form.few
    body = [line for segment in plan.segments for line in writer.segment(segment)]
    lines = [
        PACK,
        *opened(name, writer.parameters()),
        f"    const {index} packs = n / {few} + (n % {few} != 0);",
        f"    for ({index} i = ({index})blockIdx.x * blockDim.x + threadIdx.x; i < packs;",
        f"         i += ({index})gridDim.x * blockDim.x) {{",
        f"        const int there = n - i * {few} < {few} ? (int)(n - i * {few}) : {few};",
        *(f"        {line}" for line in writer.loads()),
        "        #pragma unroll",
        f"        for (int k = 0; k < {few}; ++k) {{",
        *(f"            {line}" for line in (*writer.places(), *body, *writer.stores())),
        "        }",
        *(f"        {line}" for line in writer.written()),
        "    }",
        "}",
    ]
    return writer.headed(lines)


class VectorWriter(Writer):
    """Writes a map's parts; `a…` and `b…` are what a thread reads and writes at once."""

    def _read_places(self) -> list[int]:
        places = range(len(self.plan.operands))
        return [place for place in places if self.is_array[place] and place in self.read]

    def _pack(self, dtype: np.dtype) -> str:
        return f"ufuse_pack<{self.type_name(dtype)}, {self.form.few}>"

    def _packs(self) -> Iterator[tuple[str, str, int]]:
        """The packs that are written: of which type, where to, and the value's number."""
        for place, result in enumerate(self.plan.results):
            into = result.how[0] == "into"
            address = f"p{result.how[1]}" if into else f"r{place}"
            yield self._pack(self.plan.dtype(result.value)), address, result.value

    def loads(self) -> Iterator[str]:
        """What is read at once, or one by one by who has fewer elements; room for what is written."""
        few, reads = self.form.few, self._read_places()
        for place in reads:
            yield f"{self._pack(self.plan.operands[place].dtype)} a{place};"
        for place, (pack, _, _) in enumerate(self._packs()):
            yield f"{pack} b{place};"
        yield f"if (there == {few}) {{"
        for place in reads:
            pack = self._pack(self.plan.operands[place].dtype)
            yield f"    a{place} = reinterpret_cast<const {pack}*>(p{place})[i];"
        yield "} else {"
        yield f"    for (int k = 0; k < {few}; ++k) {{"
        yield f"        const {self.index} own = i * {few} + (k < there ? k : there - 1);"
        for place in reads:
            yield f"        a{place}.at[k] = p{place}[own];"
        yield "    }"
        yield "}"

    def _element(self, place: int) -> str:
        return f"a{place}.at[k]"

    def stores(self) -> Iterator[str]:
        """The results."""
        for place, (_, _, value) in enumerate(self._packs()):
            yield f"b{place}.at[k] = v{value};"

    def written(self) -> Iterator[str]:
        """What is written at once, or one by one."""
        few = self.form.few
        yield f"if (there == {few}) {{"
        for place, (pack, address, _) in enumerate(self._packs()):
            yield f"    reinterpret_cast<{pack}*>({address})[i] = b{place};"
        yield "} else {"
        yield "    for (int k = 0; k < there; ++k) {"
        for place, (_, address, _) in enumerate(self._packs()):
            yield f"        {address}[i * {few} + k] = b{place}.at[k];"
        yield "    }"
        yield "}"
