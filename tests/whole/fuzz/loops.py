"""Random programs of `for` loops over ranges, with numbers and elements of arrays: what becomes native code."""

from __future__ import annotations

import random
import re
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tests.whole.fuzz import complexes, draws, generators, listed, object_lists, objects, tables
from tests.whole.fuzz import made as made_functions
from tests.whole.fuzz.check import Tried, World
from tests.whole.fuzz.draws import Draws
from tests.whole.fuzz.loop_arguments import (
    NUMBERS,
    SIZES,
    SMALL,
    family,
    odd_array,
    overlapping,
    random_set,
    text_of_shape,
)
from tests.whole.fuzz.python.programs import PythonProgram
from tests.whole.fuzz.values import Given, array
from ufuse.frame_hook import session
from ufuse.frame_hook.nests.entries import left_loops
from ufuse.frame_hook.tracing import Tracer

PRELUDE = (
    """\
import math
import random
import numpy as np

HALF = 0.5
NAN = float('nan')
INF = float('inf')
BIG = 2**62


def half(u):
    return u * 0.5


def clamped(u, low=-3.0, high=3.0):
    if u < low:
        return low
    return high if u > high else u


def bent(v):
    if v > 0:
        return v * v + 1.0
    return -v


def stepped(k, s):
    if s:
        return k + 1
    return k - 1


def sum_and_more(u, v):
    total = u + v
    for more in range(3):
        total += more
    return total, u - v


"""
    + made_functions.PRELUDE
    + objects.PRELUDE
    + object_lists.PRELUDE
)

INTEGERS = (
    "I + I", "I - I", "I + 1", "(I) * 2", "(I) * -1", "(I) * 7", "(I) * (I) % 1009", "(I) // 3", "(I) // (1 + (I) % 5)",
    "(I) % 7", "(I) % -5", "-(I)", "abs(I)", "min(I, I)", "max(I, I)", "(I) & 15", "(I) | (I)", "(I) ^ (I)", "(I) >> 1",
    "(I) >> 3", "((I) & 7) << 2", "~(I)", "(I if B else I)", "int(I)", "(I and I)", "(I or I)", "E", "E", "bool(I)", "int(B)",
    "stepped(I, B)",
)  # fmt: skip
# Powers and shifts are bounded: a loop that makes a number longer in each turn by its own length never ends.
RARE_INTEGERS = (
    "(I) // (I)", "(I) % (I)", "(I) >> 70", "(I) << 60", "int(F)", "BIG", "2**53 + 1", "2**63 - 1", "(I) << min(I, 70)", "(I) >> (I)",
    "(I) * BIG", "((I) % BIG) ** 2", "I + BIG + BIG", "-2**63", "((I) % BIG) ** 3", "((I) % 1009) ** min(I, 9)", "min(I, I, I)", "max(I, I, 3, I)", "2 ** ((I) % 9)", "np.int64(I)", "+(I)", "pow((I) % BIG, 2)", "divmod(I, 3)[1]", "(B) + (B)", "-(B)", "max(I, B)",
)  # fmt: skip
REALS = (
    "F + F", "F - (F)", "(F) * (F)", "(F) * (F)", "(F) / 3.0", "F + I", "I - (F)", "(F) * (I)", "(I) / 4", "(I) / 7", "-(F)",
    "abs(F)", "min(F, F)", "max(F, F)", "min(F, I)", "max(I, F)", "max(F, 0.0)", "min(F, 1)", "min(F, 2.5)", "math.sqrt(abs(F))",
    "math.sin(F)", "math.exp(-abs(F))", "math.tanh(F)", "math.fabs(F)", "np.sqrt(abs(F))", "math.atan(F)", "np.abs(F)",
    "(F) ** 2", "abs(F) ** 0.5", "(F) ** 3", "float(F)", "float(I)", "(F if B else F)", "(F and F)", "(F or F)", "math.cos(I)",
    "float(B)", "(F if B else I)", "half(F)", "clamped(F)",
)  # fmt: skip
RARE_REALS = (
    "(F) / (F)", "(F) / (I)", "(I) / (I)", "math.sqrt(F)", "math.exp(F)", "np.sqrt(F)", "(F) ** (F)", "(F) * (B)", "(F) // 2.0",
    "(F) % 1.0", "np.sqrt(I)", "np.abs(I)", "math.tan(F)", "np.abs(B)", "np.float64(F)", "(F) + (B)", "min(F, B)", "(F) * 1e200",
    "(F) * 1e-200", "max(F, F, F)", "np.minimum(F, F)", "math.floor(F)", "round(F)",
    "math.log(abs(F))", "math.log(F)", "math.pow(F, F)", "math.hypot(F, F)", "math.atan2(F, F)", "math.copysign(F, F)", "np.exp(F)",
    "math.ceil(F)", "math.fmod(F, F)", "math.log1p(abs(F))", "math.expm1(F)", "math.asin(F)", "(F) * math.pi", "(F) + np.inf",
    "min(F, F, I)", "max(I, F, F, 0)", "math.sinh(F)", "math.cosh(F)", "math.log10(abs(F))", "math.log2(abs(F))", "(F) ** -1",
    "np.sin(F)", "np.float64(I)", "(F) ** min(I, 9)", "max(F, -math.inf)", "min(F, math.inf)", "math.acos(F)", "math.trunc(F)", "+(F)",
    "sum_and_more(F, F)[1]", "clamped(F, high=F)",
)  # fmt: skip
TRUTHS = (
    "(F @ F)", "(F @ F)", "(I @ I)", "(F @ I)", "(F @ F @ I)", "(I @ I @ F)", "(not B)", "(B and B)", "(B or B)", "(I)", "(F)",
    "(B & B)", "(B | B)", "(B ^ B)", "((I) % 2 == 0)", "bool(F)", "(B if B else B)", "bool(B)", "(I @ F)", "(F @ B)", "math.isnan(F)", "math.isfinite(F)", "math.isinf(F)", "(I) in (1, 2)", "np.isnan(F)",
)  # fmt: skip
NAMES = "s t u v w p q total best turns turn doubt begin é x0 left".split()
INDICES = "i j k l g h r".split()
MOST_TURNS = 120  # of a loop whose range depends on a variable
TURNS = 15000  # of the innermost loops of a program, about


