"""Where the sides of a branch meet: the values that its node chooses, and what stands for them from there on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.interpreter.fork_refusals import CannotFork, Unlike
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Choice
from ufuse.frame_hook.interpreter.side import COPIED, Before, Taken, hold, node_of, words_for
from ufuse.frame_hook.trace.changes import Effect, described
from ufuse.frame_hook.trace.followed import exactly
from ufuse.frame_hook.trace.rows import Row
from ufuse.frame_hook.trace.symbols import (
    Array,
    Buffer,
    Cell,
    Constant,
    DeviceArray,
    Dict,
    Instance,
    Integer,
    List,
    Number,
    Opaque,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import individual
from ufuse.graph.text import type_text
from ufuse.graph.types import ArrayType, NumberType

SETS = frozenset(
    {"list_set", "dict_set", "set_attr", "cell_set"}
)  # effects of which the last one counts


@individual
class Chosen:
    """What a branch node chooses, by its place among the results."""

    place: int


@individual
class Whole:
    """A container that each side has made, and that is made anew behind the branch."""

    make: Callable[[list[Any]], Symbol]
    parts: tuple[Any, ...]


Place = Symbol | Chosen | Whole | None  # what stands behind a branch


class Merge:
    """The values that a branch chooses between, and what stands for them behind it."""

    def __init__(
        self, interpreter: Interpreter, before: Before, then: Taken, otherwise: Taken
    ) -> None:
        self.interpreter = interpreter
        self.sides = then, otherwise
        self.own = set(then.nodes), set(otherwise.nodes)
        self.about = "a value"  # what is placed
        self.pairs: list[tuple[Node, Node]] = []
        # for each pair: memory from before that the array may be
        self.outer: list[list[Buffer]] = []
        self.written: dict[
            Buffer, int
        ] = {}  # by memory that a side writes: the pair of its versions
        self._known: dict[tuple[int, int], Chosen] = {}
        self._kept: list[Symbol] = []  # whose id is a key
        self._siblings: tuple[dict[int, int], dict[int, int]] = {}, {}
        self._old = before.known.keys() | interpreter.trace.code_constants.keys()
        self._wholes: dict[tuple[int, int], Whole] = {}
        self._open: set[tuple[int, int]] = set()
        self._made: dict[int, Symbol] = {}  # by id of a Whole

    def place(self, one: Any, other: Any) -> Place:
        """A symbol that is the same on both sides, or what the branch chooses."""
        if one is other:
            return one  # type: ignore[no-any-return]
        if one is None or other is None:
            raise Unlike("unbound", self.about)
        if _is_same_constant(one, other):
            return one  # type: ignore[no-any-return]
        if type(one) is type(other) and isinstance(one, (Tuple, List, Dict, Instance)):
            return self._whole(one, other)
        key = id(one), id(other)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._chosen(one, other)
            self._kept += [one, other]
        return found

    def places(self, ones: Sequence[Any], others: Sequence[Any]) -> list[Place]:
        """The places of values that stand side by side."""
        if len(ones) != len(others):
            raise Unlike("lengths", self.about)
        return [self.place(one, other) for one, other in zip(ones, others, strict=True)]

    def write(self) -> None:
        """Choose between the versions of memory from before that a side writes."""
        then, otherwise = (side.written for side in self.sides)
        for buffer in dict.fromkeys((*then, *otherwise)):
            self.written[buffer] = len(self.pairs)
            self.pairs.append(
                (then.get(buffer, buffer.version), otherwise.get(buffer, buffer.version))
            )
            self.outer.append([])

    def symbol(self, place: Any, chosen: Sequence[Symbol]) -> Any:
        """What stands behind the branch in a place."""
        if isinstance(place, Chosen):
            return chosen[place.place]
        if not isinstance(place, Whole):
            return place
        if id(place) not in self._made:
            parts = [self.symbol(part, chosen) for part in place.parts]
            self._made[id(place)] = place.make(parts)
        return self._made[id(place)]

    def _whole(self, one: Any, other: Any) -> Whole:
        """The places of what is in a container that each side has made; the same one for the same two."""
        key = id(one), id(other)
        if key in self._open:
            raise Unlike("aliases", self.about)
        if key not in self._wholes:
            self._refuse_other_object(one, other)
            make, ones, others = _taken_apart(one, other, self.about)
            self._open.add(key)
            self._wholes[key] = Whole(make, tuple(self.places(ones, others)))
            self._open.discard(key)
            self._kept += [one, other]
        return self._wholes[key]

    def _refuse_other_object(self, one: Any, other: Any) -> None:
        """Refuse an object that is made behind the branch though it is one that a program has by another name."""
        for each, known in zip((one, other), zip(*self._wholes, strict=True), strict=False):
            if id(each) in known:
                raise Unlike("aliases", self.about)
        owners = self.interpreter.trace.owners
        if one.source or other.source or {id(one), id(other)} & (self._old | owners.keys()):
            raise Unlike("aliases", self.about)

    def _chosen(self, one: Symbol, other: Symbol) -> Chosen:
        first, second = map(self._node, self.sides, (one, other))
        if first is None or second is None or first.type != second.type:
            raise _unlike(self.about, (one, other), (first, second))
        if isinstance(first.type, NumberType) and first.type.kind == "int":
            raise Unlike("integers", self.about)
        is_array = isinstance(first.type, ArrayType) and not first.type.scalar
        outer = self._outer(one, other, first, second) if is_array else []
        self.pairs.append((first, second))
        self.outer.append(outer)
        return Chosen(len(self.pairs) - 1)

    def _node(self, side: Taken, symbol: Symbol) -> Node | None:
        """The node of a value where a side ends."""
        if id(symbol) in side.values:
            return side.values[id(symbol)]
        node = node_of(self.interpreter, symbol)
        if node is None or not isinstance(node.type, ArrayType) or node.op.kind is Kind.VIEW:
            return node
        seen = self.interpreter.trace.look(symbol)
        return side.written.get(seen.buffer, node) if isinstance(seen, Array) else node

    def _outer(self, one: Symbol, other: Symbol, *nodes: Node) -> list[Buffer]:
        """The memory from before that an array may be, which is not written from then on."""
        for node, sibling, known in zip(nodes, reversed(nodes), self._siblings, strict=True):
            if node.op.kind is Kind.VIEW:
                raise Unlike("views", self.about)
            if known.setdefault(id(node), id(sibling)) != id(sibling):
                raise Unlike("aliases", self.about)
        found = []
        for symbol, own in zip((one, other), self.own, strict=True):
            seen = self.interpreter.trace.look(symbol)
            assert isinstance(seen, Array)
            if seen.buffer.root not in own or seen.buffer.frozen is not None:
                found.append(seen.buffer)
        return found


def _taken_apart(
    one: Any, other: Any, about: str
) -> tuple[Callable[[list[Any]], Symbol], Sequence[Any], Sequence[Any]]:
    """How a container is made of what is in it, and that on both sides."""
    match one, other:
        case Tuple(items=ones), Tuple(items=others):
            return lambda parts: Tuple(tuple(parts)), ones, others
        case List(items=ones), List(items=others):
            return List, ones, others
        case Dict(items=ones), Dict(items=others) if type(ones) is type(others) is dict:
            refuse_other_keys(ones, others, about)
            keys = list(ones)
            values = list(ones.values()), list(others.values())
            return lambda parts: Dict(dict(zip(keys, parts, strict=True))), *values
        case Instance(kind=kind), Instance(kind=same) if kind is same:
            return _instance(one, other, about)
    raise Unlike("types", f"{about} objects of different types")


def _instance(
    one: Instance, other: Instance, about: str
) -> tuple[Callable[[list[Any]], Symbol], Sequence[Any], Sequence[Any]]:
    kind = one.kind
    for each in (one, other):
        if each.raised is not None or not isinstance(each.content, (Tuple, type(None))):
            raise Unlike("aliases", about)
    refuse_other_keys(one.attributes, other.attributes, about)
    names = list(one.attributes)

    def make(parts: list[Any]) -> Symbol:
        return Instance(kind, attributes=dict(zip(names, parts, strict=False)), content=parts[-1])

    return (
        make,
        [*one.attributes.values(), one.content],
        [*other.attributes.values(), other.content],
    )


def refuse_other_keys(ones: Mapping[Any, Any], others: Mapping[Any, Any], about: str) -> None:
    """Refuse two mappings that have not the same keys in the same order."""
    if list(map(exactly, ones)) != list(map(exactly, others)):
        raise Unlike("lengths", about)


def _unlike(
    about: str, symbols: tuple[Symbol, Symbol], nodes: tuple[Node | None, Node | None]
) -> Unlike:
    """Why no node chooses between two values."""
    if any(isinstance(one, Unbound) for one in symbols):
        return Unlike("unbound", about)
    if any(isinstance(one, DeviceArray) for one in symbols):
        return Unlike("device")
    whole = (isinstance(one, Constant) and type(one.value) is int for one in symbols)
    if any(whole) or any(isinstance(one, Integer) for one in symbols):
        return Unlike("integers", about)
    words = map(_type_words, symbols, nodes)
    return Unlike("types", f"{about} as {' and as '.join(words)}")


def _type_words(symbol: Symbol, node: Node | None) -> str:
    if node is not None:
        return type_text(node.type)
    if isinstance(symbol, Constant):
        return type(symbol.value).__name__
    if isinstance(symbol, Opaque | Unread):
        return f"the {type(symbol.value).__name__} that was there before"
    return words_for(symbol)


def _is_same_constant(one: Any, other: Any) -> bool:
    if not (isinstance(one, Constant) and isinstance(other, Constant)):
        return False
    if one.value is other.value:
        return True
    kind = type(one.value)
    return kind is type(other.value) and kind in (str, bytes) and one.value == other.value


# Where they meet -----------------------------------------------------------------------------------------------------


def join(
    interpreter: Interpreter,
    frame: Frame,
    before: Before,
    choice: Choice,
    then: Taken,
    otherwise: Taken,
    meet: int | None,
    refusal: CannotFork,
) -> None:
    """Put the frame where the sides meet, with the values that a branch node chooses.

    Raises:
        Unlike: the sides come to what no node chooses between.

    """
    merge = Merge(interpreter, before, then, otherwise)
    stack = merge.places(then.stack, otherwise.stack)
    slots = _slots(interpreter, merge, frame, meet)
    held = _held(merge, before)
    effects = _effects(merge, before, choice.condition)
    merge.write()
    chosen: Sequence[Symbol] = ()
    if merge.pairs or then.nodes or otherwise.nodes:
        chosen = _chosen(interpreter, choice, merge, refusal)

    def symbols(places: Iterable[Any]) -> list[Any]:
        return [merge.symbol(place, chosen) for place in places]

    frame.stack[:] = symbols(stack)
    frame.locals[:] = symbols(slots)
    for one, places in held:
        hold(one, places(symbols))
    for effect in effects:
        interpreter.trace.changes.effects.append(
            effect.mapped(lambda operand: merge.symbol(operand, chosen))
        )


def _slots(interpreter: Interpreter, merge: Merge, frame: Frame, meet: int | None) -> list[Place]:
    then, otherwise = (side.locals for side in merge.sides)
    pairs = list(zip(then, otherwise, strict=True))
    if meet is None:
        is_root = frame is interpreter.call_stack[0]
        return [one if one is other or not is_root else None for one, other in pairs]
    live = instructions.live_locals(frame.code).get(meet)
    found = []
    for slot, (name, (one, other)) in enumerate(zip(slot_names(frame.code), pairs, strict=True)):
        merge.about = name
        is_dead = live is not None and slot not in live
        found.append(None if is_dead and _may_go(one, other) else merge.place(one, other))
    merge.about = "a value"
    return found


def _may_go(one: Symbol | None, other: Symbol | None) -> bool:
    """Whether a slot that nobody reads again may be empty, where the sides have left unlike things."""
    kinds = (Array, Number, Constant, Unbound, type(None))
    return one is not other and isinstance(one, kinds) and isinstance(other, kinds)


def _held(
    merge: Merge, before: Before
) -> list[tuple[Any, Callable[[Callable[[Iterable[Any]], list[Any]]], Any]]]:
    """The objects from before that a side changes, each with what it holds behind the branch, given what places are."""
    then, otherwise = (side.held for side in merge.sides)
    found = []
    for place in dict.fromkeys((*then, *otherwise)):
        one, had = before.held[place]
        merge.about = words_for(one)
        found.append((one, _content(merge, one, then.get(place, had), otherwise.get(place, had))))
    merge.about = "a value"
    return found


def _content(
    merge: Merge, one: Any, then: Any, otherwise: Any
) -> Callable[[Callable[[Iterable[Any]], list[Any]]], Any]:
    match one:
        case List() | Cell():
            places = merge.places(then, otherwise)
            return lambda symbols: symbols(places)
        case Dict():
            places = _entries(merge, then, otherwise)
            return lambda symbols: zip(dict(then), symbols(places), strict=True)
        case Instance():
            names, places = _attributes(merge, one, then[0], otherwise[0])
            return lambda symbols: (tuple(zip(names, symbols(places), strict=True)), *then[1:])
    raise Unlike("changes", merge.about)


def _attributes(
    merge: Merge, one: Instance, then: Any, otherwise: Any
) -> tuple[list[str], list[Place]]:
    ones, others = dict(then), dict(otherwise)
    if one.source is None:
        refuse_other_keys(ones, others, merge.about)
    names = list(dict.fromkeys((*ones, *others)))
    return names, merge.places(
        [ones.get(name) for name in names], [others.get(name) for name in names]
    )


def _entries(merge: Merge, then: Any, otherwise: Any) -> list[Place]:
    ones, others = dict(then), dict(otherwise)
    refuse_other_keys(ones, others, merge.about)
    return merge.places(list(ones.values()), list(others.values()))


def _effects(merge: Merge, before: Before, condition: Symbol) -> list[Effect]:
    """What both sides do to the program's own objects; a thing that only one sets is set where it is taken."""
    then, otherwise = (side.effects for side in merge.sides)
    if all(one.kind in SETS and one.operands[-1] is not None for one in (*then, *otherwise)):
        ones, others = ({_set_by(one): one for one in side} for side in (then, otherwise))
        pairs = [(key, ones.get(key), others.get(key)) for key in dict.fromkeys((*ones, *others))]
        return [row for pair in pairs for row in _set(merge, before, condition, *pair[1:])]
    if len(then) != len(otherwise):
        raise Unlike("changes", described([*then, *otherwise][0]).split(" ", 1)[-1])
    return [_done(merge, one, other) for one, other in zip(then, otherwise, strict=True)]


