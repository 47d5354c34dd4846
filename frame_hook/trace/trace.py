"""The trace: what has been learned of a frame so far. What values are, guards, memory; it knows no opcode."""

from __future__ import annotations

import builtins
import types
import weakref
from functools import partial
from typing import Any

import numpy as np

from ufuse.frame_hook.code.places import is_on_stack
from ufuse.frame_hook.trace.changes import Changes
from ufuse.frame_hook.trace.draft import Draft
from ufuse.frame_hook.trace.guards import GuardProgram
from ufuse.frame_hook.trace.inputs import ArrayInputs
from ufuse.frame_hook.trace.reading import Reader, Varying
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import Sizes
from ufuse.frame_hook.trace.symbols import (
    AnyArray,
    Constant,
    Instance,
    Number,
    Slice,
    Source,
    Step,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.size import Size

ABSENT: Any = object()
NUMPYS_MODULES: frozenset[str] = frozenset(getattr(np, "__numpy_submodules__", ()))


def _assure(graph: weakref.ref[Draft], name: str, operator: str, other: Size) -> None:
    """As `Draft.assure`: a draft holds its sizes, and a cycle would keep what it holds until the next collection."""
    found = graph()
    assert found is not None
    found.assure(name, operator, other)


class Trace:
    """Everything known of one frame so far: its symbols, guards, sizes, changes and the graph.

    Laws: 1. nothing outside changes while tracing; 2. every decision taken from an example value has a guard.
    """

    def __init__(
        self,
        state: tuple[Any, ...],
        slot_names: tuple[str, ...],
        null: object,
        varying: Varying = Varying(),  # noqa: B008  it cannot change
    ) -> None:
        self.guards = GuardProgram(len(state))
        self.changes = Changes(self.guards, varying.values)
        self.sizes = Sizes(self.guards, varying.values, slot_names)
        self.graph = Draft(self.sizes)
        self.sizes.assure = partial(_assure, weakref.ref(self.graph))
        self.number_examples: dict[Node, Any] = {}  # what each number is in this call
        self.expected: dict[Node, bool] = {}  # the truth of numbers that the graph checks
        self.owners: dict[int, Instance] = {}  # by id of the content that instances hold
        self.arrays = ArrayInputs(
            self.guards, self.sizes, self.graph, varying.static_sizes, varying.ints
        )
        self.reader = Reader(
            self.guards, self.changes, self.sizes, self.graph, self.arrays,
            self.number_examples, self.owners, varying,
        )  # fmt: skip
        self.look = self.reader.look
        self._varying = varying
        self._of_code: dict[int, Tuple | Slice] = {}  # by id of a constant in code
        self.keys: dict[int, tuple[Any, Unread | None]] = {}  # see `note_key`
        self.code_constants: dict[int, tuple[Any, ...] | slice] = {}  # by id of such a symbol
        self.frozensets: dict[int, tuple[Constant, Step]] = {}  # by id of one made here
        self.state: list[Symbol] = [
            Unbound(Source(i, name)) if value is null else Unread(Source(i, name), value)
            for i, (name, value) in enumerate(zip(slot_names, state, strict=True))
        ]

    def of_code(self, value: Any) -> Symbol:
        """A constant of code: a tuple or slice is taken apart so that its parts are symbols, and stays one object."""
        if type(value) not in (tuple, slice):
            return Constant(value)
        known = self._of_code.get(id(value))
        if known is None:
            if type(value) is tuple:
                known = Tuple(tuple(map(self.of_code, value)))
            else:
                known = Slice(*(Constant(part) for part in (value.start, value.stop, value.step)))
            self._of_code[id(value)] = known
            self.code_constants[id(known)] = value
        return known

    def made_frozenset(self, symbol: Constant, step: Step) -> Constant:
        """A frozenset that the trace made by this step: another object at every call."""
        self.frozensets[id(symbol)] = symbol, step
        return symbol

    def note_key(self, value: Any, given: Unread | None) -> None:
        """Remember where the object comes from that may be a key of a dict; None: it stands in the code.

        A later call may have an equal object in that place, which is then the key. Where one object comes from both,
        nothing tells the keys apart, and it stays what it is.
        """
        _, known = self.keys.setdefault(id(value), (value, given))
        if known is not None and given is None:
            self.keys[id(value)] = value, None

    def key_symbol(self, value: Any) -> Unread | None:
        """What is to be the key in the place of an object that was one while tracing; None: the object itself."""
        return self.keys.get(id(value), (value, None))[1]

    def found_bound(self, symbol: Unread) -> None:
        """Guard that a slot of the frame is not empty, for it may be handed on unread; at the entry none is."""
        if self._varying.every_int and symbol.source.register < len(self.state):
            self.guards.check("BOUND", symbol.source)

    def found_empty(self, symbol: Unbound) -> None:
        """Guard that a slot of the frame is empty."""
        self.guards.check("UNBOUND", symbol.source)

    def global_value(self, namespace: dict[str, Any], name: str) -> Symbol:
        """A global or builtin name."""
        self.changes.use_globals(namespace)
        is_written, value = self.changes.written_global(namespace, name)
        if value is not None:
            return value
        found = namespace.get(name, ABSENT)
        if found is not ABSENT and not is_written:
            return self._global(namespace, name, found)
        found = vars(builtins).get(name, ABSENT)
        if found is ABSENT:
            raise GraphBreak("eager-raises", f"the name {name!r} is not defined")
        if not is_written:
            self.guards.check("ABSENT", namespace, name, says="ABSENT builtin")
        return self._global(vars(builtins), name, found)

    def _global(self, namespace: dict[str, Any], name: str, found: Any) -> Symbol:
        return Unread(self.guards.load("LOAD_KEY", namespace, name, text=name), found)

    def module_attribute(self, module: types.ModuleType, name: str, text: str) -> Symbol:
        """The attribute of a module, which has been identified."""
        namespace = vars(module)
        self.changes.use_globals(namespace)
        is_written, written = self.changes.written_global(namespace, name)
        if written is not None:
            return written
        found = ABSENT if is_written else namespace.get(name, ABSENT)
        if found is ABSENT and not is_written and module is np and name in NUMPYS_MODULES:
            getattr(module, name, None)  # NumPy imports some of its modules when they are used
            found = namespace.get(name, ABSENT)
        if found is ABSENT:
            made = ", which the module makes when asked," if "__getattr__" in namespace else ""
            raise GraphBreak("attribute", f"{text}.{name}{made}")
        loaded = self.guards.load("LOAD_KEY", namespace, name, text=f"{text}.{name}")
        return Unread(loaded, found)

    def is_fixed(self, number: Number) -> bool:
        """Whether a number can be guarded to stay what it is: it is not computed, and has not varied too often.

        A float that a call gave, behind which the graph begins, is a result and no option: it would vary.
        """
        if self.number_examples.get(number.node) is None:
            return False
        return not any(
            source.text in self._varying.values
            or (is_on_stack(source.text) and type(self.number_examples[node]) is float)
            for node, source in self._number_leaves(number.node)
        )

    def expect(self, number: Number, truth: bool) -> None:
        """Have the graph check that a number is true or false: where it is not, plain Python or another graph runs."""
        self.graph.node(ops.CHECK, (number.node,), {"expected": truth}, may_raise=True)
        self.expected[number.node] = truth

    def specialised(self, number: Number) -> Constant:
        """A number whose value the program's course depends on, guarded to stay what it is.

        Raises:
            GraphBreak: it is computed in the graph, or has varied too often.

        """
        example = self.number_examples.get(number.node)
        if example is None:
            raise GraphBreak("data-branch", "a computed number")
        leaves = list(self._number_leaves(number.node))
        if any(text.text in self._varying.values for _, text in leaves):
            raise GraphBreak("data-branch", "a number that changes from call to call")
        for node, source in leaves:
            value = self.number_examples[node]
            kind = "FLOAT" if type(value) is float else "EQUAL"
            self.guards.check(kind, source, value)
        return Constant(example)

    def _number_leaves(self, node: Node) -> list[tuple[Node, Source]]:
        sources = dict(self.graph.inputs)
        found: dict[Node, Source] = {}
        waiting, seen = [node], {node}
        while waiting:
            current = waiting.pop()
            if current.op is ops.INPUT:
                found[current] = sources[current]
            elif current.op is ops.SIZE:
                self.sizes.fixed(current.attributes["value"])
            new = [one for one in current.inputs if one not in seen]
            seen.update(new)
            waiting += new
        return list(found.items())

    def store(self, target: AnyArray, value: Node, casting: str) -> None:
        """Write `value` into the target's memory, and guard that this may be done."""
        if target.buffer.visible:
            self.arrays.check_writable(target.buffer)
        self.graph.store(target, value, casting)
