"""Loops inside of a nest whose turns threads may share: each becomes a nest of its own, which C runs for it.

That is for better code of nests whose outermost turns follow from each other, as in `for step in range(n)` around loops
over a grid. In front of such a loop stands `share`: whether C has done all of its turns; then the nest goes on behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.independence import (
    ARRAY_OPS,
    NUMBER_OPS,
    outermost_turn,
    own_parts,
)
from ufuse.backends.numpy.nest_passes.integers import Integers
from ufuse.backends.numpy.nest_passes.polynomials import atom, number
from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_slots import ArraySlot, NumberSlot, RangeSlot, Slot
from ufuse.graph.nest_types import I1, I64, KINDS, TURNS, Value, Variable
from ufuse.graph.records import record
from ufuse.graph.semantics.nest_live import live_variables

LEFT, NEXT, STEP = ".left", ".next", ".step"
OPS = (NUMBER_OPS | ARRAY_OPS) - {"alloc"}
KIND_OF = {type_: kind for kind, type_ in KINDS.items()}


@record
class Share:
    """What goes into the nest of a loop, and what comes out; the instruction `share` has it.

    `cells`: for each of that nest's the variable that it begins with, or a constant; the last one, `turns`, is not
    among them. `changed`: what variables are behind the loop, by the numbers of cells. `left`: the variable that says
    how many turns there are.
    """

    cells: tuple[str | int, ...]
    changed: tuple[tuple[int, str], ...]
    left: str


@record
class SharedLoop:
    """A loop as a nest of its own. `step`: that of its first iterator, where it is known."""

    nest: Nest
    share: Share
    step: int | None


def with_shared_loops(nest: Nest) -> tuple[Nest, tuple[SharedLoop, ...]]:
    """The nest with a `share` in front of loops whose turns do not depend on each other, and these loops."""
    found = _Finder(nest).found()
    blocks: list[Block] = []
    for block in nest.blocks:
        blocks += [
            _front(block, number, one.share)
            for number, (header, _, one) in enumerate(found)
            if header == block.label
        ]
        led = {
            header: f"{header}.share" for header, labels, _ in found if block.label not in labels
        }
        targets = tuple(led.get(target, target) for target in block.end.targets)
        blocks.append(replace(block, end=replace(block.end, targets=targets)))
    return replace(nest, blocks=tuple(blocks)), tuple(one for *_, one in found)


def _front(header: Block, number: int, share: Share) -> Block:
    """The block in front of a loop, whose nest C finds under a number."""
    result = Value(0, I1)
    instruction = Instruction("share", (), result, (number, share))
    _, behind = header.end.targets
    return Block(
        f"{header.label}.share", (instruction,), End("branch", (behind, header.label), result)
    )


class _Finder:
    """Looks for such loops, from the outside in."""

    def __init__(self, nest: Nest) -> None:
        self._nest = nest
        self._flow = Flow(nest)
        self._loops = self._flow.whole_loops()
        ends = {"leave": {cell.name for cell in nest.cells}, "doubt": {TURNS}}
        self._live = live_variables([self._flow.blocks[label] for label in self._flow.order], ends)

    def found(self) -> list[tuple[str, set[str], SharedLoop]]:
        """The headers of these loops, and their blocks."""
        inner = self._flow.inner_headers()
        waiting = [header for header in self._loops if header in inner]
        found: list[tuple[str, set[str], SharedLoop]] = []
        for header in sorted(waiting, key=lambda each: -len(self._loops[each])):
            labels = self._loops[header]
            if any(header in others for _, others, _ in found):
                continue
            one = self._shared(header, labels)
            if one is not None:
                found.append((header, labels, one))
        return found

    def _shared(self, header: str, labels: set[str]) -> SharedLoop | None:
        block = self._flow.blocks[header]
        left = _left_of(block)
        behind = {
            target
            for label in labels
            for target in self._flow.blocks[label].end.targets
            if target not in labels and self._flow.blocks[target].end.kind != "doubt"
        }
        instructions = [one for label in labels for one in self._flow.instructions(label)]
        if (
            left is None
            or behind != {block.end.targets[1]}
            or not all(self._flow.is_dominated(label, header) for label in labels)
            or any(one.op not in OPS for one in instructions)
        ):
            return None
        return _Loop(
            self._nest, self._flow, self._loops, header, left, self._live[behind.pop()]
        ).made()


def _left_of(header: Block) -> str | None:
    """The variable of the turns that are left, where a header does nothing but to look at it."""
    gets = [one.attributes[0] for one in header.instructions if one.op == "get"]
    ops = [one.op for one in header.instructions]
    if ops != ["get", "const", "igt"] or header.end.condition != header.instructions[2].result:
        return None
    return gets[0] if gets[0].endswith(LEFT) and gets[0] != TURNS else None


class _Loop:
    """One loop, with the variables that it takes and gives."""

    def __init__(
        self,
        nest: Nest,
        flow: Flow,
        loops: Mapping[str, set[str]],
        header: str,
        left: str,
        live: set[str],
    ) -> None:
        self._nest, self._header, self._left = nest, header, left
        self._labels = loops[header]
        self._blocks = [flow.blocks[label] for label in flow.order if label in self._labels]
        self._doubts = {block.label for block in nest.blocks if block.end.kind == "doubt"}
        inner = {
            other: set(flow.variables_set(inside))
            for other, inside in loops.items()
            if other in self._labels and other != header
        }
        self._steps = Integers(flow, header, self._labels, {}, inner).steps
        sets = flow.variables_set(block.label for block in self._blocks)
        self._iterators = [
            name.removesuffix(NEXT)
            for name in sorted(self._steps)
            if name.endswith(NEXT) and sets.count(name) == 1 and self._step(name) is not None
        ]
        self._changed = set(sets)
        self._needed = live_variables(self._blocks)[header]
        self._live = live
        self._types = {one.name: one.type for one in (*nest.cells, *nest.others)}
        self._next_value = 1 + max(
            one.result.number
            for block in nest.blocks
            for one in block.instructions
            if one.result is not None
        )

    def _step(self, name: str) -> int | str | None:
        """By what a place moves: a number, or the variable that has it."""
        step, variable = self._steps[name], name.removesuffix(NEXT) + STEP
        if step == atom("get", variable):
            return variable
        return number(step)

    def made(self) -> SharedLoop | None:
        """The nest, where its turns do not depend on each other."""
        own = {self._left, *(name + part for name in self._iterators for part in (NEXT, STEP))}
        kept = sorted((self._needed | (self._changed & self._live)) - own)
        if not self._iterators or any(self._types[name] not in KIND_OF for name in kept):
            return None
        names = {name: f"v{place}" for place, name in enumerate(kept)}
        for place, name in enumerate(self._iterators):
            names |= {name + part: f"t{place}{part}" for part in (NEXT, STEP)}
        names[self._left] = "t0" + LEFT
        others = sorted(self._changed - names.keys())
        names |= {name: f"o{place}" for place, name in enumerate(others)}
        slots: tuple[Slot, ...] = (
            *self._array_slots(),
            *(NumberSlot(names[name], KIND_OF[self._types[name]], name in self._changed) for name in kept),
            *(RangeSlot(f"t{place}") for place in range(len(self._iterators))),
        )  # fmt: skip
        variables = tuple(Variable(names[name], self._types[name]) for name in others)
        nest = Nest(self._nest.name, slots, variables, tuple(self._own_blocks(names)), (), ())
        if own_parts(nest, outermost_turn(nest)) is None:
            return None
        cells, changed = self._cells(kept)
        step = self._step(self._iterators[0] + NEXT)
        share = Share(cells, changed, self._left)
        return SharedLoop(nest, share, step if isinstance(step, int) else None)

    def _array_slots(self) -> Iterator[ArraySlot]:
        stored = {
            number
            for block in self._blocks
            for one in block.instructions
            for number in _written(one)
        }
        for place, slot in enumerate(self._nest.arrays):
            yield replace(slot, is_written=place in stored, is_rebound=False, is_viewed=False)

    def _cells(self, kept: list[str]) -> tuple[tuple[str | int, ...], tuple[tuple[int, str], ...]]:
        """The variables in the nest's cells, and those that it changes."""
        cells: list[str | int] = []
        changed = []
        for name in kept:
            if name in self._changed:
                changed.append((len(cells), name))
            cells += [name, 0]
        for name in self._iterators:
            step = self._step(name + NEXT)
            assert step is not None
            changed.append((len(cells), name + NEXT))
            cells += [name + NEXT, step, self._left]
        changed.append((len(cells) - 3 * len(self._iterators) + 2, self._left))
        return tuple(cells), tuple(changed)

    def _own_blocks(self, names: Mapping[str, str]) -> Iterator[Block]:
        """The blocks of the nest: a header that looks at `turns`, too, and the loop's others."""
        body, _ = next(block for block in self._blocks if block.label == self._header).end.targets
        yield Block("begin", (), End("jump", ("head",)))
        turns, left, zero = (self._value(I64) for _ in range(3))
        goes_on, is_left, both = (self._value(I1) for _ in range(3))
        yield Block(
            "head",
            (
                Instruction("get", (), turns, (TURNS,)),
                Instruction("const", (), zero, (0,)),
                Instruction("igt", (turns, zero), goes_on),
                Instruction("get", (), left, (names[self._left],)),
                Instruction("igt", (left, zero), is_left),
                Instruction("and", (is_left, goes_on), both),
            ),
            End("branch", ("turn", "leave"), both),
        )
        yield Block("leave", (), End("leave"))
        turns, one, fewer = (self._value(I64) for _ in range(3))
        yield Block(
            "turn",
            (
                Instruction("get", (), turns, (TURNS,)),
                Instruction("const", (), one, (1,)),
                Instruction("sub", (turns, one), fewer),
                Instruction("set", (fewer,), None, (TURNS,)),
            ),
            End("jump", (body,)),
        )
        for block in self._blocks:
            if block.label != self._header:
                targets = tuple("head" if one == self._header else one for one in block.end.targets)
                instructions = tuple(
                    each for one in block.instructions for each in self._renamed(one, names)
                )
                yield Block(block.label, instructions, replace(block.end, targets=targets))
        aims = {target for block in self._blocks for target in block.end.targets}
        for label in sorted(aims & self._doubts):
            yield Block(label, (), End("doubt"))

    def _renamed(self, one: Instruction, names: Mapping[str, str]) -> Iterator[Instruction]:
        """An instruction with the nest's names of variables; a place moves by the step in its cell."""
        if one.op not in {"get", "set"}:
            yield one
            return
        (name,) = one.attributes
        if one.op == "set" and name.endswith(NEXT) and name.removesuffix(NEXT) in self._iterators:
            place, step, moved = (self._value(I64) for _ in range(3))
            yield Instruction("get", (), place, (names[name],))
            yield Instruction("get", (), step, (names[name.removesuffix(NEXT) + STEP],))
            yield Instruction("add", (place, step), moved)
            yield Instruction("set", (moved,), None, (names[name],))
            return
        yield replace(one, attributes=(names[name],))

    def _value(self, type_: str) -> Value:
        self._next_value += 1
        return Value(self._next_value, type_)


def _written(one: Instruction) -> Iterator[int]:
    """The given arrays that an instruction writes."""
    if one.op == "store":
        yield one.attributes[0]
    elif one.op == "map":
        yield one.attributes[0].target.array
    elif one.op in {"reduce", "matmul"}:
        yield one.attributes[-1].array
