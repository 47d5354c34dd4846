"""Random programs of array statements in `for` loops: slices by the index, temporaries, swaps, folds, functions called."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

from tests.whole.fuzz import composed, loops, spans, windows
from tests.whole.fuzz.loops import LoopsWorld
from tests.whole.fuzz.python.programs import PythonProgram
from tests.whole.fuzz.sweep_arguments import drawn_arrays, odd_at, random_set
from tests.whole.fuzz.values import Given

PRELUDE = """\
import math
import numpy as np

HALF = 0.5


def mean_of(u, v):
    return 0.5 * (u + v)


def moved(u, by):
    return u - by * 0.25


def bump(u, v):
    u += 0.1 * v


def limited(u, low=-3.0, high=3.0):
    return np.minimum(np.maximum(u, low), high)


def length_of(u):
    return math.sqrt((u * u).sum())


def put(u, v):
    u[:] = v
    return u


"""

# `X`: a part of an array, of the space of the statement; `S`: a number; `C`: a condition of the space.
FLOATS = (
    "(X + X) * 0.5", "X - X", "0.25 * X + S", "X * 0.5", "(X - S) * 0.25", "X * X * 0.1", "X + X", "0.3 * X + 0.6 * X", "X", "-X", "X - 0.5 * X",
    "np.abs(X)", "np.sqrt(np.abs(X))", "X / (np.abs(X) + 1.0)", "np.maximum(X, X)", "np.minimum(X, S)", "S - X", "(X + X + X) / 3.0", "X + 1",
    "X * S * 0.1", "np.square(X) * 0.1", "X ** 2 * 0.1", "abs(X)", "(X - X) * (X - X) * 0.1",
)  # fmt: skip
RARE_FLOATS = (
    "X / X", "X / S", "1.0 / X", "np.sqrt(X)", "X ** 0.5", "X ** 3", "np.log(np.abs(X))", "np.exp(-np.abs(X))", "np.tanh(X)", "np.sin(X)", "X // 2.0",
    "X % 3.0", "np.where(C, X, X)", "np.where(C, X, S)", "(C) * X", "np.add(X, X)", "np.multiply(X, 0.3)", "np.subtract(X, X)", "np.clip(X, -1.0, 1.0)",
    "np.sign(X)", "np.floor(X)", "np.copysign(X, X)", "X * 1e200", "X * 1e-200", "X.copy()", "np.float64(0.5) * X", "X * True", "np.exp(X)", "+X",
    "np.maximum(np.abs(X), 1.0)", "np.hypot(X, X)", "np.negative(X)", "np.reciprocal(X)", "np.cbrt(X)", "X.astype(float)", "np.array(X)", "np.abs(X) ** 1.5",
    "np.add(X, X) + X", "X * np.float32(0.5)", "X + np.int64(2)", "np.roll(X, 1, 0)", "np.roll(X, -2, axis=0)",
)  # fmt: skip
INTEGERS = (
    "X + X", "X - 1", "(X * 3) % 11", "X & 7", "X | X", "X ^ 5", "X >> 1", "X // 3", "np.minimum(X, X)", "abs(X)", "-X", "X % 5", "X - X", "X", "(X + S) % 9",
    "np.maximum(X, 2)", "X * 2", "~X", "(X & 15) << 1",
)  # fmt: skip
RARE_INTEGERS = (
    "X // X", "X % X", "X << X", "np.where(C, X, X)", "np.where(C, X, 0)", "(C) + X", "X ** 2", "X / 2", "X * 2**40", "np.square(X)", "(C).astype(int)",
    "X + True", "np.bitwise_and(X, 3)", "X + 2**63", "X - 300",
)  # fmt: skip
CONDITIONS = (
    "X < X", "X > S", "X <= X", "X == X", "X != S", "(C) & (C)", "(C) | (C)", "~(C)", "X >= 0", "np.logical_and(C, C)", "np.isnan(X)", "(X > 0)", "np.greater(X, X)",
    "(C) ^ (C)", "np.isfinite(X)", "np.logical_not(C)",
)  # fmt: skip
FOLDS = (
    "(E).sum()", "np.sum(E)", "P.sum()", "np.sum(P)", "P.max()", "np.max(P)", "P.min()", "np.max(np.abs(E))", "np.abs(E).max()", "(E).min()", "np.amax(P)", "(P * P).sum()",
    "P.sum() / L", "np.add.reduce(P)", "sum(P)", "np.min(E)",
)  # fmt: skip
RARE_FOLDS = (
    "P.mean()", "np.mean(E)", "P.prod()", "(C).sum()", "np.any(C)", "np.all(C)", "(C).any()", "(C).all()", "np.count_nonzero(C)", "P.std()", "np.linalg.norm(P)", "P.argmax()",
    "np.argmin(P)", "length_of(P)", "float(P.sum())", "np.dot(E, P)", "max(P)", "P.size", "len(P)", "np.maximum.reduce(P)",
)  # fmt: skip
DOTS = (
    "P @ P",
    "np.dot(P, P)",
    "P.dot(P)",
    "P @ P",
    "np.inner(P, P)",
    "np.vdot(P, P)",
    "P @ P + S",
    "np.matmul(P, P)",
)
NUMBERS = ("0.5", "1.5", "-0.0", "2.0", "HALF", "0.1", "-3.0", "1.0", "0.25", "0.0", "2", "1", "-1")
ODD_NUMBERS = (
    "np.inf",
    "np.nan",
    "1e300",
    "1e-310",
    "np.float64(0.5)",
    "np.float32(0.1)",
    "2**70",
    "True",
    "np.int8(3)",
    "-np.nan",
)
INDICES = "i j l g h".split()
NAMES = "t u v w p q r s".split()
# What a program may do besides assigning to parts of arrays: it draws a few of these.
FEATURES = (
    "in_place", "in_place", "fill", "element", "fold", "fold", "dot", "temporary", "temporary", "view", "swap", "rebind", "fresh", "call", "branch", "leave", "inner", "inner",
    "iterate", "rare", "error", "swap_rows", "carried", "two_axes", "whole", "windows", "windows",
)  # fmt: skip
TURNS = 6000


Space = tuple[
    tuple[str, str], ...
]  # for each axis the name of its length and the extent of a slice of it


@dataclass(slots=True)
class Sweep:
    """A function while it is written."""

    rng: random.Random
    arrays: dict[
        str, tuple[str, tuple[str, ...]]
    ]  # name: kind of its elements ("d", "l", "?"), lengths
    features: set[str]
    rarely: float = 0.05  # how often an expression is one of the rare ones
    loops: list[tuple[str, str]] = field(
        default_factory=list
    )  # index, the length that it runs through
    parts: dict[str, tuple[str, Space]] = field(default_factory=dict)  # temporaries and views
    numbers: list[str] = field(default_factory=list)
    free: list[str] = field(default_factory=list)
    bound: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    depth: int = 1

    def put(self, text: str) -> None:
        """One more line."""
        self.lines.append("    " * self.depth + text)

    def pick(self, *options: str) -> str:
        """One of these."""
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        """Whether it happens."""
        return self.rng.random() < probability

    def new_name(self) -> str | None:
        """A local that nothing is bound to yet."""
        if not self.free:
            return None
        self.bound.append(self.free.pop())
        return self.bound[-1]

    # Parts of arrays ------------------------------------------------------------------------------------------

    def length(self, name: str, axis: int) -> str:
        """The length of an axis, as programs write it."""
        size = self.arrays[name][1][axis]
        return self.pick(size, size, f"{name}.shape[{axis}]", f"len({name})" if not axis else size)

    def index(self, size: str) -> str:
        """The index of a loop that runs through an axis of this length; empty where there is none."""
        known = [one for one, through in self.loops if through in {size, "m"}]
        return self.rng.choice(known[-2:]) if known else ""

    def space(self, ndim: int) -> Space:
        """Where a statement works."""
        known = [lengths for _, lengths in self.arrays.values()]
        sizes = self.rng.choice([one for one in known if len(one) >= ndim] or known)
        ndim = min(ndim, len(sizes))
        chosen = sizes if len(sizes) == ndim else (self.rng.choice(sizes),)
        return tuple(
            (size, spans.extent(self.rng, has_loop=bool(self.index(size)))) for size in chosen
        )

    def part(self, space: Space, kinds: str = "dl?", *, is_target: bool = False) -> str | None:
        """A part of an array of this space, or one that broadcasts to it."""
        found = [
            name for name, (kind, known) in self.parts.items() if known == space and kind in kinds
        ]
        if found and self.chance(0.4):
            name = self.rng.choice(found)
            return f"{name}[:]" if is_target and len(space) == 1 else name
        makers = []
        for name, (kind, lengths) in self.arrays.items():
            if kind not in kinds:
                continue
            if len(lengths) == len(space) and lengths == tuple(size for size, _ in space):
                makers += [(self.same, name)] * 4
            if len(lengths) == len(space) == 2 and lengths == tuple(s for s, _ in space)[::-1]:
                makers.append((self.transposed, name))
            if len(space) == 1 and len(lengths) == 2 and space[0][0] in lengths:
                makers += [(self.line, name)] * 3
            if len(space) == 2 and len(lengths) == 1 and not is_target:
                makers += [(self.broadcast, name)] * (lengths[0] in {size for size, _ in space})
        if not makers:
            return self.rng.choice(found) if found else None
        make, name = self.rng.choice(makers)
        return make(name, space, is_target)

    def key(self, name: str, axis: int, extent: str) -> str:
        """A slice of an axis."""
        size = self.arrays[name][1][axis]
        return spans.span(self.rng, extent, self.length(name, axis), self.index(size))

    def same(self, name: str, space: Space, is_target: bool) -> str:
        """A part of an array of as many axes."""
        keys = [self.key(name, axis, extent) for axis, (_, extent) in enumerate(space)]
        if len(keys) == 2 and keys[1] == ":" and self.chance(0.6):
            keys.pop()
        if all(key == ":" for key in keys) and self.chance(0.05 if is_target else 0.8):
            return name if not is_target else f"{name}[...]"
        return f"{name}[{', '.join(keys)}]"

    def transposed(self, name: str, space: Space, is_target: bool) -> str:
        """A part of a transposed array."""
        first, second = (self.key(name, 1 - axis, extent) for axis, (_, extent) in enumerate(space))
        if (first, second) == (":", ":") and not is_target:
            return f"{name}.T"
        return (
            self.pick(f"{name}.T[{first}, {second}]", f"{name}[{second}, {first}].T")
            if not is_target
            else f"{name}.T[{first}, {second}]"
        )

    def line(self, name: str, space: Space, _: bool) -> str:
        """A part of a row or a column."""
        lengths = self.arrays[name][1]
        axis = self.rng.choice([one for one in (0, 1, 1) if lengths[one] == space[0][0]])
        key = self.key(name, axis, space[0][1])
        other = spans.place(self.rng, self.length(name, 1 - axis), self.index(lengths[1 - axis]))
        if not axis:
            return f"{name}[{key}, {other}]"
        return (
            f"{name}[{other}]"
            if key == ":" and self.chance(0.7)
            else self.pick(
                f"{name}[{other}, {key}]", f"{name}[{other}, {key}]", f"{name}[{other}][{key}]"
            )
        )

    def broadcast(self, name: str, space: Space, _: bool) -> str:
        """A part of a row that is the same for all others, or of a column."""
        size = self.arrays[name][1][0]
        axis = self.rng.choice([axis for axis in (0, 1) if space[axis][0] == size])
        key = self.key(name, 0, space[axis][1])
        if axis:
            return self.pick(f"{name}[{key}]", f"{name}[None, {key}]")
        return self.pick(
            f"{name}[{key}, None]", f"{name}[{key}, np.newaxis]", f"{name}[{key}][:, None]"
        )

    # Expressions ----------------------------------------------------------------------------------------------

    def expression(self, space: Space, kind: str = "d", depth: int = 0) -> str:
        """Array arithmetic of this space."""
        common, rare = {
            "d": (FLOATS, RARE_FLOATS),
            "l": (INTEGERS, RARE_INTEGERS),
            "?": (CONDITIONS, CONDITIONS),
        }[kind]
        text = self.rng.choice(rare if self.chance(self.rarely) else common)
        return self.filled(text, space, kind, depth)

    def filled(self, text: str, space: Space, kind: str, depth: int = 0) -> str:
        """A template with what stands for its letters."""

        def one(found: re.Match[str]) -> str:
            if found[0] == "S":
                return self.number()
            if found[0] == "L":
                return space[0][0]
            if found[0] == "C":
                return self.expression(space, "?", depth + 2) if depth < 4 else "True"
            if found[0] == "E":
                return self.expression(space, kind, depth + 1)
            if found[0] == "X" and depth < 2 and self.chance(0.15):
                return f"({self.expression(space, kind, depth + 1)})"
            kinds = {
                "d": "d" if self.chance(0.95) else "dl?",
                "l": "l" if self.chance(0.9) else "l?",
                "?": "dl",
            }[kind]
            return self.part(space, kinds) or self.part(space) or self.number()

        return re.sub(r"\b[XSCEPL]\b", one, text)

    def number(self) -> str:
        """A number."""
        chance = self.rng.random()
        if chance < 0.25 and self.numbers:
            return self.rng.choice(self.numbers)
        if chance < 0.4 and self.loops:
            return self.rng.choice(self.loops)[0]
        if chance < 0.55 and "draws" in self.features:
            return self.rng.choice(composed.DRAWS)
        if chance < 0.65:
            return self.element()
        return self.rng.choice(ODD_NUMBERS if self.chance(self.rarely) else NUMBERS)

    def element(self, name: str = "") -> str:
        """An element of an array."""
        name = name or self.rng.choice(
            [one for one, (kind, _) in self.arrays.items() if kind != "?"] or list(self.arrays)
        )
        lengths = self.arrays[name][1]
        keys = [
            spans.place(self.rng, self.length(name, axis), self.index(size))
            for axis, size in enumerate(lengths)
        ]
        return f"{name}[{', '.join(keys)}]"

    # Statements -----------------------------------------------------------------------------------------------

    def statement(self, product: int) -> None:
        """One statement, of what the program does."""
        kinds = ["assign", "assign", *sorted(self.features)]
        getattr(self, f"put_{self.rng.choice(kinds)}", self.put_assign)(product)

    def target(self) -> tuple[str, str, Space] | None:
        """A part of an array that a statement writes: its text, its kind, its space."""
        space = self.space(2 if "two_axes" in self.features and self.chance(0.7) else 1)
        if self.chance(0.1) or "whole" in self.features:
            space = tuple((size, "L") for size, _ in space)
        kind = self.pick("d", "d", "d", "l", "?")
        text = self.part(space, kind, is_target=True) or self.part(
            space, kind := "d", is_target=True
        )
        return (text, kind, space) if text else None

    def put_assign(self, _: int) -> None:
        """To a part of an array."""
        if (found := self.target()) is not None:
            text, kind, space = found
            if self.chance(0.04):
                kind = self.pick("d", "l", "?")
            self.put(f"{text if '[' in text else text + '[:]'} = {self.expression(space, kind)}")

    def put_in_place(self, _: int) -> None:
        """An in-place operator on a part of an array, or on a local."""
        if (found := self.target()) is None:
            return
        text, kind, space = found
        text = (
            text.removesuffix("[:]")
            if self.chance(0.7) and "[:]" in text and text.split("[")[0] in self.parts
            else text
        )
        sign = (
            self.pick("+", "-", "*", "+", "-", "/")
            if kind == "d"
            else self.pick("+", "-", "^", "&")
            if kind == "l"
            else self.pick("&", "|", "^")
        )
        right = self.number() if self.chance(0.25) else self.expression(space, kind, 1)
        if sign in "*/" and self.chance(0.8):
            right = self.pick("0.5", "2", "1.5", "0.25", "HALF")
        self.put(f"{text} {sign}= {right}")

    def put_fill(self, _: int) -> None:
        """One number in all places."""
        if (found := self.target()) is not None:
            text, kind, _space = found
            value = (
                self.number()
                if kind == "d"
                else self.pick("0", "1", "-3", "True", "i" if self.loops else "2")
            )
            self.put(f"{text if '[' in text else text + '[:]'} = {value}")

    def put_element(self, _: int) -> None:
        """An element."""
        name = self.rng.choice(
            [one for one, (kind, _) in self.arrays.items() if kind == "d"] or list(self.arrays)
        )
        text = self.element(name)
        self.put(
            self.pick(
                f"{text} = {self.number()} * 0.5 + {self.number()}",
                f"{text} += {self.number()}",
                f"{text} = {self.element()} * 0.5",
            )
        )

    def put_fold(self, _: int) -> None:
        """A number from a part of an array."""
        self.number_of(FOLDS if not self.chance(self.rarely * 3) else RARE_FOLDS)

    def put_dot(self, _: int) -> None:
        """A dot product."""
        matrices = [
            name for name, (kind, sizes) in self.arrays.items() if kind == "d" and len(sizes) == 2
        ]
        if matrices and self.chance(0.2):
            name = self.rng.choice(matrices)
            rows, columns = self.arrays[name][1]
            one, other = (
                self.part(((columns, "L"),), "d"),
                self.part(((rows, "L"),), "d", is_target=True),
            )
            if one and other:
                self.put(
                    f"{other if '[' in other else other + '[:]'} = 0.1 * ({self.pick(name, name, f'{name}[:]')} @ {one})"
                )
                return
        self.number_of(DOTS)

    def put_windows(self, _: int) -> None:
        """A number from a window of an array."""
        name = self.rng.choice(list(self.arrays))
        same = [one for one, known in self.arrays.items() if known == self.arrays[name]]
        lengths = self.arrays[name][1]
        between = windows.key(self.rng, lengths, [self.index(length) for length in lengths])
        self.use(windows.fold(self.rng, same, between, self.number()))

    def number_of(self, templates: tuple[str, ...]) -> None:
        """Bind or use a number that is made of parts of arrays."""
        space = self.space(1)
        self.use(self.filled(self.rng.choice(templates), space, "d", 1))

    def use(self, text: str) -> None:
        """Bind or use a number."""
        if self.chance(0.4) and any(kind == "d" for kind, _ in self.arrays.values()):
            place = self.element(
                self.rng.choice([one for one, (kind, _) in self.arrays.items() if kind == "d"])
            )
            self.put(
                self.pick(
                    f"{place} = 0.1 * ({text})",
                    f"{place} -= 0.01 * ({text})",
                    f"{place} = ({place} - ({text})) * 0.125",
                )
            )
            return
        if self.numbers and self.chance(0.5):
            name = self.rng.choice(self.numbers)
            if not name.isidentifier() or name == "x":
                return
            self.put(
                self.pick(
                    f"{name} = {name} * 0.5 + ({text}) * 0.01",
                    f"{name} += {text}",
                    f"{name} = {text}",
                    f"{name} = max({name}, {text})",
                )
            )
            return
        if (new := self.new_name()) is not None:
            self.put(f"{new} = {text}")
            self.numbers.append(new)

    def put_temporary(self, _: int) -> None:
        """An array that a local is bound to."""
        space = self.space(2 if "two_axes" in self.features and self.chance(0.5) else 1)
        kind = self.pick("d", "d", "d", "d", "l", "?")
        if not any(one == kind for one, _ in self.arrays.values()):
            kind = "d"
        text = self.expression(space, kind)
        known = [name for name, (_, own) in self.parts.items() if own == space]
        name = self.rng.choice(known) if known and self.chance(0.5) else self.new_name()
        if name is not None:
            self.put(f"{name} = {text}")
            self.parts[name] = kind, space

    def put_view(self, _: int) -> None:
        """A view that a local is bound to."""
        kind = self.pick("d", "d", "l")
        space = self.space(1)
        text = self.part(space, kind, is_target=True)
        if text is not None and (name := self.new_name()) is not None:
            self.put(f"{name} = {text}")
            self.parts[name] = kind, space
            if self.chance(0.6):
                self.put(
                    self.pick(
                        f"{name} += {self.expression(space, kind, 1)}",
                        f"{name}[:] = {self.expression(space, kind, 1)}",
                        f"{name} *= 1",
                    )
                )

    def put_composed(self, _: int) -> None:
        """A function that NumPy makes of several array statements."""
        if self.chance(0.3):
            self.number_of(composed.FOLDS)
            return
        space = self.space(1)
        index = self.loops[-1][0] if self.loops else "1"
        text = self.filled(self.pick(*composed.ARRAYS), space, "d", 1).replace("@", index)
        target = self.part(space, "d", is_target=True)
        if target is None or "diff" in text or self.chance(0.4):
            if (name := self.new_name()) is not None:
                self.put(f"{name} = {text}")
                if "diff" not in text:
                    self.parts[name] = "d", space
        else:
            self.put(
                f"{target if '[' in target else target + '[:]'} {self.pick('', '', '+')}= {text}"
            )

    def put_draws(self, _: int) -> None:
        """A random number, into an element or a local."""
        draw = self.pick(*composed.DRAWS)
        if self.chance(0.5) and (name := self.new_name()) is not None:
            self.put(f"{name} = {draw}")
            self.numbers.append(name)
        else:
            self.put(f"{self.element()} = {draw}")

    def put_strided(self, _: int) -> None:
        """Slices whose step is computed."""
        kind = self.pick("d", "d", "d", "l", "?")
        known = [name for name, (own, _) in self.arrays.items() if own == kind]
        if not known or not self.loops:
            return
        lengths = self.arrays[self.rng.choice(known)][1]
        alike = [name for name in known if self.arrays[name][1] == lengths]
        index = self.index(lengths[-1]) or self.loops[-1][0]
        step = self.pick(*composed.STEPS).replace("@", index)
        key = self.pick(*composed.STRIDED).replace("#", step).replace("@", index)
        if len(lengths) == 2:
            row = spans.place(self.rng, lengths[0], self.index(lengths[0]))
            key = self.pick(f"{row}, {key}", f":, {key}", f"{key}, {row}", key)
        parts = [f"{self.rng.choice(alike)}[{key}]" for _ in range(3)]
        self.put(composed.strided(self.rng, kind, parts, self.number()))

    def whole_arrays(self) -> list[list[str]]:
        """Arrays that may take one another's place."""
        alike: dict[Any, list[str]] = {}
        for name, known in self.arrays.items():
            alike.setdefault(known, []).append(name)
        return [names for names in alike.values() if len(names) > 1]

    def put_swap(self, _: int) -> None:
        """Two arrays change names."""
        if known := self.whole_arrays():
            one, other = self.rng.sample(self.rng.choice(known), 2)
            self.put(f"{one}, {other} = {other}, {one}")

    def put_swap_rows(self, _: int) -> None:
        """Contents of two parts change places; views of one memory, as they are, or what lists of indices name."""
        if self.chance(0.4):
            name = self.rng.choice(list(self.arrays))
            kind, lengths = self.arrays[name]
            one = self.index(lengths[0]) or "0"
            other = self.pick("0", "-1", "1", one)
            more = self.pick("", " * 0.5", " + 1") if kind == "d" else ""
            self.put(f"{name}[[{one}, {other}]] = {name}[[{other}, {one}]]{more}")
            return
        space = self.space(1)
        one, other = self.part(space, "d", is_target=True), self.part(space, "d", is_target=True)
        if one and other and "[" in one and "[" in other:
            copy = self.pick("", ".copy()")
            self.put(f"{one}, {other} = {other}{copy}, {one}{copy}")

    def put_rebind(self, _: int) -> None:
        """Another array under the name of one."""
        name = self.rng.choice(list(self.arrays))
        kind, lengths = self.arrays[name]
        space = tuple((size, "L") for size in lengths)
        others = [
            one for names in self.whole_arrays() if name in names for one in names if one != name
        ]
        texts = [self.expression(space, kind, 1), f"{name}.copy()", self.expression(space, kind)]
        if others:
            texts.append(self.rng.choice(others))
        text = self.rng.choice(texts)
        if kind == "d" and text in NUMBERS:
            return
        self.put(f"{name} = {text}")

    def put_fresh(self, _: int) -> None:
        """A new array, that something is put into."""
        name = self.rng.choice(list(self.arrays))
        kind, lengths = self.arrays[name]
        new = self.new_name()
        if new is None:
            return
        sizes = lengths[0] if len(lengths) == 1 else f"({', '.join(lengths)})"
        dtype = {"d": "", "l": ", dtype=np.int64", "?": ", bool"}[kind]
        text = self.pick(
            f"np.zeros({sizes}{dtype})",
            f"np.zeros_like({name})",
            f"np.ones({sizes}{dtype})",
            f"{name}.copy()",
            f"np.empty_like({name})",
        )
        self.put(f"{new} = {text}")
        if "empty" in text:
            self.put(
                f"{new}[:] = {self.expression(tuple((size, 'L') for size in lengths), kind, 1)}"
            )
        self.parts[new] = kind, tuple((size, "L") for size in lengths)

    def put_call(self, _: int) -> None:
        """A function of the module's."""
        space = self.space(1)
        one, other, target = (self.part(space, "d", is_target=place == 2) for place in range(3))
        if not (one and other and target):
            return
        place = target if "[" in target else f"{target}[:]"
        text = self.pick(
            f"{place} = mean_of({one}, {other})", f"{place} = moved({one}, {other})", f"bump({target}, {other})", f"{place} = limited({one})", f"put({target}, {one})",
            f"{place} = limited({one}, high={self.number()})", f"{place} = moved({one}, {self.number()})", f"{place} = mean_of({one}, moved({other}, 0.5))",
        )  # fmt: skip
        self.put(text)

    def put_branch(self, product: int) -> None:
        """An `if`, on a number or on what is in an array."""
        space = self.space(1)
        index = self.loops[-1][0] if self.loops else "n"
        condition = self.pick(
            f"{index} % 3 == 1", f"{self.number()} > {self.number()}", f"{index} > k", f"{self.element()} < 0", f"({self.part(space) or 'a'}).sum() > 0.5",
            f"({self.expression(space, '?', 2)}).any()", f"np.all({self.expression(space, '?', 2)})", f"{index} != k",
        )  # fmt: skip
        self.put(f"if {condition}:")
        self.inside(product, None)
        if self.chance(0.3):
            self.put("else:")
            self.inside(product, None)

    def put_leave(self, _: int) -> None:
        """The end of a turn or of a loop, in some turn."""
        if self.loops:
            index = self.loops[-1][0]
            self.put(
                f"if {self.pick(f'{index} == k', f'{index} % 4 == 2', f'{index} > k + 20', f'{self.element()} > 2.0')}:"
            )
            self.put(f"    {self.pick('continue', 'continue', 'break', 'pass', f'return {index}')}")

    def put_error(self, _: int) -> None:
        """What fails in turn `k`."""
        if not self.loops:
            return
        index = self.loops[-1][0]
        space = self.space(1)
        one = self.part(space) or "a"
        self.put(f"if {index} == k:")
        self.put(
            "    "
            + self.pick(
                "raise ValueError(k)",
                f"{one} + np.zeros(n + 3)",
                f"a[n + {index}] = 1",
                "1 // (k - k)",
                "np.zeros(3) / 0",
                "a[:3] = a[:2]",
                "a.foo",
                "np.ones(2) * 1e308 * 1e308",
            )
        )

    def put_carried(self, _: int) -> None:
        """The usual end of a time step: the new array becomes the old one."""
        for names in self.whole_arrays():
            if len(names) > 1 and self.arrays[names[0]][0] == "d":
                one, other = self.rng.sample(names, 2)
                size = tuple((length, "L") for length in self.arrays[one][1])
                self.put(
                    self.pick(
                        f"{one} = {other}",
                        f"{one}, {other} = {other}, {one}",
                        f"{one} = {other}.copy()",
                        f"{one} = {self.expression(size, 'd', 1)}",
                        f"{one}[:] = {other}",
                    )
                )
                return

    def put_inner(self, product: int) -> None:
        """A loop inside."""
        if product < TURNS and self.depth < 4:
            self.loop(product)

    def put_iterate(self, product: int) -> None:
        """A loop over the elements or rows of arrays."""
        index = next((one for one in INDICES if one not in dict(self.loops)), None)
        if index is None or product > TURNS or self.depth > 3:
            return
        name = self.rng.choice(list(self.arrays))
        lengths = self.arrays[name][1]
        item = self.new_name()
        if item is None:
            return
        head = self.pick(
            f"{item} in {name}",
            f"{index}, {item} in enumerate({name})",
            f"{index}, {item} in enumerate({name})",
            f"{index}, {item} in zip(range({lengths[0]}), {name})",
            f"{item}, {index} in zip({name}, {name})",
        )
        self.put(f"for {head}:")
        if len(lengths) == 1:
            self.numbers.append(item)
        else:
            self.parts[item] = self.arrays[name][0], ((lengths[1], "L"),)
        self.inside(
            product * 40, (index, lengths[0]) if "enumerate" in head or "range" in head else None
        )

    def loop(self, product: int) -> None:
        """A loop over a range."""
        index = next((one for one in INDICES if one not in dict(self.loops)), None)
        if index is None:
            return
        size = self.rng.choice(
            [length for _, lengths in self.arrays.values() for length in lengths]
        )
        if product > 300:
            size = "m"
        text = self.pick(
            f"1, {size} - 1",
            f"1, {size}",
            f"1, {size} - 1",
            size,
            f"{size} - 2, 0, -1",
            f"1, {size} - 1, 2",
            f"2, {size} - 2",
            "1, m",
            f"{size} + 1" if self.chance(0.1) else f"1, {size}",
        )
        if self.loops and self.chance(0.3):
            outer = self.loops[-1][0]
            text = self.pick(outer, f"{outer} + 1, {size}", f"1, {outer}", f"{outer}, -1, -1")
        self.put(f"for {index} in range({text}):")
        self.inside(product * 40, (index, size))

    def inside(self, product: int, turn: tuple[str, str] | None) -> None:
        """The statements of a block."""
        parts, numbers, loops = dict(self.parts), list(self.numbers), list(self.loops)
        if turn is not None:
            self.loops.append(turn)
        self.depth += 1
        before = len(self.lines)
        for _ in range(self.rng.choice((1, 1, 2, 2, 3) if self.depth < 4 else (1,))):
            self.statement(product)
        if len(self.lines) == before:
            self.put("pass")
        self.depth -= 1
        self.parts, self.numbers, self.loops = parts, numbers, loops


