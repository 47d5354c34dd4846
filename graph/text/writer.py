"""A graph written as text."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import OPS, Kind
from ufuse.graph.text.notation import RESERVED, index_text, path_text, type_text
from ufuse.graph.text.values import TextError, dtype_text, value_text
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.infer import CannotInfer, operand_of, result_type


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
    path = path_text(node.attributes.get("path", ()), node.inputs[0].type)
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
