"""The instruction `share` in LLVM's language: a loop's variables go into words, as cells of the nest that C runs."""

from __future__ import annotations

from ufuse.backends.numpy.nest_code.body import TYPES, Body, as_word, of_word
from ufuse.backends.numpy.nest_passes.shared_loops import Share
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import F64, I64

FEWEST_TURNS = 64  # of a loop of which C is asked; what it asks itself takes less than so many


def emit_share(body: Body, one: Instruction) -> str:
    """Whether C has done all turns of a loop; a doubt where one of them was in doubt."""
    number, share = one.attributes
    before, asking, asked, done, following = (body.label() for _ in range(5))
    left = body.get(share.left, I64)
    are_many = body.add_new(f"icmp sge i64 {left}, {FEWEST_TURNS}")
    body.lines += [
        f"br label %{before}",
        f"{before}:",
        f"br i1 {are_many}, label %{asking}, label %{following}",
        f"{asking}:",
    ]
    known, body.known = body.known, body.known.copy()
    _put(body, share, left)
    verdict = body.call("helper.share", "i32", f"i64 {number}, ptr %arrays, ptr %shared")
    body.doubt_if(body.add_new(f"icmp slt i32 {verdict}, 0"))
    is_done = body.add_new(f"icmp ne i32 {verdict}, 0")
    body.lines += [
        f"br label %{asked}",
        f"{asked}:",
        f"br i1 {is_done}, label %{done}, label %{following}",
        f"{done}:",
    ]
    _take(body, share)
    body.lines += [f"br label %{following}", f"{following}:"]
    body.known = known
    body.known.table.clear()
    ways = f"[ false, %{before} ], [ false, %{asked} ], [ true, %{done} ]"
    return body.add_new(f"phi i1 {ways}")


def _put(body: Body, share: Share, left: str) -> None:
    """Store the cells, and where arrays lie: else LLVM would believe that nobody else writes into them."""
    for place, cell in enumerate(share.cells):
        if isinstance(cell, str):
            type_ = body.type_of(cell)
            word = as_word(body, body.get(cell, type_), type_)
            _store(body, place, word, "double" if type_ == F64 else "i64")
        else:
            _store(body, place, str(cell), "i64")
    _store(body, len(share.cells), left, "i64")
    behind = len(share.cells) + 1
    for number in range(body.given):
        _store(body, behind + number, body.data(number), "ptr")
    body.shared = max(body.shared, behind + body.given)


def _take(body: Body, share: Share) -> None:
    """Give variables the values that the loop has left."""
    for place, name in share.changed:
        type_ = body.type_of(name)
        at = body.add(f"getelementptr i64, ptr %shared, i64 {place}")
        word = body.add_new(f"load {'double' if type_ == F64 else 'i64'}, ptr {at}")
        value = of_word(body, word, type_)
        body.lines.append(f"store {TYPES[type_]} {value}, ptr {body.places[name]}")


def _store(body: Body, place: int, word: str, type_: str) -> None:
    at = body.add(f"getelementptr i64, ptr %shared, i64 {place}")
    body.lines.append(f"store {type_} {word}, ptr {at}")