def generated(seed: int) -> PythonProgram:
    """The program of a seed."""
    rng = random.Random(seed)  # noqa: S311  not for secrets
    arrays = drawn_arrays(rng)
    features = set(rng.sample(FEATURES, rng.choice((0, 1, 1, 2, 2, 3))))
    if rng.random() < 0.4:
        features |= {rng.choice(composed.FEATURES)}
    if len(set(arrays.values())) == len(arrays):
        features -= (
            {"two_axes"} if all(len(lengths) == 1 for _, lengths in arrays.values()) else set()
        )
    names = list(NAMES)
    rng.shuffle(names)
    sweep = Sweep(
        rng, dict(arrays), features, 0.5 if "rare" in features else 0.02, numbers=["x"], free=names
    )
    parameters = ", ".join([*arrays, "n", "m", "x", "k", *["rng"] * ("draws" in features)])
    for _ in range(rng.choice((0, 0, 1))):
        if (name := sweep.new_name()) is not None:
            sweep.put(f"{name} = {rng.choice(('0.0', '0.0', '1.0', '0', 'x'))}")
            sweep.numbers.append(name)
    if features & {"carried", "swap", "rebind"} or rng.random() < 0.15:
        old = rng.choice([name for name, (kind, _) in arrays.items() if kind == "d"] or ["a"])
        if (new := sweep.new_name()) is not None:
            sweep.put(
                f"{new} = {rng.choice((f'{old}.copy()', f'np.zeros_like({old})', f'{old} * 0.5'))}"
            )
            sweep.arrays[new] = arrays[old]
    if rng.random() < 0.07:
        how = rng.choice(
            (
                "all='ignore'",
                "divide='ignore'",
                "all='raise'",
                "invalid='ignore', over='ignore'",
                "over='raise'",
            )
        )
        sweep.put(f"with np.errstate({how}):")
        sweep.depth += 1
    for _ in range(rng.choice((1, 1, 1, 2))):
        sweep.loop(1)
    sweep.depth = 1
    if rng.random() < 0.1:
        sweep.put("raise KeyError('end')")
    returned = [name for name in sweep.bound if rng.random() < 0.8]
    returned += [name for name in arrays if rng.random() < 0.5]
    sweep.put(f"return ({', '.join([*returned, 'n'])},)")
    body = "\n".join(sweep.lines)
    source = f"{PRELUDE}def program({parameters}):\n{body}\n"
    sets = tuple(random_set(rng, arrays) for _ in range(rng.choice((2, 2, 3))))
    if "draws" in features:
        sets = tuple((*one, Given("rng", rng.choice(composed.GENERATORS))) for one in sets)
    return PythonProgram(source, sets, seed)


def shown(program: PythonProgram) -> str:
    """The module without the prelude, and the arguments, to be read."""
    lines = [program.source.replace(PRELUDE, "").strip()]
    for given in program.sets:
        lines.append("  with " + "; ".join(f"{g.name} = {g.text}" for g in given))
    return "\n".join(lines)


class SweepsWorld(LoopsWorld):
    """The module of such a program: nothing of it changes."""

    def names(self) -> dict[str, Any]:
        """What the texts of arguments use."""
        return {**super().names(), "odd_at": odd_at}


def is_usable(program: PythonProgram) -> bool:
    """Whether the module can be made and its arguments, too."""
    return loops.is_usable(program, SweepsWorld)
