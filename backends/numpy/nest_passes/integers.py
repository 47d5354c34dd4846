"""The integers of a loop as polynomials: what changes by the same in every turn, and how many there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.polynomials import (
    Polynomial,
    atom,
    atoms,
    constant,
    difference,
    negative,
    number,
    product,
    total,
)
from ufuse.graph.nest import Block, Instruction, Nest
from ufuse.graph.nest_slots import RangeSlot
from ufuse.graph.nest_types import I64, TURNS, Value
from ufuse.graph.records import record

Known = dict[str, Polynomial | None]  # of variables that change; None where it is no polynomial
SMALL = 1 << 30  # steps are less, and more than this below zero
ROW = ".row"  # how names of what counts the turns of a row end (`nest_passes/axes.py`): no more than all others


@record
class Turns:
    """The turns that pass the test in a block: at most `count`; `counted` are variables that only count them.

    Where `others` are no less, `condition` is the test: no other part of it ends the loop. Where it `is_behind` all
    else, as in `while` loops, the turn that does not pass it counts, too: there is one at least. `ends`: what is no
    less than the turns either, by tests behind them.
    """

    label: str
    count: Polynomial
    counted: frozenset[str]
    others: tuple[Polynomial, ...]
    condition: Value | None
    is_behind: bool = False
    ends: tuple[Polynomial, ...] = ()


class Integers:
    """What the integers of a loop are; `inner`: what the loops inside set, by their headers."""

    def __init__(
        self,
        flow: Flow,
        header: str,
        labels: set[str],
        constants: Mapping[str, int],
        inner: Mapping[str, set[str]] = MappingProxyType({}),
    ) -> None:
        self.flow = flow
        self._header = header
        self._labels = labels
        self.blocks = [flow.blocks[label] for label in flow.order if label in labels]
        self._last = [block for block in self.blocks if header in block.end.targets]
        self._sets = [one for block in self.blocks for one in block.instructions if one.op == "set"]
        self._changed = {one.attributes[0] for one in self._sets}
        # Of variables that the loop does not change, and nothing sets to anything else.
        self.constants = {name: at for name, at in constants.items() if name not in self._changed}
        self.used_constants: set[str] = set()
        self._values: dict[tuple[str, Value], Polynomial] = {}
        self._inner = inner
        self.wrapped: dict[tuple[str, Value], tuple[Polynomial, Polynomial]] = {}  # of `mod`
        # What variables are where inner loops begin, with turns; of counts, which are never negative, no matter where
        # there are none.
        self.entries: dict[str, Known] = {}
        self._compared: dict[tuple[str, Value], Polynomial] = {}  # left - right, of `igt`
        self._counts: dict[tuple[str, Value], Polynomial] = {}  # what is zero where these are less
        self._kept_counts: dict[tuple[str, str], Polynomial] = {}  # in variables behind blocks
        self.steps = self._steps()
        self.turns = self._turns()

    def value(self, label: str, value: Value) -> Polynomial | None:
        """What a value of a block is, where variables that turn mean what they are as the turn begins."""
        return self._values.get((label, value))

    def always(self, block: Block) -> bool:
        """Whether every turn that goes on leads through a block."""
        return all(self.flow.is_dominated(last.label, block.label) for last in self._last)

    def is_counted(self, label: str) -> bool:
        """Whether a block is done in no more turns than are counted, but for the test itself."""
        turns = self.turns
        if turns is None or turns.is_behind:
            return turns is not None
        return label != turns.label and self.flow.is_dominated(label, turns.label)

    def turning(self, value: Polynomial) -> set[str]:
        """The variables in it that turn."""
        return {str(one[1]) for one in atoms(value) if one[0] == "get" and one[1] in self.steps}

    def is_linear(self, value: Polynomial) -> bool:
        """Whether it changes by the same in every turn."""
        return all(
            sum(one[0] == "get" and one[1] in self.steps for one in monomial) <= 1
            for monomial, _ in value
        )

    def slope(self, value: Polynomial) -> int | None:
        """By what it changes in every turn, where that is a known number."""
        found = 0
        for monomial, factor in value:
            turning = [one for one in monomial if one[0] == "get" and one[1] in self.steps]
            if not turning:
                continue
            step = number(self.steps[turning[0][1]])
            if step is None or len(monomial) != 1:
                return None
            found += factor * step
        return found

    # Values

    def _follow(self, turning: set[str]) -> list[Known]:
        """Find the values, where these variables turn and others that change are unknown; what is known at the ends."""
        self.wrapped.clear()
        for found in (self._values, self._compared, self._counts, self._kept_counts):
            found.clear()
        begin: Known = {
            name: atom("get", name) if name in turning else None for name in self._changed
        }
        behind: dict[str, Known] = {}
        for block in self.blocks:
            known = dict(begin)
            if block.label != self._header:
                before = [each for each in self.flow.before[block.label] if each in behind]
                known = _joined([behind[each] for each in before])
                if block.label in self._inner:
                    self._enter(block.label, before, known)
            for one in block.instructions:
                self._note(block.label, one, known)
            behind[block.label] = known
        return [behind[block.label] for block in self._last]

    def _enter(self, label: str, before: list[str], known: Known) -> None:
        """Note what is known in front of an inner loop, and forget what that changes."""
        counts = {
            name: value for (each, name), value in self._kept_counts.items() if [each] == before
        }
        self.entries[label] = {**known, **counts}
        known.update(dict.fromkeys(self._inner[label]))

    def _note(self, label: str, one: Instruction, known: Known) -> None:
        if one.op == "set":
            (name,) = one.attributes
            known[name] = self._values.get((label, one.inputs[0]))
            self._kept_counts.pop((label, name), None)
            if (label, one.inputs[0]) in self._counts:
                self._kept_counts[label, name] = self._counts[label, one.inputs[0]]
        elif one.op == "igt":
            left, right = (self._values.get((label, each)) for each in one.inputs)
            over = difference(left, right) if left is not None and right is not None else None
            if one.result is not None and over is not None:
                self._compared[label, one.result] = over
        elif one.op == "select":
            self._note_choice(label, one)
        elif one.op == "mod":
            dividend, divisor = (self._values.get((label, each)) for each in one.inputs)
            if dividend is not None and divisor is not None and one.result is not None:
                self.wrapped[label, one.result] = dividend, divisor
        elif one.result is not None and one.result.type == I64:
            inputs = [self._values.get((label, each)) for each in one.inputs]
            found = self._value(one, inputs, known)
            if found is not None:
                self._values[label, one.result] = found

    def _note_choice(self, label: str, one: Instruction) -> None:
        """Of the lengths of ranges: what is known to be chosen, or what is not negative."""
        test, *choices = one.inputs
        over = self._compared.get((label, test))
        if over is None or one.result is None:
            return
        then, other = (self._values.get((label, each)) for each in choices)
        sign = number(over)
        chosen = other if sign is not None and sign <= 0 else then
        if chosen is None:
            return
        if sign is not None:
            self._values[label, one.result] = chosen
        elif chosen == over and other == constant(0):
            self._counts[label, one.result] = chosen

    def _value(
        self, one: Instruction, inputs: list[Polynomial | None], known: Known
    ) -> Polynomial | None:
        match one.op, inputs:
            case "const", _:
                return constant(int(one.attributes[0]))
            case "dim", _:
                return atom("dim", *one.attributes)
            case "get", _:
                (name,) = one.attributes
                if name in self.constants:
                    self.used_constants.add(name)
                    return constant(self.constants[name])
                return known[name] if name in known else atom("get", name)
            case "add", [tuple(left), tuple(right)]:
                return total(left, right)
            case "sub", [tuple(left), tuple(right)]:
                return difference(left, right)
            case "mul", [tuple(left), tuple(right)]:
                return product(left, right)
            case "neg", [tuple(value)]:
                return negative(value)
            case "abs", [tuple(value)]:
                known_number = number(value)
                return constant(abs(known_number)) if known_number is not None else None
            case "floordiv", [tuple(left), tuple(right)] if number(right) == 1:
                return left
        return None

    def _steps(self) -> dict[str, Polynomial]:
        """The variables that change by the same in every turn, and by what."""
        turning = {one.attributes[0] for one in self._sets if one.inputs[0].type == I64}
        while True:
            ends = self._follow(turning)
            steps = {name: self._step(name, ends) for name in turning}
            found = {name: step for name, step in steps.items() if step is not None}
            if turning == found.keys():
                return found
            turning = set(found)

    def _step(self, name: str, ends: list[Known]) -> Polynomial | None:
        values = {known[name] for known in ends}
        value = values.pop()
        if values or value is None:
            return None
        step = difference(value, atom("get", name))
        if step is None:
            return None
        known = number(step)
        if known is not None:
            return step if 0 < abs(known) < SMALL else None
        is_variable = len(step) == 1 and step[0][1] == 1 and len(step[0][0]) == 1
        return step if is_variable and not self._changes(step) else None

    def _changes(self, value: Polynomial) -> bool:
        return any(one[0] == "get" and one[1] in self._changed for one in atoms(value))

    # Turns

    def _turns(self) -> Turns | None:
        """Of the first test for the end of the loop that every turn comes to."""
        for block in self.blocks:
            is_inside = [target in self._labels for target in block.end.targets]
            if is_inside == [True, False] and self.always(block):
                turns = self._turns_of(block)
                if turns is not None:
                    return self._ended(turns)
        return None

    def _is_behind(self, block: Block) -> bool:
        """Whether a block with a test ends every turn."""
        return self._last == [block] and block.end.targets[0] == self._header

    def _ended(self, turns: Turns) -> Turns:
        """The same with what the test behind a turn says, where another is in front."""
        last = self._last[0]
        if turns.is_behind or not self._is_behind(last) or last.label == self._header:
            return turns
        is_left = len(last.end.targets) > 1 and last.end.targets[1] not in self._labels
        found = self._turns_of(last) if is_left else None
        return turns if found is None else replace(turns, ends=(found.count, *found.others))

    def _turns_of(self, block: Block) -> Turns | None:
        makers: dict[Value | None, Instruction] = {
            one.result: one for one in block.instructions if one.result is not None
        }
        waiting = [block.end.condition]
        counts: list[Polynomial] = []
        tests: list[Value | None] = []
        is_whole = True  # whether all parts of the condition are counts
        while waiting:
            value = waiting.pop()
            maker = makers.get(value)
            if maker is not None and maker.op == "and":
                waiting += maker.inputs
                continue
            count = self._count(block.label, maker) if maker is not None else None
            if count is None:
                is_whole = False
            else:
                counts.append(count)
                tests.append(value)
        is_behind = self._is_behind(block)
        if is_behind:
            counts = [more for one in counts if (more := total(one, constant(1))) is not None]
        if not counts or (is_behind and len(counts) < len(tests)):
            return None
        turns = atom("get", TURNS)  # no more than what is left of a range
        rows = [number for number, count in enumerate(counts) if _is_of_row(count)]
        best = rows[0] if rows else counts.index(turns) if turns in counts else 0
        counted = {name for name in self.steps if atom("get", name) in counts}
        others = tuple(one for one in counts if one != counts[best]) if is_whole else ()
        condition = tests[best] if is_whole else block.end.condition
        return Turns(block.label, counts[best], frozenset(counted), others, condition, is_behind)

    def _count(self, label: str, test: Instruction) -> Polynomial | None:
        """How often a comparison holds, which is about a difference that falls by one in every turn."""
        if test.op not in {"igt", "ige", "ilt", "ile"}:
            return None
        left, right = (self.value(label, each) for each in test.inputs)
        if left is None or right is None:
            return None
        if test.op in {"ilt", "ile"}:
            left, right = right, left
        left_over = difference(left, right)
        if left_over is None or not self.is_linear(left_over) or self.slope(left_over) != -1:
            return None
        return left_over if test.op in {"igt", "ilt"} else total(left_over, constant(1))


def _is_of_row(count: Polynomial) -> bool:
    return any(one[0] == "get" and str(one[1]).endswith(ROW) for one in atoms(count))


def constant_variables(nest: Nest, step: int) -> dict[str, int]:
    """Variables that are one number: mostly, as the first iterator's step, or never set to anything else.

    They are zero before they are set.
    """
    values: dict[str, set[int | None]] = {}
    for block in nest.blocks:
        makers = {one.result: one for one in block.instructions if one.result is not None}
        for one in block.instructions:
            if one.op == "set" and one.inputs[0].type == I64:
                maker = makers[one.inputs[0]]
                value = int(maker.attributes[0]) if maker.op == "const" else None
                values.setdefault(one.attributes[0], set()).add(value)
    cells = {cell.name for cell in nest.cells}
    only = {name: each.pop() for name, each in values.items() if len(each) == 1}
    iterators = [slot for slot in nest.slots if isinstance(slot, RangeSlot)]
    steps = {f"{slot.name}.step": -1 if slot.kind == "backwards" else 1 for slot in iterators}
    if iterators and iterators[0].kind == "range":
        steps[f"{iterators[0].name}.step"] = step
    known = {name: at for name, at in only.items() if at is not None and name not in cells}
    return steps | known


def _joined(ends: list[Known]) -> Known:
    """What is known where several ways meet."""
    first, *others = ends
    return {
        name: value if all(each[name] == value for each in others) else None
        for name, value in first.items()
    }
