"""Maps that read transposed arrays: blocks read tiles of them along the axis that they lie along, into shared memory.

A block has WARP rows of WARP elements. What lies as the results do is read and computed with along rows; of an array
that is turned each warp reads WARP neighbouring elements of a column, and finds those of its row behind the barrier.
Where a tile has fewer rows or columns the last one is computed several times, of the same elements, which all are read
before any is stored. So nothing is behind a condition, and all loads are under way at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ufuse.backends.cupy.texts.text import FAR, TURNED, Dialect, Form, Writer, opened, walked
from ufuse.backends.cupy.texts.vectors import is_simple
from ufuse.backends.planning.kernels import KernelPlan

WARP = 32
FEW = 4  # elements of a thread, one below the other
WARPS = WARP // FEW  # of a block
MOST_ROOM = 17 << 10  # bytes of a block's shared memory: several blocks share a processor's


def rooms_of(plan: KernelPlan) -> tuple[int, ...]:
    """For each array that is walked over the bytes of shared memory that it takes when turned; 0: it is not read so."""
    targets = {result.how[1] for result in plan.results if result.how[0] == "into"}
    return tuple(
        WARP * (WARP + 1) * operand.dtype.itemsize
        if operand.axis is None and place not in targets and is_simple(operand.dtype)
        else 0
        for place in walked(plan)
        for operand in [plan.operands[place]]
    )


def turned_columns(
    columns: Iterable[int], rooms: Iterable[int], steps: Iterable[list[int]]
) -> tuple[int, ...]:
    """The columns of rows with arrays in other parts of memory as turned ones; none where some are not, or too many."""
    found, room = [], 0
    for column, own, one in zip(columns, rooms, steps, strict=True):
        if column == FAR and (not own or one[-2] != 1):
            return ()
        found.append(TURNED if column == FAR else column)
        room += own * (column == FAR)
    return tuple(found) if room <= MOST_ROOM else ()


def turned_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a map that reads turned arrays."""
    writer = TurnedWriter(plan, form, dialect)
    index = writer.index
    body = [line for segment in plan.segments for line in writer.segment(segment)]
    y = f"const {index} y = min(top + warp + k * {WARPS}, height - 1);"
    each = ["#pragma unroll", f"for (int k = 0; k < {FEW}; ++k) {{"]
    lines = [
        *opened(name, writer.parameters(), WARP * WARPS),
        *(f"    {line}" for line in writer.shared()),
        f"    const int lane = threadIdx.x % {WARP}, warp = threadIdx.x / {WARP};",
        f"    for ({index} tile = blockIdx.x; tile < n; tile += gridDim.x) {{",
        f"        const {index} above = tile / parts, left = (tile - above * parts) * {WARP};",
        f"        const {index} outer = above / pieces, top = (above - outer * pieces) * deep;",
        f"        const {index} own = min(left + lane, m - 1), column = min(top + lane, height - 1);",
        *(f"        {line}" for line in (*writer.begins(), *writer.room(), *each)),
        f"            const {index} row = min(left + warp + k * {WARPS}, m - 1);",
        f"            {y}",
        *(f"            {line}" for line in writer.loads()),
        "        }",
        *(f"        {line}" for line in each),
        *(f"            {line}" for line in writer.turned()),
        "        }",
        "        __syncthreads();",
        *(f"        {line}" for line in each),
        f"            {y}",
        *(f"            {line}" for line in (*writer.elements(), *body, *writer.stores())),
        "        }",
        "        __syncthreads();",
        "    }",
        "}",
    ]
    return writer.headed(lines)


class TurnedWriter(Writer):
    """Writes a map's parts; `t…` is a tile of a turned array, `a…` what a thread reads of another."""

    def __init__(self, plan: KernelPlan, form: Form, dialect: Dialect) -> None:
        super().__init__(plan, form, dialect)
        self.columns = dict(zip(self.walked, form.columns, strict=True))
        read = [one for one in self.walked if one in self.read and plan.operands[one].axis is None]
        self.far = [place for place in read if self.columns[place] == TURNED]
        self.near = [place for place in read if self.columns[place] != TURNED]

    def _counts(self) -> Iterator[str]:
        """How many tiles there are, elements of a row, rows; tiles of a row, rows of one, tiles of a column."""
        names = ("n", "m", "height", "parts", "deep", "pieces")
        yield from (f"const {self.index} {name}" for name in names)
        yield from (f"const {self.index} n{axis}" for axis in range(1, self.form.axes - 2))

    def shared(self) -> Iterator[str]:
        """Tiles, each row of which begins in another bank of memory."""
        for place in self.far:
            yield f"__shared__ {self._name(place)} t{place}[{WARP}][{WARP + 1}];"

    def begins(self) -> Iterator[str]:
        """The indices of the axes above rows."""
        yield from self._indices("outer", self.form.axes - 2)

    def room(self) -> Iterator[str]:
        """For what is read at once."""
        yield from (f"{self._name(place)} a{place}[{FEW}];" for place in (*self.far, *self.near))

    def loads(self) -> Iterator[str]:
        """An element of each array."""
        yield from (f"a{one}[k] = p{one}[{self._where(one, 'column', 'row')}];" for one in self.far)
        yield from (f"a{one}[k] = p{one}[{self._where(one, 'y', 'own')}];" for one in self.near)

    def turned(self) -> Iterator[str]:
        """Elements of the turned arrays for other threads."""
        yield from (f"t{place}[warp + k * {WARPS}][lane] = a{place}[k];" for place in self.far)

    def _name(self, place: int) -> str:
        return self.type_name(self.plan.operands[place].dtype)

    def _where(self, place: int, row: str, own: str) -> str:
        """How many elements from an array's first another one is."""
        axes, column = self.form.axes, self.columns[place]
        steps = [f"i{axis} * s{place}_{axis}" for axis in range(axes - 2)]
        steps.append(row if column == TURNED else f"{row} * s{place}_{axes - 2}")
        if column == 1:
            steps.append(own)
        elif column != 0:
            steps.append(f"{own} * s{place}_{axes - 1}")
        return " + ".join(steps)

    def _offset(self, place: int) -> str:
        return self._where(place, "y", "own")

    def _element(self, place: int) -> str:
        is_turned = self.columns[place] == TURNED
        return f"t{place}[lane][warp + k * {WARPS}]" if is_turned else f"a{place}[k]"

    def _made(self, place: int) -> str:
        return f"r{place}[(outer * height + y) * m + own]"
