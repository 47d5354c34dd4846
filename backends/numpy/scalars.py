"""Operations on numbers and elements as code over numbers: which operations, and the code of a run of them.

An element read, an operator of a NumPy scalar and an element stored each take NumPy tens of nanoseconds, most of it for
objects. Steps of this kind that stand side by side run as one step over registers (`csrc/scalars`), which does
everything or, where a flag shows or a number does not fit, nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ufuse.backends.numpy.loops import loop_of_scalars
from ufuse.backends.planning.draft import Draft
from ufuse.backends.planning.loops import Loop
from ufuse.backends.planning.steps import NumberOperation, Plan, Step
from ufuse.graph import ops, signals
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.semantics.effects import Errors
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType, NumberType, Span, Type
from ufuse.graph.typing.infer import CannotInfer, loop_dtypes, operand_of, target_type

NumberKind = Any  # a dtype, or one of Python's types bool, int, float

DTYPES = frozenset("?bBhHiIlLqQfd")
PYTHON: dict[str, type] = {"bool": bool, "int": int, "float": float}
LONGEST = 1000  # operations of one step

# fmt: off
#               operator     ufunc               kinds of dtypes
ARITHMETIC = {
    "add":      (np.add,          "iuf"),
    "sub":      (np.subtract,     "iuf"),
    "mul":      (np.multiply,     "iuf"),
    "truediv":  (np.true_divide,  "f"),
    "floordiv": (np.floor_divide, "iuf"),
    "mod":      (np.remainder,    "iuf"),
    "pow":      (np.power,        "f"),
    "and_":     (np.bitwise_and,  "iub"),
    "or_":      (np.bitwise_or,   "iub"),
    "xor":      (np.bitwise_xor,  "iub"),
    "lshift":   (np.left_shift,   "iu"),
    "rshift":   (np.right_shift,  "iu"),
}
COMPARISONS = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal,
}
UNARY = {"neg": "iuf", "abs": "iuf", "invert": "iub"}
# fmt: on
BY_LOOP = {"floordiv", "mod"}  # of floats: NumPy's scalars and its inner loops share their code


def kind_of(type_: Type) -> NumberKind | None:
    """How code over numbers knows a type, or None where it does not."""
    if isinstance(type_, NumberType):
        return PYTHON.get(type_.kind)
    if isinstance(type_, ArrayType) and type_.scalar:
        return _known(type_.dtype)
    return None


def _known(dtype: np.dtype) -> np.dtype | None:
    return dtype if dtype.char in DTYPES and dtype.isnative else None


def _holding(kind: NumberKind) -> tuple[str, int]:
    """How a register holds it."""
    dtype = np.dtype(kind)
    return dtype.kind, dtype.itemsize


def _conversion(source: NumberKind, target: NumberKind) -> str | None:
    """The operation that makes a number of one kind one of another: "" where there is nothing to do, None: no such."""
    if source is target:
        return ""
    if source is int:
        return None if np.dtype(target).kind == "b" else "fit"
    if _holding(source) == _holding(target):
        return ""
    before, after = np.dtype(source).kind, np.dtype(target).kind
    return None if after == "b" or (before == "f" and after != "f") else "convert"


class Operands:
    """Into which kinds the operands of a node are converted, and the operation or inner loop then."""

    def __init__(self, name: str, kinds: tuple[NumberKind, ...], loop: Loop | None = None) -> None:
        self.name = name
        self.kinds = kinds
        self.loop = loop


def operands_of(node: Node) -> Operands | None:
    """How code over numbers does an operator, a ufunc of scalars or a cast; None where it does not."""
    result = kind_of(node.type)
    given = [kind_of(one.type) for one in node.inputs]
    if result is None or any(kind is None for kind in given) or not _constants_fit(node):
        return None
    found = None
    if node.op.kind is Kind.SCALAR:
        found = _operator(node, result, given)
    elif node.op is ops.CAST:
        found = Operands("convert", (given[0],))
        if _conversion(given[0], result) is None:
            return None
    elif node.op.kind is Kind.MAP and node.op.ufunc is not None and len(given) <= 2:
        loop = loop_of_scalars(node)
        if loop is not None and all(_known(dtype) is not None for dtype in loop.dtypes):
            found = Operands("loop", loop.dtypes[:-1], loop)
    if found is None:
        return None
    pairs = zip(given, found.kinds, strict=True)
    return None if any(_conversion(one, kind) is None for one, kind in pairs) else found


def _constants_fit(node: Node) -> bool:
    return all(
        abs(one.attributes["value"]) < 2**63
        for one in node.inputs
        if one.op is ops.CONST and type(one.attributes["value"]) is int
    )


def _operator(node: Node, result: NumberKind, given: list[NumberKind]) -> Operands | None:
    name = node.attributes["operator"]
    if not any(isinstance(kind, np.dtype) for kind in given):
        return _of_python(name, result, given)
    if name in ARITHMETIC:
        return _arithmetic(node, name, result, given)
    if name in COMPARISONS:
        dtypes = _loop_dtypes(COMPARISONS[name], node)
        one = None if dtypes is None or dtypes[0] != dtypes[1] else _known(dtypes[0])
        return None if one is None else Operands(name, (one, one))
    if name in UNARY:
        fits = result == given[0] and result.kind in UNARY[name]
        return Operands(name, (result,)) if fits else None
    if name == "bool":
        return Operands(name, (given[0],))
    if name == "float" or (name == "int" and given[0].kind in "bif"):
        return Operands("convert", (given[0],))
    return None


def _of_python(name: str, result: type, given: list[type]) -> Operands | None:
    """Operators of Python numbers, but for those that may return an operand or have an algorithm of their own."""
    one = given[0]
    if name in {"add", "sub", "mul", "neg"} and result in {int, float}:
        return Operands(name, (result,) * len(given))
    if name in {"truediv", "pow"} and float in given and result is float:
        return Operands(name, (float, float)) if name == "truediv" or one is float else None
    if name == "abs" and one is float:
        return Operands(name, (float,))
    if name in COMPARISONS and (float not in given or given == [float, float]):
        return Operands(name, (float, float) if one is float else (int, int))
    if name == "bool" or (name in {"int", "float"} and result is not one):
        return Operands("bool" if name == "bool" else "convert", (one,))
    return None


def _arithmetic(
    node: Node, name: str, result: NumberKind, given: list[NumberKind]
) -> Operands | None:
    ufunc, kinds = ARITHMETIC[name]
    if not isinstance(result, np.dtype) or result.kind not in kinds:
        return None
    dtypes = _loop_dtypes(ufunc, node)
    whole = name == "truediv" and dtypes is not None and dtypes[0].kind in "iu"
    if dtypes is None or (dtypes[:2] != (result, result) and not whole) or dtypes[-1] != result:
        return None
    own = [kind for kind in given if isinstance(kind, np.dtype)]
    if name == "pow" and (
        result not in own
        or not all(np.can_cast(kind, result, "safe") and kind.kind != "b" for kind in own)
    ):
        return None  # NumPy makes arrays of them, whose powers have other bits
    if name in BY_LOOP and result.kind == "f":
        return Operands("loop", (result, result), Loop("ufunc", ufunc.__name__, dtypes, ufunc))
    return Operands(name, (result, result))


def _loop_dtypes(ufunc: np.ufunc, node: Node) -> tuple[np.dtype, ...] | None:
    try:
        return loop_dtypes(ufunc, [operand_of(one) for one in node.inputs])
    except CannotInfer:
        return None


# Steps


def operation(draft: Draft, node: Node, function: Callable[..., Any], *more: int) -> int | None:
    """Append an operator, a ufunc of scalars or a cast; the slot of its result. None: it is no code over numbers."""
    operands = operands_of(node)
    if operands is None:
        return None
    reads = (*map(draft.slot, node.inputs), *more)
    return _step(draft, node, function, reads, 1, how=operands)


def element(draft: Draft, node: Node) -> int | None:
    """Append the read of an element; the slot of the number."""
    source = node.inputs[0]
    if kind_of(node.type) is None:
        return None
    assert isinstance(source.type, ArrayType)
    key = draft.key(tuple(node.attributes["index"]), source.type.shape)
    reads = (draft.slot(source), key)
    return _step(draft, node, operator.getitem, reads, 1, len(source.type.shape))


def element_stored(draft: Draft, node: Node, slot: int, type_: ArrayType, index: Any) -> bool:
    """Append the store of a number into the array of a slot; False: it is no code over numbers."""
    value = node.inputs[1]
    if any(entry is None or isinstance(entry, Span) for entry in index):
        return False
    target, kind = _known(type_.dtype), kind_of(value.type)
    if target is None or kind is None:
        return False
    if value.op is ops.CONST:
        if _stored_constant(target, value.attributes["value"]) is None:
            return False
    elif _conversion(kind, target) is None or _may_not_fit(kind, target):
        return False
    key = draft.key(tuple(index), type_.shape)
    _step(draft, node, operator.setitem, (slot, key, draft.slot(value)), 0, len(index))
    return True


def _may_not_fit(kind: NumberKind, target: np.dtype) -> bool:
    """Whether item assignment raises for a whole number of NumPy's that is out of range."""
    return (
        isinstance(kind, np.dtype)
        and kind.kind in "iu"
        and not np.can_cast(kind, target, "same_kind" if target.kind == "f" else "safe")
    )


