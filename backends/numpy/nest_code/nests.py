"""Machine code for loop nests over numbers and elements.

Variables are memory in the text; LLVM's passes make registers of them. Laws:

1. Floating-point operations and comparisons are *constrained, strict*: no flag is lost or raised too often, and nothing
   is folded. Comparisons are quiet. Better code has plain ones in copies of loops (`nest_passes/plain.py`).
2. A doubt ends the function with 1 after only `turns` was written back: what calls it undoes the stores.
3. After PATIENCE turns of inner loops a call asks whether to go on, as signals and other threads wait while it runs.
4. Where both operands of an operation are NaN, and unlike, the one that lives on is up to the compiler, here as in
   NumPy: a result that such an operation may have decided is a doubt when it is stored, kept or passed on.
"""

from __future__ import annotations

from collections.abc import Iterator

from ufuse.backends.numpy.llvm.apart import best_code, tuned_code
from ufuse.backends.numpy.llvm.compiler import Effort, compiled_text, why_unavailable
from ufuse.backends.numpy.llvm.link import kept_functions
from ufuse.backends.numpy.llvm.object_cache import cache_in_use, key_of
from ufuse.backends.numpy.nest_code.body import (
    TYPES,
    ZEROS,
    Body,
    Known,
    as_word,
    literal,
    of_word,
    own_variable,
    result_type,
)
from ufuse.backends.numpy.nest_code.instructions import RULES, TYPED
from ufuse.backends.numpy.nest_code.lists import give_back_lengths
from ufuse.backends.numpy.nest_code.maps import WORDS, prepare
from ufuse.backends.numpy.nest_passes.alike import not_alike
from ufuse.backends.numpy.nest_passes.axes import by_rows
from ufuse.backends.numpy.nest_passes.batches import is_fill
from ufuse.backends.numpy.nest_passes.bounds import bounds_at_blocks
from ufuse.backends.numpy.nest_passes.buffers import BATCH, VECTOR
from ufuse.backends.numpy.nest_passes.extremes import with_short_chains
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.groups import with_groups
from ufuse.backends.numpy.nest_passes.keeping import not_keeping, wide
from ufuse.backends.numpy.nest_passes.key import description
from ufuse.backends.numpy.nest_passes.latches import Latches, latches_of
from ufuse.backends.numpy.nest_passes.nearest import not_nearest
from ufuse.backends.numpy.nest_passes.operands import without_repetition
from ufuse.backends.numpy.nest_passes.plain import consumed, stored
from ufuse.backends.numpy.nest_passes.shared_loops import with_shared_loops
from ufuse.backends.numpy.nest_passes.versions import asking_headers, is_copy, is_late, versioned
from ufuse.backends.numpy.nest_passes.windows import without_side_ways
from ufuse.graph.nest import Block, End, Instruction, Nest
from ufuse.graph.nest_types import F64, REALS, SELDOM, TURNS

PARAMETERS = "ptr noalias %arrays, ptr noalias %cells, ptr noalias %memory"
ARRAY_OPS = {
    "map", "fold", "dot", "reduce", "matmul", "take", "put", "position", "scan", "nonzero", "sort",
    "argsort", "draws",
}  # fmt: skip
BITWISE = {"and", "or", "xor", "invert", "shl", "shr", "lshift", "rshift"}
PATIENCE = 1 << 20  # some milliseconds, at most some tens of them
MOST_IMPROVED = 800  # instructions: half a millisecond each, in which no other nest can be compiled


def why_not_native() -> str | None:
    """Why no nest can be compiled here, or None."""
    return why_unavailable()


def compiled_nest(nest: Nest) -> tuple[int, object]:
    """The address of a nest's machine code, and what keeps it in memory; called in `Work`.

    Its C type is `int f(void *arrays, void *cells, NestMemory *memory)`. `arrays`: for each array its data, lengths and
    strides in bytes; `cells`: `Nest.cells`, 8 bytes each; `memory`: of each temporary, then SCRATCHES more. It gives
    0 where the nest was left at its header, 1 at a doubt, and the number of the exit and 1.

    Raises:
        LookupError: a function that the mathematics library lacks, or a loop that NumPy lacks.

    """
    key, kept = _kept("first", nest)
    if kept is not None:
        return kept
    nest = without_repetition(nest)
    needs = prepare(nest)
    effort = Effort.QUICK if is_of_arrays(nest) else Effort.LITTLE
    return compiled_text(nest_text(nest, "NAME"), effort, key, needs), None


def tuned_nest(nest: Nest) -> tuple[int, object] | None:
    """As `compiled_nest`, the same made with more effort: several times as fast. None where the first is as good."""
    key, kept = _kept("tuned", nest)
    if kept is not None:
        return kept
    nest = without_repetition(nest)
    if is_of_arrays(nest):
        return None
    needs = prepare(nest)
    return tuned_code(nest_text(nest, "NAME"), key, needs), None


