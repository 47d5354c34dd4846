"""Random programs, grown one statement at a time: each statement is run on the arguments before it is kept."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.whole.fuzz.everyday import drawn, everyday, stored
from tests.whole.fuzz.limits import TooLongError, limited
from tests.whole.fuzz.states import error_state
from tests.whole.fuzz.values import DTYPES, NUMBERS, Given, made, random_arguments, variant

LONGEST = 2  # seconds that a statement may take
PRELUDE = """\
import numpy as np
import math

SCALE = 2.0
LOG = []
TABLE = {"k": 3.0, "n": 2}
MEMORY = np.zeros(3)
RNG = np.random.default_rng(3)
OLD = np.random.RandomState(4)


def scaled(p, q=2.0):
    return p * q + 1


def shifted(p, *, by=1):
    r = p - by
    return r, r * SCALE


def changed(p):
    p += 1
    return p


def chosen(p, n):
    if n > 2:
        return p + n
    for i in range(n):
        p = p * (i + 1)
    return p


class Model:
    def __init__(self, w):
        self.w = w
        self.k = 0.5

    def step(self, p):
        self.k *= 2
        return p * self.k - self.w

"""


@dataclass(frozen=True, slots=True)
class Block:
    """A statement: its lines, and blocks inside it that may be left out one by one."""

    head: str
    body: tuple[Block, ...] = ()
    tail: str = ""  # lines behind the body, at the head's depth

    def lines(self, depth: int = 1) -> list[str]:
        """The statement as indented lines."""
        space = "    " * depth
        found = [space + line for line in self.head.split("\n")]
        if self.body or self.head.endswith(":"):
            inner = [line for block in self.body for line in block.lines(depth + 1)]
            found += inner or [space + "    pass"]
        found += [space + line for line in self.tail.split("\n") if line]
        return found


@dataclass(frozen=True, slots=True)
class Program:
    """A function and several sets of arguments for it."""

    blocks: tuple[Block, ...]
    returned: tuple[str, ...]
    sets: tuple[tuple[Given, ...], ...]
    seed: int = 0

    @property
    def source(self) -> str:
        """The program as text."""
        names = ", ".join(argument.name for argument in self.sets[0])
        body = [line for block in self.blocks for line in block.lines()]
        items = ", ".join(self.returned) + ("," if len(self.returned) == 1 else "")
        text = PRELUDE + f"\ndef program({names}):\n" + "\n".join(body)
        return text + f"\n    return ({items})\n"


def compact(program: Program) -> str:
    """The function without the prelude, and its arguments, to be read."""
    lines = [program.source.removeprefix(PRELUDE).strip()]
    for given in program.sets:
        lines.append("  with " + "; ".join(f"{g.name} = {g.text}" for g in given))
    return "\n".join(lines)


@dataclass(slots=True)
class Growth:
    """A program being grown: the random numbers and the values that its names have so far."""

    rng: random.Random
    values: dict[str, Any]
    own: list[str] = field(default_factory=list)
    count: int = 0

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"v{self.count}"

    def named(self, wanted: Callable[[Any], bool]) -> list[str]:
        """The names whose values are wanted."""
        return [name for name in self.own if name in self.values and wanted(self.values[name])]

    def array(self) -> str:
        """The name of an array, the later ones more often."""
        names = self.named(is_array)
        if not names:
            return "np.arange(3.0)"
        if self.rng.random() < 0.4:
            return names[-1]
        return self.rng.choice(names)

    def value(self, name: str) -> Any:
        """The value of a name, if it is one."""
        return self.values.get(name)

    def pick(self, *choices: str) -> str:
        """One of several texts."""
        return self.rng.choice(choices)


def is_array(value: Any) -> bool:
    """Whether it is an array."""
    return isinstance(value, np.ndarray)


def is_number(value: Any) -> bool:
    """Whether it is a number."""
    return isinstance(value, (int, float, complex, np.generic))


OPERATORS = "+ - * / + - * // % ** & | ^ << >> @".split()
PLAIN_OPERATORS = "+ - * + - * /".split()
COMPARISONS = "< <= == != > >=".split()
UNARY = (
    "exp sqrt log tanh sin abs floor square negative isnan sign log1p reciprocal rint expm1 cos isfinite conj "
    "positive invert logical_not cbrt arctan signbit ceil trunc exp2 log2 log10 deg2rad real imag angle"
).split()
BINARY = (
    "maximum minimum add multiply subtract hypot arctan2 power fmax fmin logical_and logical_or copysign mod "
    "floor_divide divide equal greater bitwise_and remainder fmod float_power heaviside ldexp nextafter logaddexp"
).split()
REDUCTIONS = "sum max min mean prod std var any all argmax argmin sum max mean".split()


def index_text(growth: Growth, ndim: int, length: int) -> str:
    """A basic index."""
    rng = growth.rng
    parts = []
    for _ in range(rng.randint(1, max(ndim, 1))):
        parts.append(
            rng.choice(
                (
                    "1:",
                    ":-1",
                    "::2",
                    "::-1",
                    ":",
                    "0",
                    "-1",
                    "None",
                    "...",
                    "1:3",
                    ":2",
                    "2:",
                    "1::2",
                    "-2:",
                    ":0",
                    "-1:0:-1",
                    "5:1",
                    "1",
                    "2",
                    "-2",
                    ":n",
                    "n",
                    "i0:",
                    "-3::-2",
                )
            )
        )
    if parts.count("...") > 1:
        parts = ["..."]
    if rng.random() < 0.03:
        parts = ["()"]
    return ", ".join(parts)


def operand(growth: Growth, depth: int = 0) -> str:
    """An array, a view of one, a number."""
    rng = growth.rng
    chance = rng.random()
    if chance < 0.2:
        numbers = growth.named(is_number)
        if numbers and rng.random() < 0.5:
            return rng.choice(numbers)
        return rng.choice(NUMBERS)
    name = growth.array()
    value = growth.value(name)
    if chance < 0.35 and is_array(value) and value.ndim:
        return f"{name}[{index_text(growth, value.ndim, len(value))}]"
    if chance < 0.4:
        return f"{name}.T"
    if chance < 0.43:
        return rng.choice(
            (
                f"{name}.shape[0]",
                f"len({name})",
                f"{name}.size",
                f"{name}.ndim",
                "SCALE",
                "TABLE['k']",
            )
        )
    if chance < 0.6 and depth < 2:
        return f"({expression(growth, depth + 1)})"
    return name


def expression(growth: Growth, depth: int = 0) -> str:
    """Arithmetic, comparisons, functions."""
    rng = growth.rng
    chance = rng.random()
    if chance < 0.45:
        sign = rng.choice(PLAIN_OPERATORS if rng.random() < 0.6 else OPERATORS)
        return f"{operand(growth, depth)} {sign} {operand(growth, depth)}"
    if chance < 0.52:
        return f"{operand(growth, depth)} {rng.choice(COMPARISONS)} {operand(growth, depth)}"
    if chance < 0.57:
        return f"{rng.choice('- + ~ abs'.split())}({operand(growth, depth)})"
    if chance < 0.66:
        return f"np.{rng.choice(UNARY)}({operand(growth, depth)})"
    if chance < 0.74:
        return f"np.{rng.choice(BINARY)}({operand(growth, depth)}, {operand(growth, depth)})"
    if chance < 0.84:
        return reduction(growth)
    if chance < 0.92:
        return reshaping(growth)
    return function(growth, depth)


def axis_text(growth: Growth) -> str:
    """Keywords of a reduction."""
    rng = growth.rng
    parts = []
    axis = rng.choice(
        ("", "", "axis=0", "axis=-1", "axis=1", "axis=(0, 1)", "axis=None", "axis=()")
    )
    if axis:
        parts.append(axis)
    if rng.random() < 0.2:
        parts.append("keepdims=True")
    if rng.random() < 0.06:
        parts.append(rng.choice(("dtype='f4'", "dtype=np.float64", "dtype=int", "dtype='c16'")))
    if rng.random() < 0.03:
        parts.append(rng.choice(("initial=1", "where=True", "initial=0.5")))
    return ", ".join(parts)


def reduction(growth: Growth) -> str:
    """A reduction, as a method or as a function."""
    name, which = growth.array(), growth.rng.choice(REDUCTIONS)
    keywords = axis_text(growth)
    if growth.rng.random() < 0.1:
        ufunc = growth.pick("add", "multiply", "maximum", "logical_or", "minimum")
        return f"np.{ufunc}.reduce({name}{', ' * bool(keywords)}{keywords})"
    if growth.rng.random() < 0.3:
        return f"np.{which}({name}{', ' * bool(keywords)}{keywords})"
    return f"{name}.{which}({keywords})"


def reshaping(growth: Growth) -> str:
    """Views, copies, casts."""
    name = growth.array()
    return growth.pick(
        f"{name}.T", f"{name}.ravel()", f"{name}.reshape(-1)", f"{name}.copy()", f"{name}[None]", f"{name}[..., None]",
        f"{name}.astype({growth.rng.choice(DTYPES)!r})", f"{name}.astype(np.float64, copy=False)",
        f"{name}.astype({growth.rng.choice(DTYPES)!r})", f"{name}.astype(int)",
        f"{name}.reshape({name}.shape[::-1])", f"{name}.reshape(1, -1)", f"{name}.reshape(({name}.size, 1))",
        f"np.transpose({name})", f"{name}.swapaxes(0, -1)", f"np.asarray({name})", f"np.ascontiguousarray({name})",
        f"np.copy({name})", f"np.array({name})", f"np.expand_dims({name}, 0)", f"np.squeeze({name})",
        f"{name}.flatten()", f"np.broadcast_to({name}, (2,) + {name}.shape)", f"np.atleast_1d({name})",
        f"{name}.real", f"{name}.imag", f"({name} * 1j).real", f"({name} + 2j).imag", f"np.angle({name})", f"np.diag({name})",
        f"np.diag({name}, 1)", f"np.diagonal({name})", f"np.rot90({name})", f"np.rot90({name}, {growth.rng.choice((0, 2, -1))})",
        f"{name}.view('i8')", f"{name}.view(np.uint32)", f"{name}.view()", f"{name}.copy(order='F')", f"np.array({name}, copy=False)",
        f"np.moveaxis({name}, 0, -1)", f"np.flip({name})", f"np.array({name}, dtype='f4')", f"np.asarray({name}, dtype=float)",
    )  # fmt: skip


def chosen_by_values(growth: Growth, depth: int) -> str:
    """Something whose length only values decide, or that is computed of it."""
    x, y = growth.array(), growth.array()
    o = operand(growth, depth + 1)
    mask = growth.pick(
        f"{x} > 0", f"{x} > {o}", f"({x} > -1) & ({y} < 1)", f"~({y} > 0)", f"np.isfinite({x})", f"{y} != {o}",
        f"np.abs({x}) < 1", f"{x}.astype(bool)", f"{x}[:, 0] > 0", f"{x} > 50",
    )  # fmt: skip
    picked = growth.pick(
        f"{x}[{mask}]", f"{x}[{mask}]", f"{y}[{mask}]", f"np.compress({mask}, {x})", f"np.extract({mask}, {x})",
        f"np.flatnonzero({mask})", f"np.flatnonzero({x})", f"np.nonzero({mask})[0]", f"np.where({mask})[0]", f"{x}.nonzero()[0]",
        f"np.unique({x})", f"np.bincount(np.abs({x}).astype(int) % 7)", f"np.argwhere({mask})", f"np.union1d({x}, {y})",
        f"np.intersect1d({x}, {y})", f"np.setdiff1d({x}, {y})",
    )  # fmt: skip
    if growth.rng.random() < 0.4:
        return picked
    return growth.pick(
        f"{picked}.{growth.rng.choice(REDUCTIONS)}()", f"{picked}.sum() / len({picked})", f"({picked} * 2 + 1).sum()",
        f"{picked} - {picked}.mean()", f"{picked}[1:]", f"{picked}[:-1] * 2", f"np.diff({picked})", f"len({picked})",
        f"{picked}.shape", f"{picked}.size > 2", f"{picked} * {o}", f"{picked} + {picked}", f"np.sort({picked})",
        f"np.cumsum({picked})", f"{picked}[0]", f"{picked}[-1]", f"{picked}.std()", f"np.median({picked})", f"{picked}.argmax()",
        f"np.where({picked} > 0, {picked}, 0)", f"{x}[{picked}]", f"{picked}.astype('f4')", f"{picked}.reshape(-1, 1)",
        f"np.concatenate([{picked}, {x}])", f"{picked}.T", f"{picked}[None] + {picked}[:, None]", f"np.nonzero({mask})",
        f"np.unique({x}, return_counts=True)", f"np.unique({x}, return_inverse=True, return_index=True)", f"np.where({mask})",
        f"{x}[np.argmax({x})]", f"{x}[np.argmin({y}), 0]", f"{picked}[{picked}.argmax()]",
        f"np.zeros(len({picked}))", f"np.zeros_like({picked})", f"np.arange(len({picked}))", f"np.maximum.reduce({picked})",
    )  # fmt: skip


def function(growth: Growth, depth: int) -> str:
    """A NumPy function of several kinds."""
    chance = growth.rng.random()
    if chance < 0.3:
        if chance > 0.26:
            return drawn(growth)
        return chosen_by_values(growth, depth) if chance < 0.12 else everyday(growth)
    x, y = growth.array(), growth.array()
    o = operand(growth, depth + 1)
    return growth.pick(
        f"np.where({x} > 0, {x}, {o})", f"np.where({x} > {o}, {x}, {y})", f"np.where({x}, 1, 2.5)",
        f"np.clip({x}, 0, 2)", f"np.clip({x}, -0.5, None)", f"{x}.clip({o}, {o})", f"np.clip({x}, {y}, 1)",
        f"np.concatenate([{x}, {y}])", f"np.concatenate(({x}, {x}), axis=-1)", f"np.stack([{x}, {x} + 1])",
        f"np.dot({x}, {y})", f"{x} @ {x}.T", f"np.matmul({x}, {y})", f"{x}.dot({y})", f"np.inner({x}, {y})",
        f"np.outer({x}, {y})", f"np.cumsum({x})", f"np.cumsum({x}, axis=0)", f"{x}.cumsum()", f"np.diff({x})",
        f"np.diff({x}, axis=0)", f"np.sort({x})", f"np.median({x})", f"np.linalg.norm({x})", f"np.abs({x})",
        f"np.sum({x} * {y})", f"np.average({x})", f"np.round({x}, 1)", f"np.nan_to_num({x})", f"np.count_nonzero({x})",
        f"np.zeros_like({x})", f"np.ones_like({x})", f"np.full_like({x}, {o})", f"np.zeros({x}.shape)", "np.ones(3)",
        f"np.full((2, 3), {o})", "np.arange(4)", f"np.arange({x}.shape[0])", "np.linspace(0, 1, 5)", "np.eye(3)",
        f"np.zeros({x}.shape, dtype={x}.dtype)", f"np.empty_like({x}).shape", f"np.zeros((len({x}), 2), 'f4')",
        f"np.prod({x})", f"np.nansum({x})", f"np.allclose({x}, {y})", f"np.array_equal({x}, {y})", f"np.tile({x}, 2)",
        f"np.repeat({x}, 2)", f"np.argsort({x})", f"np.roll({x}, 1)", f"np.take({x}, [0, 0])", f"np.ptp({x})",
        f"np.einsum('i,i->', {x}, {y})", f"np.tensordot({x}, {y}, 1)", f"np.trace({x})", f"np.triu({x})",
        f"np.add.reduce({x})", f"np.add.accumulate({x})", f"np.multiply.outer({x}, {y})", f"np.hstack([{x}, {y}])",
        f"np.vstack([{x}, {x}])", f"np.maximum.reduce({x})", f"np.isclose({x}, {y})", f"np.square({x}).sum()",
        f"np.divmod({x}, {o})", f"np.modf({x})", f"np.gradient({x})", f"np.unique({x})", f"np.any({x} > 0)",
        f"np.float64({x}.sum())", f"float({x}.sum())", f"int({x}.size)", f"max({x}.shape)", f"math.sqrt({x}.size)",
        f"sum([{x}, {x}])", f"bool({x}.size)", f"{x}.sum().item()", f"{x}.tolist()", f"round(float({x}.size), 1)",
        f"np.array([1.0, 2.0, {o}])", "np.array([[1, 2], [3, 4]])", f"{x}.nbytes", f"{x}.dtype", f"{x}.strides",
        f"np.delete({x}, 0)", f"np.delete({x}, -1, 0)", f"np.delete({x}, [0, 1])", f"np.cross({x}, {y})", f"np.choose({x} > 0, [{x}, {o}])",
        f"np.maximum.accumulate({x}, axis=-1)", f"np.fmax.reduce({x})", f"np.nanmax({x})", f"{x}.sum().round(1)", f"({x} > 0).any().any()",
        f"np.linalg.qr({x}).R.shape", f"np.linalg.svd({x}, compute_uv=False).shape", f"np.multiply({x}, 2, out=...)",
        f"np.clip({x}, 0, 1, out={x})", f"{x}.clip({o}, out={y})", f"np.cov({x}, {y})", f"np.corrcoef({x}, {x})",
        f"np.searchsorted(np.arange(5.0), {x})", f"np.interp({x}, [0.0, 1.0], [0.0, 2.0])", f"np.var({x}, ddof=1)",
        f"{x}[[0, -1]]", f"{x}[:, [0, 0]]", f"{x}[np.argsort({x})]", f"{x}[[0, 0], [0, -1]]", f"{x}[np.array([[0], [0]]), 0]",
        f"np.fft.fft({x})", f"np.fft.rfft({x}, axis=0)", f"np.fft.ifft({x})", f"np.pad({x}, 1)", f"np.kron({x}, {y})",
        f"np.pad({x}, (1, 2), 'edge')", f"np.convolve({x}, {y}, 'same')", f"np.correlate({x}, {y})", f"np.append({x}, {y})",
        f"np.histogram({x}, 3)", f"np.cov({x})", f"np.average({x}, weights={y})", f"np.isin({x}, {y})", f"np.meshgrid({x}, {y})",
        f"np.select([{x} > 0, {y} > 0], [{x}, {o}])", f"np.take_along_axis({x}, np.argsort({x}, 0), 0)", f"np.lexsort(({x}, {y}))",
        f"np.column_stack(({x}, {y}))", f"np.tile({x}, (2, 1))", f"np.einsum('ij,kj->ik', {x}, {y})", f"np.argpartition({x}, 0)",
        f"np.insert({x}, 0, {o})", f"np.insert({x}, -1, {y})", f"{x} * np.hanning(len({x}))", "np.kaiser(5, 14.0)",
        f"np.linalg.lstsq({x}, {y}, rcond=None)", f"{x} * np.linspace(0, 1, 3)", f"{x} + np.array([1.0, 2.0, 3.0])",
        f"{x} - np.tanh(np.linspace(-1, 1, 3))", f"np.interp({x}, np.linspace(0, 1, 5), np.arange(5.0) ** 2)",
        f"{x} @ np.array([[1.0, 2.0], [3.0, 4.0]])", f"np.sqrt(np.array([-1.0, 4.0])) + {o}", f"np.array([1, 2, 3])[::-1] + {x}",
        f"np.unravel_index(np.argmax({x}), {x}.shape)", f"np.linalg.eigvalsh({x})",
        f"np.add({x}, {o}, dtype='f8')", f"np.add({x}, 1, where={x} > 0, out={x}.copy())", f"np.logical_not({x})",
    )  # fmt: skip


def target(growth: Growth) -> str:
    """A place that can be stored into."""
    name = growth.array()
    value = growth.value(name)
    if not is_array(value) or not value.ndim:
        return f"{name}[...]"
    chance = growth.rng.random()
    if chance < 0.08:
        return f"{name}[{name} > 0]"
    if chance < 0.12:
        return f"{name}[[0, -1]]"
    if chance < 0.14:
        return f"{name}.flat[:2]"
    if chance < 0.2:
        keys = (
            "[0, -1]",
            "np.array([0, -1, 0])",
            "np.arange(2)",
            "[[0], [-1]], 0",
            "np.array([9])",
            ":, [0, 0]",
        )
        return f"{name}[{growth.rng.choice(keys)}]"
    if chance < 0.24:
        return f"{name}.{growth.rng.choice(('real', 'imag', 'real[0]', 'imag[1:]', 'T.real[...]'))}"
    return f"{name}[{index_text(growth, value.ndim, len(value))}]"


def simple(growth: Growth) -> Block:
    """A statement of one line."""
    rng = growth.rng
    chance = rng.random()
    if chance < 0.45:
        return Block(f"{growth.fresh()} = {expression(growth)}")
    if chance < 0.55:
        sign = rng.choice(PLAIN_OPERATORS if rng.random() < 0.8 else OPERATORS[:-1])
        names = growth.named(lambda v: is_array(v) or is_number(v)) or ["n"]
        return Block(f"{rng.choice(names)} {sign}= {operand(growth)}")
    if chance < 0.62:
        return Block(f"{target(growth)} {rng.choice(PLAIN_OPERATORS)}= {operand(growth)}")
    if chance < 0.72:
        return Block(f"{target(growth)} = {operand(growth)}")
    if chance < 0.76:
        ufunc = rng.choice((*BINARY[:6], "divide"))
        out = growth.array()
        return Block(
            f"{growth.fresh()} = np.{ufunc}({operand(growth)}, {operand(growth)}, out={out})"
        )
    if chance < 0.78:
        return Block(f"np.{rng.choice(UNARY)}({operand(growth)}, out={growth.array()})")
    if chance < 0.8:
        return Block(f"{growth.fresh()} = {growth.array()}")
    if chance < 0.84:
        return Block(stored(growth))
    if chance < 0.87:
        return Block(f"{growth.fresh()} = {everyday(growth)}")
    return python(growth)


def element(growth: Growth) -> str:
    """One element of an array, or a number."""
    name = growth.array()
    value = growth.value(name)
    if not is_array(value) or not value.ndim:
        return growth.pick(*(growth.named(is_number) or ["n"]))
    index = ", ".join(growth.rng.choice(("0", "-1", "0", "1", "-2", "i0")) for _ in value.shape)
    return f"{name}[{index}]"


def scalar_work(growth: Growth) -> Block:
    """A few statements about elements and numbers."""
    rng = growth.rng
    lines = []
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        a, b = element(growth), element(growth)
        o = rng.choice((element(growth), rng.choice(NUMBERS)))
        sign = rng.choice(PLAIN_OPERATORS if rng.random() < 0.6 else OPERATORS[:-1])
        into = a if "[" in a and rng.random() < 0.7 else growth.fresh()
        right = growth.pick(
            f"{b} {sign} {o}",
            f"{b} {sign} {o}",
            f"{o} {sign} {b}",
            f"{b} {rng.choice(COMPARISONS)} {o}",
            f"{rng.choice('- ~ abs float bool int'.split())}({b})",
            f"np.{rng.choice(UNARY)}({b})",
            f"np.{rng.choice(BINARY)}({b}, {o})",
            b,
            o,
        )
        lines.append(f"{a} {sign}= {o}" if rng.random() < 0.2 else f"{into} = {right}")
    return Block("\n".join(lines))


def python(growth: Growth) -> Block:
    """A statement about Python objects."""
    x, y, new = growth.array(), growth.array(), growth.fresh()
    o = operand(growth)
    lists = growth.named(lambda v: type(v) is list and v) or ["LOG"]
    tuples = growth.named(lambda v: type(v) in (tuple, list) and len(v) == 2) or ["(1, 2)"]
    tables = growth.named(lambda v: type(v) is dict) or ["TABLE"]
    some_list, pair, table = (growth.rng.choice(names) for names in (lists, tuples, tables))
    if growth.rng.random() < 0.06:
        growth.rng.shuffle(lists)
    return Block(
        growth.pick(
            f"{new} = ({x}, {o})", f"{new} = [{x}, {o}]", f"{new} = {{'p': {x}, 'q': {o}}}", f"{some_list}.append({o})",
            f"{new}, w{new[1:]} = {pair}", f"{new} = {pair}[1]", f"{table}['p'] = {o}", f"{new} = {table}.get('p')",
            f"print({x}.shape, {x}.dtype)", f"print(n, {x}.sum())", f"{new} = scaled({x})", f"{new} = scaled({x}, q={o})",
            f"{new} = shifted({x}, by={o})", f"{new} = changed({x})", f"{new} = chosen({x}, n)", f"{new} = chosen({o}, i0)",
            f"{new} = [{x} * i for i in range(3)]", f"{new} = (lambda t: t + {o})({x})", f"{new} = {x} is {y}",
            f"{new} = Model({x})", f"{new} = Model({o}).step({x})", "n += 1", "i0 = n - 1", f"{new} = {x}.shape",
            f"{new} = {x}.shape[-1] * 2", f"{new} = float({x}.sum())", f"{new} = len({x})", f"{new} = {x} if n > 2 else {y}",
            f"{new} = {x} if {x}.sum() > 0 else {o}", "LOG.append(n)", f"{new} = MEMORY + {o}", f"MEMORY[:2] = {o}",
            f"{new} = {x}.sum() > 0 and {x}.ndim > 1", f"{new} = not {x}.size", f"{new} = {{**{table}, 'z': {o}}}",
            f"{new}, *w{new[1:]} = {x}", f"{new} = f'{{n}} {{{x}.shape}}'", f"{new} = tuple({x} + i for i in range(2))",
            f"{new} = max({x}.shape[0], n)", f"{new} = {x}.dtype == {y}.dtype", f"del {x}", f"{new} = slice(i0, n)",
            f"{new} = sum({x}.shape)", f"{new} = {x}.item(0)", f"{new} = isinstance({x}, np.ndarray)",
            f"{new} = [t.sum() for t in ({x}, {y})]", f"{new} = {x}[0]", f"{new} = {x}[n]", f"{new} = {x}[i0, ...]",
            f"{new} = list(zip({x}.shape, range(3)))", f"{new} = {{k: v + 1 for k, v in {table}.items()}}",
            f"{x}[0], {x}[-1] = {x}[-1], {x}[0]", f"{x}, {y} = {y}, {x}", f"assert {x}.ndim < 4", f"{x}.sort()", f"{x}.fill({o})",
            f"{new} = {x}.sum() + n", f"{new} = {x}.mean() * {o}", f"{new} = np.random.default_rng(n).standard_normal(3)",
        )
    )  # fmt: skip


def compound(growth: Growth, depth: int) -> Block:
    """A statement with statements inside it."""
    x, o = growth.array(), operand(growth)
    body = tuple(statement(growth, depth + 1) for _ in range(growth.rng.choice((1, 1, 2, 2, 3))))
    which = growth.rng.randrange(9)
    new = growth.fresh()
    if which <= 1:
        limit = growth.pick("3", "2", "n", "1", "0", "len(" + x + ")", "2, 6, 3")
        return Block(f"for {growth.pick('i', 'j', 'i0')} in range({limit}):", body)
    if which == 2:
        test = growth.pick(
            "n > 2", f"{x}.ndim > 1", f"{x}.shape[0] == 5", f"{x}.dtype == float", "i0", f"{x}.size"
        )
        return Block(
            f"if {test}:", body, f"else:\n    {new} = {o}" if growth.rng.random() < 0.4 else ""
        )
    if which == 3:
        test = growth.pick(
            f"{x}.sum() > 0",
            f"({x} > 0).any()",
            f"{x}.size and {x}.max() > 1",
            f"np.isnan({x}).any()",
        )
        return Block(
            f"if {test}:", body, f"else:\n    {new} = {o}" if growth.rng.random() < 0.4 else ""
        )
    if which == 4:
        error = growth.pick(
            "Exception", "(ValueError, IndexError)", "FloatingPointError", "TypeError"
        )
        tail = growth.pick(
            f"except {error} as error:\n    {new} = str(error)",
            f"except {error}:\n    {new} = {x}\nelse:\n    {new} = {o}",
            f"finally:\n    {new} = {o}",
            f"except {error}:\n    {new} = 1\n    raise",
        )
        return Block("try:", body, tail)
    if which == 5:
        return Block(f"with {error_state(growth.rng)}:", body)
    if which == 6:
        inner = Block(f"return t {growth.pick('*', '+', '-')} {o}")
        return Block(f"def inner{new}(t, k={o}):", (inner,), f"{new} = inner{new}({x})")
    if which == 7:
        turn = f"k{new}"
        return Block(f"{turn} = 0\nwhile {turn} < min(n, 4):\n    {turn} += 1", body)
    items = growth.pick(f"({x}, {o})", x, f"[{x}, {x}]", f"enumerate({x})", f"zip({x}, range(2))")
    return Block(f"for {growth.pick('item', 'item')} in {items}:", body)


def statement(growth: Growth, depth: int = 0) -> Block:
    """Any statement."""
    if growth.rng.random() < (0.2 if depth == 0 else 0.1) and depth < 2:
        return compound(growth, depth)
    return scalar_work(growth) if growth.rng.random() < 0.2 else simple(growth)


def failure(growth: Growth, block: Block) -> BaseException | None:
    """The error of the statement, also that it takes too long, or None; its effects stay in the growth's values."""
    text = "\n".join(block.lines(0))
    try:
        with (
            np.errstate(all="ignore"),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            limited(LONGEST),
        ):
            warnings.simplefilter("ignore")
            exec(text, growth.values)
    except (Exception, TooLongError) as error:  # noqa: BLE001  whatever it is, most programs do without
        return error
    return None


