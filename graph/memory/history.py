"""Who has read and written the parts of a buffer so far, found by where they lie.

An unrolled loop uses thousands of parts of one buffer (`x[i] = x[i-1]`), or a few parts thousands of times
(`u[1:-1] += u[2:]`), so nobody is compared with all that came before. Parts lie in cells by the numbers of their
elements; each remembers only its last writer, and who has read it since; and what a later write covers is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from itertools import product
from operator import itemgetter

from ufuse.graph.memory.accesses import Access
from ufuse.graph.memory.regions import Extent, covers, extent, is_dense
from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType

MOST_FOUND = 200  # nodes that one access waits for one by one
FEW = 30  # parts that are sorted at once, instead of one by one
MOST_SEEN = 500  # parts that are looked at to find them

Level = tuple[tuple[object, int] | None, ...]
Block = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Part:
    """A part of a buffer, who wrote it last, and those that have read it since anything in it was written.

    Times are places of nodes in the graph. Along each axis the part lies in block `block` of those of 2**`level`
    elements, counted from a symbolic base; None: it may be anywhere.
    """

    access: Access
    extents: tuple[Extent | None, ...]
    dense: bool  # the part has every element between
    level: Level
    block: Block
    writer: Node | None = None
    written: int = -1
    readers: list[tuple[int, Node]] = field(default_factory=list)
    overlaps: dict[Part, bool] = field(default_factory=dict)


def part_of(access: Access, *, alone: bool) -> Part:
    """A new part; where another buffer may be the same memory (not `alone`), its place says nothing."""
    extents = tuple(map(extent, access.region.axes)) if alone else ()
    level: list[tuple[object, int] | None] = []
    block: list[int] = []
    for one in extents:
        if one is None or one[1] < 0 <= one[2]:  # blocks of any size end before 0, and begin there
            level.append(None)
            block.append(0)
            continue
        base, low, high = one
        bits = (low ^ high).bit_length()
        level.append((base, bits))
        block.append(low >> bits)
    return Part(access, extents, alone and is_dense(access.region), tuple(level), tuple(block))


Times = dict[Part, int]


class Cells:
    """Parts with the time of their last use, the newest last."""

    def __init__(self) -> None:
        self._levels: dict[Level, tuple[Times, dict[Block, Times]]] = {}

    def put(self, part: Part, time: int) -> None:
        """Add a part, or note that it was used again."""
        everything, cells = self._levels.setdefault(part.level, ({}, {}))
        for times in (everything, cells.setdefault(part.block, {})):
            times.pop(part, None)
            times[part] = time

    def remove(self, part: Part) -> None:
        """Forget a part, if it is there."""
        everything, cells = self._levels.get(part.level, ({}, {}))
        if everything.pop(part, None) is not None:
            cells[part.block].pop(part)
            if not cells[part.block]:
                del cells[part.block]
            if not everything:
                del self._levels[part.level]

    def near(self, part: Part) -> Iterator[tuple[Part, int]]:
        """The parts that may overlap with one, as far as blocks tell, and their times; the newest first."""
        found = [
            times
            for level, (everything, cells) in self._levels.items()
            for times in _cells_near(part, level, everything, cells)
        ]
        if len(found) == 1:
            return reversed(found[0].items())
        time = itemgetter(1)
        if sum(map(len, found)) <= FEW:
            few = [pair for times in found for pair in times.items()]
            few.sort(key=time, reverse=True)
            return iter(few)
        return merge(*(reversed(times.items()) for times in found), key=time, reverse=True)

    def everything(self) -> list[Part]:
        """All parts."""
        return [part for parts, _ in self._levels.values() for part in parts]


def _cells_near(
    part: Part, level: Level, everything: Times, cells: dict[Block, Times]
) -> list[Times]:
    """The cells of a level in which parts may overlap with one."""
    ranges: list[range] = []
    count = 1
    for one, axis in zip(part.extents, level, strict=True):
        if axis is None:
            ranges.append(range(1))
            continue
        base, bits = axis
        if one is None or one[0] != base:
            return [everything]
        blocks = range(one[1] >> bits, (one[2] >> bits) + 1)
        count *= len(blocks)
        ranges.append(blocks)
    if count > len(cells):
        return [everything]
    return [cells[block] for block in product(*ranges) if block in cells]


@dataclass(slots=True)
class Found:
    """The parts that overlap with one: those that were written, the newest first, and those that were read.

    `covered`: the last of those written covers the part, so that older ones do not matter.
    """

    written: list[Part]
    read: list[Part] = field(default_factory=list)
    covered: int = -1  # when that was


class History:
    """The parts of one buffer, or of several that may share memory, and their last users.

    `before_read` and `before_write` give None where there are too many to wait for one by one: then the node waits for
    `everyone` and takes their place, so that whoever comes later waits for it alone.
    """

    def __init__(self, clash: Callable[[Access, Access], bool], *, alone: bool) -> None:
        self._clash = clash
        self._alone = alone
        self._parts: dict[Access, Part] = {}
        self._writes = Cells()
        self._reads = Cells()
        self.fence: Node | None = None

    def part(self, access: Access) -> Part:
        """The part that an access is to."""
        found = self._parts.get(access)
        if found is None:
            found = self._parts[access] = part_of(access, alone=self._alone)
        return found

    def _overlap(self, one: Part, other: Part) -> bool:
        if one is other:
            return True
        known = one.dense and other.dense
        for a, b in zip(one.extents, other.extents, strict=True):
            if a is None or b is None or a[0] != b[0]:
                known = False
            elif a[2] < b[1] or b[2] < a[1]:
                return False
        if known:
            return True
        found = one.overlaps.get(other)
        if found is None:
            found = one.overlaps[other] = other.overlaps[one] = self._clash(
                one.access, other.access
            )
        return found

    def before_read(self, part: Part) -> Found | None:
        """Those whose writes the part shows."""
        found = Found([])
        for seen, (other, time) in enumerate(self._writes.near(part)):
            if seen > MOST_SEEN or len(found.written) > MOST_FOUND:
                return None
            if self._overlap(part, other):
                found.written.append(other)
                if _covers(other, part):
                    found.covered = time
                    break
        return found

    def before_write(self, part: Part) -> Found | None:
        """Those whose writes a write to the part replaces, and those who read it before."""
        found = self.before_read(part)
        if found is None:
            return None
        count = len(found.written)
        for seen, (other, time) in enumerate(self._reads.near(part)):
            if time <= found.covered:
                break
            if seen > MOST_SEEN or count > MOST_FOUND:
                return None
            if self._overlap(part, other):
                found.read.append(other)
                count += len(other.readers)
        return None if count > MOST_FOUND else found

    def note_read(self, part: Part, found: Found | None, node: Node, time: int) -> None:
        """The part was read; those who read it before the last write wait no more to be found."""
        newest = found.written[0].written if found is not None and found.written else -1
        if part.readers and newest >= part.readers[0][0]:
            part.readers.clear()
        if not part.readers or part.readers[-1][1] is not node:
            part.readers.append((time, node))
            self._reads.put(part, time)

    def note_write(self, part: Part, found: Found | None, node: Node, time: int) -> None:
        """The part was written; what it covers is forgotten."""
        for other in found.written if found is not None else ():
            if other is not part and _covers(part, other):
                self._writes.remove(other)
        for other in found.read if found is not None else ():
            if _covers(part, other):
                self._reads.remove(other)
                other.readers.clear()
        part.writer, part.written = node, time
        self._writes.put(part, time)

    def everyone(self) -> Iterator[Node]:
        """Every node that somebody later may have to wait for."""
        for part in self._writes.everything():
            assert part.writer is not None
            yield part.writer
        for part in self._reads.everything():
            yield from (node for _, node in part.readers)
        if self.fence is not None:
            yield self.fence

    def forget(self, fence: Node) -> None:
        """From now on one node stands for all."""
        for part in self._reads.everything():
            part.readers.clear()
        self._parts = {}
        self._writes, self._reads = Cells(), Cells()
        self.fence = fence


def _covers(one: Part, other: Part) -> bool:
    if one is other:
        return True
    if one.dense and all(
        a is not None and b is not None and a[0] == b[0]
        for a, b in zip(one.extents, other.extents, strict=True)
    ):
        return all(
            a[1] <= b[1] and b[2] <= a[2]  # type: ignore[index]
            for a, b in zip(one.extents, other.extents, strict=True)
        )
    root, region = one.access.root, one.access.region
    return root is other.access.root and covers(region, other.access.region, _shape(root))


def _shape(root: Node) -> tuple[Size, ...]:
    assert isinstance(root.type, ArrayType)
    return root.type.shape
