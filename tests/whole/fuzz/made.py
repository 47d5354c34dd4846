"""Functions that are made where they are called, in the programs of `loops.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.loops import Writer

PRELUDE = """\
from collections import defaultdict
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


def counted(f, k):
    found = {}
    for i in range(k):
        key = f(i) % 5
        found[key] = found.get(key, 1) + i
    total = len(found)
    for key, value in found.items():
        total = total * 3 + key + value
    return total


def weighed(f, k):
    found = defaultdict(int)
    for i in range(k):
        found[i % 4] += f(i) % 7
        if found[i % 3] > 4:
            found[i] = 2
    return max(found.values()) if found else 0


def repeated(f, k):
    seen, again = set(), 0
    for i in range(k):
        key = f(i) % 9
        if key in seen:
            again += 1
        seen.add(key)
    return again - len(seen)


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
    if kind == "I" and rng.random() < 0.4 and len(writer.loops) < 2:
        function = rng.choice(("counted", "weighed", "repeated"))
        return f"{function}({made}, {rng.choice(('3', 'n % 5', 'm % 8', '1'))})"
    if rng.random() < 0.3:
        return f"({made})({given})"
    return f"{'twice' if kind == 'I' else 'applied'}({made}, {given})"