@dataclass(slots=True)
class Writer:
    """A function while it is written: its lines, and the names that are known."""

    rng: random.Random
    arrays: dict[str, tuple[str, int]]  # name: dtype, ndim
    ints: list[str]
    floats: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    complexes: list[str] = field(default_factory=list)
    draws: Draws | None = None
    generators: random.Random | None = None  # draws generator expressions; None: there are none
    objects: random.Random | None = (
        None  # draws attributes, dicts and characters; None: there are none
    )
    named: list[str] = field(default_factory=list)  # the names of objects
    parts: random.Random | None = None  # draws lists of objects; None: there are none
    part_arrays: random.Random | None = None  # draws arrays that these have; None: they have none
    of_parts: list[str] = field(default_factory=list)  # their names
    part_turns: list[str] = field(default_factory=list)  # loop variables that are objects of these
    loops: list[str] = field(
        default_factory=list
    )  # loop variables that are bound, the innermost last
    lists: dict[str, str] = field(default_factory=dict)  # name: "d", "l", "?" or "t", of tuples
    tables: dict[str, str] = field(default_factory=dict)  # name: "d", "l" or "?"
    tuples: dict[str, str] = field(default_factory=dict)  # name: for each item "d", "l" or "?"
    unread: set[str] = field(default_factory=set)  # tuples that begin as something else
    free: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    stored: set[str] = field(default_factory=set)  # lists that are stored into
    comprehensions: list[str] = field(default_factory=list)  # lists that these gave
    is_odd: bool = False  # what no nest can do is rare, so that most programs have some

    def put(self, text: str) -> None:
        """One more line."""
        self.lines.append("    " * self.depth + text)

    def pick(self, *options: str) -> str:
        """One of these."""
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        """Whether it happens."""
        return self.rng.random() < probability

    def array_of(self, dtypes: str) -> str | None:
        """An array of one of these types."""
        known = [name for name, (dtype, _) in self.arrays.items() if family(dtype) in dtypes]
        return self.rng.choice(known) if known else None

    # Expressions ----------------------------------------------------------------------------------------------

    def filled(self, templates: tuple[str, ...], depth: int) -> str:
        """One of these, with `I`, `F`, `B`, `Z`: an int, a float, a condition, a complex number; `E`: an element that is an int."""
        return re.sub(
            r"\b[IFBEZ]\b", lambda found: self._part(found[0], depth), self.rng.choice(templates)
        )

    def _part(self, kind: str, depth: int) -> str:
        if kind == "E":
            found = self.array_of("l?")
            return self.element(found, depth + 1) if found else self.small_integer()
        made = {"I": self.integer, "F": self.real, "B": self.truth, "Z": self.complex_number}
        return made[kind](depth + 1)

    def index(self, name: str, axis: str, depth: int) -> str:
        """What an axis is indexed with: mostly inside."""
        chance = self.rng.random()
        if self.loops and chance < 0.6:
            return self.rng.choice(self.loops[-3:])
        if self.loops and chance < 0.75:
            turn = self.rng.choice(self.loops)
            return self.pick(
                f"{turn} - 1", f"-{turn} - 1", f"~{turn}", f"{turn} + 1", f"{turn} - 2"
            )
        length = f"len({name})" if axis == "0" else f"{name}.shape[{axis}]"
        if axis == "1" and self.loops and chance < 0.85:
            return f"{self.rng.choice(self.loops)} % {length}"
        if chance < 0.97:
            return self.filled((f"(I) % {length}", "(I) % 3", "0", "-1", "1", "2"), max(2, depth))
        return self.integer(max(2, depth))

    def element(self, name: str, depth: int = 1) -> str:
        """An element of an array."""
        ndim = self.arrays[name][1]
        if ndim == 1:
            return f"{name}[{self.index(name, '0', depth)}]"
        one, other = self.index(name, "0", depth), self.index(name, "1", depth)
        return self.pick(
            f"{name}[{one}, {other}]", f"{name}[{one}, {other}]", f"{name}[{one}][{other}]"
        )

    def integer(self, depth: int = 0) -> str:
        """An int, mostly."""
        if made := objects.drawn(self, "I", depth):
            return made
        if made := object_lists.drawn(self, "I", depth):
            return made
        if made := generators.drawn(self, "I", depth):
            return made
        if made := made_functions.drawn(self, "I", depth):
            return made
        if self.draws and depth < 3 and self.chance(0.15):
            return self.filled(self.draws.integers, depth + 1)
        if depth >= 3 or self.chance(0.4):
            return self.small_integer()
        return self.filled(RARE_INTEGERS if self.is_odd and self.chance(0.1) else INTEGERS, depth)

    def small_integer(self) -> str:
        """A name or a number."""
        if self.loops and self.chance(0.5):
            return self.rng.choice(self.loops)
        if self.lists and self.chance(0.1):
            return f"len({self.rng.choice(list(self.lists))})"
        if self.lists and self.chance(0.15) and (found := self.item_of_list("l")):
            return found
        if self.tables and self.chance(0.4) and (found := tables.item(self, "l")):
            return found
        if self.tuples and self.chance(0.2) and (found := self.item_of_tuple("l")):
            return found
        if self.ints and self.chance(0.6):
            return self.rng.choice(self.ints)
        if self.chance(0.3):
            name = self.rng.choice(list(self.arrays))
            return self.pick(
                f"len({name})", f"{name}.shape[0]", f"{name}.shape[-1]", f"{name}.ndim"
            )
        return self.pick("0", "1", "2", "3", "-1", "-2", "5", "True", "7")

    def real(self, depth: int = 0) -> str:
        """A float, mostly."""
        if made := objects.drawn(self, "F", depth):
            return made
        if made := object_lists.drawn(self, "F", depth):
            return made
        if made := generators.drawn(self, "F", depth):
            return made
        if made := made_functions.drawn(self, "F", depth):
            return made
        if self.draws and depth < 3 and self.chance(0.15):
            return self.filled(self.draws.reals, depth + 1)
        if self.complexes and depth < 3 and self.chance(0.2):
            return self.filled(complexes.REALS, depth)
        if depth < 3 and self.chance(0.6):
            return self.filled(RARE_REALS if self.is_odd and self.chance(0.15) else REALS, depth)
        if self.lists and self.chance(0.3) and (item := self.item_of_list("d")):
            return item
        if self.tables and self.chance(0.4) and (item := tables.item(self, "d")):
            return item
        if self.tuples and self.chance(0.3) and (item := self.item_of_tuple("d")):
            return item
        found = self.array_of("d" if self.chance(0.8) else "dl?")
        if found and self.chance(0.5):
            return self.element(found, depth + 1)
        if self.floats and self.chance(0.7):
            return self.rng.choice(self.floats)
        if self.chance(0.1):
            return self.pick("NAN", "INF", "1e300", "-NAN", "1e-310", "3", "-INF")
        return self.pick("0.5", "1.5", "-0.0", "2.0", "HALF", "0.1", "-3.0", "1.0", "1e-3", "0.0")

    def truth(self, depth: int = 0) -> str:
        """A condition."""
        if made := objects.drawn(self, "B", depth):
            return made
        if made := object_lists.drawn(self, "B", depth):
            return made
        if made := generators.drawn(self, "B", depth):
            return made
        if self.complexes and depth < 3 and self.chance(0.1):
            return f"({self.filled(complexes.TRUTHS, depth)})"
        if not self.is_odd and self.chance(0.4):  # of Python's numbers alone, or of NumPy's floats
            sign = self.pick("<", "<=", "==", "!=", ">", ">=")
            return f"({self.real(depth + 2)} {sign} {self.real(depth + 2)})"
        if depth < 3 and self.chance(0.7):
            text = self.filled(TRUTHS, depth)
            return re.sub("@", lambda _: self.pick("<", "<=", "==", "!=", ">", ">="), text)
        mask = self.array_of("?")
        if mask and self.chance(0.4):
            return self.element(mask, depth + 1)
        if self.bools and self.chance(0.4):
            return self.rng.choice(self.bools)
        return f"({self.small_integer()} {self.pick('<', '<=', '==', '!=', '>', '>=')} {self.small_integer()})"

    def complex_number(self, depth: int = 0) -> str:
        """A complex number, mostly."""
        if depth < 3 and self.chance(0.6):
            is_rare = self.is_odd and self.chance(0.2)
            return self.filled(complexes.RARE_NUMBERS if is_rare else complexes.NUMBERS, depth)
        found = self.array_of("z")
        if found and self.chance(0.6):
            return self.element(found, depth + 1)
        if self.complexes and self.chance(0.8):
            return self.rng.choice(self.complexes)
        return self.pick(*complexes.LITERALS)

    def anything(self, depth: int = 0) -> str:
        """A number of any kind."""
        if self.mixed and self.chance(0.2):
            return self.rng.choice(self.mixed)
        return self.rng.choices((self.integer, self.real, self.truth), (4, 5, 2))[0](depth)

    # Statements -----------------------------------------------------------------------------------------------

    def assignment(self) -> None:
        """To a local."""
        if self.tuples and self.chance(0.25):
            self.bind_tuple()
            return
        kinds = [
            (self.ints, self.integer),
            (self.floats, self.real),
            (self.bools, self.truth),
            (self.mixed, self.anything),
            (self.complexes, self.complex_number),
        ]
        weights = (4, 5, 2, 2, 5 if self.complexes else 0)
        names, expression = self.rng.choices(kinds, weights)[0]
        own = [name for name in names if name not in {"n", "x", "m", "z"} or self.chance(0.05)]
        if not own or (self.free and self.chance(0.2)):
            name = self.free.pop() if self.free else self.rng.choice(NAMES)
            self.put(f"{name} = {expression()}")
            names.append(name)
            return
        name = self.rng.choice(own)
        if len(own) > 1 and self.chance(0.12):
            other = self.rng.choice(own)
            self.put(
                self.pick(
                    f"{name}, {other} = {other}, {name}",
                    f"{name}, {other} = {other}, {expression()}",
                )
            )
        elif self.chance(0.5):
            signs = (
                ("+", "+", "-", "*")
                if names is self.floats or names is self.complexes
                else ("+", "+", "-")
                if names is not self.bools
                else ("&", "|", "^")
            )
            sign = self.pick(*signs)
            self.put(
                f"{name} {sign}= {self.pick('2', '0.5', '1.5', '-1') if sign == '*' else expression(1)}"
            )
        elif names is self.ints and self.chance(0.1):
            self.put(f"{name} = {name} * {self.pick('3', '5')} + {self.integer(2)}")
        elif self.chance(0.04):
            self.put(f"{name} = {self.anything()}")
        else:
            self.put(f"{name} = {expression()}")

    def store(self) -> None:
        """Into an array."""
        name = self.rng.choice(list(self.arrays))
        dtype = family(self.arrays[name][0])
        expression = {
            "d": self.real,
            "l": self.integer,
            "?": self.truth,
            "z": self.complex_number,
        }[dtype]
        if self.chance(0.15 if self.is_odd or dtype == "d" else 0.03):
            expression = self.anything
        place = self.element(name)
        chance = self.rng.random()
        if chance < 0.3 and dtype != "?":
            sign = self.pick("+", "-", "*", "+") if dtype in "dz" else self.pick("+", "-", "^", "&")
            self.put(f"{place} {sign}= {expression(1)}")
        elif chance < 0.4:
            other = self.element(name)
            self.put(f"{place}, {other} = {other}, {place}")
        else:
            self.put(f"{place} = {expression()}")

    def item_of_tuple(self, kind: str) -> str | None:
        """An item of a tuple, of a kind."""
        known = [
            f"{name}[{place}]"
            for name, kinds in self.tuples.items()
            for place, one in enumerate(kinds)
            if one == kind and (name not in self.unread or self.chance(0.02))
        ]
        return self.rng.choice(known) if known else None

    def bind_tuple(self) -> None:
        """A new tuple in a local, now and then of another form, or of what was in two."""
        name = self.rng.choice(list(self.tuples))
        kinds = self.tuples[name]
        if self.chance(0.03):
            self.put(
                f"{name} = {self.pick('None', '()', '(1,)', '(a, 1)', '3', '(0.5, 1, 2.0, 3)')}"
            )
            return
        alike = [other for other, one in self.tuples.items() if one == kinds and other != name]
        if alike and self.chance(0.3):
            other = self.rng.choice(alike)
            self.put(f"{name}, {other} = {other}, {name}")
            return
        expressions = {"d": self.real, "l": self.integer, "?": self.truth}
        if self.chance(0.05):
            expressions["d"] = expressions["l"] = self.anything
        self.put(f"{name} = ({', '.join(expressions[one](1) for one in kinds)},)")

    def item_of_list(self, kind: str) -> str | None:
        """An item of a list of numbers of a kind."""
        known = [name for name, of in self.lists.items() if of == kind]
        if not known:
            return None
        name = self.rng.choice(known)
        place = self.pick(
            "-1", "-1", "0", "-2", f"{self.small_integer()} % len({name})", "len(q_) - 1"
        )
        place = place.replace("q_", name)
        return (
            f"({name}[{place}] if len({name}) > 1 else 0)"
            if self.chance(0.9)
            else f"{name}[{place}]"
        )

    def change_list(self) -> None:
        """Append to a list, or store into it."""
        name = self.rng.choice(list(self.lists))
        kind = self.lists[name]
        expression = {"d": self.real, "l": self.integer, "?": self.truth, "t": self.integer}[kind]
        if self.chance(0.04):
            expression = self.anything
        if kind == "t":
            self.put(f"{name}.append(({self.real(1)}, {self.small_integer()}, {self.truth(2)}))")
        elif name in self.stored and self.chance(0.95):
            place = self.pick("-1", "0", f"({self.integer(2)}) % len({name})", self.small_integer())
            sign = self.pick("", "", "+") if kind != "?" else ""
            self.put(f"{name}[{place}] {sign}= {expression(1)}")
        elif self.chance(0.03):
            self.put(f"{name}.{self.pick('pop()', 'clear()', 'extend((1, 2))', 'insert(0, 1)')}")
        else:
            value = expression()
            exact = {"d": f"float({value})", "l": f"int({value})", "?": f"bool({value})"}[kind]
            self.put(f"{name}.append({exact if self.chance(0.7) else value})")

    def comprehension(self) -> None:
        """A list of what is computed for each turn, in a local of its own."""
        turn = self.pick("c_", "i", "v")
        over = self.rng.choice(list(self.arrays))
        name = f"made{len(self.lines)}"
        self.loops.append(turn)
        condition = f" if {self.truth(2)}" if self.chance(0.3) else ""
        value = self.pick(self.real(), self.integer(), f"({self.real(1)}, {self.integer(1)})")
        if self.chance(0.3) and self.arrays[over][1] == 1:
            value = f"({self.real(1)}) + e_"
            turns = f"for {turn}, e_ in enumerate({over})"
        elif self.chance(0.2):
            turns = f"for {turn} in range(n % 30) for k_ in range({turn} % 5)"
        else:
            turns = f"for {turn} in range({self.pick(f'len({over})', 'n', 'm', '70')})"
        self.loops.pop()
        self.put(f"{name} = [{value} {turns}{condition}]")
        self.comprehensions.append(name)

    def bounds(self, product: int) -> tuple[str, int]:
        """The arguments of a range, and about how many turns that is."""
        name = self.rng.choice(list(self.arrays))
        length = f"len({name})"
        if self.loops and self.chance(0.3):
            turn = self.loops[-1]
            return self.pick(
                turn,
                f"{turn}, n",
                f"{turn} + 1, {length}",
                f"{turn} - 2, {turn} + 3",
                f"{turn}, -1, -1",
                f"{turn} % 5",
            ), 25
        if product > 500:
            return self.pick("3", "2, 5", "0", "4, 0, -1", f"{length} % 4"), 3
        if self.chance(0.1):
            return self.pick(
                f"{self.integer(1)} % 9",
                "0",
                "5, 0",
                "1, 10, -1",
                f"{self.integer(2)} % 40",
                "3, 60, True + 6",
            ), 10
        return self.pick(
            length, "n", f"{name}.shape[0]", f"{name}.shape[-1]", f"1, {length}", f"{length} - 1", f"{length} - 1, -1, -1", f"1, {length} - 1",
            f"0, {length}, 2", f"-{length}, 0", "m", "n", length, "3, n + 2", f"{length} + 1" if self.chance(0.3) else length,
        ), 60  # fmt: skip

    def loop(self, product: int) -> None:
        """A loop with what is in it."""
        if self.parts is not None and product <= 500 and self.parts.random() < 0.5:
            if object_lists.loop(self, product):
                return
        if self.tables and product <= 50 and self.chance(0.4) and tables.loop(self, product):
            return
        if product <= 500 and self.chance(0.2) and self.loop_over_elements(product):
            return
        turn = next(name for name in INDICES if name not in self.loops)
        if self.chance(0.2):
            self.while_loop(product, turn)
            return
        text, turns = self.bounds(product)
        shadowing = self.chance(0.03) and self.ints
        name = self.rng.choice(self.ints) if shadowing and self.ints else turn
        self.put(f"for {name} in range({text}):")
        self.inside(product * turns, [name])
        if self.chance(0.15):
            self.put("else:")
            self.inside(TURNS, [])

    def while_loop(self, product: int, turn: str) -> None:
        """A loop with a condition; what counts its turns stands there, so that it ends whatever else is left out."""
        most = (
            "3"
            if product > 500
            else self.pick("n", "m", f"len({self.rng.choice(list(self.arrays))})")
        )
        if self.chance(0.5):
            self.counting_loop(product, turn, most)
            return
        self.put(f"{turn} = {self.pick('-1', '-1', '0')}")
        counted = f"({turn} := {turn} + 1) < {most}"
        self.put(f"while {self.pick(counted, counted, f'{counted} and {self.truth()}')}:")
        self.inside(product * 60, [turn])
        if self.chance(0.15):
            self.put("else:")
            self.inside(TURNS, [])

    def counting_loop(self, product: int, turn: str, most: str) -> None:
        """A `while` loop that counts its turns in its first statement, or in its last one."""
        is_first = self.chance(0.4)
        self.put(f"{turn} = {'-1' if is_first else self.pick('0', '0', '1')}")
        test = f"{turn} < {most}{' - 1' if is_first else ''}"
        self.put(f"while {self.pick(test, test, f'{test} and {self.truth()}')}:")
        first = len(self.lines)
        step = f"{'    ' * (self.depth + 1)}{turn} += {'1' if is_first else self.pick('1', '1', '1', '2')}"
        self.inside(product * 60, [turn])
        if is_first:
            self.lines.insert(first, step)
            return
        inner = [line.replace("continue", "pass") for line in self.lines[first:]]
        self.lines[first:] = [*inner, step]

    def loop_over_elements(self, product: int) -> bool:
        """A loop over an array or a list of numbers, perhaps with others; False where there is none to go over."""
        array = self.array_of("dl")
        if array is None or self.arrays[array][1] != 1:
            return False
        is_real = family(self.arrays[array][0]) == "d"
        known = self.floats if is_real else self.ints
        if not known:
            return False
        name, turn = self.rng.choice(known), next(one for one in INDICES if one not in self.loops)
        over = self.pick(array, array, f"{array}.tolist()", f"tuple({array}.tolist())")
        text, turns = self.pick(
            f"{name} in {over}", f"{name} in reversed({over})", f"{turn}, {name} in enumerate({over})",
            f"{turn}, {name} in enumerate({over}, n)", f"{turn}, {name} in zip(range(n), {over})",
            f"{name}, {turn} in zip({over}, range(m, -1, -1))", f"{turn}, {name} in zip(range(40), reversed({over}))",
        ), [turn]  # fmt: skip
        self.put(f"for {text}:")
        self.inside(product * 60, turns if turn in text.split(" in ")[0].split(", ") else [])
        return True

    def inside(self, product: int, turn: list[str]) -> None:
        """The statements of a block."""
        known = (
            list(self.ints),
            list(self.floats),
            list(self.bools),
            list(self.mixed),
            list(self.complexes),
            list(self.loops),
        )
        self.loops += turn
        self.depth += 1
        for _ in range(self.rng.choice((1, 2, 2, 3, 4) if self.depth < 4 else (1, 1, 2))):
            self.statement(product)
        self.depth -= 1
        if self.chance(0.6):  # else what is bound inside may be read behind it
            self.ints, self.floats, self.bools, self.mixed, self.complexes = known[:5]
        self.loops = known[5]

    def statement(self, product: int) -> None:
        """One statement."""
        chance = self.rng.random()
        if self.tables and self.loops and self.chance(0.35):
            tables.change(self)
            return
        if self.objects is not None and self.loops and self.objects.random() < 0.3:
            objects.change(self)
            return
        if self.parts is not None and self.loops and self.parts.random() < 0.3:
            object_lists.change(self)
            return
        if self.lists and self.loops and self.chance(0.25):
            self.change_list()
            return
        deep = self.depth > 5 or (self.depth > 1 and not self.loops)
        if chance < 0.32 or deep:
            self.assignment()
        elif chance < 0.58:
            self.store()
        elif (chance < 0.72 or self.depth == 1) and product < TURNS:
            self.loop(product)
        elif chance < 0.84:
            self.branch(product)
        elif self.loops:
            self.leaving()
        else:
            self.assignment()

    def branch(self, product: int) -> None:
        """An `if`."""
        self.put(f"if {self.truth()}:")
        self.inside(product, [])
        if self.chance(0.25):
            self.put(f"elif {self.truth()}:")
            self.inside(product, [])
        if self.chance(0.4):
            self.put("else:")
            self.inside(product, [])

    def leaving(self) -> None:
        """What ends a turn, a loop or the function, or may."""
        turn = self.loops[-1]
        rare = self.pick(f"{turn} == 37", f"{turn} == 5", f"{turn} > 50", self.truth())
        what = self.pick(
            "continue", "continue", "continue", "break", "pass", f"return {turn}, {self.anything()}", "raise ValueError('stop')", "pass",
            f"1 // ({turn} - 41)", f"{self.rng.choice(list(self.arrays))}[{turn} + 30]", "range(0, 3, 1)",
            f"assert {self.truth()}, {turn}", "return None", f"raise IndexError({turn})",
        )  # fmt: skip
        names = [name for name, (_, ndim) in self.arrays.items() if ndim == 2]
        if names and self.chance(0.1):
            what = self.pick(f"len({names[0]}[{turn}])", f"{names[0]}[{turn}]")
        self.put(f"if {rare}:")
        self.depth += 1
        self.put(what)
        self.depth -= 1


