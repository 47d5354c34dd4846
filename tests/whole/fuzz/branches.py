"""Random programs of branches on computed numbers: nested, in functions that are called, with writes, aliases, returns."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import numpy as np

from tests.support.comparing.compare import Difference, check_same
from tests.whole.fuzz.check import MODES, Tried, World, without_reset
from tests.whole.fuzz.python.programs import PythonProgram
from tests.whole.fuzz.states import error_state
from tests.whole.fuzz.values import Given

TURNS = 10  # calls with each of the arguments, in turn: until graphs have both sides
PRELUDE = """from collections import namedtuple

import numpy as np


class Held:
    value = 0.5


Pair = namedtuple("Pair", "a b")
HELD = Held()
GIVEN = {}


def halved(x):
    if x[0] > 0.5:
        return x / 2
    return x - 1


def signed(x, s):
    if s > 0 and x[1] > 0:
        return x, s
    elif x.sum() < 0:
        return x * 2, -s
    return x + s, s * 2
"""
EXPRESSIONS = (
    "{a} + {c}", "{a} * {c}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "np.where({a} > {c}, {a}, {b})", "np.abs({a})",
    "{a}[::-1] + {b}", "np.maximum({a}, {b})", "np.sqrt({a})", "np.sqrt(np.abs({a}))", "halved({a})", "signed({a}, s)[0]",
    "({a} if {t} else {b} * 2)", "({a} * 2 if {t} else {b} + 1)", "{a}.copy()", "{a}", "{a}[:]", "np.full_like({a}, {c})",
    "store[1] + {a}", "named['a'] * {c}", "{a} * HELD.value", "{a} - kept.value",
)  # fmt: skip
TRUTHS = (
    "{a}[0] > {b}[1]", "{a}.sum() > 0", "({a} > {b}).any()", "np.isfinite({a}).all()", "not {a}[0] > 0",
    "{a}[0] > 0 and {b}[1] < 1", "{a}[0] > 0 or {b}[1] < 1", "{a}.max() > 1", "{a}[0]", "{a}[0:1] > {c}", "n > 1",
    "s > 0.5", "flag", "bool({a}[1] < 0)", "{a} is {b}", "x.size > 2",
)  # fmt: skip
STATEMENTS = (
    "s = s * 2", "s = s + 1.0", "s = float({a}[0])", "s = {a}[1]", "s = 0.25", "n = n + 1", "n = 2", "flag = True",
    "flag = not flag", "flag = {t}", "{a} += 1", "{a}[0] = 2", "{a}[1:] *= s", "{a} *= {c}", "found.append({a})",
    "pair = ({a}, s, flag)", "HELD.value = {a}", "del pair", "{a}, s = signed({a}, s)", "assert {t}, 'odd'",
    "{a}[:] = {b}", "{a}[::2] = {b}[1]", "np.add({a}, {b}, out={a})", "{a}[1] /= {b}[0]", "store[1] = {a}", "named['a'] = {a}",
    "named['b'] = s", "HELD.value = s", "kept.value = {a}", "kept = Held()", "store = [{a}, {b}]", "named = {{'a': {a}, 'b': s}}",
    "found.append(s)", "pair = Pair({a}, s)", "given[0] = {a}", "given.append(s)", "GIVEN['a'] = s", "{a}[1] = np.log({b}[1])",
    "return {a}, s", "raise ValueError('odd')", "{a}, {b} = {b}, {a}", "np.log({a})",
)  # fmt: skip
VALUES = ("1", "2.0", "0.5", "-3", "np.float64(2)")


class Writer:
    """Lines of a program, and which arrays it has by now."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []

    def filled(self, templates: tuple[str, ...], names: list[str]) -> str:
        """One of some texts, its places filled."""
        truth = self.filled(TRUTHS, names) if templates is not TRUTHS else ""
        a, b, c = self.rng.choice(names), self.rng.choice(names), self.rng.choice(VALUES)
        return self.rng.choice(templates).format(a=a, b=b, c=c, t=truth)

    def block(self, depth: int, names: list[str], indent: int) -> None:
        """Some statements; what they bind counts in this block."""
        names = list(names)
        space = "    " * indent
        for _ in range(self.rng.randint(1, 3)):
            drawn = self.rng.random()
            if drawn < 0.4:
                name = self.rng.choice("xyz")
                self.lines.append(f"{space}{name} = {self.filled(EXPRESSIONS, names)}")
            elif drawn < 0.75 and depth:
                self.branch(depth, names, indent)
            elif drawn < 0.83 and depth:
                self.lines.append(f"{space}with {error_state(self.rng)}:")
                self.block(depth - 1, names, indent + 1)
            else:
                self.lines.append(space + self.filled(STATEMENTS, names))

    def branch(self, depth: int, names: list[str], indent: int) -> None:
        """An `if` with its sides."""
        space = "    " * indent
        self.lines.append(f"{space}if {self.filled(TRUTHS, names)}:")
        if self.rng.random() < 0.25:
            self.twins(names, indent)
            return
        self.block(depth - 1, names, indent + 1)
        if self.rng.random() < 0.3:
            self.lines.append(f"{space}elif {self.filled(TRUTHS, names)}:")
            self.block(depth - 1, names, indent + 1)
        if self.rng.random() < 0.7:
            self.lines.append(f"{space}else:")
            self.block(depth - 1, names, indent + 1)

    def twins(self, names: list[str], indent: int) -> None:
        """Sides that do the same with other values."""
        space = "    " * indent
        template = (self.rng.choice(STATEMENTS),)
        self.lines += [
            f"{space}    {self.filled(template, names)}", f"{space}else:",
            f"{space}    {self.filled(template, names)}",
        ]  # fmt: skip


