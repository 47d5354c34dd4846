"""What is known of the elements of arrays where a trace ends, so that a loop behind it need not save them."""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.entries.recipe_iterators import Made, Register
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import Span

# What `_hook.Entry` takes for a slot; a number that is not negative is the slot of an array with equal elements.
UNKNOWN, ARBITRARY, ZERO = -3, -2, -1
MADE = {ops.EMPTY: ARBITRARY, ops.ZEROS: ZERO}
MOST_ROWS = 16  # in front of an array, that are saved though the others are not
WRITERS = {Kind.STORE, Kind.CALL, Kind.LOOP, Kind.BRANCH}


def known_contents(recipe: Recipe, slots: Sequence[Register]) -> tuple[int, ...] | None:
    """What is known of the array in each slot of a state, whoever holds it; None where nothing is."""
    nodes = recipe.trace.graph.nodes
    written = {one for node in nodes if node.op.kind in WRITERS for one in node.inputs}
    given = {node: source.register for node, source in recipe.trace.graph.inputs}
    # Where something is written that the frame was given, what was copied may be another by now.
    is_quiet = not recipe.trace.changes.effects and given.keys().isdisjoint(written)
    place = {register: slot for slot, register in enumerate(slots) if register != -1}

    def known(node: Node) -> int:
        if node in written:
            return UNKNOWN
        if node.op is ops.COPY and is_quiet:
            source = given.get(node.inputs[0])
            return UNKNOWN if source is None else place.get(source, UNKNOWN)
        made, rows = _begun(node)
        contents = MADE.get(made.op, UNKNOWN)
        return contents if contents == UNKNOWN or not rows else _behind(contents, rows)

    found = tuple(
        known(recipe.outputs[one.number])
        if isinstance(one, Made) and one.by == "output"
        else UNKNOWN
        for one in slots
    )
    return found if any(one != UNKNOWN for one in found) else None


def _begun(node: Node) -> tuple[Node, int]:
    """What made an array of which some rows in front were stored since, `x[0] = 1.0`, and how many these are."""
    rows = 0
    while node.op.kind is Kind.STORE:
        stored = _rows(node)
        if stored is None:
            break
        node, rows = node.inputs[0], max(rows, stored)
    return node, rows


def _rows(store: Node) -> int | None:
    """How many rows there are up to the last one that is stored to; None where that is not known, or many."""
    path = store.attributes.get("path", ())
    if not path or path[0][0] != "index":
        return None
    (first, *_) = path[0][1]["index"] or (None,)
    if type(first) is int:
        past = first + 1
    elif isinstance(first, Span) and type(first.start) is type(first.length) is int:
        past = first.start + (first.length - 1) * max(first.step, 0) + 1
    else:
        return None
    return past if 0 < past <= MOST_ROWS else None


def _behind(contents: int, rows: int) -> int:
    """What is said of the rows behind so many: see `known.c`."""
    return UNKNOWN - 1 - (2 * (rows - 1) + (contents == ZERO))
