"""Maps over arrays that do not lie alike: a thread takes several elements, a warp's width apart.

A warp's loads are of neighbouring elements then, and several of them are under way at once. Along rows that are long
enough where they lie is computed once for all, so of large arrays a warp also goes down several rows; neighbouring
warps have neighbouring parts of a row, or of rows where arrays are turned. Each element is computed as it is alone.
The last elements are taken with those before them, which are computed twice then and written once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ufuse.backends.cupy.texts.text import FAR, VARYING, Dialect, Form, Writer, opened, walked
from ufuse.backends.planning.kernels import KernelPlan

WARP = 32
FAR_BLOCK = 256  # threads where rows are far apart: a cache reads those of its warps together
MOST = 4  # elements of a thread
MOST_ARRAYS = 31  # of a kernel: C keeps two bits of 63 for the step of each
MOST_REGISTERS = 64  # of a thread, for what it reads
DEEP = 4  # rows that a warp goes down at most: those of more are gone from caches when the next warp comes by,
WARPS = 1 << 14  # as long as there are so many warps,
NEAR = 8  # and if the elements of a row are at most so far apart: else it is the rows that are near one another
MOST_SEGMENTS = 100  # of a kernel: its values are in registers several times


def tile_of(plan: KernelPlan, most: int = MOST) -> int:
    """How many elements of a row a thread takes, a power of two up to `most`; 1 where more would be too much."""
    arrays = walked(plan)
    if len(plan.segments) > MOST_SEGMENTS or len(arrays) > MOST_ARRAYS:
        return 1
    read = {value for segment in plan.segments for value in segment.inputs}
    words = sum(
        math.ceil(plan.operands[place].dtype.itemsize / 4) for place in arrays if place in read
    )
    while most > 1 and words * most > MOST_REGISTERS:
        most //= 2
    return most


def columns_of(steps: Iterable[int]) -> tuple[int, ...]:
    """What a kernel is written for of the steps along a row."""
    return tuple(
        step if step in (0, 1) else VARYING if abs(step) <= NEAR else FAR for step in steps
    )


def tile_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a map whose threads take several elements of a row."""
    writer = TileWriter(plan, form, dialect)
    index, few = writer.index, form.few
    body = [line for segment in plan.segments for line in writer.segment(segment)]
    element = [
        *writer.loads(),
        "#pragma unroll",
        f"for (int k = 0; k < {few}; ++k) {{",
        *(f"    {line}" for line in (*writer.elements(), *body)),
        f"    if (own + k * {WARP} >= begin) {{",
        *(f"        {line}" for line in writer.stores()),
        "    }",
        "}",
    ]
    lines = [
        *opened(name, writer.parameters()),
        f"    for ({index} tile = (({index})blockIdx.x * blockDim.x + threadIdx.x) / {WARP}; tile < n;",
        f"         tile += ({index})gridDim.x * (blockDim.x / {WARP})) {{",
        *(f"        {line}" for line in writer.part()),
        f"        const {index} begin = part * {WARP * few};",
        f"        const {index} own = min(begin, m - {WARP * few}) + threadIdx.x % {WARP};",
        *(f"        {line}" for line in writer.begins()),
        *(f"        {line}" for line in writer.each_row(element)),
        "    }",
        "}",
    ]
    return writer.headed(lines)


