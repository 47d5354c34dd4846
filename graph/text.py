"""Graphs as text, and back: `to_text(parse(text)) == text` for text that `to_text` wrote.

    a: f8[n, m]; v = index a [1:n-1, 0]; s = reduce_add v axis=(0,); return s

One statement on a line, or several with `;` between. An input is `name: type`; an operation is
`name = op inputs attributes`, with `name: type = ...` where the type does not follow from the inputs'.
A number used once stands where it is used. `#` opens a comment.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import OPS, Kind, Op
from ufuse.graph.size import divide
from ufuse.graph.types import (
    ArrayType,
    NothingType,
    NumberType,
    Span,
    TupleType,
    Type,
    c_order,
)
from ufuse.graph.typing.infer import CannotInfer, operand_of, result_type, type_of, view_through
from ufuse.graph.values import (
    NAMES,
    TextError,
    dtype_text,
    evaluated,
    read_size,
    read_value,
    value_text,
)

__all__ = ["TextError", "parse", "parse_type", "to_text", "type_text"]

BODIES = ("condition", "body", "then", "otherwise")
RESERVED = frozenset({*NAMES, "return", "graph", "new", "at", "nothing", "True", "False"})

# Types


def type_text(type_: Type) -> str:
    """A type's text: `f8[n, 3]`, `f8` (a NumPy scalar), `float`, `int n-1`, `(f8[n], int)`."""
    match type_:
        case NothingType():
            return "nothing"
        case NumberType(kind=kind, value=value):
            return kind if value is None else f"{kind} {value}"
        case TupleType(items=items):
            return f"({', '.join(map(type_text, items))})"
    text = dtype_text(type_.dtype)
    if type_.scalar:
        return text
    text += f"[{', '.join(map(str, type_.shape))}]"
    if type_.order is None:
        text += " order(?)"
    elif type_.order != c_order(type_.ndim):
        text += f" order({','.join(map(str, type_.order))})"
    return text if type_.contiguous else f"{text} strided"


ARRAY = re.compile(r"([^\[\]\s]+)\[(.*)\]((?:\s+order\([\d,?\s]*\))?)((?:\s+strided)?)$", re.DOTALL)


def parse_type(text: str) -> Type:
    """The type of a text.

    Raises:
        TextError: it is no type.

    """
    text = text.strip()
    if text == "nothing":
        return NothingType()
    if text.startswith("("):
        return TupleType(tuple(map(parse_type, split(text[1:-1], ","))))
    kind, _, value = text.partition(" ")
    if kind in ("int", "float", "complex", "bool"):
        return NumberType(kind, read_size(value) if value else None)
    if "[" not in text:
        return ArrayType(_dtype(text), (), (), scalar=True)
    found = ARRAY.match(text)
    if found is None:
        raise TextError(f"not a type: {text!r}")
    shape = tuple(map(read_size, split(found[2], ",")))
    order: tuple[int, ...] | None = c_order(len(shape))
    if "?" in found[3]:
        order = None
    elif found[3]:
        order = tuple(map(int, re.findall(r"\d+", found[3])))
    return ArrayType(_dtype(found[1]), shape, order, contiguous=not found[4])


def _dtype(text: str) -> np.dtype:
    try:
        return np.dtype(text)
    except TypeError:
        raise TextError(f"not a dtype: {text!r}") from None


# Splitting text


def split(text: str, separators: str) -> list[str]:
    """The parts between separators that stand outside brackets and quotes; empty parts are left out."""
    parts = pieces(text, separators)
    return [part.strip() for part in parts if part.strip()]


