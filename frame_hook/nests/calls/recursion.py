"""Functions that call themselves: each is read once, and its frames lie one behind another in memory of the nest's.

A call puts there what the calling function still needs and where it goes on, binds the parameters, and goes to the
beginning of the function; a return takes both back. Where a function goes on is read for each type of what it gets.
Frames that Python would not begin any more are left to Python, which raises the RecursionError.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.nests.arrays import elementwise
from ufuse.frame_hook.nests.containers import keeping
from ufuse.frame_hook.nests.containers.identity import SMALL_INTS
from ufuse.frame_hook.nests.given.temporaries import holders_in, parts_in
from ufuse.frame_hook.nests.known.arrays import Lazy
from ufuse.frame_hook.nests.known.containers import MadeFunction
from ufuse.frame_hook.nests.known.frames import Frame, Function, Version, attributes_in, is_filled
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError, TemporaryKind, ViewKind, kind_of
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.recursive import Called
from ufuse.frame_hook.nests.known.values import Generated, Item, Items, Kind, Turning
from ufuse.frame_hook.nests.numbers import complexes
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.trace import symbols
from ufuse.graph.nest import Block, Instruction
from ufuse.graph.nest_types import I1, I64, Value
from ufuse.graph.semantics.nest_live import live_variables

RETURNS = -1  # the position of what stands for whoever called
SPARE = 24  # frames: those of functions that are read in their place, and of what calls the nest
VIEW = ".view"  # what the names of the variables begin with that have one, see `views.py`
DEPTH, ROOM, SITE = ".depth", ".room", ".site"
SAVE, RESTORE = "save", "restore"  # stand for instructions until it is known what is needed
NOTHING = Value(-1, I64)


def calls_itself(function: types.FunctionType) -> bool:
    """Whether a function calls itself, or one that calls it, by the names in its code."""
    code = function.__code__
    called = _called_by(function)
    return any(one.__code__ is code for one in called) or any(
        other.__code__ is code for one in called for other in _called_by(one)
    )


def _called_by(function: types.FunctionType) -> list[types.FunctionType]:
    """The functions that a function may call by their names, and what is inside compiled ones."""
    code = function.__code__
    cells = (function.__closure__ or ())[: len(code.co_freevars)]
    values = [one.cell_contents for one in cells if is_filled(one)]
    values += [function.__globals__.get(name) for name in _globals_of(code)]
    values = [
        one.__ufuse_function__ if issubclass(type(one), _hook.Dispatcher) else one for one in values
    ]
    return [one for one in values if type(one) is types.FunctionType]


@instructions.per_code
def _globals_of(code: types.CodeType) -> frozenset[str]:
    """The globals that a function loads."""
    return frozenset(
        code.co_names[(one.arg or 0) >> 1]
        for one in instructions.instructions(code)
        if one.opname == "LOAD_GLOBAL"
    )


def makes_one(code: types.CodeType) -> bool:
    """Whether a function makes one that calls itself by its name."""
    inner = (one for one in code.co_consts if isinstance(one, types.CodeType))
    return any(one.co_name in one.co_freevars for one in inner)


def is_read(reader: Reader, code: types.CodeType) -> bool:
    """Whether a function has frames of its own."""
    return code in reader.tries.recursive


def enter(
    reader: Reader, which: int, called: symbols.Function, slots: Sequence[Item | None]
) -> None:
    """Call a function that calls itself; the arguments are popped."""
    elementwise.settle(reader)
    one = _called(reader, which, called)
    slots = [None if item is None else _settled(reader, item) for item in slots]
    caller = reader.version(reader.next)
    root = _root(caller)
    _refuse(reader, caller, slots, is_inner=root is not None)
    site = one.sites.setdefault(caller, len(one.sites))
    out, recursion = reader.out, reader.recursion
    if root is None:
        _begin(reader)
    _mark(reader, SAVE, one, site)
    kinds = {
        slot: keeping.keep(reader, one.function.variable(slot), item)
        for slot, item in enumerate(slots)
        if item is not None
    }
    if root is not None:
        depth = out.op("add", I64, out.get(DEPTH, I64), out.constant(I64, _frames(caller)))
        out.doubt_if(out.op("igt", I1, depth, out.get(ROOM, I64)))
        out.set(DEPTH, depth)
    reader.frame = Frame(one.function, kinds, [], one.place)
    label = reader.label(reader.version(0))
    recursion.entries.add(label)
    out.end("jump", label)


def contents(reader: Reader, made: MadeFunction) -> list[Item] | None:
    """The free variables of a function that calls itself from its own frame, which has them, too; None of others."""
    function = reader.frame.function
    if function.code is not made.code or reader.recursion.of(function) is None:
        return None
    first = len(function.names) - len(made.code.co_freevars)
    free = range(first, len(function.names))
    if any(slot not in reader.slots for slot in free):
        raise NotNativeError("a variable of the function around has no value")
    return [keeping.kept(reader, function.variable(slot), reader.slots[slot]) for slot in free]


def leave(reader: Reader, item: Item) -> bool:
    """Return from a function that calls itself; False: the frame is of another one."""
    one = reader.recursion.of(reader.frame.function)
    if one is None or reader.frame.caller is not one.place:
        return False
    elementwise.settle(reader)
    if _made_in(item):
        raise NotNativeError("a function that calls itself returns a function")
    out = reader.out
    kind = keeping.keep(reader, one.result, _settled(reader, item))
    out.end("jump", one.returns(one.kinds.setdefault(kind, len(one.kinds))))
    return True


def go_on(reader: Reader) -> bool:
    """Read on where a function returns to a caller, for a kind of result; whether there was one left."""
    for one in reader.recursion.called.values():
        for caller, site in one.sites.items():
            for kind, number in one.kinds.items():
                if (site, number) not in one.read:
                    one.read.add((site, number))
                    _go_on(reader, one, caller, site, kind, number)
                    return True
    return False


def _go_on(
    reader: Reader, one: Called, caller: Version, site: int, kind: Kind, number: int
) -> None:
    out, root = reader.out, _root(caller)
    out.begin(one.restores(site, number))
    _mark(reader, RESTORE, one, site)
    out.end("jump", one.behind(site, number))
    out.begin(one.behind(site, number))
    if root is not None:
        depth = out.get(DEPTH, I64)
        out.set(DEPTH, out.op("sub", I64, depth, out.constant(I64, _frames(caller))))
    reader.next = caller.position
    reader.at = caller.function.table[caller.position]
    reader.frame = Frame(one.function, {}, [], caller)
    item = keeping.kept(reader, one.result, kind)
    if root is None:
        _doubt_given(reader, item)
    reader.leave(item)
    if out.is_open:
        reader.run(reader.next)


def _doubt_given(reader: Reader, item: Item) -> None:
    """Leave it to plain Python where what the first call returns equals an argument: it may be that very object."""
    out = reader.out
    for one in _numbers_in(item):
        for given in reader.numbers_given():
            if one.type == given.type and one.type.kind != "bool":
                less, more = (
                    out.op(f"{'f' if one.type.is_real else 'i'}{how}", I1, one.value, given.value)
                    for how in ("lt", "gt")
                )
                is_same = out.op("not", I1, out.op("or", I1, less, more))  # or not a number
                if one.type == INT:
                    is_same = out.op("and", I1, is_same, _has_others(reader, one))
                out.doubt_if(is_same)


def _numbers_in(item: Item) -> Iterator[Number]:
    if isinstance(item, Number):
        yield item
    for one in item.items if isinstance(item, Items) else ():
        yield from _numbers_in(one)


def _has_others(reader: Reader, number: Number) -> Value:
    """Whether there may be several objects that are this int."""
    out, small = reader.out, SMALL_INTS
    is_less = out.op("ilt", I1, number.value, out.constant(I64, small.start))
    is_more = out.op("ige", I1, number.value, out.constant(I64, small.stop))
    return out.op("or", I1, is_less, is_more)


def _mark(reader: Reader, what: str, one: Called, site: int) -> None:
    """Leave a place for what takes frames to memory, or back."""
    reader.recursion.marks.append((one.function.prefix, site))
    reader.out.mark(what, len(reader.recursion.marks) - 1)


def _called(reader: Reader, which: int, called: symbols.Function) -> Called:
    recursion = reader.recursion
    number = recursion.numbers.setdefault(which, len(recursion.numbers))
    prefix = f".{called.code.co_name}@calls{number}."
    if prefix not in recursion.called:
        function = Function(called.code, prefix, called)
        if function.own_cells:
            raise NotNativeError(f"{called.code.co_name} calls itself, and makes functions")
        reader.functions[prefix, which] = function
        own = Version(reader.own, reader.position, (), (), None)
        recursion.called[prefix] = Called(function, Version(function, RETURNS, (), (), own))
    return recursion.called[prefix]


def _begin(reader: Reader) -> None:
    """No frame is there yet."""
    out, recursion = reader.out, reader.recursion
    if recursion.frames is None:
        recursion.frames = reader.memory.given(np.dtype(np.int64), None)
    zero = out.constant(I64, 0)
    out.alloc(reader.array(recursion.frames), zero)
    out.set(DEPTH, zero)
    out.set(ROOM, out.op("sub", I64, out.op("room", I64), out.constant(I64, SPARE)))


def _root(version: Version) -> Function | None:
    """The function that calls itself in whose frame a version is; None: it is in none."""
    one: Version | None = version
    while one is not None:
        if one.position == RETURNS:
            return one.function
        one = one.caller
    return None


def _chain(version: Version) -> Iterator[Version]:
    """A version, and those of its callers, as far as they are in one frame of a function that calls itself."""
    one: Version | None = version
    while one is not None and one.position != RETURNS:
        yield one
        one = one.caller


def _frames(caller: Version) -> int:
    """How many frames plain Python has between one call and the next."""
    return sum(1 for _ in _chain(caller))


def _settled(reader: Reader, item: Item) -> Item:
    """An argument or a result without what is known of it in one call alone."""
    match item:
        case Lazy():
            return elementwise.computed(reader, item)
        case Known(value) if kind_of(value) is not None:
            return complexes.scalar(reader.out, item)
        case Items(items):
            return Items(tuple(_settled(reader, one) for one in items))
        case Number():
            return replace(item, is_new=False, origin=None, listed=None)
    return item


def _made_in(item: Item) -> list[MadeFunction]:
    return list(parts_in((item,), (MadeFunction,)))


def _refuse(
    reader: Reader, caller: Version, slots: Sequence[Item | None], *, is_inner: bool
) -> None:
    """Refuse what would not be the same in each frame, or what deeper frames could change.

    Raises:
        NotNativeError: there is such a thing.

    """
    if attributes_in(reader.slots):
        raise NotNativeError("a function that calls itself binds an attribute to an array")
    prefixes = tuple(reader.recursion.called)
    for made in _made_in(Items(tuple(one for one in slots if one is not None))):
        if made.maker.prefix.startswith(prefixes):
            raise NotNativeError("a function that calls itself is given a function that it makes")
    for one in _chain(caller):
        for turning in parts_in(one.stack, (Turning,)):
            for holder in holders_in((turning.kind,)):
                if isinstance(holder, TemporaryKind):
                    raise NotNativeError("it goes over a new list while a function calls itself")
                reader.recursion.gone_over.add(holder)
        if any(parts_in(one.stack, (Generated,))):
            raise NotNativeError("a function calls itself while items of a generator are taken")
        if is_inner:
            reader.recursion.held.update(parts_in((one.locals, one.stack), (TemporaryKind,)))


# Behind the reading ------------------------------------------------------------------------------------------------


def finish(reader: Reader) -> None:
    """Write what frames have, now that it is known what is needed behind each call.

    Raises:
        NotNativeError: something is needed that deeper frames change.

    """
    recursion, out = reader.recursion, reader.out
    if not recursion.called:
        return
    for one in recursion.called.values():
        if not one.kinds:
            raise NotNativeError(f"{one.function.code.co_name} returns nothing but itself")
        for number in one.kinds.values():
            _return(reader, one, number)
    if any(holder.slot in reader.lists.grown for holder in recursion.gone_over):
        raise NotNativeError("it appends to a list that it goes over")
    within = _within(reader)
    _refuse_held(reader, within)
    needed = _needed(reader, within)
    out.blocks[:] = [_written(reader, block, needed) for block in out.blocks]


def _return(reader: Reader, one: Called, kind: int) -> None:
    """Go on where the caller does."""
    out = reader.out
    assert reader.recursion.frames is not None
    frames, label = reader.array(reader.recursion.frames), one.returns(kind)
    sites = sorted(
        one.sites.items(), key=lambda pair: _root(pair[0]) is None
    )  # the first call is the last
    out.begin(label)
    if len(sites) > 1:
        out.set(SITE, out.op("peek", I64, attributes=(frames, 1)))
    for place, (_, site) in enumerate(sites[:-1]):
        is_it = out.op("ieq", I1, out.get(SITE, I64), out.constant(I64, site))
        following = f"{label}.{place}"
        out.end("branch", one.restores(site, kind), following, condition=is_it)
        out.begin(following)
    out.end("jump", one.restores(sites[-1][1], kind))


def _within(reader: Reader) -> set[str]:
    """The labels of what runs in frames of functions that call themselves."""
    recursion = reader.recursion
    outer = {
        one.restores(site, kind)
        for one in recursion.called.values()
        for caller, site in one.sites.items()
        if _root(caller) is None
        for kind in one.kinds.values()
    }
    blocks = {block.label: block for block in reader.out.blocks}
    found: set[str] = set()
    waiting = list(recursion.entries)
    while waiting:
        label = waiting.pop()
        if label not in found and label not in outer and label in blocks:
            found.add(label)
            waiting += blocks[label].end.targets
    return found


def _refuse_held(reader: Reader, within: set[str]) -> None:
    results = (kind for one in reader.recursion.called.values() for kind in one.kinds)
    kinds = reader.recursion.held.union(parts_in(results, (TemporaryKind,)))
    held = {reader.numbers[kind] for kind in kinds if kind in reader.numbers}
    for block in reader.out.blocks:
        if block.label in within:
            for one in block.instructions:
                if one.op == "alloc" and one.attributes[0] in held:
                    raise NotNativeError("a function that calls itself keeps a new array or list")


Needed = dict[tuple[str, int], frozenset[str]]  # variables, by the function called and the site


def _needed(reader: Reader, within: set[str]) -> list[tuple[str, ...]]:
    """For each mark the variables of the frame that are needed where it goes on.

    Raises:
        NotNativeError: something is needed that is no variable of the frame, and that deeper frames change.

    """
    recursion, out = reader.recursion, reader.out
    blocks = [block for block in out.blocks if block.label in within]
    changed = {
        one.attributes[0] for block in blocks for one in block.instructions if one.op == "set"
    }
    results = tuple(one.result for one in recursion.called.values())
    changed = {name for name in changed if not name.startswith(results)}
    changed -= {DEPTH, ROOM, SITE}
    found: Needed = {}
    known = None
    while found != known:  # what is put behind one frame is needed where the call before it goes on
        known, found = found, {}
        live = live_variables([_outlined(reader, block, known) for block in out.blocks])
        for one in recursion.called.values():
            for caller, site in one.sites.items():
                labels = [one.behind(site, kind) for kind in one.kinds.values()]
                read = set().union(*(live[label] for label in labels))
                is_inner = _root(caller) is not None
                found[one.function.prefix, site] = frozenset(changed & read if is_inner else ())
    for one in recursion.called.values():
        for caller, site in one.sites.items():
            root, names = _root(caller), found[one.function.prefix, site]
            if root is not None and not all(name.startswith((root.prefix, VIEW)) for name in names):
                raise NotNativeError("a function that calls itself keeps what deeper calls change")
            if any(parts_in(one.kinds, (ViewKind,))) and any(n.startswith(VIEW) for n in names):
                raise NotNativeError("a function that calls itself keeps a view, and gets another")
    return [tuple(sorted(found[mark])) for mark in recursion.marks]


def _outlined(reader: Reader, block: Block, needed: Needed) -> Block:
    """A block that reads what it puts behind a frame, and sets what comes back: all variables of that."""
    if all(one.op not in (SAVE, RESTORE) for one in block.instructions):
        return block
    recursion = reader.recursion
    found: list[Instruction] = []
    for one in block.instructions:
        if one.op == SAVE:
            names = needed.get(recursion.marks[one.attributes[0]], ())
            found += (Instruction("get", (), NOTHING, (name,)) for name in names)
        elif one.op == RESTORE:
            called, site = recursion.marks[one.attributes[0]]
            caller = next(
                at for at, number in recursion.called[called].sites.items() if number == site
            )
            root = _root(caller)
            own = () if root is None else (root.prefix, VIEW)
            back = (name for name in reader.out.variables if name.startswith(own))
            found += (Instruction("set", (NOTHING,), None, (name,)) for name in back)
        else:
            found.append(one)
    return replace(block, instructions=tuple(found))


def _written(reader: Reader, block: Block, needed: list[tuple[str, ...]]) -> Block:
    """A block with instructions in the places of marks."""
    if all(one.op not in (SAVE, RESTORE) for one in block.instructions):
        return block
    assert reader.recursion.frames is not None
    frames = reader.array(reader.recursion.frames)
    found: list[Instruction] = []
    for one in block.instructions:
        if one.op in (SAVE, RESTORE):
            (mark,) = one.attributes
            types_ = {name: reader.out.variables[name].type for name in needed[mark]}
            site = reader.recursion.marks[mark][1]
            write = (
                _saved(reader, frames, types_, site)
                if one.op == SAVE
                else _back(reader, frames, types_)
            )
            found += write
        else:
            found.append(one)
    return replace(block, instructions=tuple(found))


def _saved(
    reader: Reader, frames: int, variables: dict[str, str], site: int
) -> Iterator[Instruction]:
    values = [reader.out.fresh(type_) for type_ in variables.values()]
    for name, value in zip(variables, values, strict=True):
        yield Instruction("get", (), value, (name,))
    number = reader.out.fresh(I64)
    yield Instruction("const", (), number, (site,))
    yield Instruction("push", (*values, number), None, (frames,))


def _back(reader: Reader, frames: int, variables: dict[str, str]) -> Iterator[Instruction]:
    count = len(variables) + 1
    for place, (name, type_) in enumerate(variables.items()):
        value = reader.out.fresh(type_)
        yield Instruction("peek", (), value, (frames, count - place))
        yield Instruction("set", (value,), None, (name,))
    yield Instruction("drop", (), None, (frames, count))