def generated(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)  # noqa: S311  not for secrets
    given = random_arguments(rng)
    values: dict[str, Any] = {}
    exec(PRELUDE, values)
    names = [argument.name for argument in given]
    values.update(zip(names, made(given), strict=True), n=3, i0=1)
    growth = Growth(rng, values, [*names, "n", "i0"])
    blocks = [Block("n = 3"), Block("i0 = 1")]
    for _ in range(rng.randint(3, 15)):
        for _try in range(4):
            block = statement(growth)
            before = set(growth.values)
            error = failure(growth, block)
            growth.own += [
                k for k in growth.values if k not in before and k[0] in "vw" and k not in growth.own
            ]
            # CPython 3.11 names the line of an unbound name by how warm the code is.
            if error is None or (
                not isinstance(error, NameError | TooLongError) and rng.random() < 0.03
            ):
                blocks.append(block)
                break
        if any(is_array(v) and v.size > 4000 for v in growth.values.values()):
            break
    locals_ = [name for name in growth.own if name in growth.values]
    returned = tuple(name for name in locals_ if rng.random() < 0.6) or (rng.choice(locals_),)
    sets = (given, *(variant(rng, given) for _ in range(rng.choice((1, 1, 2)))))
    return Program(tuple(blocks), returned, sets, seed)