LISTS = {
    "d": ("[]", "[0.5]", "[x]", "[0.0] * 50", "[1.5, 2.5]", "[np.float64(1.5)]", "[0]", "a.tolist()"),
    "l": ("[]", "[1]", "[n]", "[0] * 50", "[1, 2, 3]", "[np.int64(3)]", "[0.5]"),
    "?": ("[]", "[True]", "[False] * 60", "[True, False, True]", "[None]"),
    "t": ("[]", "[(0.5, 1, True)]", "[1]", "[]"),
}  # fmt: skip
STARTS = {
    "ints": (
        "0",
        "1",
        "-1",
        "n",
        "2**62",
        "np.int64(0)",
        "np.int64(5)",
        "True",
        "len(a)",
        "0",
        "0",
    ),
    "floats": (
        "0.0",
        "1.0",
        "0",
        "x",
        "-0.0",
        "np.float64(0.0)",
        "a[0]",
        "INF",
        "-INF",
        "1e308",
        "0.0",
        "0",
    ),
    "bools": ("False", "True", "np.True_", "a[0] > 0", "False"),
    "mixed": ("0", "0.0", "None", "True", "x", "np.float64(1.0)", "np.int64(1)"),
    "complexes": complexes.STARTS,
}


EMPTY = re.compile(r"\b(\w+) = np\.empty")
ASSIGNED = re.compile(r"\s*(?:for )?([\w, ]+?) (?:[-+*&|^]?=|in) ")
BOUND = re.compile(r"(\s*(?:for \w+ in range\(|while \w+ < ))([^:]*?)(\):| - 1.*:|:| and .*:)$")


