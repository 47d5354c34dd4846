"""What a side of a branch begins with, and what tracing it came to, which is taken back so that the other may begin.

Law: what a side changed of the trace's is in what it came to, or refused; the second side finds nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ufuse.frame_hook.interpreter.fork_refusals import Unlike
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.changes import Changes, Effect, ObjectOperand, described
from ufuse.frame_hook.trace.draft import SAME_ANYWHERE, Draft
from ufuse.frame_hook.trace.followed import exactly
from ufuse.frame_hook.trace.symbols import (
    Array,
    ArrayMethod,
    Buffer,
    Cell,
    Constant,
    Deque,
    Dict,
    ErrorToken,
    Function,
    Generator,
    Instance,
    List,
    Method,
    Number,
    Range,
    Set,
    Slice,
    Super,
    Symbol,
    Tuple,
    Unread,
    View,
)
from ufuse.frame_hook.trace.symbols import (
    Iterator as IteratorSymbol,
)
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record

COPIED = SAME_ANYWHERE  # each body has its own


@record
class Before:
    """The state of a trace where a branch begins."""

    frames: list[tuple[list[Symbol | None], list[Symbol]]]
    jumps: dict[int, int]
    inputs: int
    nodes: int
    first_write: int | None
    stores: int
    effects: int
    expected: dict[Node, bool]
    handled: list[Symbol]
    generators: list[Generator]
    entered: tuple[ErrorToken, ...]
    held: dict[int, tuple[Any, Any]]  # by id: what may change, with what it holds
    known: dict[int, Any]  # by id: all that can be reached


@record
class Taken:
    """What tracing one side came to: its frame, the nodes of values that are not those from before, its own nodes.

    `written` are the last versions of memory from before, `held` what objects from before hold that it has changed, by
    id; `effects` what it does to the program's own objects.
    """

    locals: list[Symbol | None]
    stack: list[Symbol]
    values: dict[int, Node]  # by id of the symbol of an array
    nodes: list[Node]
    written: dict[Buffer, Node]
    held: dict[int, Any]
    effects: list[Effect]


def before_branch(interpreter: Interpreter) -> Before:
    """The state of a trace now."""
    trace = interpreter.trace
    frames = [(list(frame.locals), list(frame.stack)) for frame in interpreter.call_stack]
    roots = [one for parts in frames for part in parts for one in part if one is not None]
    roots += [*interpreter.handled, *interpreter.generators, *trace.changes.symbols()]
    known = _reached(roots)
    held = {place: (one, had) for place, one in known.items() if (had := _held(one)) is not None}
    return Before(
        frames, dict(interpreter.frame.jumps), len(trace.graph.inputs), len(trace.graph.nodes),
        trace.graph.first_write, trace.graph.stores, len(trace.changes.effects), dict(trace.expected),
        list(interpreter.handled), list(interpreter.generators), trace.graph.entered, held, known,
    )  # fmt: skip


@contextmanager
def noting_reads(changes: Changes, before: Before) -> Iterator[None]:
    """What the program's own objects hold that are first read meanwhile is part of the state before."""
    outer = changes.on_read

    def note(symbol: Symbol) -> None:
        if not isinstance(symbol, Cell) and (held := _held(symbol)) is not None:
            before.held[id(symbol)] = symbol, held
        if outer is not None:
            outer(symbol)

    changes.on_read = note
    yield
    changes.on_read = outer


def _reached(roots: Iterable[Symbol]) -> dict[int, Any]:
    """The symbols that can be come to from some."""
    seen: dict[int, Any] = {}
    pending: list[Any] = list(roots)
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            pending += [part for part in _parts(one) if part is not None]
    return seen


def _parts(one: Any) -> Iterable[Any]:
    match one:
        case Tuple(items=items) | List(items=items) | Deque(items=items):
            return items
        case Dict(items=entries):
            return entries.values()
        case View(of=of):
            return (of,)
        case Slice() | Range():
            return one.start, one.stop, one.step
        case IteratorSymbol(parts=parts):
            return parts
        case Generator(frame=Frame() as frame):
            return (*frame.locals, *frame.stack)
        case Instance(attributes=attributes, content=content):
            return (*attributes.values(), content)
        case Cell(content=content):
            return (content,)
        case Function():
            given = (*one.defaults, *one.keyword_defaults.values(), *one.attributes.values())
            return (*given, *one.closure)
        case Method():
            return one.self, one.function
        case ArrayMethod() | Super():
            return (one.self,)
    return ()


def _held(one: Any) -> Any:
    """What may be another thing later; None for what never changes."""
    match one:
        case List(items=items) | Deque(items=items):
            return tuple(items)
        case Dict(items=entries):
            return tuple(entries.items())
        case Set(items=values, made=made):
            return tuple(map(exactly, values)), -1 if made is None else len(made)
        case IteratorSymbol():
            return one.asked, one.is_exhausted, one.length
        case Generator(frame=frame, state=state):
            inside = (
                (frame.position, tuple(frame.locals), tuple(frame.stack))
                if isinstance(frame, Frame)
                else ()
            )
            return state, inside
        case Instance(attributes=attributes, content=content, raised=raised):
            return tuple(attributes.items()), content, raised
        case Cell(content=content):
            return (content,)
        case Function(attributes=attributes):
            return tuple(attributes.items())
    return None


