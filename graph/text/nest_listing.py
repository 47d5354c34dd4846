"""A nest to be read by people: the statements of each block, with expressions as Python writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ufuse.graph.nest import Block, Instruction, Map, Nest, Scalar, View, number_text
from ufuse.graph.nest_types import Value

# fmt: off
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "eq": "==", "ne": "!=",
    "gt": ">", "ge": ">=", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=",
    "equal": "==", "not_equal": "!=", "greater": ">", "greater_equal": ">=",
}
# fmt: on
UNARY = {"neg": "-", "negative": "-", "invert": "~", "not": "not "}
PURE = ("const", "dim")  # written wherever they are used


def listing(nest: Nest) -> Iterator[tuple[Block, list[str]]]:
    """Each block with its statements; its end is not among them."""
    for block in nest.blocks:
        yield block, list(_Listing(nest, block).statements())


def condition_of(nest: Nest, block: Block) -> str:
    """What the block branches on; empty where it does not."""
    written = _Listing(nest, block)
    list(written.statements())
    return written.texts[block.end.condition] if block.end.condition is not None else ""


class _Listing:
    """The expressions of one block."""

    def __init__(self, nest: Nest, block: Block) -> None:
        self.nest, self.block = nest, block
        self.uses = Counter(value for one in block.instructions for value in one.inputs)
        if block.end.condition is not None:
            self.uses[block.end.condition] += 1
        self.texts: dict[Value, str] = {}

    def statements(self) -> Iterator[str]:
        """The lines; what is used once stands where it is used, unless something changes in between."""
        for place, one in enumerate(self.block.instructions):
            text = self._text(one)
            if one.result is None:
                yield text
            elif one.op in PURE or (
                (self.uses[one.result] <= 1 or one.op == "get") and not self._changes(place)
            ):
                self.texts[one.result] = text
            else:
                self.texts[one.result] = name = f"t{one.result.number}"
                yield f"{name} = {_bare(text)}"

    def _changes(self, place: int) -> bool:
        """Whether what an instruction reads is written before its result is used for the last time."""
        made = self.block.instructions[place]
        later = self.block.instructions[place + 1 :]
        last = max((i for i, one in enumerate(later) if made.result in one.inputs), default=-1)
        if self.block.end.condition == made.result:
            last = len(later)
        if made.op == "get":
            return any(
                one.op == "set" and one.attributes == made.attributes for one in later[:last]
            )
        return any(one.result is None and one.op != "doubt_if" for one in later[:last])

    def _text(self, one: Instruction) -> str:
        inputs = [self.texts[value] for value in one.inputs]
        match one.op:
            case "const":
                return number_text(one.attributes[0])
            case "get":
                return str(one.attributes[0])
            case "set":
                return f"{one.attributes[0]} = {_bare(inputs[0])}"
            case "dim":
                return f"{self._name(one.attributes[0])}.shape[{one.attributes[1]}]"
            case "load":
                return f"{self._name(one.attributes[0])}[{', '.join(map(_bare, inputs))}]"
            case "store":
                *index, value = map(_bare, inputs)
                return f"{self._name(one.attributes[0])}[{', '.join(index)}] = {value}"
            case "append":
                return f"{self._name(one.attributes[0])}.append({_bare(inputs[0])})"
            case "trim":
                return f"{self._name(one.attributes[0])}.trim({_bare(inputs[0])})"
            case "push":
                return f"{self._name(one.attributes[0])}.push({', '.join(map(_bare, inputs))})"
            case "peek":
                return f"{self._name(one.attributes[0])}[-{one.attributes[1]}]"
            case "drop":
                return f"{self._name(one.attributes[0])}.drop({one.attributes[1]})"
            case "find":
                return f"{self._name(one.attributes[0])}.find({_bare(inputs[0])})"
            case "enter":
                return f"{self._name(one.attributes[0])}.enter({_bare(inputs[0])})"
            case "alloc":
                return f"{self._name(one.attributes[0])} = empty({', '.join(map(_bare, inputs))})"
            case "select":
                return f"({inputs[1]} if {_bare(inputs[0])} else {inputs[2]})"
            case "doubt_if":
                return f"left to plain Python if {_bare(inputs[0])}"
            case "map":
                return self._mapped(one.attributes[0], inputs)
            case "fold" | "dot" | "reduce" | "position":
                return self._folded(one, inputs)
            case "matmul" | "take" | "put":
                return self._moved(one, inputs)
            case "scan" | "nonzero" | "sort" | "argsort":
                return self._arranged(one, inputs)
        name = one.attributes[0] if one.op == "call" else one.op
        if name[0] in "fi" and name[1:] in BINARY:
            name = name[1:]
        return _applied(name, inputs)

    def _name(self, number: int) -> str:
        name = self.nest.numbered[number].name
        return name if number < len(self.nest.arrays) else f"{name}*"

    def _mapped(self, what: Map, inputs: list[str]) -> str:
        lengths, rest = inputs[: what.ndim], inputs[what.ndim :]
        texts = [
            rest.pop(0) if isinstance(one, Scalar) else self._view(one, lengths, rest)
            for one in what.operands
        ]
        target = self._view(what.target, lengths, rest)
        for step in what.steps:
            given = [texts[number] for number in step.inputs]
            texts.append(given[0] if step.name in ("copy", "cast") else _applied(step.name, given))
        return f"{target} = {_bare(texts[-1])}"

    def _folded(self, one: Instruction, inputs: list[str]) -> str:
        name, *views = one.attributes
        ndim = len(views[0].axes)
        lengths, places = inputs[:ndim], inputs[ndim:]
        parts = [self._view(view, lengths, places) for view in views]
        if one.op in ("dot", "position"):
            return f"{name}({', '.join(parts)})"
        if one.op == "fold":
            return f"{name}.reduce({parts[0]})"
        axes = ", ".join(str(axis) for axis, walked in enumerate(views[1].axes) if walked is None)
        return f"{parts[1]} = {name}.reduce({parts[0]}, axis=({axes}))"

    def _moved(self, one: Instruction, inputs: list[str]) -> str:
        views = [view for view in one.attributes if isinstance(view, View)]
        ndim = len(views[0].axes)
        lengths, places = inputs[:ndim], inputs[ndim:]
        first, second, third = (self._view(view, lengths, places) for view in views)
        if one.op == "matmul":
            named = {"inv": f"inv({first})", "solve": f"solve({first}, {second})"}
            return f"{third} = {named.get(one.attributes[0], f'{first} @ {second}')}"
        taken = f"{first}[{second}]"
        return f"{third} = {taken}" if one.op == "take" else f"{taken} = {third}"

    def _arranged(self, one: Instruction, inputs: list[str]) -> str:
        views = [view for view in one.attributes if isinstance(view, View)]
        ndim = len(views[0].axes)
        lengths, places = inputs[:ndim], inputs[ndim:]
        first, *others = (self._view(view, lengths, places) for view in views)
        if one.op == "scan":
            return f"{others[0]} = {one.attributes[0]}.accumulate({first})"
        return f"{others[0]} = nonzero({first})" if others else f"{first}.sort()"

    def _view(self, view: View, lengths: list[str], places: list[str]) -> str:
        """As a slice; takes its places off the list."""
        array = self.nest.numbered[view.array]
        index = [places.pop(0) for _ in range(array.ndim)]
        steps = [places.pop(0) for _ in range(view.computed_steps)]
        walked = [axis[0] for axis in view.axes if axis is not None]
        if len({*walked}) < len(walked):  # rows that lie one behind another
            return f"{self._name(view.array)}.reshape({', '.join(map(_bare, lengths))})"
        for length, axis in zip(lengths, view.axes, strict=False):
            if axis is not None:
                step = steps.pop(0) if axis[1] is None else axis[1]
                index[axis[0]] = _slice(index[axis[0]], length, step)
        return f"{self._name(view.array)}[{', '.join(map(_bare, index))}]"


def _slice(start: str, length: str, step: int | str) -> str:
    if isinstance(step, str):
        return f"{start}:{start} + {step} * {length}:{step}"
    if step == 1:
        return f"{start}:{start} + {length}" if start != "0" else f":{_bare(length)}"
    return (
        f"{start}:{start} + {step} * {length}:{step}"
        if step > 0
        else f"{start}:{start} - {-step} * {length}:{step}"
    )


def _applied(name: str, inputs: list[str]) -> str:
    if name in BINARY and len(inputs) == 2:
        return f"({inputs[0]} {BINARY[name]} {inputs[1]})"
    if name in UNARY and len(inputs) == 1:
        return f"{UNARY[name]}{inputs[0]}"
    return f"{name.removeprefix('to_').removeprefix('numpy.')}({', '.join(map(_bare, inputs))})"


def _bare(text: str) -> str:
    """Without parentheses around the whole."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1] if text[:1] == "(" else text
