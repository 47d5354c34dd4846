"""Nests drawn by chance: every op of the language, loops and branches; few of them mean anything."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from tests.support.nests.nest_code import RANGE, Code, array, number
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import (
    ELEMENTS,
    F64,
    I1,
    I64,
    INTEGERS,
    KINDS,
    KNOWN_POWERS,
    REALS,
    SIGNATURES,
    TURNS,
    Value,
    limits,
)

ARRAYS = (
    array("a", float, 1, is_written=True),
    array("b", float, 2, is_written=True),
    array("c", int, 1, is_written=True),
    array("d", bool, 2, is_written=True),
    array("e", float, 0, is_written=True),
    array("f", np.float32, 1, is_written=True),
    array("g", np.int32, 1, is_written=True),
    array("h", np.uint8, 1, is_written=True),
    array("j", np.uint64, 1, is_written=True),
    array("k", np.int16, 1, is_written=True),
)
SMALL = {"float32": "u", "int32": "v", "uint8": "w", "uint64": "z"}  # names of numbers
NUMBERS = {
    "x": "float",
    "y": "float",
    "n": "int",
    "p": "bool",
    **{name: kind for kind, name in SMALL.items()},
}
SLOTS = (*ARRAYS, *(number(name, kind) for name, kind in NUMBERS.items()), RANGE)
LOWEST = -(1 << 63)
REAL_EDGES = (
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.0,
    math.inf,
    -math.inf,
    math.nan,
    -math.nan,
    1e308,
    5e-324,
    1e-200,
    2.0**63,
)
SINGLE_EDGES = (0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, -math.nan, 2.0**127, 2.0**-149)
WHOLES = (0, 1, -1, 2, 3, -3, 7, 8, 64, 63, LOWEST, -LOWEST - 1, 1 << 32, 1 << 62)
FUNCTIONS = (
    ("sin", 1),
    ("exp", 1),
    *((name, 1) for name in KNOWN_POWERS),
    ("log", 1),
    ("atan2", 2),
    ("pow", 2),
    ("fmod", 2),
    ("copysign", 2),
)


class Draw:
    """One nest, and what it is run on. `wildness`: how often something is drawn that likely ends in a doubt."""

    def __init__(self, seed: int, wildness: float = 0.02, calls: bool = True) -> None:
        self.random = random.Random(seed)  # noqa: S311 (no secrets)
        self.wildness = wildness
        self.calls = calls
        self.code = Code(*SLOTS)
        self.values: dict[str, list[Value]] = {}
        self.names: dict[str, list[str]] = {type_: [] for type_ in (*REALS, *INTEGERS, I1)}
        for name, kind in NUMBERS.items():
            self.names[KINDS[kind]].append(name)
        self.names[I1].append("x.numpy")
        # Few types in one nest: so that operations find operands.
        self.types = [F64, F64, I64, I1, *self.random.sample([*REALS, *INTEGERS], 3)]
        self.operations = [
            (op, takes)
            for (op, _), (takes, gives) in SIGNATURES.items()
            if {*takes, gives} <= {*self.types}
        ]
        self.labels = 0
        self.counters: list[str] = []  # of the loops that are open

    def nest(self) -> Nest:
        """A nest."""
        self._fresh(self.code.header("i", "body"))
        self._body(depth=0)
        self.code.end("jump", "header")
        return self.code.nest()

    def objects(self) -> tuple[list[np.ndarray], dict[str, Any]]:
        """Arrays, one of them strided backwards, and cells."""
        rng = np.random.default_rng(self.random.getrandbits(32))
        reals = rng.standard_normal(40)
        for place in range(40):
            if rng.random() < 0.1 + 3 * self.wildness:
                reals[place] = self.random.choice(REAL_EDGES)
        arrays = [
            reals[:12][::-2],
            reals[12:32].reshape(4, 5).T,
            rng.integers(-20, 20, 7),
            rng.random((3, 4)) < 0.5,
            reals[39:].reshape(()),
            rng.standard_normal(9).astype(np.float32)[::2],
            rng.integers(-20, 20, 7).astype(np.int32),
            rng.integers(0, 9, 7).astype(np.uint8),
            rng.integers(0, 20, 7).astype(np.uint64),
            rng.integers(-20, 20, 9).astype(np.int16)[::-2],
        ]
        start, step = self.random.randint(-6, 6), self.random.choice([1, 1, 2, -1, -3])
        left = self.random.randint(1, 6)
        cells = {
            "x": self.random.choice(REAL_EDGES),
            "x.numpy": True,
            "y": self.random.uniform(-3, 3),
            "y.numpy": False,
            "n": self.random.choice([*WHOLES, 5]),
            "n.numpy": False,
            "p": self.random.random() < 0.5,
            "p.numpy": True,
            "u": np.float32(self.random.choice(SINGLE_EDGES)),
            **{name: self._edge(KINDS[kind]) for kind, name in SMALL.items() if kind != "float32"},
            **{f"{name}.numpy": True for name in SMALL.values()},
            "i.next": start,
            "i.step": step,
            "i.left": left,
            TURNS: self.random.randint(1, left),
        }
        return arrays, cells

    def _edge(self, type_: str) -> int:
        low, high = limits(type_)
        return self.random.choice([1, 2, 7, 8, 31, low, high, low + 1, high // 2])

    def _label(self) -> str:
        self.labels += 1
        return f"b{self.labels}"

    def _fresh(self, *given: Value) -> None:
        """Forget the values of the last block."""
        self.values = {type_: [] for type_ in (*REALS, *INTEGERS, I1)}
        self.values[I64] = list(given)

    def _body(self, depth: int) -> None:
        """Instructions and blocks, in an open block, up to one that is left open."""
        self._straight()
        for _ in range(self.random.randint(0, 3 - depth)):
            if self.random.random() < 0.5:
                self._choice(depth)
            else:
                self._loop(depth)
            self._straight()

    def _choice(self, depth: int) -> None:
        then, other, join = self._label(), self._label(), self._label()
        self.code.end("branch", then, other, condition=self._value(I1))
        for label in (then, other):
            self.code.begin(label)
            self._fresh()
            if depth < 2:
                self._body(depth + 1)
            self.code.end("jump", join)
        self.code.begin(join)
        self._fresh()

    def _loop(self, depth: int) -> None:
        name, after = self._label(), self._label()
        start, stop = self.random.randint(-2, 2), self.random.randint(0, 4)
        step = self.random.choice([1, 1, -1])
        first, last = (start, stop) if step > 0 else (stop, start)
        self._fresh(
            self.code.loop(name, self.code.whole(first), self.code.whole(last), after, step)
        )
        self.counters.append(name)
        if depth < 2:
            self._body(depth + 1)
        self.counters.pop()
        self.code.again(name, step)
        self.code.begin(after)
        self._fresh()

    def _straight(self) -> None:
        for _ in range(self.random.randint(1, 10)):
            self._instruction()

    def _keep(self, value: Value) -> Value:
        self.values[value.type].append(value)
        return value

    def _value(self, type_: str) -> Value:
        """A value of this block, or a new constant or variable."""
        known = self.values[type_]
        if known and self.random.random() < 0.75:
            return self.random.choice(known[-4:])
        if self.random.random() < 0.4 and self.names[type_]:
            return self._keep(self.code.get(self.random.choice(self.names[type_])))
        return self._keep(self._constant(type_))

    def _constant(self, type_: str) -> Value:
        is_wild = self.random.random() < 5 * self.wildness
        if type_ in REALS:
            edges = REAL_EDGES if type_ == F64 else SINGLE_EDGES
            return self.code.constant(
                type_, self.random.choice(edges if is_wild else (0.5, 3.0, -2.0, 0.125))
            )
        if type_ == I64:
            return self.code.whole(
                self.random.choice(WHOLES) if is_wild else self.random.choice([1, 2, 3, 4, 8, -5])
            )
        if type_ in INTEGERS:
            small = self.random.choice([1, 2, 3, 4, 8, 5])
            return self.code.constant(type_, self._edge(type_) if is_wild else small)
        return self.code.truth(self.random.random() < 0.5)

    def _number(self) -> int:
        """Of an array of one of the nest's types, mostly."""
        known = [i for i, one in enumerate(ARRAYS) if ELEMENTS[one.dtype] in self.types]
        return self.random.choice([*known, self.random.randrange(len(ARRAYS))])

    def _index(self, number: int) -> list[Value]:
        places = []
        for axis in range(ARRAYS[number].ndim):
            if self.counters and self.random.random() < 0.5:
                place = self.code.get(self.random.choice(self.counters))
                if self.random.random() < 0.3:
                    place = self.code.op("sub", place, self.code.whole(self.random.choice([1, -1])))
                places.append(place)
                continue
            place = self._value(I64)
            if self.random.random() > self.wildness:
                place = self.code.op("mod", place, self.code.dim(number, axis))
                if self.random.random() < 0.3:
                    place = self.code.op("sub", place, self.code.dim(number, axis))
            places.append(place)
        return places

    def _instruction(self) -> None:
        draw = self.random.random()
        if draw < 0.15:
            number = self._number()
            self._keep(self.code.load(number, *self._index(number)))
        elif draw < 0.25:
            number = self._number()
            type_ = ELEMENTS[ARRAYS[number].dtype]
            self.code.store(number, *self._index(number), self._value(type_))
        elif draw < 0.4:
            type_ = self.random.choice(self.types)
            name, value = self.random.choice(self.names[type_] or [""]), self._value(type_)
            if not name or self.random.random() < 0.3:
                name = self._label()
                self.names[type_].append(name)
            self.code.set(name, value)
        elif draw < 0.47:
            type_ = self.random.choice(self.types)
            self._keep(self.code.select(self._value(I1), self._value(type_), self._value(type_)))
        elif draw < 0.5 and self.calls:
            name, count = self.random.choice(FUNCTIONS)
            self._keep(self.code.call(name, *[self._value(F64) for _ in range(count)]))
        elif draw < 0.5 + self.wildness / 4:
            self.code.doubt_if(self._value(I1))
        else:
            self._operation()

    def _operation(self) -> None:
        op, takes = self.random.choice(self.operations)
        inputs = [self._value(type_) for type_ in takes]
        is_tame = self.random.random() > self.wildness
        if op in {"shl", "shr"} and is_tame:
            inputs[1] = self.code.whole(self.random.randint(0, 5))
        if op == "div" and self.random.random() < 0.7:
            inputs[1] = self.code.constant(takes[1], 1.75)
        if op in {"floordiv", "mod"} and self.random.random() < 0.7:
            inputs[1] = self.code.constant(takes[1], self.random.choice([3, 4, 8]))
        if takes[0] in INTEGERS and takes[0] != I64 and is_tame:
            inputs = self._tamed(op, takes[0], inputs)
        if op == "mul" and takes[0] == I64 and self.random.random() > self.wildness:
            inputs[1] = self.code.op("mod", inputs[1], self.code.whole(10))
            inputs[0] = self.code.op("mod", inputs[0], self.code.whole(-1000))
        self._keep(self.code.op(op, *inputs))

    def _tamed(self, op: str, type_: str, inputs: list[Value]) -> list[Value]:
        """Inputs of an operation that likely fits its type."""
        if op == "neg" and type_.startswith("u"):
            return [self.code.constant(type_, 0)]
        if op == "sub" and type_.startswith("u"):
            return [self.code.op("or", *inputs), inputs[1]]
        if op in {"add", "mul", "neg", "abs"} or op.startswith("to_"):
            few = self.code.constant(type_, 10)
            return [self.code.op("mod", one, few) for one in inputs]
        return inputs
