"""Where the ways back in a loop meet before they lead back: LLVM takes several of them to be loops within one another.

Python's compiler leads each side of an `if` that ends a turn back to the header by itself. Of such a loop LLVM makes
no vectors, and it keeps a jump where it could choose between two numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from ufuse.backends.numpy.nest_passes.flow import Flow

Edge = tuple[str, str]  # from a block to another


class Latches(NamedTuple):
    """Where edges lead to instead, and where that leads to: another of these, or the header."""

    led: dict[Edge, str]
    blocks: dict[str, str]


def latches_of(flow: Flow) -> Latches:
    """Those of loops without loops inside that have several ways back: sides of a branch meet two by two."""
    found = Latches({}, {})
    loops = flow.ways_back()
    for header, each in loops.items():
        labels = set().union(*each)
        is_inner = not any(other in labels for other in loops if other != header)
        if len(each) > 1 and is_inner and all(flow.is_dominated(one, header) for one in labels):
            lasts = [one for one in flow.before[header] if one in labels]
            _join(flow, lasts, header, header, found)
    return found


def _join(flow: Flow, lasts: list[str], header: str, behind: str, found: Latches) -> None:
    """Make the block where the ways back from some blocks meet, which leads to another."""
    name = f"{header}.latch{len(found.blocks)}"
    found.blocks[name] = behind
    sides: dict[str, list[str]] = {}
    common = flow.common(lasts)
    for last in lasts:
        sides.setdefault(_side(flow, last, common), []).append(last)
    for side in sides.values():
        if len(side) > 1:
            _join(flow, side, header, name, found)
        else:
            found.led[side[0], header] = name


def _side(flow: Flow, label: str, common: str) -> str:
    """The block behind a common one through which every way to a block leads; the common one for itself."""
    while label != common and flow.dominators[label] != common:
        label = flow.dominators[label]
    return label
