"""Text read as a graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import OPS, Kind, Op
from ufuse.graph.text.notation import (
    RESERVED,
    parse_dtype,
    parse_type,
    read_index,
    read_step,
    split,
)
from ufuse.graph.text.values import TextError, evaluated, read_value
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.infer import CannotInfer, operand_of, result_type, type_of, view_through

BODIES = ("condition", "body", "then", "otherwise")

COMMENT = re.compile(r"""((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^'"#])*)#[^\n]*""")


def _without_comments(text: str) -> str:
    return "\n".join(
        found[1] if (found := COMMENT.match(line)) else line for line in text.split("\n")
    )


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
            return parse_dtype(text)
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
        step = read_step(text, view)
        path.append(step)
        try:
            view = view_through(view, [step])
        except CannotInfer as refusal:
            raise TextError(f"the path step {text}: {refusal}") from None
    return tuple(path)