def _set_by(effect: Effect) -> tuple[Any, ...]:
    """What an effect sets."""
    key = effect.operands[1] if effect.kind == "dict_set" else None
    named = (type(key.value), key.value) if isinstance(key, Constant) else id(key)
    return effect.kind, id(effect.operands[0]), effect.what, named


def _set(
    merge: Merge, before: Before, condition: Symbol, one: Effect | None, other: Effect | None
) -> list[Effect]:
    made = one or other
    assert made is not None
    merge.about = described(made).split(" ", 1)[-1]
    values = [
        _old(before, made, merge.about) if each is None else each.operands[-1]
        for each in (one, other)
    ]
    place: Any = merge.place(*values)
    row: Effect = Row(made.kind, (*made.operands[:-1], place), made.what)
    return [row] if one and other else [Row("only", (condition,), one is not None), row]


def _old(before: Before, effect: Effect, about: str) -> Symbol:
    """What there is before a branch where a side sets something."""
    target, held = before.held[id(effect.operands[0])]
    found: Symbol | None = None
    match target:
        case List():
            found = held[effect.what]
        case Cell():
            (found,) = held
        case Instance():
            found = dict(held[0]).get(effect.what)
        case Dict():
            key = effect.operands[1]
            found = dict(held).get(key.value) if isinstance(key, Constant) else None
    if found is None:
        raise Unlike("changes", about)
    return found


def _done(merge: Merge, one: Effect, other: Effect) -> Effect:
    merge.about = described(one).split(" ", 1)[-1]
    same = one.kind == other.kind and one.what is other.what
    if not same or one.operands[:1] != other.operands[:1]:
        raise Unlike("changes", merge.about)
    places: Any = [
        a if a == b else merge.place(a, b)
        for a, b in zip(one.operands, other.operands, strict=True)
    ]
    return Row(one.kind, tuple(places), one.what)


# The node ------------------------------------------------------------------------------------------------------------


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
        raise Unlike("device")
    then, otherwise = (_body(sides[side].nodes, outputs[side], list(given)) for side in (0, 1))
    branch = graph.node(
        ops.BRANCH,
        (choice.condition.node, *given),
        {"then": then, "otherwise": otherwise},
    )
    for buffer in merge.written:
        graph.note_write(buffer)
    items = [graph.node(ops.ITEM, (branch,), {"index": i}) for i in range(len(merge.pairs))]
    for buffer, place in merge.written.items():
        graph.replace(buffer, items[place])
    found = [graph.fresh(item) for item in items]
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