def generated(seed: int) -> PythonProgram:
    """The program of a seed."""
    rng = random.Random(seed)  # noqa: S311  not for secrets
    writer = Writer(rng)
    names = ["x", "y", "z"]
    for depth in (3, 2):
        writer.block(depth, names, 1)
    begin = (
        "    z = x + y\n    n, flag, pair, found = 1, s > 0, (), []\n"
        "    store, named, kept = [x, z], {'a': y, 'b': s}, Held()\n"
    )
    body = "\n".join(writer.lines)
    end = "    return x, y, z, s, n, flag, pair, found, store, named, kept.value\n"
    source = f"{PRELUDE}\n\ndef program(x, y, s, given):\n{begin}{body}\n{end}"
    return PythonProgram(source, tuple(_given(rng) for _ in range(5)), seed)


def _given(rng: random.Random) -> tuple[Given, ...]:
    numbers = ("0.5", "1.5", "-1.0", "-0.25", "0.0", "2.0", "100.0", "np.nan", "np.inf")
    weights = (4, 4, 4, 4, 1, 2, 1, 0.3, 0.3)
    x, y = (", ".join(rng.choices(numbers, weights, k=3)) for _ in "xy")
    other = "x" if rng.random() < 0.1 else f"np.array([{y}])"
    s, listed = rng.choice(numbers[:7]), rng.choice(("[x]", "[0.5]", "[y, 2.0]"))
    return Given("x", f"np.array([{x}])"), Given("y", other), Given("s", s), Given("given", listed)


class BranchesWorld(World):
    """The module of such a program, which has an object with an attribute."""

    atoms = False
    shorter_lives = True
    is_brief = True

    def reset(self) -> None:
        """Put the attribute back."""
        self.module.HELD.value = 0.5
        self.module.GIVEN.clear()

    def state(self) -> tuple[Any, ...]:
        """What the attribute is, and what is in the dict."""
        return self.module.HELD.value, dict(self.module.GIVEN)

    def made(self, given: tuple[Given, ...]) -> tuple[Any, ...]:
        """Arguments for a call."""
        known: dict[str, Any] = {"np": np}
        for argument in given:
            known[argument.name] = eval(argument.text, known)  # noqa: S307  our own text
        return tuple(known[argument.name] for argument in given)

    def sequence(self, program: Tried, compiled: Any) -> str:
        """What differs where the arguments come in turn: then graphs grow, and have both sides."""
        kept, plain = without_reset(compiled), without_reset(self.function)
        for turn in range(TURNS):
            for number, given in enumerate(program.sets):
                try:
                    check_same(
                        plain, kept, lambda given=given: self.made(given), calls=1, modes=MODES[:1],
                        state=self.state, reset=self.reset, copies=False, atoms=False,
                    )  # fmt: skip
                except Difference as error:
                    return f"in turn {turn}, arguments {number}, {error}"
        return ""


def is_usable(program: PythonProgram) -> bool:
    """Whether the module can be made and its arguments, too."""
    with suppress(Exception):
        world = BranchesWorld(program.source)
        try:
            for given in program.sets:
                world.made(given)
            return callable(world.function)
        finally:
            world.forget()
    return False


def shown(program: PythonProgram) -> str:
    """The module without the prelude, and the arguments, to be read."""
    lines = [program.source.replace(PRELUDE, "").strip()]
    for given in program.sets:
        lines.append("  with " + "; ".join(f"{g.name} = {g.text}" for g in given))
    return "\n".join(lines)