class TileWriter(Writer):
    """Writes a map's parts; `a…` is what a thread reads of a row, `b…` and `o…` are where that is."""

    def __init__(self, plan: KernelPlan, form: Form, dialect: Dialect) -> None:
        super().__init__(plan, form, dialect)
        self.columns = dict(zip(self.walked, form.columns, strict=True))
        self.is_far = FAR in form.columns

    def _counts(self) -> Iterator[str]:
        """How many tiles there are, elements of a row; rows one below the other, and how tiles are counted."""
        names = ["n", "m"]
        if self.form.axes > 1:
            names += ["height", "down"] if self.is_far else ["height", "parts", "deep", "pieces"]
        yield from (f"const {self.index} {name}" for name in names)
        yield from (f"const {self.index} n{axis}" for axis in range(1, self.form.axes - 2))

    def part(self) -> Iterator[str]:
        """Which part of a row a warp has, and which rows."""
        if self.form.axes == 1:
            yield f"const {self.index} part = tile;"
            return
        if self.is_far:
            yield f"const {self.index} part = tile / down, above = tile - part * down;"
            yield f"const {self.index} outer = above / height, y = above - outer * height;"
        else:
            yield f"const {self.index} above = tile / parts, part = tile - above * parts;"
            yield f"const {self.index} outer = above / pieces;"
            yield f"{self.index} y = (above - outer * pieces) * deep;"
            yield f"const {self.index} end = min(y + deep, height);"
        yield from self._indices("outer", self.form.axes - 2)

    def begins(self) -> Iterator[str]:
        """Where a thread's first element is in each array."""
        axes = self.form.axes
        for place in self.walked:
            operand = self.plan.operands[place]
            steps = [f"i{axis} * s{place}_{axis}" for axis in range(axes - 2)]
            steps += [f"y * s{place}_{axes - 2}"] if axes > 1 else []
            offset = " + ".join((*steps, *self._along(place, "own"))) or "0"
            if operand.axis is not None:
                yield f"{self.index} b{place} = {offset};"
            elif place in self.read or place in self.targets:
                const = "" if place in self.targets else "const "
                name = self.type_name(operand.dtype)
                yield f"{const}{name}* b{place} = p{place} + ({offset});"
        row = "(outer * height + y) * m + own" if axes > 1 else "own"
        for place, result in enumerate(self.plan.results):
            if result.how[0] != "into":
                name = self.type_name(self.plan.dtype(result.value))
                yield f"{name}* o{place} = r{place} + ({row});"

    def each_row(self, element: list[str]) -> Iterator[str]:
        """The rows, one behind the other."""
        axes = self.form.axes
        if axes == 1 or self.is_far:
            yield from element
            return
        yield "#pragma unroll 1"
        yield "for (;;) {"
        yield from (f"    {line}" for line in element)
        yield "    if (++y == end) break;"
        for place in self.walked:
            if self.plan.operands[place].axis is not None or place in self.read | self.targets:
                yield f"    b{place} += s{place}_{axes - 2};"
        for place, result in enumerate(self.plan.results):
            if result.how[0] != "into":
                yield f"    o{place} += m;"
        yield "}"

    def _along(self, place: int, count: str) -> list[str]:
        """So many elements on in a row."""
        step = self.columns[place]
        last = self.form.axes - 1
        return [] if step == 0 else [count if step == 1 else f"{count} * s{place}_{last}"]

    def _at(self, place: int) -> str:
        return "".join(self._along(place, f"k * {WARP}")) or "0"

    def loads(self) -> Iterator[str]:
        """What is read at once."""
        read = []
        for place in self.walked:
            operand = self.plan.operands[place]
            if operand.axis is not None or place not in self.read:
                continue
            name = self.type_name(operand.dtype)
            if self.columns[place] == 0:
                yield f"const {name} z{place} = b{place}[0];"
            else:
                yield f"{name} a{place}[{self.form.few}];"
                read.append(place)
        if read:
            yield "#pragma unroll"
            yield f"for (int k = 0; k < {self.form.few}; ++k) {{"
            yield from (f"    a{place}[k] = b{place}[{self._at(place)}];" for place in read)
            yield "}"

    def _counted(self, place: int) -> str:
        return f"b{place} + {self._at(place)}"

    def _element(self, place: int) -> str:
        return f"z{place}" if self.columns[place] == 0 else f"a{place}[k]"

    def _stored(self, target: int) -> str:
        return f"b{target}[{self._at(target)}]"

    def _made(self, place: int) -> str:
        return f"o{place}[k * {WARP}]"


def spread_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a map whose threads take several elements, of whichever rows."""
    writer = SpreadWriter(plan, form, dialect)
    index, few = writer.index, form.few
    body = [line for segment in plan.segments for line in writer.segment(segment)]
    each = [
        "#pragma unroll",
        f"for (int k = 0; k < {few}; ++k) {{",
        f"    const {index} i = own + k * {WARP};",
    ]
    lines = [
        *opened(name, writer.parameters()),
        f"    const {index} tiles = n / {WARP * few} + (n % {WARP * few} != 0);",
        f"    for ({index} tile = (({index})blockIdx.x * blockDim.x + threadIdx.x) / {WARP}; tile < tiles;",
        f"         tile += ({index})gridDim.x * (blockDim.x / {WARP})) {{",
        f"        const {index} begin = tile * {WARP * few};",
        f"        const {index} own = min(begin, n - {WARP * few}) + threadIdx.x % {WARP};",
        *(f"        {line}" for line in (*writer.room(), *each)),
        *(f"            {line}" for line in writer.loads()),
        "        }",
        *(f"        {line}" for line in each),
        *(f"            {line}" for line in (*writer.places(), *body)),
        "            if (i >= begin) {",
        *(f"                {line}" for line in writer.stores()),
        "            }",
        "        }",
        "    }",
        "}",
    ]
    return writer.headed(lines)


class SpreadWriter(Writer):
    """Writes a map's parts; `a…` is what a thread reads."""

    def _reads(self) -> list[int]:
        operands = self.plan.operands
        return [
            place for place in self.walked if operands[place].axis is None and place in self.read
        ]

    def room(self) -> Iterator[str]:
        """For what is read at once."""
        for place in self._reads():
            name = self.type_name(self.plan.operands[place].dtype)
            yield f"{name} a{place}[{self.form.few}];"

    def loads(self) -> Iterator[str]:
        """An element of each array."""
        yield from self._indices("i", self.form.axes)
        yield from (f"a{place}[k] = p{place}[{self._offset(place)}];" for place in self._reads())

    def _element(self, place: int) -> str:
        return f"a{place}[k]"