def hold(one: Any, held: Any) -> None:
    """Have an object of the trace hold what it once did, or what a branch chooses.

    Raises:
        Unlike: it is none of which that can be said.

    """
    match one:
        case List(items=items):
            items[:] = held
        case Dict(items=entries):
            entries.clear()
            entries.update(held)
        case Instance(attributes=attributes, content=content, raised=raised):
            if (content, raised) != held[1:]:
                raise Unlike("raises", "an exception")
            attributes.clear()
            attributes.update(held[0])
        case Cell():
            (one.content,) = held
        case _:
            raise Unlike("changes", words_for(one))


def words_for(one: Any) -> str:
    """What a program calls an object."""
    source = getattr(one, "source", None)
    if source is not None:
        return str(source.text)
    match one:
        case Instance(kind=kind):
            return f"a {kind.__name__}"
        case Cell():
            return "a variable of a closure"
    name = type(one).__name__.lower()
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


# Taking a side back --------------------------------------------------------------------------------------------------


def take_back(interpreter: Interpreter, frame: Frame, before: Before) -> Taken:
    """What tracing a side has come to; the trace is then as it was before, but for nodes that are the same anywhere."""
    _refuse_changes(interpreter, before)
    graph, changes = interpreter.trace.graph, interpreter.trace.changes
    ends: list[Any] = [*frame.locals, *frame.stack]
    held = {}
    for place, (one, _) in before.held.copy().items():
        had, now = _had(interpreter, before, one), _held(one)
        if now != had or (isinstance(one, Dict) and _keys(now) != _keys(had)):
            held[place] = now
            ends += _parts(one)
            hold(one, had)
    effects = changes.effects[before.effects :]
    del changes.effects[before.effects :]
    ends += [one for effect in effects for one in effect.operands]
    made = _reached(one for one in ends if one is not None)
    values = {
        place: graph.value(one)
        for place, one in made.items()
        if isinstance(one, Array) and place not in before.known
    }
    new, own = _cut(interpreter, before)
    written = graph.put_back(before.stores)
    if before.first_write is None:
        graph.first_write = None
    taken = Taken(
        list(frame.locals), list(frame.stack), values, new,
        {buffer: version for buffer, version in written.items() if buffer.root not in own},
        held, effects,
    )  # fmt: skip
    frame.locals[:], frame.stack[:] = before.frames[-1]
    interpreter.trace.expected.clear()
    interpreter.trace.expected.update(before.expected)
    return taken


def _keys(held: Any) -> list[Any]:
    """The keys of what a dict held, told apart where they are equal."""
    return [exactly(key) for key, _ in held]


def _had(interpreter: Interpreter, before: Before, one: Any) -> Any:
    """What an object held before a side, with the attributes that the side has first read."""
    _, had = before.held[id(one)]
    if not isinstance(one, Instance) or one.source is None:
        return had
    effects = interpreter.trace.changes.effects[before.effects :]
    written = {name for effect in effects if effect.operands[0] is one for name in _names(effect)}
    known = dict(had[0])
    for name, value in one.attributes.items():
        if name not in written:
            known.setdefault(name, value)
    had = (tuple(known.items()), *had[1:])
    before.held[id(one)] = one, had
    return had


def _names(effect: Effect) -> Iterator[str]:
    """The attributes that an effect may write."""
    if isinstance(effect.what, str):
        yield effect.what
    for operand in effect.operands[1:]:
        if isinstance(operand, ObjectOperand) and isinstance(operand.value, str):
            yield operand.value


def _refuse_changes(interpreter: Interpreter, before: Before) -> None:
    """Refuse changes that nobody could take back, or do on one side only."""
    for effect in interpreter.trace.changes.effects[before.effects :]:
        if id(effect.operands[0]) not in before.held:
            raise Unlike("changes", _object_of(effect))
    if interpreter.handled != before.handled or interpreter.generators != before.generators:
        raise Unlike("raises", "an exception")
    if interpreter.trace.graph.entered != before.entered:
        raise Unlike("errstate")
    for (slots, stack), frame in zip(before.frames[:-1], interpreter.call_stack, strict=False):
        if slots != frame.locals or stack != frame.stack:
            raise Unlike("changes", f"a variable of {frame.code.co_name}()")


def _object_of(effect: Effect) -> str:
    """What an effect changes, as `self.n`."""
    return described(effect).split(" ", 1)[-1].removeprefix("to ").removeprefix("the global ")


def _cut(interpreter: Interpreter, before: Before) -> tuple[list[Node], set[Node]]:
    """Take the nodes of a side out of the graph, but for those that are the same anywhere."""
    graph = interpreter.trace.graph
    start = before.nodes + _made_earlier(graph, before)
    new, own = graph.nodes[start:], set[Node]()
    del graph.nodes[start:]
    for node in new:
        is_view = node.op.kind is Kind.VIEW and node.inputs[0] not in own
        if is_view or node.op.kind in COPIED:
            graph.nodes.append(node)
        else:
            own.add(node)
    graph.forget_views(own)
    return [one for one in new if one in own], own


def _made_earlier(graph: Draft, before: Before) -> int:
    """How many nodes a side has made that stand in front of it."""
    if before.first_write is None:
        return len(graph.inputs) - before.inputs
    assert graph.first_write is not None
    return graph.first_write - before.first_write


def node_of(interpreter: Interpreter, one: Symbol) -> Node | None:
    """The node of a value that a branch may choose."""
    if isinstance(one, Unread):
        one = interpreter.trace.look(one)
    match one:
        case Number(node=node):
            return node
        case Array():
            return interpreter.trace.graph.value(one)
        case Constant(value=value) if isinstance(value, (bool, float, complex, np.generic)):
            return interpreter.trace.graph.constant(value)
    return None