def bounded(lines: list[str]) -> list[str]:
    """The same lines; where the turns of a loop depend on what they assign, on its remainder, so that programs end."""
    found = [match[1] for line in lines if (match := ASSIGNED.match(line))]
    names = {name for names in found for name in names.split(", ")} - set(INDICES)
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    for i, line in enumerate(lines):
        match = BOUND.match(line)
        if match is not None:
            middle = objects.OF_OBJECTS.sub(rf"(\g<0> % {MOST_TURNS})", match[2])
            if names:
                middle = pattern.sub(rf"(\1 % {MOST_TURNS})", middle)
            lines[i] = match[1] + middle + match[3]
    return lines


def begin_lists(rng: random.Random, writer: Writer) -> list[str]:
    """Some lists, which the program changes; their names."""
    for name in ("out", "rows", "done")[: rng.choice((1, 1, 2, 3))]:
        kind = rng.choice("ddll?t")
        start = rng.choice(LISTS[kind])
        others = [other for other, of in writer.lists.items() if of == kind]
        if others and rng.random() < 0.1:
            start = rng.choice(others)
        writer.put(f"{name} = {start}")
        writer.lists[name] = kind
        if kind != "t" and rng.random() < 0.4:
            writer.stored.add(name)
    return list(writer.lists)


