"""Entries that run loops: at the header of a loop over a range, with a nest in place of a graph."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.frame_readers import shows_its_locals
from ufuse.frame_hook.code.places import ON_STACK
from ufuse.frame_hook.code.stops import handled_slot
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.entries.journal import Journal
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.entries.recipe_iterators import Made, Register
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known.kinds import EXACT, EitherError, NotNativeError, UnpaidError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.positions import while_headers
from ufuse.frame_hook.nests.known.tries import ReadAnewError, Tries
from ufuse.frame_hook.nests.known.ways import Exit, Given
from ufuse.frame_hook.nests.loops.carried import same_or_new
from ufuse.frame_hook.nests.loops.finishing import Read
from ufuse.frame_hook.nests.loops.loop_reader import LoopReader
from ufuse.frame_hook.nests.loops.outermost import turns_left
from ufuse.frame_hook.nests.reading import refused
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Source
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ArraySlot, MemberSlot, NumberSlot
from ufuse.graph.node import Graph
from ufuse.graph.records import record

T = TypeVar("T")


class Making(Protocol):
    """What is being made by another thread."""

    def wait(self, seconds: float) -> bool:
        """Whether it ends within some seconds, in which other threads run."""

    def result(self) -> Any:
        """What was made, waited for."""


@runtime_checkable
class NestMaker(Protocol):
    """What is needed of a backend that runs nests."""

    def compile_nest(self, nest: Nest) -> Callable[..., Any] | None:
        """What runs a nest, see `_tiles.Nest`; None where it cannot."""

    def begin_nest(self, nest: Nest) -> Making:
        """Begin to make the same, with the best code that there is for it."""

    def nest_seconds(self) -> float:
        """How long making one takes now, about; infinite where nothing can be made."""


def begins_loop(code: CodeType, position: int, state: tuple[Any, ...]) -> bool:
    """Whether a frame stands at the header of a loop that may become a nest, by what it goes over."""
    if position in while_headers(code):
        return True
    opname = instructions.by_position(code)[position].opname
    return opname == "FOR_ITER" and turns_left(state[-1]) is not None


def has_turns(code: CodeType, position: int, state: tuple[Any, ...]) -> bool:
    """Whether the loop at whose header a frame stands may go on."""
    return position in while_headers(code) or bool(turns_left(state[-1]))


def goes_to_loop(
    code: CodeType, position: int, state: tuple[Any, ...], headers: Collection[int]
) -> bool:
    """Whether a frame stands before the jump back to such a header; `headers` are those of loops not given up."""
    instruction = instructions.by_position(code)[position]
    if position in while_headers(code) or "JUMP_BACKWARD" not in instruction.opname:
        return False
    header = instructions.successors(instruction)[-1]
    if header in while_headers(code):
        return header in headers
    return instruction.opname == "JUMP_BACKWARD" and begins_loop(code, header, state)


@record
class Prepared:
    """All of a loop's entry but its code. It holds nothing of the frame's, so it may be kept for a while."""

    read: Read
    guards: Any  # for C
    remembered: Any
    ending: tuple[int, Any, tuple[Any, ...]]
    seconds: float  # that it took


def prepared(
    code: CodeType,
    position: int,
    function: FunctionType,
    state: tuple[Any, ...],
    record: CodeRecord,
    seconds: float = math.inf,
    tries: Tries | None = None,
) -> Prepared:
    """What is read of the loop whose header stands at a position, in so many seconds of this thread at most.

    `tries`: what an earlier reading came to, which took longer.

    Raises:
        NotNativeError: this loop is not compiled.
        UnpaidError: reading takes longer.

    """
    started, until = time.perf_counter(), time.thread_time() + seconds
    if record.shows_locals is None:
        record.shows_locals = shows_its_locals(function)
    arrives = record.arrives.get(position, {})
    try:
        trace, read = _read(code, position, function, state, record, until, tries, arrives)
    except NotNativeError as why:
        if not why.has_arrivals:
            raise
        trace, read = _read(code, position, function, state, record, until)
    ending = _ending(trace, read, code, position, len(state))
    guards, remembered = trace.guards.for_c(), trace.guards.remembered()
    return Prepared(read, guards, remembered, ending, time.perf_counter() - started)


def nest_entry(
    maker: NestMaker,
    cache: Any,
    position: int,
    ready: Prepared,
    record: CodeRecord,
    journal: Journal,
) -> Any:
    """The entry that runs a loop.

    Raises:
        NotNativeError: this loop is not compiled.

    """
    code, read = cache.code, ready.read
    compiling = time.perf_counter()
    artefact = maker.compile_nest(read.nest)
    if artefact is None:
        raise NotNativeError("LLVM fails at it, or takes seconds")
    compiling = time.perf_counter() - compiling
    journal.stats.compile_seconds += compiling
    entry = _hook.Entry(ready.guards, read.slots, artefact, *ready.ending)
    entry.is_loop = True
    entry.turn_ns = record.visits[position].turn_ns if position in record.visits else 0
    entry.takes_contents = getattr(artefact, "takes_contents", False)
    record.begins[position] = record.begins.get(position, ()) + read.begins
    exits = frozenset(one.position for one in read.exits) - {position}
    record.exits[position] = record.exits.get(position, frozenset()) | exits
    kept = Specialisation(
        journal.stats.traces, weakref.ref(code), position, frozenset({position}), Graph((), (), (), code.co_name),
        ready.remembered, (), None, instructions.by_position(code)[position].location[0] or 0,
        (), ready.seconds + compiling, read.nest,
    )  # fmt: skip
    entry.data = kept
    record.note(kept, cache.entries(position))
    journal.note_entry(code, kept)
    return entry


def _read(
    code: CodeType,
    position: int,
    function: FunctionType,
    state: tuple[Any, ...],
    record: CodeRecord,
    until: float,
    tries: Tries | None = None,
    arrives: Mapping[int, Any] = MappingProxyType({}),
) -> tuple[Trace, Read]:
    keeps_all = bool(record.shows_locals)
    return repeated(
        lambda tries: _read_once(code, position, function, state, keeps_all, arrives, tries, until),
        record.dynamic,
        until,
        tries,
    )


def repeated(
    read: Callable[[Tries], T],
    dynamic: Collection[str] = (),
    until: float = math.inf,
    tries: Tries | None = None,
) -> T:
    """What reading a loop gives, with all that turns out on the way; `dynamic` are numbers that change.

    Raises:
        NotNativeError: it cannot be read.
        UnpaidError: it has not been read when this thread has taken so much processor time.

    """
    anew = Tries(frozenset(), dynamic=frozenset(dynamic))
    is_earlier = tries is not None  # of a reading for other values, perhaps
    tries = anew if tries is None else replace(tries, dynamic=anew.dynamic)
    while True:
        if time.thread_time() > until:
            raise UnpaidError(tries)
        try:
            return read(tries)
        except UnpaidError:
            raise UnpaidError(tries) from None
        except (ReadAnewError, NotNativeError, EitherError) as why:
            known = _known_behind(why, tries, anew if is_earlier else None)
            if known is None:
                raise
            tries, is_earlier = known, is_earlier and known is not anew


def _known_behind(why: Exception, tries: Tries, anew: Tries | None) -> Tries | None:
    """With what a loop is read anew; `anew`: instead of refusing it, where what is known may be of other values.

    Raises:
        NotNativeError: it is not.

    """
    match why:
        case ReadAnewError():
            try:
                return why.added(tries)
            except NotNativeError:
                if anew is None:
                    raise
        case NotNativeError() if anew is not None:
            return anew
        case _ if tries.widened:
            return replace(tries, widened=None)
        case NotNativeError(has_sums=True) if not tries.doubts_nothing:
            return replace(tries, widened=frozenset(), rolled=frozenset(), doubts_nothing=True)
        case EitherError() if anew is None:
            raise NotNativeError("a number may be Python's or NumPy's") from None
    return anew


def _read_once(
    code: CodeType,
    position: int,
    function: FunctionType,
    state: tuple[Any, ...],
    keeps_all: bool,
    arrives: Mapping[int, Any],
    tries: Tries,
    until: float,
) -> tuple[Trace, Read]:
    names = instructions.slot_names(code)
    on_stack = (ON_STACK.format(i) for i in range(len(state) - len(names)))
    trace = Trace(state, (*names, *on_stack), _hook.NULL)
    try:
        outside = Outside(trace, function, state)
        reader = LoopReader(
            code,
            position,
            state,
            _hook.NULL,
            outside,
            keeps_all=keeps_all,
            arrives=arrives,
            tries=tries,
            until=until,
        )
        read = refused.told(reader, reader.read)
        return trace, guarded(trace, code, read, outside)
    except NotNativeError as why:
        refused.of_loop(code, position, why)
        raise
    except GraphBreak as graph_break:
        what = f"it uses {graph_break.what}"
        raise refused.of_loop(code, position, NotNativeError(what)) from None


def guarded(trace: Trace, code: CodeType, read: Read, outside: Outside) -> Read:
    """Guard what a nest is given: it would only decline numbers of other kinds."""
    names = instructions.slot_names(code)
    for slot in read.slots:
        if slot < len(names):
            trace.guards.check("BOUND", Source(slot, names[slot]))
    _guard_numbers(trace, read, names)
    arrays = [slot for slot in read.nest.slots if isinstance(slot, ArraySlot)]
    for slot, array in zip(_array_registers(read), arrays, strict=True):
        if array.items:  # no array of the program's
            continue
        source = Source(slot, names[slot]) if slot < len(names) else outside.arrays[slot][0]
        trace.guards.check("ARRAY", source, array.dtype, array.ndim)
        if slot in read.ordered:
            trace.guards.check("ORDER", source, tuple(range(array.ndim)))
        if slot in read.contiguous:
            trace.guards.check("CONTIGUOUS", source, tuple(range(array.ndim)), True)
    outside.guard_known_dicts()
    if read.fields:
        trace.changes.guard_different()
    for slot in read.empty:
        trace.guards.check("NO_FINALIZER", Source(slot, names[slot]))
    return read


def _guard_numbers(trace: Trace, read: Read, names: Sequence[str]) -> None:
    """Numbers are of the classes with which the nest may begin, where that is not guarded yet."""
    typed = {row.operands[0].register for row in trace.guards.rows if row.kind == "TYPE"}
    for slot, number in zip(read.slots, read.nest.given, strict=True):
        if not isinstance(number, NumberSlot) or not number.is_given or slot in typed:
            continue
        kinds = {begins[slot] for begins in read.begins if slot in begins}
        found = sorted(
            (
                type_
                for type_, kind in EXACT.items()
                if kind in kinds or (not kinds and kind.kind == number.kind)
            ),
            key=lambda type_: issubclass(type_, np.generic),
        )
        assert len(found) in (1, 2), "of Python, of NumPy, or of either"
        source = Source(slot, names[slot] if slot < len(names) else number.name)
        trace.guards.check("EITHER_TYPE" if len(found) > 1 else "TYPE", source, *found)


def _array_registers(read: Read) -> list[int]:
    pairs = zip(read.slots, read.nest.given, strict=True)
    return [register for register, slot in pairs if isinstance(slot, ArraySlot)]


def _ending(
    trace: Trace, read: Read, code: CodeType, position: int, size: int
) -> tuple[int, Any, tuple[Any, ...]]:
    """How many outputs there are, an empty recipe, and the states in which the frame goes on.

    That is at the same header, or behind the exit whose number comes as the last output.
    """
    slots = [
        (register, slot)
        for register, slot in zip(read.slots, read.nest.slots, strict=True)
        if (isinstance(slot, NumberSlot) and slot.is_changed)
        or isinstance(slot, MemberSlot)
        or (isinstance(slot, ArraySlot) and slot.is_rebound)
    ]
    recipe = Recipe(trace, others=len(slots) + bool(read.exits))
    outputs = {slot.name: Made("output", i) for i, (_, slot) in enumerate(slots)}
    own = {
        register: recipe.number(outputs[slot.name])
        for register, slot in slots
        if isinstance(slot, ArraySlot) or slot.is_given
    }
    by_register = {register: outputs[slot.name] for register, slot in slots}
    for (owner, name), register in read.fields.items():
        recipe.row("set_attr", owner, by_register[register], what=name)
    for slot, items in read.tuples.items():
        own[slot] = _tuple(recipe, slot, items, outputs, items)
    for slot in read.cells:
        own[slot] = _cell(recipe, slot, instructions.slot_names(code)[slot], outputs, read.exits)
    registers = tuple(
        -1 if register in read.empty else own.get(register, register) for register in range(size)
    )
    ending: tuple[Any, ...] = "resume", position, registers, handled_slot(code, position)
    if not read.exits:
        return len(slots), recipe.for_c(), ending
    cells = {slot: own[slot] for slot in read.cells}
    states = tuple(_behind(one, read, code, size, outputs, recipe, cells) for one in read.exits)
    return len(slots) + 1, recipe.for_c(), ("choose", ending, *states)


def _behind(
    one: Exit,
    read: Read,
    code: CodeType,
    size: int,
    outputs: Mapping[str, Made],
    recipe: Recipe,
    cells: Mapping[int, int],
) -> tuple[Any, ...]:
    """The state in which a frame goes on behind an exit. Iterators of inner loops are only dropped there."""
    new = dict(cells)
    for slot, what in one.values.items():
        if isinstance(what, tuple):
            new[slot] = _tuple(recipe, slot, what, outputs, read.tuples.get(slot))
        elif slot not in cells:
            new[slot] = recipe.number(_made(recipe, what, outputs))
    depth = len(instructions.slot_names(code)) + instructions.flow(code).depths[one.position]
    registers = tuple(
        new.get(register, -1)
        if register in read.written
        else register
        if register < size
        else read.slots[-1]
        for register in range(depth)
    )
    return "resume", one.position, registers, handled_slot(code, one.position)


def _cell(
    recipe: Recipe, slot: int, name: str, outputs: Mapping[str, Made], exits: Sequence[Exit]
) -> int:
    """The register of a cell with what it has where the nest was left: itself stands for what it had."""
    contents: list[Register] = [outputs.get(name, slot)]
    for one in exits:
        what = one.values.get(slot)
        assert not isinstance(what, tuple)
        contents.append(slot if what is None else _made(recipe, what, outputs))
    number = Made("output", len(outputs)) if exits else recipe.constant(0)
    return recipe.number(recipe.call(filled, slot, number, *contents))


def filled(cell: CellType, number: int, *contents: object) -> CellType:
    """The cell, with that one of several contents in it; itself stands for what it has."""
    content = contents[number]
    if content is not cell:
        cell.cell_contents = content
    return cell


def _tuple(
    recipe: Recipe, slot: int, items: Given, outputs: Mapping[str, Made], given: Given | None
) -> int:
    """The register of a tuple; where it has the items of the one that is in a local, it may be that one."""
    made = [_made(recipe, one, outputs) for one in items]
    if items == given:
        return recipe.number(recipe.call(same_or_new, slot, *made))
    return recipe.number(recipe.row("tuple", *made))


def _made(recipe: Recipe, what: str | Known, outputs: Mapping[str, Made]) -> Made:
    return outputs[what] if isinstance(what, str) else recipe.constant(what.value)
