"""Functions of NumPy in loops, for many turns at once: in better code, in copies of loops without checks.

NumPy computes one element of an array in the time of ten, where it has vectors for that. So where the operands of a
call do not depend on what the call gives, a loop's turns come in batches:

1. the operands of the calls of all turns of a batch are computed (`nest_passes/slices.py`), into a buffer;
2. NumPy's own loop goes over the buffer;
3. the turns are done, each with its element of the results.

Operands that depend on what other calls give are computed behind these. A turn's operands are computed though the loop
may be left before it: nothing is written, what may fail is a doubt of no turn in particular, and what raises a flag is
undone with all of the chunk. What a function gives for an element must not depend on where that stands
(`nest_passes/alike.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ufuse.backends.numpy.nest_passes.alike import is_alike
from ufuse.backends.numpy.nest_passes.buffers import FEWEST, Batch
from ufuse.backends.numpy.nest_passes.integers import Integers, Turns
from ufuse.backends.numpy.nest_passes.nearest import is_nearest
from ufuse.backends.numpy.nest_passes.slices import Key, NoSliceError, Slice, Slices
from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_slots import RangeSlot
from ufuse.graph.nest_types import I1, I64, KNOWN_POWERS, Value, Variable

MOST_COPIED = 120  # instructions of a loop with powers alone, which is copied once more
MOST_CALLS = 8  # of a loop: each has a buffer on the stack
LATE = ".sure"  # of blocks in which doubts come late (`nest_passes/versions.py`)
# No name of a function, which labels have too, has such a sign.
MANY = ".=many"  # in the labels of blocks that take powers, where others compute them
FILL = ".=fill"  # in those of blocks that compute operands
NEXT, BACK = ".=next", ".=back"  # where turns begin, and end
LAST = ".=last"  # where none is left


def is_fill(label: str) -> bool:
    """Whether a block computes operands of turns that are not done yet."""
    return FILL in label


def batched(
    nest: Nest, integers: Integers, made: Sequence[Block], labels: dict[str, str]
) -> tuple[list[Block], list[Variable]]:
    """A copy of a loop whose calls come in batches, where there are such, and the variables that this takes.

    `made` begins with the test in front of the copy; `labels`: of the loop's blocks, what those of the copy are called.
    """
    turns, names = integers.turns, set(labels.values())
    copies = [block for block in made if block.label in names]
    own = {copy: label for label, copy in labels.items()}
    if turns is None:
        return list(made), []
    slices = Slices(nest, integers, copies, own.__getitem__)
    levels = _levels(slices, [*_calls(slices, integers, own)])
    if not levels or _are_slight(nest, integers, slices, levels):
        return list(made), []
    return _Batches(nest, slices, levels, turns).blocks(made)


def _are_slight(
    nest: Nest, integers: Integers, slices: Slices, levels: list[dict[Key, Slice]]
) -> bool:
    """Whether nothing is gained: a long loop with powers alone would be there twice.

    So it is where a loop in others has one square alone, as it is likely to be one over a few coordinates.
    """
    names = [slices.instruction(call).attributes[0] for level in levels for call in level]
    instructions = [one for block in slices.blocks.values() for one in block.instructions]
    is_long = len(instructions) > MOST_COPIED and all(name in KNOWN_POWERS for name in names)
    is_alone = names == ["square"] and sum(one.op == "call" for one in instructions) == 1
    return is_long or (is_alone and _has_loops_around(nest, integers))


def _has_loops_around(nest: Nest, integers: Integers) -> bool:
    """Whether a loop stands in others."""
    header = integers.blocks[0].label
    around = sum(header in labels for labels in integers.flow.whole_loops().values())
    is_call = any(isinstance(one, RangeSlot) and one.kind == "once" for one in nest.slots)
    return around - is_call > 1


def _calls(slices: Slices, integers: Integers, own: dict[str, str]) -> Iterator[Key]:
    """The calls that every turn comes to, if at all, behind the test for the end of the loop."""
    for label, block in slices.blocks.items():
        if not integers.is_counted(own[label]):
            continue
        for place, one in enumerate(block.instructions):
            if one.op == "call" and _is_batched(slices, label, one):
                yield label, place


def _is_batched(slices: Slices, label: str, one: Instruction) -> bool:
    (name,) = one.attributes
    if name in KNOWN_POWERS:  # where only some turns take one it is as soon computed there
        return is_nearest(name) and not slices.deciding(label)
    return name.startswith("numpy.") and is_alike(name, one.inputs[0].type)


def _levels(slices: Slices, calls: list[Key]) -> list[dict[Key, Slice]]:
    """What the operands of calls take, where they can be computed before the turns; each level needs those before."""
    others, found = set(calls[:MOST_CALLS]), {}
    for call in calls[:MOST_CALLS]:
        try:
            found[call] = slices.of_call(call, others - {call})
        except NoSliceError:
            continue
    levels: list[dict[Key, Slice]] = []
    done: set[Key] = set()
    while True:
        level = {
            call: each for call, each in found.items() if call not in done and each.calls <= done
        }
        if not level:
            return levels
        levels.append(level)
        done |= level.keys()


class _Writer:
    """Instructions of a block, with values of its own."""

    def __init__(self, first: int = 0) -> None:
        self._number = first
        self.made: list[Instruction] = []

    def add(self, op: str, type_: str, *inputs: Value, attributes: tuple[Any, ...] = ()) -> Value:
        """Append an instruction; its result."""
        self._number += 1
        result = Value(self._number, type_)
        self.made.append(Instruction(op, inputs, result, attributes))
        return result

    def number(self, value: int) -> Value:
        """Append a constant."""
        return self.add("const", I64, attributes=(value,))

    def get(self, name: str, type_: str = I64) -> Value:
        """Append a variable's value."""
        return self.add("get", type_, attributes=(name,))

    def set(self, name: str, value: Value) -> None:
        """Append that a variable gets a value."""
        self.made.append(Instruction("set", (value,), None, (name,)))

    def step(self, name: str) -> None:
        """Append that a variable is one more."""
        before = self.get(name)
        more = self.add("add", I64, before, self.number(1))
        self.made[-1] = replace(self.made[-1], is_sure=True)
        self.set(name, more)