def _step(
    draft: Draft,
    node: Node,
    function: Callable[..., Any],
    reads: tuple[int, ...],
    outs: int,
    axes: int = 0,
    how: Operands | None = None,
) -> int:
    made = draft.step(
        "scalars", reads, outs,
        committed=any(map(draft.memory.is_visible, draft.memory.writes(node))),
    )  # fmt: skip
    position = draft.position[node]
    one = NumberOperation(node, function, reads, made[0] if made else None, position, axes, how)
    draft.plan.steps[-1].numbers = (one,)
    return made[0] if made else -1


def _fits(value: int, dtype: np.dtype) -> bool:
    """Whether a whole number is exactly one of a type."""
    if dtype.kind == "f":
        return bool(abs(value) <= 2 ** np.finfo(dtype).nmant)
    return dtype.kind in "iu" and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _stored_constant(target: np.dtype, value: Any) -> np.generic | None:
    """What an element of the dtype is after a number was stored into it; None where that warns or raises."""
    place = np.zeros((), target)
    try:
        run_strictly("raise", operator.setitem, place, (), value)
    except Exception as error:  # noqa: BLE001  NumPy's own code will say so, at run time
        signals.pass_on(error)
        return None
    return cast("np.generic", place[()])


def merged(plan: Plan) -> None:
    """Make steps of code over numbers that stand side by side one; views in between are made before.

    A check of a number that such a step computes is part of it; others are made behind, and a write that is seen waits
    for all checks in front of it.
    """
    steps: list[Step] = []
    place = -1  # of the step that others may join
    errors: Errors | None = None  # of that step
    checked = False  # a check stands behind it
    made: set[int] = set()
    for step in plan.steps:
        if step.numbers and checked and step.committed:
            place = -1
        fits = place >= 0 and len(steps[place].numbers) < LONGEST
        if step.numbers and fits and (None in (errors, step.errors) or errors == step.errors):
            joined = steps[place]
            errors = joined.errors = step.errors if errors is None else errors
            joined.numbers += step.numbers
            joined.committed = joined.committed or step.committed
            made.update(step.outs)
        elif step.numbers:
            place, made, checked = len(steps), set(step.outs), False
            errors = step.errors
            steps.append(step)
        elif step.kind == "check":
            checked = True
            inside = place >= 0 and step.reads[0] in made and len(steps[place].numbers) < LONGEST
            if inside and not steps[place].committed:
                assert step.check is not None
                steps[place].numbers += (_check(step),)
            else:
                steps.append(step)
        elif place >= 0 and step.is_view and made.isdisjoint(step.reads):
            steps.insert(place, step)
            place += 1
        else:
            place = -1
            steps.append(step)
    plan.steps = steps
    _set_slots(plan)


