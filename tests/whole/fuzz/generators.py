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
    if chance < 0.5:
        return _several_axes(writer, turn)
    return (
        f"for {turn} in range({rng.choice(('3', '5', '1, 8', '0', '9, 0, -2', 'n % 7', 'm % 5'))})"
    )


def _several_axes(writer: Writer, turn: str) -> str:
    rng = writer.generators
    assert rng is not None
    array = writer.array_of("dl")
    if array and writer.arrays[array][1] == 2 and rng.random() < 0.6:
        part = f"{array}[:{rng.choice(('4', '0', '3'))}, {rng.choice((':3', '::-9', '-2:'))}]"
        return rng.choice((
            f"for ({turn}, v_), e_ in np.ndenumerate({part})", f"for {turn}, v_ in np.ndindex({part}.shape)",
            f"for {turn}, e_ in enumerate({part}.flat)", f"for {turn}, e_ in product(range(2), {part}.flat)",
        ))  # fmt: skip
    if array and writer.arrays[array][1] == 1 and rng.random() < 0.4:
        return rng.choice(
            (
                f"for {turn}, e_ in product(range(3), {array}[:4])",
                f"for {turn}, (v_, e_) in enumerate(pairwise({array}[:6]))",
            )
        )
    return rng.choice((
        f"for {turn}, v_ in product(range(3), range(n % 4))", f"for v_, {turn} in np.ndindex(m % 3, 4)",
        f"for {turn}, v_ in product((1, 2, 5), repeat=2)", f"for {turn}, e_ in product(range(3), (0.5, -1.5))",
        f"for v_, {turn} in product([3, 1], range(5))", f"for v_, {turn} in pairwise(range(n % 6))",
    ))  # fmt: skip


# What is done with a list, of ints or of floats; `{}` is a comprehension, `S` a list of it that is not empty.
OF_INTS = (
    "len({})", "sum({})", "max([0, *S])", "len(list(filter(lambda q_: q_ > 1, {})))", "int(np.array({}, dtype=int).sum() % 1009)",
    "reduce(lambda p_, q_: (p_ * 3 + q_) % 1009, S)", "sum(map(lambda q_: q_ % 7, {}))", "len(np.array({}))",
    "max(range(3), key=lambda q_: -abs(q_ - len({})))",
)  # fmt: skip
OF_FLOATS = (
    "sum({})", "float(np.array({}).sum())", "np.array({}).sum()", "reduce(lambda p_, q_: p_ * 0.5 + q_, S)", "max(S)",
    "list(accumulate(S, lambda p_, q_: p_ * 0.5 + q_))[-1]", "min(S, key=lambda q_: abs(q_ - 0.25))", "sum(map(abs, {}))",
    "np.fromiter((q_ * 2 for q_ in {}), float).sum()", "np.fromiter({}, float, len({})).sum()", "np.array({}, float).mean()",
    "np.array([(q_, q_ * 0.5) for q_ in {}], float).sum()", "np.array([[q_ * i_ for i_ in range(3)] for q_ in S]).sum()",
    "sum(p_ * r_ for p_, r_ in [(q_, q_ - 0.5) for q_ in {}])", "np.vstack([np.array([q_, 0.5]) * q_ for q_ in S]).sum()",
    "np.vectorize(lambda q_: q_ * q_ if q_ > 0 else 0.5 - q_)(np.array(S)).sum()",
    "np.vectorize(lambda q_, r_: q_ - r_ if q_ > r_ else 0.25, otypes=[float])(np.array({}, float), 0.5).sum()",
)  # fmt: skip


def _of_list(writer: Writer, kind: str, turns: str, depth: int) -> str:
    """What a list gives that a comprehension makes, or a function that another is called by for each item."""
    rng = writer.generators
    assert rng is not None
    own = writer.integer(depth + 1) if kind == "I" else writer.real(depth + 1)
    value = f"({own}) % 1009" if kind == "I" else own
    template = rng.choice(OF_INTS if kind == "I" else OF_FLOATS)
    listed = f"[{value} {turns}]"
    filled = template.replace("*S", "*{}").replace(
        "S", "({} or [0.5])" if kind == "F" else "({} or [5])"
    )
    return f"({filled.replace('{}', listed)})"


def _call(writer: Writer, kind: str, turns: str, depth: int) -> str:
    rng = writer.generators
    assert rng is not None
    if kind != "B" and rng.random() < 0.35:
        return _of_list(writer, kind, turns, depth)
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
