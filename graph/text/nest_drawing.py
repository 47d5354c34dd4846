"""A nest as a drawing: a box for each block with its statements, an arrow for each way on."""

from __future__ import annotations

import html
from collections.abc import Iterator

from ufuse.graph.nest import Nest
from ufuse.graph.text.nest_listing import condition_of, listing

MOST_LINES = 14  # of a block that are drawn
MOST_LETTERS = 100  # of a line


def nest_to_dot(nest: Nest) -> str:
    """The drawing in Graphviz's language."""
    lines = [f"digraph {_quoted(nest.name)} {{", "  node [shape=box, fontname=monospace]"]
    names = {block.label: f"b{place}" for place, block in enumerate(nest.blocks)}
    for block, lines_of_block in _shown(nest):
        text = "".join(f"{line}\n" for line in lines_of_block)
        lines.append(f"  {names[block]} [label={_quoted(text, left=True)}]")
    for start, end, label in _arrows(nest):
        lines.append(
            f"  {names[start]} -> {names[end]}" + (f" [label={_quoted(label)}]" if label else "")
        )
    return "\n".join([*lines, "}"])


def _shown(nest: Nest) -> Iterator[tuple[str, list[str]]]:
    """The lines in the box of each block."""
    for block, statements in listing(nest):
        shown = statements[:MOST_LINES]
        if len(statements) > MOST_LINES:
            shown.append(f"… and {len(statements) - MOST_LINES} more")
        done = f"left by exit {block.end.number}" if block.end.number else "done"
        end = {"leave": [done], "doubt": ["left to plain Python"]}.get(block.end.kind, [])
        if block.end.kind == "branch":
            end = [f"if {_short(condition_of(nest, block))}"]
        lines = [block.label, *map(_short, shown), *end]
        yield block.label, lines


def _short(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…"


def _arrows(nest: Nest) -> Iterator[tuple[str, str, str]]:
    for block in nest.blocks:
        labels = ("yes", "no") if block.end.kind == "branch" else ("",)
        for target, label in zip(block.end.targets, labels, strict=False):
            yield block.label, target, label


def _quoted(text: str, *, left: bool = False) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + quoted.replace("\n", "\\l" if left else "\\n") + '"'


# A plain drawing that needs no Graphviz: the blocks one under another, arrows at their sides.

LINE, PAD, GAP, LETTER = (
    13,
    6,
    16,
    6.2,
)  # pixels of a line, around the text, between boxes, of a letter
LANE = 9  # between arrows beside one another


def nest_to_svg(nest: Nest) -> str:
    """The drawing as an SVG element."""
    boxes = dict(_shown(nest))
    arrows = list(_arrows(nest))
    wide = max(len(line) for lines in boxes.values() for line in lines) * LETTER + 2 * PAD
    left = LANE * (sum(_goes_back(boxes, *one[:2]) for one in arrows) + 2)
    tops: dict[str, int] = {}
    height = GAP
    for label, lines in boxes.items():
        tops[label] = height
        height += LINE * len(lines) + 2 * PAD + GAP
    right = left + wide
    width = right + LANE * (len(arrows) + 2)
    size = f'width="{width:.0f}" height="{height}" font-family="monospace" font-size="10"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>']
    for label, lines in boxes.items():
        parts += _box(lines, left, tops[label], wide)
    lanes = {True: 0, False: 0}
    for start, end, label in arrows:
        back = _goes_back(boxes, start, end)
        lanes[back] += 1
        side, lane = (
            (left, left - LANE * lanes[back]) if back else (right, right + LANE * lanes[back])
        )
        leaves = tops[start] + LINE * len(boxes[start]) + PAD - (4 if label == "yes" else 0)
        parts.append(_arrow(side, lane, leaves, tops[end] + PAD, label))
    return "".join([*parts, "</svg>"])


def _goes_back(boxes: dict[str, list[str]], start: str, end: str) -> bool:
    order = list(boxes)
    return order.index(end) <= order.index(start)


def _box(lines: list[str], left: float, top: int, wide: float) -> Iterator[str]:
    high = LINE * len(lines) + 2 * PAD
    yield (
        f'<rect x="{left:.0f}" y="{top}" width="{wide:.0f}" height="{high}" rx="4" fill="#e6ecf8" stroke="#888"/>'
    )
    for number, line in enumerate(lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        y = top + PAD + LINE * (number + 1) - 3
        yield f'<text x="{left + PAD:.0f}" y="{y}"{weight}>{html.escape(line)}</text>'


def _arrow(side: float, lane: float, leaves: int, enters: int, label: str) -> str:
    """Out of a box at its foot, along a lane, into another at its head."""
    tip = 4 if lane > side else -4
    stroke = "#2a7" if label == "yes" else "#a55" if label == "no" else "#888"
    path = f"M{side:.0f},{leaves} H{lane:.0f} V{enters} H{side:.0f}"
    head = f"M{side:.0f},{enters} l{tip},-3 v6 z"
    return (
        f'<path d="{path}" style="fill:none;stroke:{stroke}"/>'
        f'<path d="{head}" style="fill:{stroke}"/>'
    )