def _behind(block: Block) -> int:
    """A number that is no less than those of a block's values."""
    return max(
        (one.result.number for one in block.instructions if one.result is not None), default=0
    )


class _Batches:
    """The blocks of a loop whose calls come in batches."""

    def __init__(
        self, nest: Nest, slices: Slices, levels: list[dict[Key, Slice]], turns: Turns
    ) -> None:
        self._slices = slices
        self._levels = levels
        self._turns = turns
        self._types = {each.name: each.type for each in (*nest.cells, *nest.others)}
        self._name = slices.header
        self._done, self._many, self._filled = (
            f".{each}.{self._name}" for each in ("done", "many", "filled")
        )
        self._variables = dict.fromkeys((self._done, self._many, self._filled), I64)
        self._batches: dict[Key, Batch] = {}
        at = 0
        for call in (call for level in levels for call in level):
            one = slices.instruction(call)
            batch = Batch(one.attributes[0], one.inputs[0].type, len(one.inputs), at)
            self._batches[call] = batch
            at += batch.words
        # Few powers are computed as soon without a batch: then the copy is there as it was, too.
        self._are_powers = all(batch.is_power for batch in self._batches.values())
        self._always = {call: not slices.deciding(call[0]) for call in self._batches}
        self._is_sure = self._passes_for_sure()

    def blocks(self, made: Sequence[Block]) -> tuple[list[Block], list[Variable]]:
        """Those of the copy, with the ones that fill the buffers."""
        own = [self._turn(block) for block in made[1:] if block.label in self._slices.blocks]
        fills = [block for level in range(len(self._levels)) for block in self._fill(level)]
        others = [
            block
            for block in made[1:]
            if self._are_powers or block.label not in self._slices.blocks
        ]
        ends = () if self._are_powers or not self._is_sure else (self._last(),)
        found = [self._test(made[0]), *self._heads(), *fills, *own, self._back(), *ends, *others]
        return found, [Variable(name, type_) for name, type_ in self._variables.items()]

    def _passes_for_sure(self) -> bool:
        """Whether turns begin with the test for the end, which those of a batch pass: it is about their count alone.

        Then the turns of a batch are a loop inside, of which LLVM may make vectors.
        """
        header = self._slices.blocks[self._name]
        makers = {one.result: one for one in header.instructions}
        condition = header.end.condition
        return (
            self._turns.label == self._slices.own(self._name)
            and not self._turns.is_behind
            and condition is not None
            and condition in makers
            and makers[condition].op != "and"
        )

    # Names

    def _label(self, what: str) -> str:
        """The label of a block that is not one of the copy: it looks like one of these."""
        stem, dot, suffix = self._name.rpartition(".")
        return f"{stem}{what}{dot}{suffix}"

    def _filling(self, level: int, label: str) -> str:
        stem = label.rpartition(".")[0]
        return f"{stem}{FILL}{level}{self._suffix(level)}"

    def _taking(self, label: str) -> str:
        """The label of a block that takes what calls have given."""
        stem, dot, suffix = label.rpartition(".")
        return f"{stem}{MANY}{dot}{suffix}" if self._are_powers else label

    def _head(self, level: int) -> str:
        return f"{self._name.rpartition('.')[0]}{FILL}{level}.next{self._suffix(level)}"

    def _suffix(self, level: int) -> str:
        """What says whether doubts may come late, behind all turns of a batch: then LLVM makes vectors."""
        whole = self._whole(level)
        ones = [self._slices.instruction(key) for key in whole.keys - self._batches.keys()]
        is_checked = any(
            one.op in {"call", "doubt_if"} or (one.op == "load" and not one.is_sure) for one in ones
        )
        return f".{self._name.rpartition('.')[2]}" if is_checked else LATE

    def _ahead(self, name: str) -> str:
        """What a variable of the loop is while operands are computed."""
        ahead = f".ahead.{name}.{self._name}"
        self._variables[ahead] = self._types[name]
        return ahead

    def _place(self, call: Key, what: str) -> str:
        """The variable that counts the calls of a batch which not every turn comes to."""
        name = f".{what}{self._batches[call].at}.{self._name}"
        self._variables[name] = I64
        return name

    # Blocks

    def _test(self, test: Block) -> Block:
        """In front of the copy: no batch is there."""
        writer = _Writer(_behind(test))
        for name in (self._done, self._many):
            writer.set(name, writer.number(0))
        first = self._label(FILL if self._is_sure else NEXT)
        targets = tuple(first if target == self._name else target for target in test.end.targets)
        return Block(
            test.label, (*test.instructions, *writer.made), replace(test.end, targets=targets)
        )

    def _heads(self) -> Iterator[Block]:
        """Where a turn begins with the next element of the batch, or with the next batch."""
        if not self._is_sure:
            writer = _Writer()
            yield Block(self._label(NEXT), *self._next(writer))
        writer = _Writer()
        many = writer.add("batch_turns", I64, attributes=(self._turns.count, *self._turns.ends))
        writer.set(self._many, many)
        self._begin(writer, 0)
        writer.set(self._done, writer.number(0))
        for call, always in self._always.items():
            if not always:
                writer.set(self._place(call, "taken"), writer.number(0))
        some = writer.add("ige", I1, many, writer.number(FEWEST if self._are_powers else 1))
        last = self._label(LAST) if self._is_sure and not self._are_powers else self._name
        end = End("branch", (self._head(0), last), some)
        yield Block(self._label(FILL), tuple(writer.made), end)

    def _next(self, writer: _Writer) -> tuple[tuple[Instruction, ...], End]:
        """What leads to the next turn of a batch, or to the next batch."""
        more = writer.add("ilt", I1, writer.get(self._done), writer.get(self._many))
        end = End("branch", (self._taking(self._name), self._label(FILL)), more)
        return tuple(writer.made), end

    def _last(self) -> Block:
        """Where no turn is left: the test for the end, which fails."""
        header = self._slices.blocks[self._name]
        return Block(self._label(LAST), header.instructions, End("jump", header.end.targets[1:]))

    def _begin(self, writer: _Writer, level: int) -> None:
        """Begin to compute operands: as the first turn of the batch begins."""
        for name in sorted(self._names(level)):
            writer.set(self._ahead(name), writer.get(name, self._types[name]))
        writer.set(self._filled, writer.number(0))
        for call in self._counted(level):
            writer.set(self._place(call, "ahead"), writer.number(0))

    def _whole(self, level: int) -> Slice:
        found = Slice()
        for call, each in self._levels[level].items():
            found.add(each)
            found.keys.add(call)
        return found

    def _names(self, level: int) -> set[str]:
        """The variables of the loop that a level computes."""
        found = (self._slices.instruction(key) for key in self._whole(level).keys)
        return {
            one.attributes[0] for one in found if one.op in {"get", "set"}
        } & self._slices.changed

    def _counted(self, level: int) -> list[Key]:
        whole = self._whole(level)
        calls = {*whole.calls, *self._levels[level]}
        return [call for call in self._batches if call in calls and not self._always[call]]

    def _fill(self, level: int) -> Iterator[Block]:
        """A loop over the turns of a batch, that computes operands, and the calls."""
        suffix = self._suffix(level)
        head, behind, stop, ready = (
            f"{self._name.rpartition('.')[0]}{FILL}{level}.{each}{suffix}"
            for each in ("next", "step", "stop", "ready")
        )
        whole = self._whole(level)
        writer = _Writer()
        more = writer.add("ilt", I1, writer.get(self._filled), writer.get(self._many))
        first = self._filling(level, self._slices.header)
        yield Block(head, tuple(writer.made), End("branch", (first, ready), more))
        for block in self._slices.blocks.values():
            yield self._filled_block(level, block, whole, behind, stop)
        for label, target in ((behind, head), (stop, ready)):
            writer = _Writer()
            writer.step(self._filled)
            yield Block(label, tuple(writer.made), End("jump", (target,)))
        writer = _Writer()
        for call in self._levels[level]:
            place = self._filled if self._always[call] else self._place(call, "ahead")
            count = writer.get(place)
            writer.made.append(Instruction("batch_run", (count,), None, (self._batches[call],)))
        if self._suffix(level) == LATE:
            writer.made.append(Instruction("left", (), None, ((), True)))
        following = self._taking(self._name)
        if level + 1 < len(self._levels):
            self._begin(writer, level + 1)
            following = self._head(level + 1)
        yield Block(ready, tuple(writer.made), End("jump", (following,)))

    def _filled_block(
        self, level: int, block: Block, whole: Slice, behind: str, stop: str
    ) -> Block:
        """What a slice takes of a block."""
        writer = _Writer(_behind(block))
        for place, one in enumerate(block.instructions):
            key = block.label, place
            if key in self._levels[level]:
                self._put(writer, key, one)
            elif key in whole.calls:
                self._take(writer, key, one, "ahead", self._filled)
            elif key in whole.keys:
                name = one.attributes[0] if one.op in {"get", "set"} else ""
                if name in self._slices.changed:
                    ahead = (self._ahead(name),)
                    writer.made.append(replace(one, attributes=ahead, is_sure=False))
                else:
                    writer.made.append(one)
        led = {each: self._filling(level, each) for each in self._slices.blocks}
        led[self._slices.header] = behind
        inside = [led[each] for each in self._slices.inside(block.label)]
        label = self._filling(level, block.label)
        if block.label not in whole.branches:
            return Block(label, tuple(writer.made), End("jump", (inside[0],)))
        targets = tuple(led.get(each, stop) for each in block.end.targets)
        return Block(label, tuple(writer.made), replace(block.end, targets=targets))

    def _put(self, writer: _Writer, key: Key, one: Instruction) -> None:
        """Append that operands of a call lie in its buffer."""
        name = self._filled if self._always[key] else self._place(key, "ahead")
        put = Instruction("batch_put", (writer.get(name), *one.inputs), None, (self._batches[key],))
        writer.made.append(put)
        if not self._always[key]:
            writer.step(name)

    def _take(self, writer: _Writer, key: Key, one: Instruction, what: str, turn: str) -> None:
        """Append what a call has given."""
        name = turn if self._always[key] else self._place(key, what)
        taken = Instruction("batch_get", (writer.get(name),), one.result, (self._batches[key],))
        writer.made.append(taken)
        if not self._always[key]:
            writer.step(name)

    def _turn(self, block: Block) -> Block:
        """A block of the loop, without what has been computed for its calls alone."""
        keys = {key for level in range(len(self._levels)) for key in self._whole(level).keys}
        writer, used = _Writer(_behind(block)), {block.end.condition}
        kept: list[tuple[int, Instruction]] = []
        for place, one in reversed([*enumerate(block.instructions)]):
            key = block.label, place
            is_needless = key in keys and one.result is not None and one.result not in used
            if is_needless and key not in self._batches:
                continue
            kept.append((place, one))
            if key not in self._batches:
                used.update(one.inputs)
        for place, one in reversed(kept):
            if (block.label, place) in self._batches:
                self._take(writer, (block.label, place), one, "taken", self._done)
            else:
                writer.made.append(one)
        led = {each: self._taking(each) for each in self._slices.blocks}
        led[self._name] = self._label(BACK)
        targets = tuple(led.get(target, target) for target in block.end.targets)
        end = replace(block.end, targets=targets)
        if block.label == self._name and self._is_sure:
            end = End("jump", targets[:1])
        return Block(self._taking(block.label), tuple(writer.made), end)

    def _back(self) -> Block:
        writer = _Writer()
        writer.step(self._done)
        if self._is_sure:
            return Block(self._label(BACK), *self._next(writer))
        return Block(self._label(BACK), tuple(writer.made), End("jump", (self._label(NEXT),)))