def pieces(text: str, separators: str) -> list[str]:
    """The parts between separators that stand outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            if letter == quote and text[place - 1] != "\\":
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in separators and not depth:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return parts


COMMENT = re.compile(r"""((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^'"#])*)#[^\n]*""")


def _without_comments(text: str) -> str:
    return "\n".join(
        found[1] if (found := COMMENT.match(line)) else line for line in text.split("\n")
    )


# Indices


def index_text(index: Sequence[Any], shape: Sequence[Any]) -> str:
    """A normalised index as Python writes one: `[1:n-1, :, new, 0]`."""
    lengths = iter(shape)
    parts = []
    for entry in index:
        if entry is None:
            parts.append("new")
            continue
        length = next(lengths)
        if not isinstance(entry, Span):
            parts.append(str(entry))
        elif entry == Span(0, length):
            parts.append(":")
        else:
            stop = entry.start + entry.length * entry.step
            step = f":{entry.step}" if entry.step != 1 else ""
            parts.append(f"{entry.start}:{stop}{step}")
    return f"[{', '.join(parts)}]"


def read_index(text: str, shape: Sequence[Any]) -> tuple[Any, ...]:
    """The index of a text, for an array of `shape`.

    Raises:
        TextError: it is no normalised index of such an array.

    """
    lengths = iter(shape)
    entries: list[Any] = []
    for part in split(text.strip()[1:-1], ","):
        if part == "new":
            entries.append(None)
            continue
        try:
            length = next(lengths)
        except StopIteration:
            raise TextError(f"too many entries: {text}") from None
        if ":" not in part:
            entries.append(read_size(part))
            continue
        first, stop, *rest = pieces(part, ":")
        step = int(rest[0]) if rest else 1
        start = read_size(first) if first.strip() else 0
        distance = (read_size(stop) if stop.strip() else length) - start
        entries.append(Span(start, divide("//", distance, step), step))
    return tuple(entries)


def _steps_text(path: Sequence[tuple[str, Mapping[str, Any]]], buffer: Type) -> str:
    parts = []
    for name, attributes in path:
        if name == "index":
            assert isinstance(buffer, ArrayType)
            parts.append(index_text(attributes["index"], buffer.shape))
        else:
            (value,) = attributes.values()
            parts.append(f"{name}{value_text(tuple(value))}")
        assert isinstance(buffer, ArrayType)
        buffer = view_through(buffer, [(name, attributes)])
    return " ".join(parts)


STEP_ATTRIBUTE = {"transpose": "axes", "reshape": "shape"}


def _read_step(text: str, buffer: ArrayType) -> tuple[str, dict[str, Any]]:
    if text.startswith("["):
        return "index", {"index": read_index(text, buffer.shape)}
    name, _, value = text.partition("(")
    if name not in STEP_ATTRIBUTE:
        raise TextError(f"not a step of a path: {text!r}")
    return name, {STEP_ATTRIBUTE[name]: read_value("(" + value)}


# Writing


def to_text(graph: Graph, *, types: bool = False) -> str:
    """The graph's text, one statement on a line; with `types`, every type is written."""
    return "\n".join(_Writer(graph, types=types).lines())


class _Writer:
    """Names for the nodes of one graph, and their statements."""

    def __init__(self, graph: Graph, *, types: bool) -> None:
        self.graph = graph
        self.types = types
        self.names: dict[Node, str] = {}
        self.inline = set(_inline(graph))
        self._name_all()

    def _name_all(self) -> None:
        used = set(RESERVED) | set(OPS)
        for node in self.graph.inputs:
            wanted = re.sub(r"\W+", "_", str(node.attributes.get("name", ""))).strip("_")
            if not wanted.isidentifier() or wanted in used or keyword.iskeyword(wanted):
                wanted = _unused(wanted if wanted.isidentifier() else "a", used)
            self.names[node] = wanted
            used.add(wanted)
        for node in self.graph.nodes:
            if node not in self.names and node not in self.inline:
                self.names[node] = _unused("t", used)
                used.add(self.names[node])

    def lines(self) -> Iterator[str]:
        """The statements."""
        if self.graph.name != "graph":
            yield f"graph {self.graph.name}"
        for node in self.graph.inputs:
            yield f"{self.names[node]}: {type_text(node.type)}{_label(node, self.names[node])}"
        for node in self.graph.nodes:
            if node.op is not ops.INPUT and node not in self.inline:
                yield self._statement(node)
        yield " ".join(
            ["return", ", ".join(self.names[node] for node in self.graph.outputs)]
        ).strip()

    def _statement(self, node: Node) -> str:
        form = FORMS.get(node.op.name, _plain_form)
        typed = f": {type_text(node.type)}" if self.types or not _inferable(node) else ""
        return f"{self.names[node]}{typed} = {form(self, node)}"

    def operand(self, node: Node) -> str:
        """An input's name, or its value where it stands in the place of use."""
        return value_text(node.attributes["value"]) if node in self.inline else self.names[node]

    def operands(self, node: Node) -> list[str]:
        """The inputs of a node."""
        return [self.operand(one) for one in node.inputs]


def _label(node: Node, name: str) -> str:
    """The input's own name, where it is no identifier."""
    label = node.attributes.get("name")
    return "" if label is None or label == name else f" {label!r}"


def _unused(letter: str, used: set[str]) -> str:
    count = 0
    while f"{letter}{count}" in used:
        count += 1
    return f"{letter}{count}"


def _inline(graph: Graph) -> Iterator[Node]:
    """Numbers used once, standing right before their use: they are written in its place."""
    uses = graph.uses()
    for place, node in enumerate(graph.nodes):
        if node.op.kind in (Kind.CONST, Kind.CALL):
            continue
        wanted = [one for one in node.inputs if _is_plain(one) and uses[one] == 1]
        if wanted and list(graph.nodes[place - len(wanted) : place]) == wanted:
            yield from wanted


def _is_plain(node: Node) -> bool:
    if node.op is not ops.CONST or set(node.attributes) != {"value"}:
        return False
    return type(node.attributes["value"]) in (bool, int, float, complex) or isinstance(
        node.attributes["value"], np.generic
    )


def _inferable(node: Node) -> bool:
    try:
        return (
            result_type(node.op, [operand_of(one) for one in node.inputs], node.attributes)
            == node.type
        )
    except CannotInfer:
        return False


Form = Callable[[_Writer, Node], str]


def _attribute_text(key: str, value: Any) -> str:
    if isinstance(value, Graph):
        return f"{key}={_body_text(value)}"
    if key == "dtype" and isinstance(value, np.dtype):
        return f"dtype={dtype_text(value)}"
    return f"{key}={value_text(value)}"


def _body_text(graph: Graph) -> str:
    inner = to_text(graph).replace("\n", "\n  ")
    return "{\n  " + inner + "\n}"


def _attributes(node: Node, *apart: str) -> list[str]:
    return [
        _attribute_text(key, value) for key, value in node.attributes.items() if key not in apart
    ]


def _plain_form(writer: _Writer, node: Node) -> str:
    return " ".join([node.op.name, *writer.operands(node), *_attributes(node)])


def _value_form(writer: _Writer, node: Node) -> str:
    return " ".join(
        [node.op.name, value_text(node.attributes["value"]), *_attributes(node, "value")]
    )


def _index_form(writer: _Writer, node: Node) -> str:
    type_ = node.inputs[0].type
    assert isinstance(type_, ArrayType)
    text = index_text(node.attributes["index"], type_.shape)
    return " ".join([node.op.name, *writer.operands(node), text, *_attributes(node, "index")])


def _store_form(writer: _Writer, node: Node) -> str:
    path = _steps_text(node.attributes.get("path", ()), node.inputs[0].type)
    at = ["at", path] if path else []
    return " ".join(["store", *writer.operands(node), *at, *_attributes(node, "path")])


def _scalar_form(writer: _Writer, node: Node) -> str:
    first = f"scalar.{node.attributes['operator']}"
    return " ".join([first, *writer.operands(node), *_attributes(node, "operator")])


def _call_form(writer: _Writer, node: Node) -> str:
    """As Python writes a call, where the inputs stand in their order in the arguments."""
    seen: list[int] = []
    arguments = [
        _argument_text(spec, writer, node, seen) for spec in node.attributes.get("arguments", ())
    ]
    for key, spec in node.attributes.get("keywords", ()):
        arguments.append(f"{key}={_argument_text(spec, writer, node, seen)}")
    if seen != list(range(len(node.inputs))):
        return _plain_form(writer, node)
    apart = ["function", "arguments", "keywords"]
    if not node.attributes.get("writes", ()):
        apart.append("writes")
    call = f"{node.attributes['function']}({', '.join(arguments)})"
    return " ".join(["call", call, *_attributes(node, *apart)])


def _argument_text(spec: Any, writer: _Writer, node: Node, seen: list[int]) -> str:
    match spec:
        case int():
            seen.append(spec)
            return writer.operand(node.inputs[spec])
        case ("const", value):
            return value_text(value)
        case ("tuple" | "list" as kind, items):
            inner = ", ".join(_argument_text(item, writer, node, seen) for item in items)
            if kind == "list":
                return f"[{inner}]"
            return f"({inner},)" if len(items) == 1 else f"({inner})"
    raise TextError(f"not an argument: {spec!r}")


FORMS: dict[str, Form] = {
    "const": _value_form,
    "size": _value_form,
    "index": _index_form,
    "element": _index_form,
    "store": _store_form,
    "scalar": _scalar_form,
    "call": _call_form,
}

# Reading


def parse(text: str, table: Mapping[str, Op] = OPS) -> Graph:
    """The graph of a text; `table` names the ops, for ufuncs that are not NumPy's.

    Raises:
        TextError: the text is no graph.

    """
    return _Reader(table).graph(_without_comments(text))


NAME = r"([A-Za-z_]\w*)"
STATEMENT = re.compile(rf"{NAME}\s*(?::\s*([^='\"]*?)\s*)?=\s*(.*)$", re.DOTALL)
INPUT = re.compile(rf"{NAME}\s*:\s*([^'\"]*?)\s*('[^']*'|\"[^\"]*\")?$", re.DOTALL)
ATTRIBUTE = re.compile(rf"{NAME}=(?!=)(.*)$", re.DOTALL)
CALLED = re.compile(r"[A-Za-z_][\w.]*\(")


class _Reader:
    """The nodes read so far, by name."""

    def __init__(self, table: Mapping[str, Op]) -> None:
        self.table = table
        self.nodes: list[Node] = []
        self.named: dict[str, Node] = {}

    def graph(self, text: str) -> Graph:
        """The graph of the whole text."""
        name, outputs = "graph", None
        for statement in split(text, ";\n"):
            if outputs is not None:
                raise TextError(f"a statement after the return: {statement}")
            word, _, rest = statement.partition(" ")
            if word == "return":
                outputs = tuple(self.node(one) for one in split(rest, ","))
            elif word == "graph":
                name = rest.strip()
            else:
                self.statement(statement)
        if outputs is None:
            raise TextError("a graph ends with a return")
        inputs = tuple(node for node in self.nodes if node.op is ops.INPUT)
        return Graph(inputs, tuple(self.nodes), outputs, name)

    def node(self, name: str) -> Node:
        """The node of a name."""
        if name not in self.named:
            raise TextError(f"no node is called {name!r}")
        return self.named[name]

    def statement(self, text: str) -> None:
        """Read an input or an operation."""
        found = STATEMENT.match(text)
        if found is not None:
            self.operation(found[1], found[2], found[3])
            return
        found = INPUT.match(text)
        if found is None:
            raise TextError(f"not a statement: {text!r}")
        label = ast.literal_eval(found[3]) if found[3] else found[1]
        self.add(found[1], Node(ops.INPUT, (), parse_type(found[2]), {"name": label}))

    def add(self, name: str, node: Node) -> None:
        """Name a node."""
        if name in self.named or name in RESERVED:
            raise TextError(f"the name {name!r} is taken")
        self.named[name] = node
        self.nodes.append(node)

    def operation(self, name: str, type_: str | None, text: str) -> None:
        """Read `op inputs attributes`."""
        word, *items = split(text, " \n\t")
        attributes: dict[str, Any] = {}
        if word.startswith("scalar."):
            attributes["operator"] = word.removeprefix("scalar.")
            word = "scalar"
        if word not in self.table:
            raise TextError(f"no operation is called {word!r}")
        op = self.table[word]
        inputs: list[Node] = []
        if op is ops.STORE:
            attributes["path"] = ()
        path: list[str] | None = None
        for item in items:
            if item == "at":
                path = []
            elif found := ATTRIBUTE.match(item):
                attributes[found[1]] = self.attribute(found[1], found[2])
            elif path is not None:
                path.append(item)
            elif op.kind in (Kind.CONST, Kind.SIZE):
                attributes["value"] = read_value(item)
            elif item.startswith("["):
                attributes["index"] = read_index(item, _shape(inputs))
            elif op is ops.CALL and CALLED.match(item):
                self.call(item, inputs, attributes)
            else:
                inputs.append(self.operand(item))
        if path is not None:
            attributes["path"] = _read_path(path, inputs)
        self.add(name, self.typed(op, tuple(inputs), attributes, type_))

    def typed(
        self, op: Op, inputs: tuple[Node, ...], attributes: dict[str, Any], type_: str | None
    ) -> Node:
        """The node, its type as written or as inferred."""
        if type_ is not None:
            return Node(op, inputs, parse_type(type_), attributes)
        try:
            inferred = result_type(op, [operand_of(one) for one in inputs], attributes)
        except CannotInfer as refusal:
            raise TextError(f"the type of {op.name} must be written: {refusal}") from None
        return Node(op, inputs, inferred, attributes)

    def operand(self, text: str) -> Node:
        """A named node, or a new constant."""
        if text in self.named:
            return self.named[text]
        if text.isidentifier() and text not in ("True", "False", "nan", "inf"):
            raise TextError(f"no node is called {text!r}")
        value = read_value(text)
        node = Node(ops.CONST, (), type_of(value), {"value": value})
        self.nodes.append(node)
        return node

    def attribute(self, key: str, text: str) -> Any:
        """The value of an attribute."""
        if key in BODIES and text.startswith("{"):
            return _Reader(self.table).graph(text[1:-1])
        if key == "dtype" and re.fullmatch(r"[<>|]?[?A-Za-z]\d*", text):
            return _dtype(text)
        return read_value(text)

    def call(self, text: str, inputs: list[Node], attributes: dict[str, Any]) -> None:
        """Read `numpy.clip(a, 0, out=b)`."""
        function, _, _ = text.partition("(")
        tree = ast.parse(text, mode="eval").body
        assert isinstance(tree, ast.Call)
        attributes["function"] = function
        attributes["arguments"] = tuple(self.argument(one, inputs) for one in tree.args)
        attributes["keywords"] = tuple(
            (one.arg, self.argument(one.value, inputs)) for one in tree.keywords
        )

    def argument(self, tree: ast.expr, inputs: list[Node]) -> Any:
        """An argument of a call: an input, a constant, or a sequence of both."""
        if isinstance(tree, ast.Name) and tree.id in self.named:
            inputs.append(self.named[tree.id])
            return len(inputs) - 1
        if isinstance(tree, (ast.Tuple, ast.List)) and any(
            isinstance(part, ast.Name) and part.id in self.named for part in ast.walk(tree)
        ):
            kind = "tuple" if isinstance(tree, ast.Tuple) else "list"
            return (kind, tuple(self.argument(item, inputs) for item in tree.elts))
        return ("const", evaluated(tree))


def _shape(inputs: Sequence[Node]) -> Sequence[Any]:
    if not inputs or not isinstance(inputs[0].type, ArrayType):
        raise TextError("an index needs an array before it")
    return inputs[0].type.shape


def _read_path(steps: Sequence[str], inputs: Sequence[Node]) -> tuple[Any, ...]:
    _shape(inputs)
    view = inputs[0].type
    path = []
    for text in steps:
        assert isinstance(view, ArrayType)
        step = _read_step(text, view)
        path.append(step)
        try:
            view = view_through(view, [step])
        except CannotInfer as refusal:
            raise TextError(f"the path step {text}: {refusal}") from None
    return tuple(path)
