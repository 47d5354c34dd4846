"""`python -m tests.whole.large`: random programs on large arrays, plain and compiled; prints those that differ.

NumPy writes over large temporaries, which shows in the bits of NaN and in how results lie in memory.
"""

from __future__ import annotations

import argparse
import functools
import operator
import random
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ufuse
from tests.support.comparing.compare import ARRAY_FLAGS

SHAPES: tuple[tuple[int, ...], ...] = (
    (32_768,), (40_001,), (70_000,), (140_003,), (256, 256), (200, 400), (1, 70_000), (70_000, 1), (41, 42, 43), (3, 1, 30_000),
)  # fmt: skip
SMALL: tuple[tuple[int, ...], ...] = ((1000,), (7, 9), (5, 1, 4))
DTYPES = ("f8", "f8", "f4", "c16", "c8")
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "fortran": lambda x: np.asfortranarray(x).copy("F"),
    "turned": np.asfortranarray,
    "gaps": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "inner": lambda x: np.pad(x, 1)[tuple(slice(1, -1) for _ in x.shape)],
    "moved": lambda x: np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0),
}
SCALARS = ("2.5", "3", "r", "np.float32(1.5)", "0.0", "1j")
HELPERS = """
def direct(a):
    return a * 1.5

def through_local(a):
    t = a - 0.5
    return t

def through_list(a):
    kept = [a + 1.0]
    return kept[0]

def popped(a):
    kept = [np.negative(a)]
    return kept.pop()

def argument(a, b):
    return b + a

def rebound(a, b):
    a = a * 0.5
    return b * a

def made(a):
    yield a * 2.0
    yield np.abs(a)

def kept_by_caller(a, kept):
    kept.append(-a)
    return kept[-1]

class Box:
    def __init__(self, a):
        self.a = a

    def step(self, b):
        self.a = self.a + b * 0.5
        return self.a
"""