def _check(step: Step) -> NumberOperation:
    assert step.check is not None
    function = operator.truth if step.check.attributes["expected"] else operator.not_
    return NumberOperation(step.check, function, step.reads, None, step.position, 0)


def _set_slots(plan: Plan) -> None:
    """What each step of code over numbers takes from outside, and gives to others."""
    users: dict[int, list[Step]] = {}
    for step in plan.steps:
        reads = [slot for one in step.numbers for slot in one.reads] or step.reads
        for slot in reads:
            users.setdefault(slot, []).append(step)
    kept = set(plan.outputs)
    inlined = {slot for slot, value in plan.constants if not isinstance(value, np.ndarray)}
    for step in plan.steps:
        if not step.numbers:
            continue
        own = [one.out for one in step.numbers if one.out is not None]
        inside = inlined.union(own)
        step.reads = tuple(
            dict.fromkeys(s for one in step.numbers for s in one.reads if s not in inside)
        )
        step.outs = tuple(
            slot
            for slot in own
            if slot in kept or any(user is not step for user in users.get(slot, ()))
        )
    _number_slots(plan)


def _number_slots(plan: Plan) -> None:
    """Give slots that hold an object the first numbers; behind these come what only code over numbers has."""
    held = {*range(plan.inputs), *plan.outputs}
    for step in plan.steps:
        held.update(step.reads, step.outs)
    ordered = sorted(range(plan.slots), key=lambda slot: (slot not in held, slot))
    place = {slot: number for number, slot in enumerate(ordered)}

    def placed(slots: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place[slot] for slot in slots)

    plan.slots = len(held)
    plan.outputs = placed(plan.outputs)
    plan.constants = [(place[slot], value) for slot, value in plan.constants]
    for step in plan.steps:
        step.reads, step.outs = placed(step.reads), placed(step.outs)
        step.numbers = tuple(
            one._replace(reads=placed(one.reads), out=None if one.out is None else place[one.out])
            for one in step.numbers
        )


# Code