def kept_tuning(nest: Nest) -> tuple[int, object] | None:
    """What `tuned_nest` gave once, if that is kept."""
    return _kept("tuned", nest)[1]


def improved_nest(
    nest: Nest,
    *,
    is_alone: bool = True,
    wraps: bool = True,
    step: int = 1,
    shares: bool = False,
) -> tuple[int, object] | None:
    """As `compiled_nest`, better code for arrays of which none that is written shares memory with another.

    It may doubt too often, and raise flags too many. It is made for a step of the first iterator, and, where that
    `wraps`, for indices that wrap once at most. Where it `shares`, it asks C in front of `shared_loops`. None where
    there is none.
    """
    key, kept = _kept(_better(is_alone=is_alone, wraps=wraps, step=step, shares=shares), nest)
    if kept is not None:
        return kept
    nest = without_repetition(nest)
    if shares:
        nest, _ = with_shared_loops(nest)
    if is_alone:
        nest = without_side_ways(nest)
    needs = prepare(nest, is_better=True)
    rows = by_rows(nest)
    for given in (nest,) if rows is nest else (rows, nest):  # a long nest has no rows
        made = versioned(given, is_alone=is_alone, wraps=wraps and is_alone, step=step)
        if sum(len(block.instructions) for block in made.blocks) <= MOST_IMPROVED:
            made = with_groups(with_short_chains(made))
            text = nest_text(made, "NAME", is_fast=True, is_alone=is_alone)
            return best_code(text, key, needs), None
    return None


def kept_improvement(nest: Nest) -> tuple[int, object] | None:
    """What `improved_nest` gave once, if that is kept."""
    return _kept(_better(is_alone=True, wraps=True, step=1), nest)[1]


def shared_loops(nest: Nest, *, is_alone: bool, wraps: bool) -> Iterator[tuple[Nest, int, object]]:
    """The loops inside whose turns threads may share: each as a nest, with the address and the owner of its code."""
    for loop in with_shared_loops(without_repetition(nest))[1]:
        if loop.step is None:
            code = improved_nest(loop.nest, is_alone=False, wraps=False)
        else:
            code = improved_nest(loop.nest, is_alone=is_alone, wraps=wraps, step=loop.step)
        yield loop.nest, *(code or compiled_nest(loop.nest))


def _better(*, is_alone: bool, wraps: bool, step: int, shares: bool = False) -> str:
    words = ("better", *["alone"] * is_alone, *["wraps"] * wraps, f"step {step}")
    return ", ".join((*words, *["shares"] * shares))


def _kept(tier: str, nest: Nest) -> tuple[str | None, tuple[int, object] | None]:
    """The key of a nest's code; and that code, if it is kept."""
    what = None if cache_in_use() is None else description(nest)
    if what is not None:
        alone = not_alike(nest) if tier.startswith("better") else []
        tier = ", ".join((tier, *not_nearest(nest), *not_keeping(nest), *alone))
        if tier.startswith("better"):
            tier = ", ".join((tier, *wide(nest)))
    key = None if what is None else key_of(tier, what)
    functions = kept_functions(key)
    return key, None if functions is None else (functions[""], None)


def is_of_arrays(nest: Nest) -> bool:
    """Whether every loop has an array statement or the like, which takes most of its time."""
    flow = Flow(nest)
    return all(
        any(
            one.op in ARRAY_OPS
            for label in loop
            if not label.endswith(SELDOM)
            for one in flow.blocks[label].instructions
        )
        for loop in flow.loops()
    )


def _weights(end: End) -> str:
    """That a side way is taken seldom."""
    aside = [place for place, target in enumerate(end.targets) if target.endswith(SELDOM)]
    return f", !prof !{1 - aside[0]}" if aside else ""


def nest_text(nest: Nest, name: str, *, is_fast: bool = False, is_alone: bool = False) -> str:
    """The nest as a module with one function that can be seen from outside."""
    text = _Function(nest, is_fast=is_fast, is_alone=is_alone)
    text.write()
    head = f"define i32 @{name}({PARAMETERS}) #0 {{"
    if is_fast:
        data = [f"ptr noalias %data{number}" for number in range(len(nest.arrays))]
        inner = ", ".join([PARAMETERS, *data])
        call = [
            *_data_words(nest),
            f"%verdict = call i32 @inner({inner}) #0",
            "ret i32 %verdict",
            "}",
        ]
        head = "\n".join([head, *call, f"define internal i32 @inner({inner}) #3 {{"])
    return "\n".join(
        [
            *text.body.globals,
            head,
            *text.lines,
            "}",
            *sorted(text.body.declared),
            'attributes #0 = { nounwind strictfp "no-trapping-math"="false" }',
            "attributes #1 = { nounwind strictfp }",
            "attributes #2 = { nounwind strictfp memory(inaccessiblemem: readwrite) }",
            'attributes #3 = { nounwind noinline strictfp "no-trapping-math"="false" }',
            '!0 = !{!"branch_weights", i32 4000, i32 1}',
            '!1 = !{!"branch_weights", i32 1, i32 4000}',
            "!2 = !{}",
            f"!3 = !{{i64 0, i64 {(1 << 63) - 1}}}",
            *text.body.notes.lines(),
            "",
        ]
    )


