"""Maps over arrays that do not lie alike: a thread takes several elements of a row, a warp's width apart.

A warp's loads are of neighbouring elements then, several of them are under way at once, and where the row lies is
computed once for all. Each element is computed as it is alone. The last part of a row begins where it ends with the
row: what the part before it has, too, is computed twice and written once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ufuse.backends.cupy.text import Dialect, Form, Writer, kernel_name, walked
from ufuse.backends.planning.kernels import KernelPlan

WARP = 32
MOST = 4  # elements of a thread
MOST_ARRAYS = 32  # of a kernel: C keeps two bits for the step of each
MOST_REGISTERS = 64  # of a thread, for what it reads
MOST_SEGMENTS = 100  # of a kernel: its values are in registers several times


def tile_of(plan: KernelPlan) -> int:
    """How many elements of a row a thread takes at most; 1 where more would be too much."""
    arrays = walked(plan)
    if len(plan.segments) > MOST_SEGMENTS or len(arrays) > MOST_ARRAYS:
        return 1
    read = {value for segment in plan.segments for value in segment.inputs}
    words = sum(
        math.ceil(plan.operands[place].dtype.itemsize / 4) for place in arrays if place in read
    )
    return next((few for few in (MOST, MOST // 2) if words * few <= MOST_REGISTERS), 1)


def tile_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a map whose threads take several elements of a row."""
    writer = TileWriter(plan, form, dialect)
    index, few = writer.index, form.few
    body = [line for segment in plan.segments for line in writer.segment(segment)]
    lines = [
        f'extern "C" __global__ void {kernel_name(name)}({", ".join(writer.parameters())})',
        "{",
        f"    for ({index} tile = (({index})blockIdx.x * blockDim.x + threadIdx.x) / {WARP}; tile < n;",
        f"         tile += ({index})gridDim.x * (blockDim.x / {WARP})) {{",
        f"        const {index} row = tile / parts, begin = (tile - row * parts) * {WARP * few};",
        f"        const {index} own = min(begin, m - {WARP * few}) + threadIdx.x % {WARP};",
        *(f"        {line}" for line in (*writer.row(), *writer.loads())),
        "        #pragma unroll",
        f"        for (int k = 0; k < {few}; ++k) {{",
        f"            const {index} j = own + k * {WARP};",
        *(f"            {line}" for line in (*writer.places(), *body)),
        "            if (j >= begin) {",
        *(f"                {line}" for line in writer.stores()),
        "            }",
        "        }",
        "    }",
        "}",
    ]
    return writer.headed(lines)


class TileWriter(Writer):
    """Writes a map's parts; `a…` is what a thread reads, `b…` and `o…` are where a row begins."""

    def __init__(self, plan: KernelPlan, form: Form, dialect: Dialect) -> None:
        super().__init__(plan, form, dialect)
        self.columns = dict(zip(self.walked, form.columns, strict=True))

    def _counts(self) -> Iterator[str]:
        """How many tiles there are, how many a row has, how long a row is; the other axes' lengths."""
        yield from (f"const {self.index} {name}" for name in ("n", "parts", "m"))
        yield from (f"const {self.index} n{axis}" for axis in range(1, self.form.axes - 1))

    def row(self) -> Iterator[str]:
        """Where the row begins in each array."""
        axes = self.form.axes - 1
        yield from self._indices("row", axes)
        for place in self.walked:
            operand = self.plan.operands[place]
            offset = " + ".join(f"i{axis} * s{place}_{axis}" for axis in range(axes)) or "0"
            if operand.axis is not None:
                yield f"const {self.index} b{place} = {offset};"
            elif place in self.read or place in self.targets:
                const = "" if place in self.targets else "const "
                yield f"{const}{self.type_name(operand.dtype)}* const b{place} = p{place} + {offset};"
        for place, result in enumerate(self.plan.results):
            if result.how[0] != "into":
                name = self.type_name(self.plan.dtype(result.value))
                yield f"{name}* const o{place} = r{place} + row * m;"

    def _at(self, place: int, j: str) -> str:
        step = self.columns[place]
        return "0" if step == 0 else j if step == 1 else f"{j} * s{place}_{self.form.axes - 1}"

    def loads(self) -> Iterator[str]:
        """What is read at once."""
        read = []
        for place in self.walked:
            operand = self.plan.operands[place]
            if operand.axis is not None or place not in self.read:
                continue
            name = self.type_name(operand.dtype)
            if self.columns[place] == 0:
                yield f"const {name} v{place} = b{place}[0];"
            else:
                yield f"{name} a{place}[{self.form.few}];"
                read.append(place)
        if read:
            yield "#pragma unroll"
            yield f"for (int k = 0; k < {self.form.few}; ++k) {{"
            yield f"    const {self.index} j = own + k * {WARP};"
            yield from (f"    a{place}[k] = b{place}[{self._at(place, 'j')}];" for place in read)
            yield "}"

    def places(self) -> Iterator[str]:
        """The elements of the operands."""
        for place in self.walked:
            operand = self.plan.operands[place]
            if operand.axis is not None:
                yield f"const {self.index} v{place} = b{place} + {self._at(place, 'j')};"
            elif place in self.read and self.columns[place] != 0:
                yield f"const {self.type_name(operand.dtype)} v{place} = a{place}[k];"

    def stores(self) -> Iterator[str]:
        """The results: new arrays are in C order, others are stored into."""
        for place, result in enumerate(self.plan.results):
            if result.how[0] == "into":
                target = result.how[1]
                yield f"b{target}[{self._at(target, 'j')}] = v{result.value};"
            else:
                yield f"o{place}[j] = v{result.value};"
