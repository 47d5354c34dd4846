"""Native loops with sides of branches that print, log, warn or plot: such a turn is plain Python's."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, LOG015
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
import logging
import random
import types
import warnings

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.nests.native_loops import native_turns
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.nests.known.sides import left_in_function, left_in_loop, read_in_loop

pytest.importorskip("llvmlite")

N = 3000


class Plots:
    """What stands for a library that plots."""

    def __init__(self) -> None:
        self.drawn: list[object] = []

    def plot(self, *given) -> None:
        """Keep what is given."""
        self.drawn.append(given)


plt = Plots()
shows = False


def kepler(t, e, tolerance):
    found = np.zeros(len(t))
    for i in range(len(t)):
        place, step, it = np.pi, 1.0, 0
        while it <= 100 and np.abs(step) > tolerance:
            step = -(place - e * np.sin(place) - t[i]) / (1.0 - e * np.cos(place))
            place += step
            it += 1
        if np.abs(step) > tolerance:
            print("not found", i, place)
        found[i] = place
    return found


def now_and_then(n, every):
    total = 0.0
    for i in range(n):
        total += i * 0.5
        if i % every == every - 1:
            label = f"{i}: {total:.3f}"
            print(label, end=";")
            total -= 1.0
    return total


def within_loops(a, limit):
    count = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > limit:
                print(i, j, float(a[i, j]))
                a[i, j] = limit
                continue
            count += 1
    return count, a


def checked(x, limit):
    if x > limit:
        print("too large:", x)
        return limit
    return x * 0.5


def in_functions(x, limit):
    s = 0.0
    for i in range(len(x)):
        s += checked(x[i], limit)
    return s


def in_a_while(n):
    i = steps = 0
    while i < n:
        i += 1 + i % 3
        steps += 1
        if i % 1000 == 7:
            print("at", i)
    return i, steps


def warned(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0.0005:
            warnings.warn(f"{i} is small", stacklevel=1)
        s += x[i]
    return s


def logged(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.999:
            logging.debug("large: %s", i)
        s += x[i]
    return s


def plotted(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if shows:
            plt.plot(i, s, [s])
    return s


def that_names_things(x):
    """What only such a side binds need be no number."""
    s, name = 0.0, "nothing"
    for i in range(len(x)):
        s += x[i]
        if i % 700 == 699:
            name = f"turn {i}"
            print(name)
    return s, name


PROGRAMS = [
    (kepler, lambda: (np.linspace(0, 6, N), 0.3, 1e-8)),
    (now_and_then, lambda: (N, 1000)),
    (now_and_then, lambda: (N, 50)),
    (within_loops, lambda: (np.linspace(0, 1, N).reshape(60, -1), 0.999)),
    (in_functions, lambda: (np.linspace(0, 1, N), 0.9995)),
    (in_a_while, lambda: (N,)),
    (warned, lambda: (np.linspace(0, 1, N),)),
    (logged, lambda: (np.linspace(0, 1, N),)),
    (plotted, lambda: (np.linspace(0, 1, N),)),
]


@pytest.mark.parametrize(("function", "make"), PROGRAMS)
def test_a_side_that_prints_is_left(function, make) -> None:
    """The other turns are native; the lines are printed once, in order."""
    assert native_turns(function, make) > 50


def test_what_only_such_a_side_binds_is_no_number() -> None:
    """The text is the last turn's that has made one."""
    assert native_turns(that_names_things, lambda: (np.linspace(0, 1, N),)) >= 0


def always(n):
    s = 0
    for i in range(n):
        s += i
        print(s, end=" ")
    return s


def often(n, silent):
    s = 0
    for i in range(n):
        s += i
        if not silent:
            print(s, end=" ")
    return s


def test_a_loop_that_prints_at_each_turn_is_left_alone() -> None:
    """It says so; one that nearly always does so is given up, and runs as before."""
    compiled = ufuse.compile(always)
    for _ in range(3):
        check_same(always, compiled, lambda: (N,))
    assert [loop.turns for loop in compiled.loops] == [0]
    assert compiled.loops[0].why_not.startswith("calls of print ")
    assert not left_in_loop(always.__code__, _header(always.__code__))
    compiled = ufuse.compile(often)
    for silent in (True, False, False, True):
        check_same(often, compiled, lambda silent=silent: (N, silent))