def _data_words(nest: Nest) -> Iterator[str]:
    """Lines that load where the memory of each array begins."""
    at = 0
    for number, array in enumerate(nest.arrays):
        yield f"%at{number} = getelementptr i64, ptr %arrays, i64 {at}"
        yield f"%data{number} = load ptr, ptr %at{number}"
        at += 1 + 2 * array.ndim


class _Function:
    """The lines of a nest's function."""

    def __init__(self, nest: Nest, *, is_fast: bool, is_alone: bool) -> None:
        self.nest = nest
        self._is_fast = is_fast
        self.body = Body(nest, is_fast=is_fast, is_alone=is_alone)
        self.lines = self.body.lines
        self._labels = {block.label: f"b{number}" for number, block in enumerate(nest.blocks)}
        self._flow = Flow(nest)
        self._latches = latches_of(self._flow) if is_fast else Latches({}, {})
        numbered = (f"latch{number}" for number in range(len(self._latches.blocks)))
        self._labels.update(zip(self._latches.blocks, numbered, strict=True))
        self._bounds = bounds_at_blocks(nest)
        self._asking = asking_headers(self._flow)
        self._known: dict[str, Known] = {}  # at the ends of blocks
        self._set = {
            one.attributes[0]
            for block in nest.blocks
            for one in block.instructions
            if one.op == "set"
        }

    def write(self) -> None:
        """Write everything."""
        self._write_entry()
        for label in self._flow.order:
            self._write_block(self._flow.blocks[label])
        for label, target in self._latches.blocks.items():
            self.lines += [f"{self._labels[label]}:", f"br label %{self._labels[target]}"]
        self.lines.append("doubt:")
        self.body.begin_block(Known(), {})
        at = self._cell(len(self.nest.cells) - 1)
        turns = self.body.add_new(f"load i64, ptr {self.body.places[TURNS]}")
        self.lines += [f"store i64 {turns}, ptr {at}", "ret i32 1"]
        if self._is_fast:
            self._write_late()
        body = self.body
        spaces = (("table", body.table), ("shared", body.shared), ("batches", body.batches))
        for name, words in spaces:
            if words:
                self.lines.insert(1, f"%{name} = alloca [{words} x i64], align 64")
        if body.has_groups:
            self.lines.insert(1, f"%group = alloca [{2 * VECTOR} x i8], align {VECTOR}")
        for name in sorted(body.unknown):
            self.lines.insert(1, f"{name} = alloca [{BATCH // 8} x i8], align 64")

    def _write_late(self) -> None:
        """Write the doubt of no turn in particular, and what is needed of better code in the entry."""
        self.lines.append("late:")
        self.body.begin_block(Known(), {})
        at = self._cell(len(self.nest.cells) - 1)
        self.lines += [f"store i64 -1, ptr {at}", "ret i32 1"]
        self.lines[1:1] = [
            *self.body.odd_lines(),
            *self.body.hidden_lines(),
        ]

    def _write_entry(self) -> None:
        self.lines.append("entry:")
        for variable in (*self.nest.cells, *self.nest.others):
            place = self.body.places[variable.name]
            self.lines.append(f"{place} = alloca {TYPES[variable.type]}")
        self.lines += ["%patience = alloca i64", f"store i64 {PATIENCE}, ptr %patience"]
        at = 0
        for number, array in enumerate(self.nest.arrays):
            if not self._is_fast:  # else it is a parameter
                self._load_word(f"data{number}", "ptr", at)
            for axis in range(array.ndim):
                self._load_word(f"length{number}.{axis}", "i64", at + 1 + axis, ", !range !3")
                self._load_word(f"stride{number}.{axis}", "i64", at + 1 + array.ndim + axis)
            at += 1 + 2 * array.ndim
        if self.nest.generators:
            self.lines.append("%drawn = alloca i64")
        for number in range(len(self.nest.generators)):
            self._load_word(f"generator{number}", "ptr", at + number)
        self._write_temporaries()
        for variable in self.nest.others:
            zero = f"{TYPES[variable.type]} {ZEROS[variable.type]}"
            self.lines.append(f"store {zero}, ptr {self.body.places[variable.name]}")
        for number, variable in enumerate(self.nest.cells):
            type_ = "double" if variable.type == F64 else "i64"
            word = self.body.add_new(f"load {type_}, ptr {self._cell(number)}")
            word = of_word(self.body, word, variable.type)
            self.lines.append(
                f"store {TYPES[variable.type]} {word}, ptr {self.body.places[variable.name]}"
            )
        self.lines.append(f"br label %{self._labels[self.nest.blocks[0].label]}")

    def _write_temporaries(self) -> None:
        for place, number in enumerate(self.body.temporaries()):
            parts = [("data", "ptr", 0)]
            ndim = self.nest.numbered[number].ndim
            parts += [(f"length{axis}", "i64", 2 + axis) for axis in range(ndim)]
            for part, type_, word in parts:
                at = self.body.add(f"getelementptr i64, ptr %memory, i64 {WORDS * place + word}")
                held = self.body.add_new(f"load {type_}, ptr {at}")
                own = self.body.places[own_variable(number, part)]
                self.lines += [f"{own} = alloca {type_}", f"store {type_} {held}, ptr {own}"]

    def _load_word(self, name: str, type_: str, place: int, extra: str = "") -> None:
        at = self.body.add(f"getelementptr i64, ptr %arrays, i64 {place}")
        self.lines.append(f"%{name} = load {type_}, ptr {at}, !invariant.load !2{extra}")

    def _cell(self, number: int) -> str:
        return self.body.add(f"getelementptr i64, ptr %cells, i64 {number}")

    def _write_block(self, block: Block) -> None:
        self.lines.append(f"{self._labels[block.label]}:")
        self.body.begin_block(self._known_before(block), self._bounds[block.label])
        self.body.is_copy = is_copy(block)
        self.body.is_late = self._is_fast and is_late(block)
        self.body.consumed, self.body.stored = consumed(block), stored(block)
        self.body.doubt = "late" if is_fill(block.label) else "doubt"
        if block.label in self._asking and not self.body.is_copy:
            self.body.lose_patience("1")
        for one in block.instructions:
            if one.op == "store":
                self.body.end_block()
            self._write_instruction(one)
        self.body.end_stored()
        self._known[block.label] = self.body.known
        end = block.end
        led = self._latches.led
        targets = [
            f"label %{self._labels[led.get((block.label, target), target)]}"
            for target in end.targets
        ]
        if end.kind == "jump":
            self.lines.append(f"br {targets[0]}")
        elif end.kind == "branch" and end.condition is not None:
            how = ", !unpredictable !2" if self._is_as_good_as_random(end) else _weights(end)
            if is_fill(end.targets[1]) and not is_fill(block.label):  # once in a batch
                how = ", !prof !0"
            self.lines.append(
                f"br i1 {self.body.operand(end.condition)}, {', '.join(targets)}{how}"
            )
        elif end.kind == "leave":
            self._write_leave(end.number)
        else:
            self.lines.append("br label %doubt")

    def _is_as_good_as_random(self, end: End) -> bool:
        """Whether a branch in a copy chooses between few operations on bits: LLVM would take it to be foreseen."""
        sides = [self._flow.blocks[target] for target in end.targets]
        ops = {one.op for side in sides for one in side.instructions}
        return (
            self.body.is_loose
            and all(is_copy(side) and side.end.kind == "jump" for side in sides)
            and ops <= BITWISE | {"const", "get", "set"}
            and not ops.isdisjoint(BITWISE)
        )

    def _known_before(self, block: Block) -> Known:
        """What is known at the end of the block that dominates this one, and not changed on the way here."""
        dominator = self._flow.dominators.get(block.label)
        if dominator is None:
            return Known()
        known = self._known[dominator].copy()
        for one in self._flow.between(block.label):
            for instruction in one.instructions:
                known.forget(instruction)
                if instruction.op in ARRAY_OPS:
                    known.table.clear()
        return known

    def _write_leave(self, exit_number: int) -> None:
        if self.body.is_alone:
            self.body.doubt_if_odd()
        for number, variable in enumerate(self.nest.cells):
            if variable.name not in self._set:  # it is there
                continue
            at = self._cell(number)
            word = self.body.add_new(
                f"load {TYPES[variable.type]}, ptr {self.body.places[variable.name]}"
            )
            word = as_word(self.body, word, variable.type)
            self.lines.append(
                f"store {'double' if variable.type == F64 else 'i64'} {word}, ptr {at}"
            )
        give_back_lengths(self.body)
        self.lines.append(f"ret i32 {exit_number and exit_number + 1}")

    def _write_instruction(self, one: Instruction) -> None:
        if one.op == "const":
            type_ = result_type(one)
            write = self.body.real if type_ in REALS else literal
            text = write(one.attributes[0], type_)
        else:
            rule = RULES[one.op] if one.op in RULES else TYPED[one.op, one.inputs[0].type]
            text = rule(self.body, one)
        self.body.keep(one, text)
