"""Both sides of a branch in one graph: each is traced to where they meet, and becomes a body of a `branch` node.

Laws: 1. each side begins with the same state of the trace; 2. a side changes nothing but its frame: no object, no
memory that was there before, nothing that a program can see; 3. where they meet each value is the same one on both
sides, or two of one type, between which the node chooses. What breaks a law, or ends a graph, is a `CannotFork`: the
trace is made again without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.code.meeting import meeting_place
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.outcomes import (
    Choice,
    LoopTooLong,
    NotRebuilt,
    Raised,
    Returned,
    Yielded,
)
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    ArrayMethod,
    Buffer,
    Cell,
    Constant,
    Deque,
    DeviceArray,
    Dict,
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
    Unbound,
    Unread,
    View,
)
from ufuse.frame_hook.trace.symbols import (
    Iterator as IteratorSymbol,
)
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, NumberType

if TYPE_CHECKING:
    from ufuse.frame_hook.interpreter.interpreter import Interpreter

COPIED = frozenset({Kind.CONST, Kind.SIZE})  # each body has its own


class CannotFork(Exception):  # noqa: N818  a decision, not an error
    """The sides of a jump cannot be in one graph; `why` is for our own eyes."""

    def __init__(self, code: CodeType, position: int, why: str) -> None:
        super().__init__(code, position, why)
        self.code = code
        self.position = position
        self.why = why


class _Unlike(Exception):  # noqa: N818  turned into a CannotFork
    """A law is broken."""


# The state of a trace ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Before:
    """The state of a trace where a branch begins."""

    frames: list[tuple[list[Symbol | None], list[Symbol]]]
    jumps: dict[int, int]
    inputs: int
    nodes: int
    effects: int
    expected: dict[Node, bool]
    handled: list[Symbol]
    generators: list[Generator]
    mutable: list[tuple[Any, Any]]  # with what they hold
    tuples: list[Tuple]


@dataclass(frozen=True, slots=True)
class Taken:
    """What tracing one side came to: its frame, the nodes of values that are not those from before, its own nodes."""

    locals: list[Symbol | None]
    stack: list[Symbol]
    values: dict[int, Node]  # by id of a symbol
    nodes: list[Node]


def _before(interpreter: Interpreter) -> Before:
    trace = interpreter.trace
    frames = [(list(frame.locals), list(frame.stack)) for frame in interpreter.call_stack]
    roots = [one for parts in frames for part in parts for one in part if one is not None]
    roots += [*interpreter.handled, *interpreter.generators, *trace.changes.symbols()]
    reached = _reached(roots)
    return Before(
        frames, dict(interpreter.frame.jumps), len(trace.graph.inputs), len(trace.graph.nodes),
        len(trace.changes.effects), dict(trace.expected), list(interpreter.handled),
        list(interpreter.generators), [(one, held) for one in reached if (held := _held(one)) is not None],
        [one for one in reached if isinstance(one, Tuple)],
    )  # fmt: skip


def _reached(roots: Iterable[Symbol]) -> list[Any]:
    """The symbols, and the memory, that can be come to from some."""
    seen: dict[int, Any] = {}
    pending: list[Any] = list(roots)
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            pending += [part for part in _parts(one) if part is not None]
    return list(seen.values())


def _parts(one: Any) -> Iterable[Any]:
    match one:
        case Tuple(items=items) | List(items=items) | Deque(items=items):
            return items
        case Dict(items=entries):
            return entries.values()
        case Array(buffer=buffer) | DeviceArray(buffer=buffer):
            return (buffer,)
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
            return tuple(entries), tuple(entries.values())
        case Set(items=values, made=made):
            return len(values), -1 if made is None else len(made)
        case IteratorSymbol():
            return one.position, one.is_exhausted, one.length
        case Generator(frame=frame, state=state):
            inside = (
                (frame.position, tuple(frame.locals), tuple(frame.stack))
                if isinstance(frame, Frame)
                else ()
            )
            return state, inside
        case Instance(attributes=attributes, content=content, raised=raised):
            return tuple(attributes), tuple(attributes.values()), content, raised
        case Cell(content=content):
            return (content,)
        case Function(attributes=attributes):
            return tuple(attributes), tuple(attributes.values())
        case Buffer(version=version):
            return (version,)
    return None


# One side ----------------------------------------------------------------------------------------------------------


def _taken(
    interpreter: Interpreter,
    frame: Frame,
    start: int,
    stack: list[Symbol],
    meet: int | None,
    before: Before,
) -> Taken:
    """Trace one side, and take its nodes out of the graph."""
    frame.position, frame.stack[:] = start, stack
    table = instructions.by_position(frame.code)
    while frame.position != meet:
        interpreter.forked.add((frame.code, frame.position))
        outcome = interpreter.step(frame, table[frame.position])
        if isinstance(outcome, Yielded) or frame.jumps != before.jumps:
            raise _Unlike("a loop turns, or a generator waits")
        if isinstance(outcome, Returned):
            if meet is not None:
                raise _Unlike("one side returns")
            frame.stack[:] = [outcome.value]
            break
    _refuse_changes(interpreter, before)
    return _cut(interpreter, frame, before)


def _refuse_changes(interpreter: Interpreter, before: Before) -> None:
    trace = interpreter.trace
    if (
        len(trace.changes.effects) != before.effects
        or trace.graph.first_write is not None
        or interpreter.handled != before.handled
        or interpreter.generators != before.generators
        or any(_held(one) != held for one, held in before.mutable)
    ):
        raise _Unlike("a side changes something")
    for (slots, stack), frame in zip(before.frames[:-1], interpreter.call_stack, strict=False):
        if slots != frame.locals or stack != frame.stack:
            raise _Unlike("a side changes another frame")


def _cut(interpreter: Interpreter, frame: Frame, before: Before) -> Taken:
    """Take the nodes of a side out of the graph, but for those that are the same anywhere."""
    graph = interpreter.trace.graph
    known = {id(one) for part in before.frames[-1] for one in part}
    made = [one for one in _flat([*frame.locals, *frame.stack]) if id(one) not in known]
    values = {id(one): node for one in made if (node := _node_of(interpreter, one)) is not None}
    start = before.nodes + len(graph.inputs) - before.inputs
    new, own = graph.nodes[start:], set[Node]()
    del graph.nodes[start:]
    for node in new:
        is_view = node.op.kind is Kind.VIEW and node.inputs[0] not in own
        if is_view or node.op.kind in COPIED:
            graph.nodes.append(node)
        else:
            own.add(node)
    graph.forget_views(own)
    taken = Taken(list(frame.locals), list(frame.stack), values, [one for one in new if one in own])
    slots, stack = before.frames[-1]
    frame.locals[:], frame.stack[:] = slots, stack
    interpreter.trace.expected.clear()
    interpreter.trace.expected.update(before.expected)
    return taken


def _flat(symbols: Iterable[Symbol | None]) -> Iterator[Symbol]:
    """Symbols, and the items of tuples."""
    for one in symbols:
        if isinstance(one, Tuple):
            yield from _flat(one.items)
        elif one is not None:
            yield one


def _node_of(interpreter: Interpreter, one: Symbol) -> Node | None:
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


# Both --------------------------------------------------------------------------------------------------------------


def fork(
    interpreter: Interpreter, frame: Frame, jump: Instruction, choice: Choice
) -> Returned | None:
    """Go on behind both sides of a jump, where they meet; a value, where both return one.

    Raises:
        CannotFork: they cannot be in one graph.

    """
    try:
        return _forked(interpreter, frame, jump, choice)
    except _Unlike as unlike:
        raise CannotFork(frame.code, jump.position, str(unlike)) from None
    except (GraphBreak, Raised, LoopTooLong, NotRebuilt) as error:
        raise CannotFork(frame.code, jump.position, repr(error)) from None


def _forked(
    interpreter: Interpreter, frame: Frame, jump: Instruction, choice: Choice
) -> Returned | None:
    trace = interpreter.trace
    behind, target = instructions.successors(jump)
    if target <= jump.position or trace.graph.first_write is not None:
        raise _Unlike("a loop may turn, or something was written")
    meet = meeting_place(frame.code, behind, target)
    depth = len(interpreter.call_stack)
    before = _before(interpreter)
    sides: dict[bool, Taken] = {}
    for jumps in (True, False):
        truth = choice.jumps if jumps else not choice.jumps
        stack = [*before.frames[-1][1], *([choice.condition] if jumps and choice.keeps else [])]
        trace.expected[choice.condition.node] = truth
        before_side = _with_hoisted(before, interpreter)
        sides[truth] = _taken(
            interpreter, frame, target if jumps else behind, stack, meet, before_side
        )
        del interpreter.call_stack[depth:]
    refusal = CannotFork(frame.code, jump.position, "an array is written that may be another one")
    _join(interpreter, frame, before, choice, sides[True], sides[False], meet, refusal)
    if meet is None:
        return Returned(frame.stack.pop())
    frame.position = meet
    return None


def _with_hoisted(before: Before, interpreter: Interpreter) -> Before:
    """The state before the second side: nodes that are the same anywhere stay in the graph."""
    graph = interpreter.trace.graph
    return replace(before, inputs=len(graph.inputs), nodes=len(graph.nodes))


class Merge:
    """The values that a branch chooses between, and what stands for them behind it."""

    def __init__(
        self, interpreter: Interpreter, before: Before, then: Taken, otherwise: Taken
    ) -> None:
        self.interpreter = interpreter
        self.sides = then, otherwise
        self.own = set(then.nodes), set(otherwise.nodes)
        self.pairs: list[tuple[Node, Node]] = []
        self._known: dict[tuple[int, int], int] = {}
        self._kept: list[Symbol] = []  # whose id is a key
        # for each pair: memory from before that the array may be
        self.outer: list[list[Buffer]] = []
        self._siblings: tuple[dict[int, int], dict[int, int]] = {}, {}
        self._old = {id(one) for one in before.tuples} | interpreter.trace.code_constants.keys()
        self._tuples: dict[tuple[int, int], tuple[Any, ...]] = {}

    def place(self, one: Symbol, other: Symbol) -> int | Symbol | tuple[Any, ...]:
        """A symbol that is the same on both sides, or the number of the pair that the branch chooses from."""
        if one is other:
            return one
        if _is_same_constant(one, other):
            return one
        if isinstance(one, Tuple) and isinstance(other, Tuple):
            return self._tuple(one, other)
        key = id(one), id(other)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._chosen(one, other)
            self._kept += [one, other]
        return found

    def _tuple(self, one: Tuple, other: Tuple) -> tuple[Any, ...]:
        """The places of the items of a tuple that each side has made; the same one for the same two."""
        key = id(one), id(other)
        if key not in self._tuples:
            self._refuse_other_tuple(one, other)
            if len(one.items) != len(other.items):
                raise _Unlike("tuples of other lengths")
            pairs = zip(one.items, other.items, strict=True)
            self._tuples[key] = tuple(self.place(a, b) for a, b in pairs)
        return self._tuples[key]

    def _refuse_other_tuple(self, one: Tuple, other: Tuple) -> None:
        """Refuse a tuple that is made behind the branch though it is one that a program has by another name."""
        for each, known in zip((one, other), zip(*self._tuples, strict=True), strict=False):
            if id(each) in known:
                raise _Unlike("two tuples that are one on one side")
        if one.source or other.source or {id(one), id(other)} & self._old:
            raise _Unlike("a tuple is another object")

    def _chosen(self, one: Symbol, other: Symbol) -> int:
        first, second = (
            side.values[id(symbol)]
            if id(symbol) in side.values
            else _node_of(self.interpreter, symbol)
            for side, symbol in zip(self.sides, (one, other), strict=True)
        )
        if first is None or second is None or first.type != second.type:
            raise _Unlike("values of other types")
        if isinstance(first.type, NumberType) and first.type.kind == "int":
            raise _Unlike("whole numbers of Python")
        is_array = isinstance(first.type, ArrayType) and not first.type.scalar
        self.pairs.append((first, second))
        self.outer.append(self._outer(one, other, first, second) if is_array else [])
        return len(self.pairs) - 1

    def _outer(self, one: Symbol, other: Symbol, *nodes: Node) -> list[Buffer]:
        """The memory from before that an array may be, which is not written from then on."""
        for node, sibling, known in zip(nodes, reversed(nodes), self._siblings, strict=True):
            if node.op.kind is Kind.VIEW or known.setdefault(id(node), id(sibling)) != id(sibling):
                raise _Unlike("a view, or arrays that are one on one side")
        found = []
        for symbol, node, own in zip((one, other), nodes, self.own, strict=True):
            seen = self.interpreter.trace.look(symbol)
            assert isinstance(seen, Array)
            if _first_version(node) not in own or seen.buffer.frozen is not None:
                found.append(seen.buffer)
        return found


def _first_version(node: Node) -> Node:
    while node.op is ops.STORE:
        node = node.inputs[0]
    return node


def _is_same_constant(one: Symbol, other: Symbol) -> bool:
    if not (isinstance(one, Constant) and isinstance(other, Constant)):
        return False
    if one.value is other.value:
        return True
    kind = type(one.value)
    return kind is type(other.value) and kind in (str, bytes) and one.value == other.value


def _join(
    interpreter: Interpreter,
    frame: Frame,
    before: Before,
    choice: Choice,
    then: Taken,
    otherwise: Taken,
    meet: int | None,
    refusal: CannotFork,
) -> None:
    """Put the frame where the sides meet, with the values that a branch node chooses."""
    if len(then.stack) != len(otherwise.stack):
        raise _Unlike("stacks of other depths")
    merge = Merge(interpreter, before, then, otherwise)
    stack = [
        merge.place(one, other) for one, other in zip(then.stack, otherwise.stack, strict=True)
    ]
    slots: list[Any] = list(then.locals)
    if meet is not None:
        live = instructions.live_locals(frame.code).get(meet)
        slots = [
            _slot(merge, one, other, is_live=live is None or slot in live)
            for slot, (one, other) in enumerate(zip(then.locals, otherwise.locals, strict=True))
        ]
    elif frame is interpreter.call_stack[0]:
        slots = [
            None if one is not other else one
            for one, other in zip(then.locals, otherwise.locals, strict=True)
        ]
    chosen = (
        _chosen(interpreter, choice, merge, refusal)
        if merge.pairs or then.nodes or otherwise.nodes
        else []
    )

    tuples: dict[int, Tuple] = {}

    def symbol(place: Any) -> Any:
        if isinstance(place, int):
            return chosen[place]
        if not isinstance(place, tuple):
            return place
        if id(place) not in tuples:
            tuples[id(place)] = Tuple(tuple(map(symbol, place)))
        return tuples[id(place)]

    frame.stack[:] = map(symbol, stack)
    frame.locals[:] = map(symbol, slots)


def _slot(merge: Merge, one: Symbol | None, other: Symbol | None, *, is_live: bool) -> Any:
    """What a slot holds behind the branch; nothing, where the sides have left unlike things that nobody reads again."""
    if one is other:
        return one
    if not is_live and all(
        isinstance(each, (Array, Number, Constant, Unbound, type(None))) for each in (one, other)
    ):
        return None
    if one is None or other is None:
        raise _Unlike("a variable has a value on one side")
    return merge.place(one, other)


def _chosen(
    interpreter: Interpreter, choice: Choice, merge: Merge, refusal: CannotFork
) -> Sequence[Symbol]:
    """The branch node's results."""
    graph = interpreter.trace.graph
    given: dict[Node, None] = {}
    sides = merge.sides
    outputs = [[pair[side] for pair in merge.pairs] for side in (0, 1)]
    for side in (0, 1):
        for node in _needed(sides[side].nodes, outputs[side]):
            given.setdefault(node)
    if any(isinstance(node.type, ArrayType) and node.type.device for node in given):
        raise _Unlike("arrays of a device")
    then, otherwise = (_body(sides[side].nodes, outputs[side], list(given)) for side in (0, 1))
    branch = graph.node(
        ops.BRANCH,
        (choice.condition.node, *given),
        {"then": then, "otherwise": otherwise},
        may_raise=True,
    )
    found = [
        graph.fresh(graph.node(ops.ITEM, (branch,), {"index": i})) for i in range(len(merge.pairs))
    ]
    for symbol, outer in zip(found, merge.outer, strict=True):
        if outer and isinstance(symbol, Array):
            symbol.buffer.visible = any(one.visible for one in outer)
            for one in (symbol.buffer, *outer):
                one.frozen = refusal
    return found


