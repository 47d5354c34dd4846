"""Functions that are made where they are called, in the programs of `loops.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.loops import Writer

PRELUDE = """\
from functools import reduce
from itertools import accumulate, pairwise, product


def applied(f, u):
    return f(u) - u


def twice(f, k):
    one = f(k)
    if k > 3:
        return one
    return one + f(k + 1)


def stacked(f, k):
    out = []
    for i in range(k):
        row = []
        for j in range(3 if k < 6 else 3 + i // 5):
            row.append(f(i - j))
        out.append(row)
    return np.array(out)


def paired(f, k):
    out = []
    for i in range(k):
        value = f(i)
        if i != 2:
            out.append((i, value))
    return np.array(out)


def vectors(f, k):
    out = []
    for i in range(k):
        row = np.zeros(3)
        row[i % 3] = f(i)
        out.append(row)
        row = row * 0.5
        out.append(row)
    return np.array(out)


"""
NAMES = ("a_", "b_")  # of the parameter of one, and of one within it
SHARE = 0.1  # of the expressions in a program that has generators, too


def drawn(writer: Writer, kind: str, depth: int) -> str | None:
    """A call of such a function, `I` or `F`; None where the program is to have another expression here."""
    rng = writer.generators
    names = writer.ints if kind == "I" else writer.floats
    within = sum(name in (*writer.ints, *writer.floats) for name in NAMES)
    if rng is None or kind == "B" or depth > 2 or within == len(NAMES) or rng.random() > SHARE:
        return None
    name = NAMES[within]
    given = writer.integer(depth + 1) if kind == "I" else writer.real(depth + 1)
    names.append(name)
    try:
        body = writer.integer(depth + 1) if kind == "I" else writer.real(depth + 1)
    finally:
        names.remove(name)
    made = f"lambda {name}: {body}"
    if kind == "F" and rng.random() < 0.4 and len(writer.loops) < 2:  # they take long
        function = rng.choice(("stacked", "stacked", "paired", "vectors"))
        return f"{function}({made}, {rng.choice(('3', 'n % 5', 'm % 8', '1'))}).sum()"
    if rng.random() < 0.3:
        return f"({made})({given})"
    return f"{'twice' if kind == 'I' else 'applied'}({made}, {given})"
