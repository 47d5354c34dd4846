"""Loops over several axes, of which the last one turns first, with an inner loop for the last axis: in better code.

A turn of such a loop goes on from a place to the next one, or begins the axis anew and goes on along the one before
(`frame_hook/nests/calls/grids.py`). No index of it is a polynomial: each is looked at, and nothing stays along a row.
Here a copy of the loop does the turns behind which the axis does not end: in them the place grows by one, and those of
the other axes stay. The turn that ends a row, and short rows, are left to the loop as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.integers import ROW
from ufuse.backends.numpy.nest_passes.versions import NOT_COPIED
from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_types import I1, I64, Value, Variable

SHORTEST = 8  # turns of a copy: in front of it stands a test
MOST_INSTRUCTIONS = 120  # of a loop, as there are two of it
KNOWN = {"get", "dim", "const"}  # what a limit is made by
Makers = dict[Value, Instruction]


@dataclass
class _Turning:
    """A place along the last axis of a loop, in the block that moves it."""

    label: str
    place: str
    is_behind: Value
    following: Value
    limit: Instruction


@dataclass
class _Inside:
    """The block that moves the places, where the last axis does not end: its instructions, and what that relies on."""

    instructions: list[Instruction] = field(default_factory=list)
    unequal: list[tuple[Instruction, Instruction]] = field(default_factory=list)


class _Numbered:
    """Instructions of a block, whose values get numbers from one on."""

    def __init__(self, first: int = 0) -> None:
        self._number = first
        self.made: list[Instruction] = []

    def add(
        self, op: str, type_: str, *inputs: Value, attributes: tuple[object, ...] = ()
    ) -> Value:
        """Append an instruction; its result."""
        self._number += 1
        result = Value(self._number, type_)
        self.made.append(Instruction(op, inputs, result, attributes))
        return result

    def again(self, one: Instruction) -> Value:
        """Append what an instruction without inputs gives."""
        assert one.result is not None
        return self.add(one.op, one.result.type, attributes=one.attributes)

    def number(self, value: int) -> Value:
        """Append a constant."""
        return self.add("const", I64, attributes=(value,))

    def get(self, name: str) -> Value:
        """Append a variable's value."""
        return self.add("get", I64, attributes=(name,))

    def set(self, name: str, value: Value) -> None:
        """Append that a variable gets a value."""
        self.made.append(Instruction("set", (value,), None, (name,)))


def by_rows(nest: Nest) -> Nest:
    """The nest with a loop along the last axis in each innermost loop over several ones."""
    flow = Flow(nest)
    loops = flow.whole_loops()
    for header, labels in loops.items():
        instructions = [one for label in labels for one in flow.instructions(label)]
        if (
            any(other in labels for other in loops if other != header)
            or len(instructions) > MOST_INSTRUCTIONS
            or any(one.op in NOT_COPIED for one in instructions)
        ):
            continue
        counts = _counts(flow.blocks[header], labels)
        turning = _turning(flow, header, labels) if counts else None
        if turning is not None:
            nest = _Rows(nest, flow, header, labels, turning, counts).nest() or nest
    return nest


def _makers(instructions: Sequence[Instruction]) -> Makers:
    return {one.result: one for one in instructions if one.result is not None}


def _counts(header: Block, labels: set[str]) -> list[str]:
    """The variables of which all must be greater than zero for a loop to go on; none where it is not so simple."""
    makers, found = _makers(header.instructions), []
    is_inside = [target in labels for target in header.end.targets]
    if len(makers) < len(header.instructions) or is_inside != [True, False]:
        return []
    waiting = [header.end.condition]
    while waiting:
        value = waiting.pop()
        maker = makers.get(value) if value is not None else None
        if maker is None or maker.op not in {"and", "igt"}:
            return []
        left, right = (makers[one] for one in maker.inputs)
        if maker.op == "and":
            waiting += maker.inputs
        elif (left.op, right.op, right.attributes) == ("get", "const", (0,)):
            found.append(left.attributes[0])
        else:
            return []
    return found


def _turning(flow: Flow, header: str, labels: set[str]) -> _Turning | None:
    """The place along the last axis, in the block that every turn begins with."""
    label = flow.blocks[header].end.targets[0]
    if flow.before[label] != [header]:
        return None
    sets = flow.variables_set(labels)
    makers = _makers(flow.instructions(label))
    for one in flow.instructions(label):
        if one.op == "set" and sets.count(one.attributes[0]) == 1:
            found = _wrapped(one, makers, sets)
            if found is not None:
                return _Turning(label, one.attributes[0], *found)
    return None


def _wrapped(
    one: Instruction, makers: Makers, sets: Sequence[str]
) -> tuple[Value, Value, Instruction] | None:
    """Of a variable that is set to its value and 1, or to 0 where that is a limit: that it is, the sum, the limit."""
    choice = makers[one.inputs[0]]
    if choice.op != "select":
        return None
    is_behind, zero, following = choice.inputs
    test, total = makers[is_behind], makers[following]
    if (test.op, total.op) != ("ieq", "add") or makers[zero].attributes != (0,):
        return None
    (place, more), (left, limit) = (makers[each] for each in total.inputs), test.inputs
    is_place = (place.op, place.attributes) == ("get", one.attributes)
    is_next = (more.op, more.attributes) == ("const", (1,)) and left == following
    if not is_place or not is_next or not _stays(makers[limit], sets):
        return None
    return is_behind, following, makers[limit]


