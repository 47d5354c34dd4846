"""A graph as a drawing: DOT text for Graphviz, and a plain SVG for notebooks."""

from __future__ import annotations

import html

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.text import type_text
from ufuse.graph.text.values import TextError, value_text

SHAPES = {
    Kind.INPUT: "house",
    Kind.CONST: "plaintext",
    Kind.SIZE: "plaintext",
    Kind.STORE: "cylinder",
}


def to_dot(graph: Graph) -> str:
    """The drawing: a box for each operation, the bodies of loops and branches as groups."""
    lines = [f"digraph {_quoted(graph.name)} {{", "  node [shape=box, fontname=monospace]"]
    _draw(graph, "n", lines, "  ")
    return "\n".join([*lines, "}"])


def _draw(graph: Graph, prefix: str, lines: list[str], indent: str) -> None:
    names = {node: f"{prefix}{place}" for place, node in enumerate(graph.nodes)}
    for node, name in names.items():
        shape = SHAPES.get(node.op.kind, "box")
        lines.append(f"{indent}{name} [shape={shape}, label={_quoted(_title(node))}]")
        lines.extend(f"{indent}{names[one]} -> {name}" for one in node.inputs)
        for key, body in node.attributes.items():
            if isinstance(body, Graph):
                lines.append(f"{indent}subgraph cluster_{name}_{key} {{")
                lines.append(f"{indent}  label={_quoted(f'{name} {key}')}")
                _draw(body, f"{name}_{key}_", lines, indent + "  ")
                lines.append(f"{indent}}}")
    for place, node in enumerate(graph.outputs):
        lines.append(
            f"{indent}{prefix}out{place} [shape=invhouse, label={_quoted(f'result {place}')}]"
        )
        lines.append(f"{indent}{names[node]} -> {prefix}out{place}")


def _title(node: Node) -> str:
    if node.op is ops.CONST:
        try:
            return value_text(node.attributes["value"])
        except TextError:
            return type(node.attributes["value"]).__name__
    if node.op is ops.SIZE:
        return str(node.attributes["value"])
    name = str(node.attributes.get("name" if node.op is ops.INPUT else "function", node.op.name))
    return f"{name}\n{type_text(node.type)}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# A plain drawing that needs no Graphviz: rows by distance from the inputs, each node under what it takes.

WIDE, HIGH, GAP = 132, 36, 14  # pixels of a box, and between boxes
STYLE = "fill:none;stroke:#888"
FILLS = {Kind.INPUT: "#e4f0e4", Kind.CONST: "#f4f4f4", Kind.SIZE: "#f4f4f4", Kind.STORE: "#f8e6d8"}


def to_svg(graph: Graph) -> str:
    """The drawing as an SVG element; bodies of loops and branches are left out."""
    places = _places(graph)
    width = max((x for x, _ in places.values()), default=0) + WIDE + GAP
    height = max((y for _, y in places.values()), default=0) + HIGH + GAP
    size = f'width="{width}" height="{height}"'
    font = 'font-family="monospace" font-size="10" text-anchor="middle"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>']
    for node, (x, y) in places.items():
        for x_from, y_from in (places[one] for one in node.inputs):
            ends = f"M{x_from + WIDE // 2},{y_from + HIGH} L{x + WIDE // 2},{y}"
            parts.append(f'<path d="{ends}" style="{STYLE}"/>')
    for node, (x, y) in places.items():
        fill = FILLS.get(node.op.kind, "#e6ecf8")
        width_of_line = 3 if node in graph.outputs else 1
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="4" fill="{fill}" stroke="#888" '
            f'stroke-width="{width_of_line}"/>'
        )
        for number, line in enumerate(_title(node).split("\n")[:2]):
            text = html.escape(line if len(line) <= 21 else f"{line[:20]}…")
            parts.append(f'<text x="{x + WIDE // 2}" y="{y + 15 + 13 * number}">{text}</text>')
    return "".join([*parts, "</svg>"])


def _places(graph: Graph) -> dict[Node, tuple[int, int]]:
    """The upper left corner of each node."""
    rows: dict[Node, int] = {}
    taken: dict[int, int] = {}
    places: dict[Node, tuple[int, int]] = {}
    for node in graph.nodes:
        row = rows[node] = max((rows[one] + 1 for one in node.inputs), default=0)
        wanted = (
            sum(places[one][0] for one in node.inputs) // len(node.inputs) if node.inputs else 0
        )
        x = max(wanted, taken.get(row, GAP))
        taken[row] = x + WIDE + GAP
        places[node] = (x, GAP + row * (HIGH + 2 * GAP))
    return places
