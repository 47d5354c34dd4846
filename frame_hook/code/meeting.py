"""Where the ways of a frame meet again behind a branch."""

from __future__ import annotations

from types import CodeType

from ufuse.frame_hook.code import instructions


@instructions.per_code
def postdominators(code: CodeType) -> dict[int, int]:
    """By position: what every way from there to a return comes through, as bits of positions."""
    table = instructions.by_position(code)
    everything = (1 << (max(table) + 1)) - 1
    found = dict.fromkeys(table, everything)
    changes = True
    while changes:
        changes = False
        for position in reversed(table):
            after = instructions.successors(table[position])
            raises = not after and "RAISE" in table[position].opname
            bits = everything if after or raises else 0
            for one in after:
                bits &= found[one]
            bits |= 1 << position
            changes |= bits != found[position]
            found[position] = bits
    return found


def meeting_place(code: CodeType, one: int, other: int) -> int | None:
    """Where two ways of a frame meet; None: at its end."""
    found = postdominators(code)
    common = found[one] & found[other]
    places = [position for position in found if common >> position & 1]
    return max(places, key=lambda place: found[place].bit_count()) if places else None