class Program:
    """A random program: `source`, and the shape and dtypes of its arguments; or one with a given body."""

    def __init__(self, seed: int, body: str = "") -> None:
        self.seed = seed
        self._random = random.Random(seed)  # noqa: S311
        choose = self._random.choice
        self.shape = choose(SHAPES if self._random.random() < 0.9 else SMALL)
        dtype = choose(DTYPES)
        mixed = self._random.random() < 0.2
        self.dtypes = [choose(DTYPES) if mixed else dtype for _ in "xyz"]
        self.layouts = [choose([*LAYOUTS, "dense", "dense"]) for _ in "xyz"]
        self._names = ["x", "y", "z"]
        self._count = 0
        lines = [line for _ in range(self._random.randint(1, 4)) for line in self._statement()]
        results = ", ".join(self._names[3:] or [self._expression(3)])
        lines = body.split("\n") if body else [*lines, f"return ({results},)"]
        body = "\n".join(f"    {line}" for line in lines)
        if " for q in " in body:  # where no names are assigned
            body = body.replace("(t := ", "(")
        self.source = f"{HELPERS}\n\ndef program(x, y, z, m, i, r):\n{body}\n"

    def _new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _statement(self) -> list[str]:
        """One statement or a few."""
        kind, e = self._random.randrange(14), self._expression
        target = self._random.choice(self._names)
        match kind:
            case 0:
                return [f"{target}[...] = {e(3)}"]
            case 1:
                return [
                    f"{target}[...] = {target} {self._random.choice('+*')} {self._temporary(2)}"
                ]
            case 2:
                return [f"{target} {self._random.choice('+-*')}= {e(2)}"]
            case 3:
                return [
                    f"np.{self._random.choice(['add', 'multiply', 'subtract'])}({e(2)}, {e(2)}, out={target})"
                ]
            case 4:
                name, start = self._new(), e(1)
                lines = [f"{name} = {start}", f"for j in range({self._random.choice('23')}):"]
                lines += [f"    {name} = {name} {self._random.choice('+*-')} {self._temporary(2)}"]
                self._names.append(name)
                return lines
            case 5:
                name = self._new()
                self._names.append(name)
                return [
                    f"kept = [{e(2)}]",
                    f"kept.append({e(2)})",
                    f"{name} = kept[0] + {self._temporary(1)} + kept.pop()",
                ]
            case 6:
                name = self._new()
                box = f"box = Box({self._temporary(1)})"
                self._names.append(name)
                return [box, f"{name} = box.a + box.step({e(1)})", f"{name} = {name} + box.a"]
        name, value = self._new(), e(3)
        self._names.append(name)
        return [f"{name} = {value}"]

    def _leaf(self) -> str:
        return self._random.choice(self._names)

    def _expression(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf()
        return self._temporary(depth) if self._random.random() < 0.8 else self._leaf()

    def _temporary(self, depth: int) -> str:
        """An expression that makes an array."""
        e, choose, sign = self._expression, self._random.choice, self._random.choice("++**-/")
        rest = depth - 1
        name = {"+": "add", "*": "mul", "-": "sub", "/": "truediv"}[sign]
        kind = self._random.randrange(34)
        if kind < 12:
            return f"({e(rest)} {sign} {e(rest)})"
        if kind < 15:
            parts = [e(rest), choose(SCALARS)]
            self._random.shuffle(parts)
            return f"({parts[0]} {sign} {parts[1]})"
        if kind < 22:
            one = e(rest)
            return choose([
                f"np.sqrt({one})", f"(-{one})", f"abs({one})", f"{one}.copy()", f"np.sort({one}, axis=0)", f"np.where(m, {one}, {e(rest)})",
                f"np.take({one}, i, axis=0)", f"np.cumsum({one}, axis=0)", f"np.ascontiguousarray({one})", f"np.asfortranarray({one})",
                f"np.roll({one}, 1)", f"np.roll({one}, 1, axis=0)", f"{one}[::-1]", f"np.flip({one})", f"np.maximum({one}, {e(rest)})",
                f"{one}[i]", f"np.conj({one})", f"np.concatenate([{one}[:1], {one}[1:]])", f"{one}.astype('{choose(DTYPES)}')",
                f"({one} + {one}.sum(axis=0))", f"({one}.max(axis=-1, keepdims=True) * {e(rest)})", f"{one}.reshape({one}.shape)",
                f"np.square({one})", f"np.add({one}, {e(rest)})", f"({one} ** 2)", f"np.zeros_like({one})", f"np.ones({one}.shape)",
                f"{one}.copy(order='K')", f"{one}.T.copy().T", f"np.negative({one}).ravel().reshape({one}.shape)", f"np.full_like({one}, r)",
            ])  # fmt: skip
        one, other = e(rest), e(rest)
        return choose([
            f"operator.{name}({one}, {other})", f"({one}).__{name}__({other})", f"({one}).__r{name}__({other})", f"direct({one})",
            f"through_local({one})", f"through_list({one})", f"popped({one})", f"argument({one}, {other})", f"rebound({one}, {other})",
            f"sum([{one}, {other}])", f"sum([{one}], {other})", f"sum(made({one}))", f"sum((q * 0.5 for q in ({one}, {other})), {e(rest)})",
            f"functools.reduce(operator.add, [{one}, {other}, {e(rest)}])", f"functools.reduce(lambda a, b: a {sign} b, [{one}, {other}])",
            f"((t := {one}) {sign} {other})", f"([{one}][0] {sign} {other})", f"({other} {sign} [{one}].pop())",
            f"(lambda a, b: a {sign} b)({one}, {other})", f"({other} {sign} next(made({one})))", f"np.add(*[{one}, {other}])",
            f"({other} {sign} ({one} if r > 1 else {e(rest)}))", f"kept_by_caller({one}, [])", f"({other} {sign} kept_by_caller({one}, []))",
            f"list(map(operator.{name}, [{one}], [{other}]))[0]", f"[{other} {sign} q for q in made({one})][1]", f"({other} {sign} Box({one}).a)",
            f"({other} {sign} {{'k': {one}}}['k'])", f"({other} {sign} (lambda: {one} * 1.0)())", f"({other} {sign} max([{one}], key=id))",
        ])  # fmt: skip


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Any:
    """Numbers, among them infinities, zeros and NaN of either sign with payloads."""
    if dtype[0] == "c":
        part = {"c16": "f8", "c8": "f4"}[dtype]
        made = np.empty(shape, dtype)
        made.real, made.imag = numbers(rng, shape, part), numbers(rng, shape, part)
        return made
    made = rng.normal(size=shape).astype(dtype)
    bits, quiet = (np.uint64, 0x7FF8 << 48) if dtype == "f8" else (np.uint32, 0x7FC0 << 16)
    payload = rng.integers(1, 1 << 20, shape).astype(bits) | bits(quiet)
    payload |= rng.integers(0, 2, shape).astype(bits) << bits(8 * made.itemsize - 1)
    kind = rng.random(shape)
    made = np.where(kind < 0.35, payload.view(dtype), made)
    made[kind > 0.95] = rng.choice(
        np.array([np.inf, -np.inf, 0.0, -0.0], dtype), (kind > 0.95).sum()
    )
    return made


def arguments(program: Program, seed: int, shape: Sequence[int]) -> list[Any]:
    """Arguments for one call."""
    rng = np.random.default_rng(seed)
    arrays = [
        LAYOUTS[layout](numbers(rng, shape, dtype))
        for dtype, layout in zip(program.dtypes, program.layouts, strict=True)
    ]
    mask, places = rng.random(shape) < 0.5, rng.permutation(shape[0])
    payload = float(np.array(0xFFF8000000000123, np.uint64).view("f8"))
    return [*arrays, mask, places, payload if seed % 2 else 2.0]


def outcome(function: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
    """Everything that a call shows."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            results = list(function(*given))
        except Exception as error:  # noqa: BLE001  of any kind, as long as both do the same
            results = [type(error), str(error)]
    shown = [described(one) for one in (*results, *given[:3])]
    return [*shown, [(one.category, str(one.message), one.lineno) for one in told]]


def described(value: Any) -> Any:
    """What is compared of a result."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    flags = {name: value.flags[name] for name in ARRAY_FLAGS}
    return value.dtype, value.shape, value.strides, flags, value.base is None, value.tobytes()


def difference(program: Program) -> str:
    """What the compiled program does otherwise; empty where nothing."""
    space = {"np": np, "operator": operator, "functools": functools, "__name__": "large_program"}
    exec(compile(program.source, f"<large {program.seed}>", "exec"), space)
    plain: Any = space["program"]
    compiled = ufuse.compile(plain)
    small = tuple(min(n, 5) for n in program.shape)
    for call, shape in enumerate([program.shape] * 3 + [small] + [program.shape] * 2):
        seed = program.seed * 10 + call
        wanted = outcome(plain, arguments(program, seed, shape))
        found = outcome(compiled, arguments(program, seed, shape))
        for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
            if one != other:
                return f"call {call}, outcome {number}: {_unlike(one, other)}"
    return ""


def _unlike(one: Any, other: Any) -> str:
    if not isinstance(one, tuple) or not isinstance(other, tuple) or one[:5] != other[:5]:
        parts = (one[:5], other[:5]) if isinstance(one, tuple) else (one, other)
        return f"plain {parts[0]}, compiled {parts[1]}"
    a, b = (np.frombuffer(part[5], np.uint32) for part in (one, other))
    places = np.flatnonzero(a != b)
    return (
        f"{len(places)} bits of {one[:3]}, first at {places[0]}: {a[places[0]]:x}, {b[places[0]]:x}"
    )


def main() -> None:
    """Try as many programs as the command line says; exit 1 where one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.whole.large", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    differ = 0
    for seed in range(options.seed, options.seed + options.count):
        program = Program(seed)
        found = difference(program)
        if found:
            differ += 1
            body = program.source[program.source.index("def program") :]
            print(
                f"--- seed {seed}: {program.shape} {program.dtypes} {program.layouts}\n{body}  {found}\n",
                flush=True,
            )
    print(f"{options.count} programs, {differ} differ", flush=True)
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