def _header(code: types.CodeType) -> int:
    return next(one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER")


def _lines(code: types.CodeType, positions: frozenset[int]) -> set[int]:
    """The lines of a function in which some positions stand, counted from its first.

    From 3.14 on a branch that is not taken begins with a mark, in the line of the condition.
    """
    table = instructions.by_position(code)
    read = [table[one] for one in positions if table[one].opname != "NOT_TAKEN"]
    return {(one.location[0] or 0) - code.co_firstlineno for one in read}


def test_which_lines_are_left() -> None:
    """From the text that is made for `print` on; what comes after it is not read either."""
    code = now_and_then.__code__
    assert _lines(code, left_in_loop(code, _header(code))) >= {5, 6}
    assert _lines(code, read_in_loop(code, _header(code))).isdisjoint({5, 6, 7})
    assert _lines(checked.__code__, left_in_function(checked.__code__)) == {2}
    assert not left_in_function(always.__code__)


# Random programs ------------------------------------------------------------------------------------------------

CONDITIONS = ("i % {k} == {r}", "s > {c}", "x[i] > {f}", "t and i % 7 == 3", "i == {k}", "flag")
SAYINGS = ("print(i, s)", "print('s', s, sep='=')", "logging.debug('%s', s)", "print(f'{s!r} {i}')")
WORK = (
    "s += x[i]", "s = s * 0.5 + i", "t = t + i % 3", "x[i] = s * 0.25", "t = max(t, i)",
    "t = (t * 3 + 1) % 1009", "s -= helper(x[i], {f})", "n = name_of(t)",
)  # fmt: skip
FRAME = """
def helper(v, limit):
    if v > limit:
        print('helper', v)
        v = limit
    return v * 2.0

def name_of(t):
    return t // 2

def program(x, flag):
    s, t, n = 0.0, 1, 0
    for i in range(len(x)):
{body}
    return s, t, n, x
"""


def statements(rng: random.Random, depth: int, inside: str) -> list[str]:
    """Some lines of a loop's body."""
    lines = []
    for _ in range(rng.randint(1, 3)):
        numbers = {"k": rng.randint(2, 900), "c": rng.randint(0, 900), "f": rng.random() * 1.1}
        numbers["r"] = rng.randrange(int(numbers["k"]))
        kind = rng.random()
        if kind < 0.5 or depth > 2:
            lines.append(inside + rng.choice(WORK).format(**numbers))
        elif kind < 0.9:
            lines.append(f"{inside}if {rng.choice(CONDITIONS).format(**numbers)}:")
            side = statements(rng, depth + 1, inside + "    ")
            if rng.random() < 0.7:
                said = f"{inside}    {rng.choice(SAYINGS)}"
                side = [said, *side] if rng.random() < 0.5 else [*side, said]
            lines += side
            if rng.random() < 0.2:
                lines.append(inside + "    " + rng.choice(("continue", "break")))
            elif rng.random() < 0.3:
                lines += [f"{inside}else:", *statements(rng, depth + 1, inside + "    ")]
        else:
            lines.append(f"{inside}for j in range({rng.randint(0, 4)}):")
            lines += statements(rng, depth + 1, inside + "    ")
    return lines


def random_program(seed: int):
    """A function of random statements."""
    rng = random.Random(seed)  # noqa: S311  no secret
    text = FRAME.format(body="\n".join(statements(rng, 0, " " * 8)))
    space = {"logging": logging}
    exec(compile(text, f"<random {seed}>", "exec"), space)
    return space["program"]


def test_random_loops_that_print() -> None:
    """What they print, give and change is as in plain Python, at the first call, the second and later."""
    values, turns = np.random.default_rng(1).random(N), []
    for seed in range(25):
        flags = itertools.cycle((False, True))
        turns.append(
            native_turns(random_program(seed), lambda flags=flags: (values.copy(), next(flags)))
        )
    assert sum(map(bool, turns)) > 5