def begin_tuples(rng: random.Random, writer: Writer) -> list[str]:
    """Some locals that are tuples of numbers, or become one; their names."""
    starts = {
        "d": ("0.0", "-0.0", "x", "INF", "np.float64(1.0)", "0"),
        "l": ("0", "-1", "n", "True"),
        "?": ("False",),
    }
    kinds = rng.choice(("ll", "ll", "ld", "dl", "dd", "l", "dl?"))
    for name in ("pair", "where")[: rng.choice((1, 2))]:
        if rng.random() < 0.2:
            kinds = rng.choice(("ll", "ld", "ddd"))
        writer.tuples[name] = kinds
        start = f"({', '.join(rng.choice(starts[one]) for one in kinds)},)"
        if rng.random() < 0.25:
            start = rng.choice(("None", "()", "0"))
            writer.unread.add(name)
        writer.put(f"{name} = {start}")
    return list(writer.tuples)


def _of_lists(seed: int) -> PythonProgram | None:
    """A short program of a seed that makes lists; None where it is to be another one."""
    rng = random.Random(f"listed {seed}")  # noqa: S311  other programs stay as they are
    if rng.random() > listed.SHARE:
        return None
    text = "\n".join(f"    {line}" for line in listed.body(rng))
    source = f"{PRELUDE}\n\ndef program(x, a, n):\n{text}\n"
    kinds = {**listed.PARAMETERS}
    if rng.random() < 0.3:
        kinds = {name: (rng.choice("dfli?"), ndim) for name, (_, ndim) in kinds.items()}
    sets = []
    for _ in range(rng.choice((2, 3))):
        shape = rng.choice(((7, 5), (7, 5), (40, 3), (3, 7), (1, 3), (2, 0), (0, 4)))
        arrays = [
            Given(name, text_of_shape(rng, kind, shape[-1:] if ndim == 1 else shape))
            for name, (kind, ndim) in kinds.items()
        ]
        sets.append((*arrays, Given("n", rng.choice(("5", "9", "1", "0", "np.int64(4)")))))
    return PythonProgram(source, tuple(sets), seed)


