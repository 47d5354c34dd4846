"""Generator expressions that a call goes over, in the programs of `loops.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.loops import Writer

TURNS = ("g_", "h_")  # of a generator, and of one within it
SHARE = 0.2  # of the expressions in a program that has them


def drawn(writer: Writer, kind: str, depth: int) -> str | None:
    """A call of one kind of expression, `I`, `F` or `B`; None where the program is to have another one here."""
    rng = writer.generators
    within = sum(turn in writer.loops for turn in TURNS)
    if rng is None or depth > 2 or within == len(TURNS) or rng.random() > SHARE:
        return None
    turn = TURNS[within]
    turns = _turns(writer, turn)
    writer.loops.append(turn)
    try:
        condition = f" if {writer.truth(3)}" if rng.random() < 0.25 else ""
        if rng.random() < 0.15:
            turns += f" for w_ in range({turn} % 4)"
        return _call(writer, kind, f"{turns}{condition}", depth)
    finally:
        writer.loops.remove(turn)


def _turns(writer: Writer, turn: str) -> str:
    rng = writer.generators
    assert rng is not None
    array = writer.array_of("dl")
    chance = rng.random()
    if array and writer.arrays[array][1] == 1 and chance < 0.2:
        return f"for {turn}, e_ in enumerate({array}[:9])"
    if chance < 0.3 and writer.loops:
        return f"for {turn} in range({rng.choice(writer.loops)} % 9)"
    if chance < 0.4:
        return f"for {turn} in ({rng.choice(('0, 1, 2', '1, 2', '3, 0, 1, 2, 5'))})"
    return (
        f"for {turn} in range({rng.choice(('3', '5', '1, 8', '0', '9, 0, -2', 'n % 7', 'm % 5'))})"
    )


def _call(writer: Writer, kind: str, turns: str, depth: int) -> str:
    rng = writer.generators
    assert rng is not None
    if kind == "B":
        negated = "" if rng.random() < 0.7 else "not "
        value = writer.truth(depth + 1) if rng.random() < 0.8 else writer.anything(depth + 1)
        return f"({negated}{rng.choice(('any', 'all'))}({value} {turns}))"
    if kind == "I":
        value = rng.choice(("1", f"({writer.integer(depth + 1)}) % 1009", writer.truth(depth + 1)))
        function = rng.choice(("sum", "sum", "sum", "max", "min"))
    else:
        value = writer.real(depth + 1) if rng.random() < 0.8 else writer.anything(depth + 1)
        function = rng.choice(("sum", "sum", "sum", "sum", "max", "min", "math.prod"))
    if " w_ " in turns and rng.random() < 0.5:
        value = f"({value}) * w_"
    if " e_ " in turns and rng.random() < 0.5:
        value = f"({value}) + e_"
    if function in ("max", "min") or rng.random() < 0.7:
        return f"{function}({value} {turns})"
    start = rng.choice(("0.0", "0.5", "1", "x", "n", "start=1", "start=-0.0"))
    return f"{function}(({value} {turns}), {start})"
