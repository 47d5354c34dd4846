"""Copies of innermost loops without checks: they run where a test in front of the loop finds that no check would fail.

The test knows the first and the last turn. What is looked at are polynomials of variables and lengths in which no
product has two variables that turn: they are between their values in these two turns in all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ufuse.backends.numpy.nest_passes import counters, windows
from ufuse.backends.numpy.nest_passes.batches import batched
from ufuse.backends.numpy.nest_passes.fits import Fits, Holds, Inside
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.hoisting import Hoister
from ufuse.backends.numpy.nest_passes.integers import (
    ROW,
    SMALL,
    Integers,
    Turns,
    constant_variables,
)
from ufuse.backends.numpy.nest_passes.plain import carried, is_plain
from ufuse.backends.numpy.nest_passes.polynomials import (
    Atom,
    Polynomial,
    atom,
    atoms,
    difference,
    greatest,
    split,
)
from ufuse.backends.numpy.nest_passes.polynomials import number as number_of
from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_types import I1, INTEGERS, TURNS, Value

NOT_COPIED = {  # they take most of a turn
    "map", "fold", "dot", "reduce", "matmul", "take", "put", "position", "scan", "nonzero", "sort", "argsort", "draws",
    "alloc", "append", "trim", "push", "peek", "drop", "room", "find", "enter",
}  # fmt: skip
MOST_INSTRUCTIONS = 300  # of a loop that is copied: more would take long to compile
AT_ONCE = (
    1 << 26
)  # instructions that run before anything looks for signals: some tens of milliseconds
SUFFIX = ".sure"
CHECKED = ".checked"  # of a copy that has other ways out than the end of its loop
CHECKS = {"call", "doubt_if"}
COUNTS = {"fits", "spent"}  # of turns of a copy: one, where there are none
WHOLE = {"add", "sub", "mul", "neg"}
ORDERING = {"igt", "ige", "ilt", "ile"}
NEVER_ODD = {  # give integers that fit
    "const", "get", "load", "dim", "select", "widen", "and", "or", "xor", "invert", "lshift", "rshift",
}  # fmt: skip
HIGHEST = (1 << 63) - 1


def versioned(nest: Nest, *, is_alone: bool = False, wraps: bool = False, step: int = 1) -> Nest:
    """The nest with a test and a copy for each innermost loop that is better without checks; `step` is usual.

    Where the copies are alone, a test that fails is a doubt, and the loops with checks are left out; and tests stand in
    front of the loops around where they can. `wraps`: the test is about windows that wrap, too.
    """
    flow = Flow(nest)
    constants = constant_variables(nest, step)
    hoister = Hoister(flow, constants)
    blocks = {block.label: [block] for block in nest.blocks}
    alone: dict[str, str] = {}  # the tests in front of copies, by the headers that are left out
    whole_loops = flow.whole_loops()
    others = [*nest.others]
    for header, candidates in _innermost(flow).items():
        for labels in candidates:
            integers = Integers(flow, header, labels, constants)
            if _is_another_way(flow, integers.turns, whole_loops[header] - labels):
                continue
            copy = _Copy(nest, integers, wraps=wraps)
            made = copy.blocks(header, is_alone=is_alone)
            if made:
                named = {one: one + made[0].end.targets[0][len(header) :] for one in labels}
                made, new = batched(nest, integers, made, named)
                others += new
                if is_alone and hoister.moves(
                    header, labels, made[0].instructions[0].attributes[0]
                ):
                    made = [_without_test(made[0]), *made[1:-1]]
                _lead_to(blocks, flow, labels, header, made[0])
                if is_alone:
                    alone[header] = made[0].label
                    blocks.update((label, []) for label in labels)
                blocks[header].insert(0, made[0])
                blocks[max(labels, key=flow.place)] += made[1:]
                break
    for header, (labels, holds) in hoister.tests().items():
        test, unfit = _tested(header, holds)
        _lead_to(blocks, flow, labels, header, test)
        blocks[header].insert(0, test)
        blocks[max(labels, key=flow.place)].append(unfit)
    found = (_led(block, alone) for group in blocks.values() for block in group)
    return replace(nest, blocks=tuple(found), others=tuple(others))


def _lead_to(
    blocks: dict[str, list[Block]], flow: Flow, labels: set[str], header: str, test: Block
) -> None:
    """Lead from outside a loop to the test in front of it."""
    for label in flow.blocks.keys() - labels:
        blocks[label] = [_led(block, {header: test.label}) for block in blocks[label]]


def _without_test(test: Block) -> Block:
    """The block in front of a copy whose test stands elsewhere."""
    (fits,) = test.instructions[0].attributes
    spent = Instruction("spent", (), None, (fits.turns,))
    others = test.instructions[1:]
    return Block(test.label, (spent, *others), End("jump", test.end.targets[:1]))


def _tested(header: str, holds: Holds) -> tuple[Block, Block]:
    """The block with the test in front of a loop around others, and the doubt."""
    result, label, unfit = Value(0, I1), f"{header}.holds", f"{header}.doubt"
    instruction = Instruction("holds", (), result, (holds,))
    test = Block(label, (instruction,), End("branch", (header, unfit), result))
    return test, Block(unfit, (), End("doubt"))


def is_copy(block: Block) -> bool:
    """Whether a block belongs to a copy, whose turns are counted in front of it."""
    return block.label.endswith((SUFFIX, CHECKED))


def is_late(block: Block) -> bool:
    """Whether a block belongs to a copy in which doubts are to come late, as nothing else leaves it."""
    return block.label.endswith(SUFFIX)


def asking_headers(flow: Flow) -> set[str]:
    """The headers of inner loops that count their turns: where each comes to another count, that one does."""
    found: set[str] = set()
    loops = flow.ways_back()
    counts = [
        label for label in flow.order if any(one.op in COUNTS for one in flow.instructions(label))
    ]
    inner = flow.inner_headers()
    for header in sorted(loops, key=lambda each: max(map(len, loops[each]))):
        if header not in inner or is_copy(flow.blocks[header]):
            continue
        within = set().union(*loops[header])
        lasts = [label for label in flow.before[header] if label in within]
        others = [label for label in (*counts, *found) if label in within and label != header]
        if not any(all(flow.is_dominated(last, by) for last in lasts) for by in others):
            found.add(header)
    return found


def _led(block: Block, targets: Mapping[str, str]) -> Block:
    """The block with other targets."""
    new = tuple(targets.get(target, target) for target in block.end.targets)
    return replace(block, end=replace(block.end, targets=new))


def _innermost(flow: Flow) -> dict[str, list[set[str]]]:
    """What may be the blocks of a loop without loops inside, by header; the most likely first.

    All ways back to a header are one loop that has several; or, where variables change their types in a loop, its
    header is that of the loop around it, too.
    """
    loops = flow.ways_back()
    found = {}
    for header, each in loops.items():
        candidates = [set().union(*each), min(each, key=len)][: len(each)]
        found[header] = [
            labels for labels in candidates if _why_not(flow, header, labels, loops) is None
        ]
    return found


def _why_not(flow: Flow, header: str, labels: set[str], headers: Collection[str]) -> str | None:
    """Why a loop is not copied."""
    if any(label in headers for label in labels - {header}):
        return "it has loops inside"
    if not all(flow.is_dominated(label, header) for label in labels):
        return "it has several ways in"
    instructions = [one for label in labels for one in flow.instructions(label)]
    if any(one.op in NOT_COPIED for one in instructions) and not _collects(instructions):
        return "it has array statements"
    return "it is long" if len(instructions) > MOST_INSTRUCTIONS else None


def _collects(instructions: Sequence[Instruction]) -> bool:
    """Whether turns but append what functions of NumPy give, to what they use for nothing else."""
    grown = {one.attributes[0] for one in instructions if one.op == "append"}
    others = {one.op for one in instructions if one.op != "append"}
    used = {one.attributes[0] for one in instructions if one.op in {"load", "store", "dim"}}
    has_calls = any(
        one.op == "call" and one.attributes[0].startswith("numpy.") for one in instructions
    )
    return has_calls and not others & NOT_COPIED and not grown & used


def _is_another_way(flow: Flow, turns: Turns | None, around: set[str]) -> bool:
    """Whether turns of the same loop lead back to its header in other ways, as behind `continue`: it begins too often.

    Where the loop `around` has the header, too, it counts the turns of the one inside anew.
    """
    if turns is None or not around:
        return False
    sets = flow.variables_set(around)
    return not any(one[1] in sets for one in atoms(turns.count) if one[0] == "get")


def _is_beside(dividend: Polynomial, divisor: Polynomial) -> bool:
    """Whether a dividend may be beside what it wraps to: a variable and another or a number, of a variable length."""
    is_sum = all(len(each) <= 1 for each, _ in (*dividend, *divisor))
    are_single = all(abs(factor) == 1 for each, factor in (*dividend, *divisor) if each)
    return is_sum and are_single and len(dividend) > 1 and number_of(divisor) is None


def _is_inner(turns: Turns) -> bool:
    return turns.count != atom("get", TURNS)


@dataclass(slots=True)
class _Access:
    """An index of an element, along one axis."""

    key: tuple[str, int]  # the block, and the place of the instruction in it
    array: int
    axis: int
    base: Polynomial
    more: int  # what the index is beyond `base`
    is_always_used: bool

    @property
    def is_own_place(self) -> bool:
        """Whether it is a variable as it is: likely inside in turns that do not use it, too."""
        kinds = [(*(one[0] for one in monomial), factor) for monomial, factor in self.base]
        return self.more == 0 and kinds == [("get", 1)]

    @property
    def place(self) -> tuple[int, int, Polynomial]:
        """What it has in common with those that are tested together."""
        return self.array, self.axis, self.base


class _Copy:
    """A loop without the checks that a test makes needless."""

    def __init__(self, nest: Nest, integers: Integers, *, wraps: bool) -> None:
        self._nest = nest
        self._may_wrap = wraps
        self._wrapped: dict[tuple[Polynomial, Polynomial], None] = {}
        self._integers = integers
        self._inside: dict[tuple[int, int, Polynomial], Inside] = {}
        self._sure: set[tuple[str, int]] = set()
        self._dense: set[tuple[str, int]] = set()
        self._small: set[Atom] = set()
        self._needless: set[tuple[str, int]] = set()  # doubts about integers that are small
        self._zero: dict[Polynomial, None] = {}
        self._carried = carried(integers.blocks)

    def blocks(self, header: str, *, is_alone: bool) -> list[Block]:
        """The block with the test, those of the copy, and one for each way out of it; none where no check is saved.

        Where the copy is alone, there is one more for what does not fit, and ways out are looked at only
        where integers may be in doubt: what follows trusts that they were not.
        """
        turns = self._integers.turns
        if turns is None:
            return []
        self._choose_accesses()
        counted = {("get", name) for name in turns.counted}
        turning = {("get", name) for name in self._integers.steps} - counted
        for other in (*turns.others, *turns.ends):
            self._small |= atoms(other) - counted
        self._small |= turning | (atoms(turns.count) - counted)
        self._small |= {each for step in self._integers.steps.values() for each in atoms(step)}
        self._choose_windows()
        self._choose_integers()
        self._choose_needless()
        sometimes = self._choose_counters(turns, is_alone=is_alone)
        if not self._is_better(is_alone=is_alone):
            return []
        result = Value(0, I1)
        fits = Instruction("fits", (), result, (replace(self._fits(turns), is_alone=is_alone),))
        suffix = CHECKED if self._is_checked() else SUFFIX
        unfit = f"{header}.unfit{SUFFIX}" if is_alone else header
        is_row = header.endswith(ROW)
        if is_row:  # the loop around does a turn in its place
            unfit = self._integers.flow.blocks[turns.label].end.targets[1]
        end = End("branch", (header + suffix, unfit), result)
        labels = {block.label: block.label + suffix for block in self._integers.blocks}
        exits = {
            target: f"{target}.after.{header}{suffix}"
            for block in self._integers.blocks
            for target in block.end.targets
            if target not in labels
        }
        last = tuple(sorted(self._carried))
        is_tested = not is_alone or self._may_be_odd()
        if not is_tested and not last:
            exits = {target: target for target in exits}
        copies = [self._copied(block, labels | exits) for block in self._integers.blocks]
        left = (Instruction("left", (), None, (last, is_tested)),)
        return [
            Block(f"{header}.test", (fits, *counters.tests(sometimes)), end),
            *copies,
            *(
                Block(label, left, End("jump", (target,)))
                for target, label in exits.items()
                if label != target
            ),
            *([Block(unfit, (), End("doubt"))] if is_alone and not is_row else []),
        ]

    def _may_be_odd(self) -> bool:
        """Whether the copy has arithmetic of integers in doubt."""
        return any(
            one.result is not None
            and one.result.type in INTEGERS
            and one.op not in NEVER_ODD
            and (block.label, place) not in self._sure
            for block in self._integers.blocks
            for place, one in enumerate(block.instructions)
        )

    def _choose_accesses(self) -> None:
        """Choose loads and stores that need no check if some indices are inside."""
        blocks = [
            block for block in self._integers.blocks if self._integers.is_counted(block.label)
        ]
        for block in blocks if self._may_wrap else ():
            self._choose_wrapped(block)
        found = [access for block in blocks for access in self._accesses(block)]
        ordered = self._ordered(blocks)
        for access in found:
            if access.is_always_used or (access.is_own_place and not atoms(access.base) & ordered):
                self._test(access)
        wanted: dict[tuple[str, int], list[bool]] = {}
        for access in found:
            wanted.setdefault(access.key, []).append(self._is_tested(access))
        for key, tested in wanted.items():
            if all(tested) and len(tested) == self._ndim(key):
                self._sure.add(key)
        self._choose_dense()

    def _ordered(self, blocks: Sequence[Block]) -> set[Atom]:
        """What the loop compares with limits: it may be that which keeps an index inside, where it is used."""
        values = (
            self._integers.value(block.label, each)
            for block in blocks
            for one in block.instructions
            if one.op in ORDERING
            for each in one.inputs
        )
        return {each for value in values if value is not None for each in atoms(value)}

    def _choose_wrapped(self, block: Block) -> None:
        """Choose what is little outside of a length, as places beside one on a torus are."""
        integers = self._integers
        for place, one in enumerate(block.instructions):
            if one.result is None or one.op != "mod" or not integers.always(block):
                continue
            pair = integers.wrapped.get((block.label, one.result))
            if pair is not None and _is_beside(*pair) and integers.is_linear(pair[0]):
                if integers.turning(pair[1]):
                    continue
                self._wrapped[pair] = None
                self._sure.add((block.label, place))
                self._small |= atoms(pair[0]) | atoms(pair[1])

    def _ndim(self, key: tuple[str, int]) -> int:
        label, place = key
        number: int = self._integers.flow.instructions(label)[place].attributes[0]
        return self._nest.numbered[number].ndim

    def _accesses(self, block: Block) -> Iterator[_Access]:
        always = self._integers.always(block)
        numbers = {one.result for one in block.instructions if one.op == "const"}
        for place, one in enumerate(block.instructions):
            if one.op not in {"load", "store"}:
                continue
            number, *_ = one.attributes
            for axis, index in enumerate(one.inputs[: self._nest.numbered[number].ndim]):
                key = block.label, place
                value = self._integers.value(block.label, index)
                wrapped = self._integers.wrapped.get((block.label, index))
                if wrapped in self._wrapped:  # less than the divisor
                    yield _Access(key, number, axis, wrapped[1], -1, always)
                if value is None or not self._integers.is_linear(value):
                    continue
                base, more = split(value)
                if index in numbers and more < 0:
                    base = atom("dim", number, axis)
                if greatest(value, 2 * SMALL) > HIGHEST or greatest(base, 2 * SMALL) > HIGHEST:
                    continue
                yield _Access(key, number, axis, base, more, always)

    def _test(self, access: _Access) -> None:
        old = self._inside.get(access.place)
        least = access.more if old is None else min(access.more, old.least)
        most = access.more if old is None else max(access.more, old.most)
        self._inside[access.place] = Inside(*access.place, least, most)
        self._small |= atoms(access.base)

    def _is_tested(self, access: _Access) -> bool:
        inside = self._inside.get(access.place)
        return inside is not None and inside.least <= access.more <= inside.most

    def _choose_dense(self) -> None:
        """Choose loads and stores that walk along the last axis, or jump about on it."""
        for block in self._integers.blocks:
            for place, one in enumerate(block.instructions):
                if one.op in {"load", "store"}:
                    indices = one.inputs[: self._ndim((block.label, place))]
                    values = [self._integers.value(block.label, last) for last in indices[-1:]]
                    if any(each is None or self._integers.turning(each) for each in values):
                        self._dense.add((block.label, place))

    def _is_better(self, *, is_alone: bool) -> bool:
        """Whether anything is done otherwise in the copy but to count turns."""
        if (
            is_alone
            or self._dense
            or any(is_plain(one) for block in self._integers.blocks for one in block.instructions)
        ):
            return True
        return any(
            one.op in {"load", "store"} or (one.op in WHOLE and key not in self._sure)
            for block in self._integers.blocks
            for place, one in enumerate(block.instructions)
            for key in [(block.label, place)]
        )

    def _is_checked(self) -> bool:
        """Whether something in the loop is looked at as it comes; integers are, too, where that takes fewer steps."""
        return (self._may_be_odd() and self._is_recurrent()) or any(
            (one.op in CHECKS and (block.label, place) not in self._needless)
            or (one.op in {"load", "store"} and (block.label, place) not in self._sure)
            for block in self._integers.blocks
            for place, one in enumerate(block.instructions)
        )

    def _is_recurrent(self) -> bool:
        """Whether turns load what others store before them, by so many turns as is known: there are no vectors then."""
        places: dict[str, list[tuple[int, list[Polynomial | None]]]] = {"load": [], "store": []}
        for block in self._integers.blocks:
            for one in block.instructions:
                if one.op in places:
                    number, *_ = one.attributes
                    indices = one.inputs[: self._nest.numbered[number].ndim]
                    values = [self._integers.value(block.label, each) for each in indices]
                    places[one.op].append((number, values))
        return any(
            number == other and self._is_before(loaded, stored)
            for number, stored in places["store"]
            for other, loaded in places["load"]
        )

    def _is_before(
        self, loaded: Sequence[Polynomial | None], stored: Sequence[Polynomial | None]
    ) -> bool:
        """Whether indices are along one axis what others are in a turn before, and the same along all others."""
        ways: list[int] = []
        for one, other in zip(loaded, stored, strict=True):
            if one is None or other is None:
                return False
            between = difference(other, one)
            way = None if between is None else number_of(between)
            slope = self._integers.slope(other)
            if way is None or slope is None:
                return False
            if way:
                ways.append(way * slope)
        return len(ways) == 1 and ways[0] > 0

    def _choose_integers(self) -> None:
        """Choose arithmetic that cannot overflow where what is tested is small."""
        for block in self._integers.blocks:
            for place, one in enumerate(block.instructions):
                if one.op not in WHOLE or one.result is None:
                    continue
                values = [
                    self._integers.value(block.label, each) for each in (one.result, *one.inputs)
                ]
                if all(
                    value is not None and (self._is_small(value) or self._is_count(block, value))
                    for value in values
                ):
                    self._sure.add((block.label, place))

    def _choose_windows(self) -> None:
        """Choose doubts about windows that are not where they most likely are, and loads of windows."""
        for block in self._integers.blocks:
            for place, one in enumerate(block.instructions):
                if one.op == "load" and one.is_sure:
                    self._sure.add((block.label, place))
            needless, zero = windows.needless(self._integers, block, self._inside.values())
            self._needless.update((block.label, place) for place in needless)
            for apart in sorted(zero):
                self._zero[apart] = None
                self._small |= atoms(apart)

    def _choose_needless(self) -> None:
        """Choose doubts about integers beyond limits that they cannot reach: where floats are compared with them."""
        for block in self._integers.blocks:
            makers = {one.result: one for one in block.instructions if one.result is not None}
            for place, one in enumerate(block.instructions):
                test = makers[one.inputs[0]] if one.op == "doubt_if" else None
                if test is None or test.op not in {"igt", "ilt"}:
                    continue
                limit, most = makers[test.inputs[1]], self._most(block, test.inputs[0], makers)
                if limit.op == "const" and most is not None:
                    sign = 1 if test.op == "igt" else -1
                    if sign * limit.attributes[0] >= most:
                        self._needless.add((block.label, place))

    def _most(self, block: Block, value: Value, makers: Mapping[Value, Instruction]) -> int | None:
        """What an integer is no more than, with either sign."""
        known = self._integers.value(block.label, value)
        if known is not None and self._is_small(known):
            return greatest(known, 2 * SMALL)
        maker = makers[value]
        if maker.op == "mod" and makers[maker.inputs[1]].op == "const":
            return abs(int(makers[maker.inputs[1]].attributes[0]))
        return None

    def _choose_counters(self, turns: Turns, *, is_alone: bool) -> list[str]:
        """Choose what only some turns add to; the variables to be tested beside all else, where the copy is alone.

        They turn in the loops around, too: so no test of them can be moved there, and all others can without them.
        """
        blocks = self._integers.blocks
        names = counters.counters(blocks, self._limit(turns)) - self._integers.steps.keys()
        used: set[str] = set()
        for block in blocks:
            for name in names:
                for place in counters.sure_places(block, {name}):
                    if (block.label, place) not in self._sure:
                        self._sure.add((block.label, place))
                        used.add(name)
        if is_alone:
            return sorted(used)
        self._small |= {atom_of for name in used for atom_of in atoms(atom("get", name))}
        return []

    def _is_small(self, value: Polynomial) -> bool:
        return atoms(value) <= self._small and greatest(value, 2 * SMALL) <= HIGHEST

    def _is_count(self, block: Block, value: Polynomial) -> bool:
        """Whether it is little less than what counts the turns, where that is not zero yet."""
        base, more = split(value)
        turns = self._integers.turns
        if turns is None or block.label == turns.label or not -2 <= more <= 0:
            return False
        is_behind = self._integers.flow.is_dominated(block.label, turns.label)
        return is_behind and any(base == atom("get", name) for name in turns.counted)

    def _fits(self, turns: Turns) -> Fits:
        integers = self._integers
        steps = tuple(
            (name, integers.steps[name])
            for name in sorted(integers.steps)
            if ("get", name) in self._small
        )
        names = {name for name, _ in steps}
        dense = {
            integers.flow.instructions(label)[place].attributes[0] for label, place in self._dense
        }
        return Fits(
            turns.count,
            self._limit(turns),
            turns.others,
            tuple(sorted((name, integers.constants[name]) for name in integers.used_constants)),
            steps,
            tuple(sorted((one for one in self._small if one[1] not in names), key=repr)),
            tuple(self._zero),
            tuple(self._inside.values()),
            tuple(self._wrapped),
            tuple(sorted(dense)),
            _is_inner(turns),
            is_behind=turns.is_behind,
            ends=turns.ends,
        )

    def _limit(self, turns: Turns) -> int:
        """How many turns there may be."""
        count = sum(len(block.instructions) for block in self._integers.blocks)
        return AT_ONCE // count if _is_inner(turns) else SMALL

    def _copied(self, block: Block, labels: Mapping[str, str]) -> Block:
        made = []
        for place, one in enumerate(block.instructions):
            if one.op == "get" and one.attributes[0] in self._integers.used_constants:
                number = self._integers.constants[one.attributes[0]]
                made.append(replace(one, op="const", attributes=(number,)))
                continue
            key = block.label, place
            if key in self._needless:
                continue
            is_carried = one.op == "set" and one.attributes[0] in self._carried
            is_sure, is_dense = key in self._sure or is_carried, key in self._dense
            made.append(replace(one, is_sure=is_sure, is_dense=is_dense))
        end, turns = block.end, self._integers.turns
        if turns is not None and turns.label == block.label:
            end = replace(end, condition=turns.condition)
        copy = Block(labels[block.label], tuple(made), end)
        return _led(copy, labels)