def generated(seed: int) -> PythonProgram:
    """The program of a seed."""
    if (short := _of_lists(seed)) is not None:
        return short
    rng = random.Random(seed)  # noqa: S311  not for secrets
    arrays = {"a": (rng.choice("dddl"), 1)}
    for name in "bcd"[: rng.choice((0, 1, 1, 2, 3))]:
        arrays[name] = rng.choice(
            (("d", 1), ("d", 1), ("l", 1), ("?", 1), ("d", 2), ("d", 2), ("l", 2))
        )
    if rng.random() < 0.4:
        others = {"d": "dff", "l": "lihbLIHB", "?": "?"}
        arrays = {name: (rng.choice(others[one]), ndim) for name, (one, ndim) in arrays.items()}
    has_complexes = rng.random() < 0.15
    if has_complexes and rng.random() < 0.7:
        arrays[rng.choice(["a", "e", "e"])] = "D", rng.choice((1, 1, 2))
    names = list(NAMES)
    rng.shuffle(names)
    writer = Writer(rng, arrays, ["n", "m"], ["x"], free=names, is_odd=rng.random() < 0.3)
    added: dict[str, tuple[str, ...]] = {}
    if has_complexes:
        added["z"] = complexes.ARGUMENTS
        writer.complexes.append("z")
    if rng.random() < 0.15:
        writer.draws = draws.drawn(rng)
        if writer.draws.arguments:
            added["rng"] = writer.draws.arguments
    for kind, most in (
        ("ints", 2),
        ("floats", 3),
        ("bools", 1),
        ("mixed", 1),
        ("complexes", 2 * has_complexes),
    ):
        for _ in range(rng.randint(0, most)):
            name = names.pop()
            start = rng.choice(STARTS[kind])
            writer.put(f"{name} = {start}")
            getattr(writer, kind).append(name)
    used = [name for name in NAMES if name not in names]
    if rng.random() < 0.4:
        used += begin_lists(rng, writer)
    own = random.Random(f"tables {seed}")  # noqa: S311  other programs stay as they are
    if own.random() < 0.25:
        used += tables.begin(own, writer)
    if rng.random() < 0.25:
        used += begin_tuples(rng, writer)
    own = random.Random(f"generators {seed}")  # noqa: S311  other programs stay as they are
    if own.random() < 0.25:
        writer.generators = own
    own = random.Random(f"objects {seed}")  # noqa: S311  other programs stay as they are
    if own.random() < 0.25:
        used += objects.begin(own, writer)
    own = random.Random(f"lists of objects {seed}")  # noqa: S311  other programs stay as they are
    if own.random() < 0.25:
        arrays_of_objects = random.Random(f"arrays of objects {seed}")  # noqa: S311  as above
        if arrays_of_objects.random() < 0.5:
            writer.part_arrays = arrays_of_objects
        used += object_lists.begin(own, writer)
    inner = rng.random() < 0.1
    generator = rng.random() < 0.05
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.15:
            writer.comprehension()
            used.append(writer.comprehensions[-1])
        elif rng.random() < 0.85:
            writer.loop(1)
        else:
            writer.statement(1)
    writer.lines = bounded(writer.lines)
    if generator:
        writer.put("yield 0")
    if rng.random() < 0.1:
        writer.put("raise KeyError('end')")
    returned = [name for name in used if rng.random() < 0.8]
    writer.put(f"return ({', '.join([*returned, 'n'])},)")
    parameters = ", ".join([*arrays, *NUMBERS, *added])
    body = "\n".join(writer.lines)
    source = f"{PRELUDE}\n\ndef work({parameters}):\n{body}\n\n\n"
    if generator:
        source += f"def program({parameters}):\n    return list(work({parameters}))\n"
    elif inner:
        source += f"def program({parameters}):\n    return work({parameters}), work({parameters})\n"
    else:
        source = source.replace("def work(", "def program(")
    sizes = SMALL if rng.random() < 0.2 else SIZES
    count = rng.choice((2, 3, 4))
    sets = tuple(random_set(rng, arrays, sizes, added) for _ in range(count))
    return PythonProgram(source, sets, seed)