class Code:
    """The code of one step, as `_tiles.Scalars` takes it."""

    def __init__(self, step: Step, constants: dict[int, Any]) -> None:
        self.inputs = {slot: place for place, slot in enumerate(step.reads)}
        self.constants = constants
        self.registers: list[Any] = []
        self.takes: list[tuple[int, int]] = []
        self.places: dict[tuple[int, int], int] = {}
        self.place_rows: list[tuple[Any, ...]] = []
        self.rows: list[tuple[Any, ...]] = []
        self._of: dict[tuple[int, NumberKind], int] = {}  # registers of slots
        self._converted: dict[tuple[int, NumberKind], int] = {}
        self._given: dict[int, int] = {}
        for one in step.numbers:
            self._add(one)
        self.gives = tuple(self._given[slot] for slot in step.outs)

    def arguments(self, loop_object: Callable[[Loop], Any]) -> tuple[Any, ...]:
        """What makes a `_tiles.Scalars`."""
        rows = tuple(
            (*row[:-1], loop_object(row[-1])) if isinstance(row[-1], Loop) else row
            for row in self.rows
        )
        return (
            len(self.inputs), tuple(self.registers), tuple(self.takes), tuple(self.place_rows), rows, self.gives,
        )  # fmt: skip

    def _add(self, one: NumberOperation) -> None:
        node = one.node
        if node.op is ops.ELEMENT:
            self._give(one, "load", -1, self._place(one, node.type))
        elif node.op.kind is Kind.STORE:
            self._store(one)
        elif node.op is ops.CHECK:
            condition = self._register(one.reads[0], kind_of(node.inputs[0].type))
            name = "holds" if node.attributes["expected"] else "fails"
            self.rows.append((name, condition, condition, -1))
        else:
            operands = one.how
            values = [
                self._converted_to(self._register(slot, kind_of(source.type)), kind)
                for slot, source, kind in zip(one.reads, node.inputs, operands.kinds, strict=False)
            ]
            a, b = values if len(values) == 2 else (values[0], -1)
            self._give(one, operands.name, a, b, operands.loop)

    def _give(
        self, one: NumberOperation, name: str, a: int, b: int, loop: Loop | None = None
    ) -> None:
        assert one.out is not None
        kind = kind_of(one.node.type)
        out = self._given[one.out] = self._new(kind)
        self._of[one.out, kind] = out
        if name == "load":
            a = out  # not read
        self.rows.append((name, out, a, b) if loop is None else (name, out, a, b, loop))

    def _store(self, one: NumberOperation) -> None:
        store = one.node
        assert isinstance(store.type, ArrayType)
        type_, value = replace(store.type, dtype=target_type(store).dtype), store.inputs[1]
        target = type_.dtype
        if value.op is ops.CONST:
            register = self._new((target, _stored_constant(target, value.attributes["value"])))
        else:
            register = self._register(one.reads[2], kind_of(value.type))
            register = self._converted_to(register, target)
        self.rows.append(("store", register, register, self._place(one, type_)))

    def _new(self, register: Any) -> int:
        self.registers.append(register)
        return len(self.registers) - 1

    def _register(self, slot: int, kind: NumberKind) -> int:
        """The register of a slot's number, taken from outside where no operation gave it."""
        if (slot, kind) not in self._of:
            constant = slot in self.constants
            made = self._new((kind, self.constants[slot]) if constant else kind)
            self._of[slot, kind] = made
            if not constant:
                self.takes.append((made, self.inputs[slot]))
        return self._of[slot, kind]

    def _kind(self, register: int) -> NumberKind:
        found = self.registers[register]
        return found[0] if isinstance(found, tuple) else found

    def _converted_to(self, register: int, kind: NumberKind) -> int:
        name = _conversion(self._kind(register), kind)
        assert name is not None
        if not name:
            return register
        if (register, kind) not in self._converted:
            known = self.registers[register]
            if name == "fit" and isinstance(known, tuple) and _fits(known[1], np.dtype(kind)):
                fitted = np.dtype(kind).type(known[1])
                made = self._new((kind, fitted.item() if kind is float else fitted))
            else:
                made = self._new(kind)
                self.rows.append((name, made, register, -1))
            self._converted[register, kind] = made
        return self._converted[register, kind]

    def _place(self, one: NumberOperation, type_: Type) -> int:
        array, key = one.reads[:2]
        if (array, key) not in self.places:
            self.places[array, key] = len(self.place_rows)
            assert isinstance(type_, ArrayType)
            known: Any = self.constants.get(key)
            if known is None:
                known = self.inputs[key]
            elif not isinstance(known, tuple):
                known = (known,)
            self.place_rows.append((self.inputs[array], type_.dtype, one.axes, known))
        return self.places[array, key]