def _needed(nodes: Sequence[Node], outputs: Sequence[Node]) -> Iterator[Node]:
    """What a body takes from outside."""
    own = set(nodes)
    pending = [*outputs, *(one for node in nodes for one in node.inputs)]
    for node in pending:
        while node not in own and node.op.kind is Kind.VIEW:
            (node,) = node.inputs  # noqa: PLW2901  a body makes views itself
        if node not in own and node.op.kind not in COPIED:
            yield node


def _body(nodes: Sequence[Node], outputs: Sequence[Node], given: Sequence[Node]) -> Graph:
    """The graph of one side."""
    own = set(nodes)
    inputs = [Node(ops.INPUT, (), one.type, _named(one)) for one in given]
    made: dict[Node, Node] = dict(zip(given, inputs, strict=True))
    body: list[Node] = list(inputs)

    def use(node: Node) -> Node:
        if node not in made:
            assert node in own or node.op.kind is Kind.VIEW or node.op.kind in COPIED
            sources = tuple(map(use, node.inputs))
            made[node] = Node(node.op, sources, node.type, node.attributes, node.location)
            body.append(made[node])
        return made[node]

    for node in nodes:
        use(node)
    results = tuple(map(use, outputs))
    return Graph(tuple(inputs), tuple(body), results)


def _named(node: Node) -> Mapping[str, Any]:
    return {"name": node.attributes["name"]} if "name" in node.attributes else {}