def shown(program: PythonProgram) -> str:
    """The module without the prelude, and the arguments, to be read."""
    lines = [program.source.replace(PRELUDE, "").strip()]
    for given in program.sets:
        lines.append("  with " + "; ".join(f"{g.name} = {g.text}" for g in given))
    return "\n".join(lines)


def _leaving(tracer: type[Tracer], *given: Any, leaves_loops: bool, **named: Any) -> Tracer:
    return tracer(*given, leaves_loops=True, **named)


class LoopsWorld(World):
    """The module of such a program: nothing of it changes. What may become a nest is not unrolled."""

    atoms = False
    shorter_lives = True
    is_brief = True

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._unrolled_at_most = left_loops.UNROLLED_AT_MOST
        left_loops.UNROLLED_AT_MOST = 30
        session.Tracer = partial(_leaving, Tracer)  # type: ignore[assignment,misc]

    def forget(self) -> None:
        """Drop the source; loops are unrolled again."""
        super().forget()
        session.Tracer = Tracer  # type: ignore[misc]
        left_loops.UNROLLED_AT_MOST = self._unrolled_at_most

    def reset(self) -> None:
        """Put NumPy's own generator back, and Python's."""
        np.random.seed(7)
        random.seed(7)

    def state(self) -> tuple[Any, ...]:
        """What is left to be drawn from NumPy's own generator, and Python's."""
        generator = np.random.get_state(legacy=False)
        state = generator["state"]  # type: ignore[call-overload]
        return (state["key"].tobytes(), state["pos"], random.getstate())

    def made(self, given: tuple[Given, ...]) -> tuple[Any, ...]:
        """Arguments for a call."""
        known = self.names()
        for argument in given:
            known[argument.name] = eval(argument.text, known)  # noqa: S307  our own text
        return tuple(known[argument.name] for argument in given)

    def names(self) -> dict[str, Any]:
        """What the texts of arguments use."""
        return {
            "np": np,
            "random": random,
            "array": array,
            "odd_array": odd_array,
            "overlapping": overlapping,
        }

    def sequence(self, program: Tried, compiled: Any) -> str:
        """What differs in the locals of the frames that errors leave, but for memory that nobody has written yet.

        Those that nobody reads any more may be missing.
        """
        empty = set(EMPTY.findall(program.source))
        left = [self._locals_left(self.function, self.made(given)) for given in program.sets]
        for given, plain in [*zip(program.sets, left, strict=True)] * 2:
            other = self._locals_left(compiled, self.made(given)) if plain else []
            for one, two in zip(plain, other, strict=False):
                shown = {name: value for name, value in two.items() if name not in empty}
                kept = {name: value for name, value in one.items() if name in shown}
                if kept != shown:
                    return f"locals of a frame\n  f_locals: plain {kept}, compiled {shown}"
        return ""

    def _locals_left(
        self, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> list[dict[str, str]]:
        """The numbers and arrays that the frames behind an error hold."""
        self.reset()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(*arguments)
            except Exception as error:  # noqa: BLE001  any is compared
                frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
                return [
                    {
                        name: described(value)
                        for name, value in frame.f_locals.items()
                        if isinstance(value, int | float | complex | np.generic | np.ndarray | list)
                    }
                    for frame in frames
                    if frame.f_code.co_filename == self.file
                ]
        return []


def described(value: Any) -> str:
    """A number or an array, to the bit."""
    if type(value) is int:
        return f"int {value:#x}"  # decimal digits may be too many
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} [{', '.join(map(described, value))}]"
    if not isinstance(value, np.ndarray):
        return f"{type(value).__name__} {value!r}"
    data = value.tolist() if value.dtype.hasobject else value.tobytes().hex()
    return f"{value.dtype.str} {value.shape} {value.strides} {data}"


def is_usable(program: PythonProgram, world: type[World] | None = None) -> bool:
    """Whether the module can be made and its arguments, too."""
    with suppress(Exception):
        made = (world or LoopsWorld)(program.source)
        try:
            for given in program.sets:
                made.made(given)
            return callable(made.function)
        finally:
            made.forget()
    return False