def _stays(one: Instruction, sets: Sequence[str]) -> bool:
    """Whether what an instruction gives is the same in all turns."""
    return one.op in KNOWN and (one.op != "get" or one.attributes[0] not in sets)


class _Rows:
    """A loop over several axes, and the copy of it for rows."""

    def __init__(
        self,
        nest: Nest,
        flow: Flow,
        header: str,
        labels: set[str],
        turning: _Turning,
        counts: list[str],
    ) -> None:
        self._nest = nest
        self._flow = flow
        self._header = header
        self._labels = labels
        self._turning = turning
        self._counts = counts
        self._sets = flow.variables_set(labels)
        self._count = f"{turning.place}{ROW}"
        self._around, self._row = f"{header}.rows", f"{header}{ROW}"

    def nest(self) -> Nest | None:
        """The nest with both: what led to the loop leads to the choice between them. None where there is none."""
        inside = self._inside()
        names = {label: f"{label}{ROW}" for label in self._labels - {self._header}}
        copies = [
            Block(
                names[label],
                tuple(
                    inside.instructions
                    if label == self._turning.label
                    else self._flow.instructions(label)
                ),
                self._led(self._flow.blocks[label].end, {**names, self._header: self._row}),
            )
            for label in self._flow.order
            if label in names
        ]
        sets = {
            one.attributes[0] for block in copies for one in block.instructions if one.op == "set"
        }
        if any(one.attributes[0] in sets for one, _ in inside.unequal):
            return None
        blocks = [
            replace(block, end=self._led(block.end, {self._header: self._around}))
            for block in self._nest.blocks
        ]
        others = (*self._nest.others, Variable(self._count, I64))
        made = (self._choice(inside), self._test(), *copies)
        return replace(self._nest, others=others, blocks=(*blocks, *made))

    @staticmethod
    def _led(end: End, targets: dict[str, str]) -> End:
        return replace(end, targets=tuple(targets.get(one, one) for one in end.targets))

    def _choice(self, inside: _Inside) -> Block:
        """Whether the row goes on for long enough; then how many turns, and on to them."""
        out = _Numbered()
        more = out.number(1)
        following = out.add("add", I64, out.get(self._turning.place), more)
        row = out.add("sub", I64, out.again(self._turning.limit), following)
        is_long = out.add("ige", I1, row, out.number(SHORTEST))
        for one, other in inside.unequal:
            unequal = out.add("ine", I1, out.again(one), out.again(other))
            is_long = out.add("and", I1, is_long, unequal)
        for name in self._counts:
            left = out.get(name)
            row = out.add("select", I64, out.add("ilt", I1, left, row), left, row)
        out.set(self._count, row)
        end = End("branch", (self._row, self._header), is_long)
        return Block(self._around, tuple(out.made), end)

    def _test(self) -> Block:
        """The header of the copy: how many turns are left of the row."""
        out = _Numbered()
        tests = [
            out.add("igt", I1, out.get(name), out.number(0))
            for name in (self._count, *self._counts)
        ]
        goes_on = tests[0]
        for test in tests[1:]:
            goes_on = out.add("and", I1, goes_on, test)
        targets = (f"{self._turning.label}{ROW}", self._header)
        return Block(self._row, tuple(out.made), End("branch", targets, goes_on))

    def _inside(self) -> _Inside:
        """The block that moves the places, where the last axis does not end behind the turn."""
        given = self._flow.instructions(self._turning.label)
        out = _Numbered(max(one.result.number for one in given if one.result is not None))
        out.set(self._count, out.add("sub", I64, out.get(self._count), out.number(1)))
        found = _Inside(out.made)
        zero, false = out.number(0), out.add("const", I1, attributes=(False,))
        known: dict[Value, Value] = {}  # what is another value
        makers = {zero: out.made[-2], false: out.made[-1]}
        changed: set[str] = set()
        for one in given:
            made = replace(one, inputs=tuple(known.get(each, each) for each in one.inputs))
            if one.result is None:
                if not self._is_same(made, makers, changed):
                    found.instructions.append(made)
                    changed.update(made.attributes[:1] if made.op == "set" else ())
                continue
            same = self._simpler(one, made, makers, found, zero, false)
            if same is not None:
                known[one.result] = same
                continue
            found.instructions.append(made)
            makers[one.result] = made
        return found

    @staticmethod
    def _is_same(made: Instruction, makers: Makers, changed: set[str]) -> bool:
        """Whether a variable is set to what it is."""
        if made.op != "set" or made.attributes[0] in changed:
            return False
        maker = makers[made.inputs[0]]
        return (maker.op, maker.attributes) == ("get", made.attributes)

    def _simpler(
        self,
        one: Instruction,
        made: Instruction,
        makers: Makers,
        found: _Inside,
        zero: Value,
        false: Value,
    ) -> Value | None:
        """Another value that an instruction gives, while the last axis does not end."""
        inputs = made.inputs
        if one.result == self._turning.is_behind:
            return false
        if made.op == "select" and inputs[0] == false:
            return inputs[2]
        if made.op == "widen" and inputs[0] == false:
            return zero
        if made.op == "add" and inputs[1] == zero:
            return inputs[0]
        if made.op == "ieq" and one.inputs[0] != inputs[0]:  # an axis that the last one would move
            pair = makers[inputs[0]], makers[inputs[1]]
            if pair[0].op == "get" and _stays(pair[1], self._sets):
                found.unequal.append(pair)
                return false
        return None
