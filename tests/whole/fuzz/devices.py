"""Random programs of CuPy's arrays: several kernels each, views and stores, and results that lie in one memory.

They are grown as NumPy's are (`generate.py`), by running each statement, with NumPy for CuPy: so the same seed is the same
program with a GPU and without one, and nearly all programs raise nothing.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.whole.fuzz.generate import Block, Growth, Program, failure, is_array
from tests.whole.fuzz.values import DTYPES, Given, made

PRELUDE = """\
import cupy as cp

SCALE = 2.0
LOG = []
TABLE = {"k": 3.0, "n": 2}
MEMORY = None


def scaled(p, q=2.0):
    return p * q + 1


def shifted(p, by=1):
    r = p - by
    return r, r.sum()


def changed(p):
    p += 1
    return p


def chosen(p, k):
    if k > 2:
        return p + k
    for turn in range(k):
        p = p * (turn + 1)
    return p


def signed(p):
    if float(p.sum()) > 0:
        return p - 1
    return -p


def normalised(p):
    p = p - p.max(axis=-1, keepdims=True)
    return p / (abs(p).sum(axis=-1, keepdims=True) + 1)

"""
LENGTHS = (0, 1, 2, 3, 5, 33, 33, 257, 512, 700)
LARGEST = 9000  # elements of an array: kernels are run by the host
NUMBERS = "0 1 2 3 -1 0.5 -1.5 2.5 n n s s 7 1e3 True".split()
KEYS = (
    "1:", ":-1", "::2", "::-1", "1::2", "1:-1", "0", "-1", "None", "..., None", "...", ":, 0", ":, ::-1", ":, 1:", ":, :-1", "0:1", "..., ::-2",
    "..., 0", "-2:", "::-2", "1:, :-1", "::-1, ::2", "..., None, :", ":, None", "n:", ":n", "0, ..., 1:", "5:1", "n - 2",
)  # fmt: skip
UNARY = "sqrt exp abs floor square negative sign tanh sin isnan rint log1p isfinite logical_not reciprocal ceil conj".split()
BINARY = "maximum minimum add multiply subtract hypot arctan2 fmax logical_and logical_or mod floor_divide divide greater less".split()
REDUCTIONS = "sum sum max min mean prod any all argmax argmin var std".split()
OPERATORS = "+ - * / + - * + - * // % **".split()
WHOLE_OPERATORS = "& | ^ << >>".split()
COMPARISONS = "< <= == != > >=".split()
INTO = "+ - * + * /".split()


class Devices(Program):
    """A program of CuPy's arrays."""

    __slots__ = ()

    @property
    def source(self) -> str:
        """The program as text."""
        return PRELUDE + "\n" + self.function

    @property
    def function(self) -> str:
        """The program without what it uses."""
        names = ", ".join(argument.name for argument in self.sets[0])
        body = "\n".join(line for block in self.blocks for line in block.lines())
        items = ", ".join(self.returned) + ("," if len(self.returned) == 1 else "")
        return f"def program({names}):\n{body or '    pass'}\n    return ({items})\n"


def shown(program: Devices) -> str:
    """The function without the prelude, and its arguments, to be read."""
    rows = ("  with " + "; ".join(f"{g.name} = {g.text}" for g in given) for given in program.sets)
    return "\n".join([program.function.strip(), *rows])


def shape_of(growth: Growth, name: str) -> tuple[int, ...]:
    """The shape of a name's value."""
    return tuple(np.shape(growth.value(name)))


def meets(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether shapes can be broadcast together."""
    return all(n == m or 1 in (n, m) for n, m in zip(reversed(one), reversed(other), strict=False))


def array(growth: Growth) -> str:
    """The name of an array, the later ones more often; reductions of everything are arrays, too."""
    names = growth.named(lambda value: isinstance(value, (np.ndarray, np.generic)))
    if not names:
        return "cp.arange(3.0)"
    late = names[-1 - growth.rng.randrange(min(3, len(names)))]
    return late if growth.rng.random() < 0.4 else growth.rng.choice(names)


def fitting(growth: Growth, name: str, same: bool = False) -> str:
    """The name of an array that can be broadcast with another one, or is as large."""
    shape = shape_of(growth, name)
    names = growth.named(
        lambda value: (
            isinstance(value, (np.ndarray, np.generic))
            and (value.shape == shape if same else meets(value.shape, shape))
        )
    )
    return growth.rng.choice(names or [name])


def with_axes(growth: Growth, least: int = 1) -> str:
    """The name of an array with axes."""
    names = growth.named(lambda value: is_array(value) and value.ndim >= least)
    return growth.rng.choice(names) if names else array(growth)


def operand(growth: Growth, name: str, depth: int = 0) -> str:
    """What meets an array: another one, a number, a reduction of either, an expression."""
    chance = growth.rng.random()
    if chance < 0.25:
        return growth.rng.choice(NUMBERS)
    other = fitting(growth, name)
    if chance < 0.4:
        return reduction(growth, other, kept=True)
    if chance < 0.6 and depth < 2:
        return f"({elementwise(growth, other, depth + 1)})"
    return other


def elementwise(growth: Growth, name: str, depth: int = 0) -> str:
    """Operations on each element of an array."""
    rng = growth.rng
    other = operand(growth, name, depth)
    chance = rng.random()
    if chance < 0.55:
        whole = np.asarray(growth.value(name)).dtype.kind in "iub"
        sign = rng.choice(WHOLE_OPERATORS if whole and rng.random() < 0.2 else OPERATORS)
        return rng.choice((f"{name} {sign} {other}", f"{other} {sign} {name}"))
    if chance < 0.62:
        return f"{name} {rng.choice(COMPARISONS)} {other}"
    if chance < 0.76:
        return f"cp.{rng.choice(UNARY)}({name})"
    if chance < 0.86:
        return f"cp.{rng.choice(BINARY)}({name}, {other})"
    if chance < 0.94:
        return f"cp.where({name} > {rng.choice(NUMBERS[:8])}, {name}, {other})"
    return growth.pick(
        f"-{name}", f"cp.clip({name}, -1, 2)", f"{name}.astype({rng.choice(DTYPES)!r})"
    )


def reduction(growth: Growth, name: str, kept: bool = False) -> str:
    """A reduction of an array; `kept`: such that it meets the array again."""
    rng = growth.rng
    ndim = len(shape_of(growth, name))
    axis = rng.choice((None, 0, -1, ndim - 1, tuple(range(min(ndim, 2)))))
    parts = [] if axis is None or not ndim else [f"axis={axis}"]
    if (kept and parts) or rng.random() < 0.2:
        parts.append("keepdims=True")
    return f"{name}.{rng.choice(REDUCTIONS)}({', '.join(parts)})"


def view(growth: Growth, name: str) -> str:
    """A view of an array."""
    return growth.pick(
        f"{name}[{growth.rng.choice(KEYS)}]", f"{name}[{growth.rng.choice(KEYS)}]", f"{name}[{growth.rng.choice(KEYS)}]",
        f"{name}.T", f"{name}.reshape(-1)", f"{name}.reshape({name}.shape[::-1])", f"cp.broadcast_to({name}, (2,) + {name}.shape)",
        f"{name}.ravel()", f"{name}.swapaxes(0, -1)", f"cp.expand_dims({name}, 0)", f"{name}.real", f"{name}.imag", f"{name}.squeeze()",
    )  # fmt: skip


def called(growth: Growth) -> str:
    """What CuPy's functions and the program's own give."""
    x = with_axes(growth)
    y, o = fitting(growth, x, same=True), growth.rng.choice(NUMBERS)
    i = "i"
    return growth.pick(
        f"cp.concatenate([{x}, {y}])", f"cp.concatenate(({x}, {y} * 2), axis=-1)", f"cp.stack([{x}, {y}])", f"cp.stack([{x}, {x} + 1], axis=-1)",
        f"cp.sort({x})", f"cp.sort({x}, axis=0)", f"cp.cumsum({x})", f"cp.cumsum({x}, axis=0)", f"{x}.cumsum()", f"cp.argsort({x})",
        f"{x} @ {y}.T", f"cp.matmul({x}, {x}.T)", f"{x}.dot({y})", f"{x}.copy()", f"cp.zeros_like({x})", f"cp.full_like({x}, {o})", f"cp.ones({x}.shape)",
        f"cp.arange({x}.shape[0])", f"{x}[{i}]", f"{x}[{i}] * {o}", f"{x}[{i}] + {y}[{i}]", f"{x}[:, {i}]", f"{x}[{i}, 0]", f"{x}.take({i}, axis=0)",
        f"{x}[{x} > 0]", f"{x}[{x} > {o}].sum()", f"cp.diff({x})", f"cp.roll({x}, 1)", f"cp.flip({x})", f"cp.tile({x}, 2)", f"cp.repeat({x}, 2)",
        f"cp.outer({x}, {y})", f"scaled({x})", f"scaled({x}, {o})", f"shifted({x}, {o})[0]", f"shifted({x})[1]", f"changed({x})", f"changed({x} * 2)",
        f"chosen({x}, n)", f"chosen({x}, {o})", f"signed({x})", f"normalised({x})", f"cp.linalg.norm({x})", f"cp.median({x})", f"cp.count_nonzero({x})",
        f"{x} if n > 2 else {y}", f"{x} if float({y}.sum()) > 0 else {x} * 2", f"float({x}.max()) * {y}", f"len({x}) * {y}", f"cp.triu({x})",
        f"cp.array({x})", f"cp.asarray({x})", f"cp.ascontiguousarray({x})", f"cp.asfortranarray({x})", f"{x}.copy(order='F')", f"cp.nan_to_num({x})",
        f"cp.bincount({i})", f"cp.searchsorted(cp.arange(5.0), {x})", f"cp.isin({x}, {y})", f"cp.round({x}, 1)", f"cp.vstack([{x}, {y}])", f"cp.pad({x}, 1)",
    )  # fmt: skip


def place(growth: Growth, name: str) -> str:
    """A part of an array that can be stored into."""
    ndim = len(shape_of(growth, name))
    if not ndim:
        return f"{name}[...]"
    keys = [key for key in KEYS if "None" not in key and (ndim > 1 or ":," not in key)]
    return growth.pick(
        *(f"{name}[{growth.rng.choice(keys)}]" for _ in range(4)),
        f"{name}[...]",
        f"{name}.T[...]",
        f"{name}[{name} > 0]",
        f"{name}[i]",
    )


def stored(growth: Growth) -> str:
    """A store into an array or into a part of one, often of what lies over it."""
    rng = growth.rng
    x = with_axes(growth)
    y = fitting(growth, x, same=True)
    o, part, sign = rng.choice(NUMBERS), place(growth, x), rng.choice(INTO)
    other = part.replace(x, y, 1)
    value = operand(growth, x)
    return growth.pick(
        f"{part} = {o}", f"{part} {sign}= {o}", f"{part} = {other}", f"{part} {sign}= {other}", f"{part} = {other} * {o}", f"{part} {sign}= {other} {sign} {o}",
        f"{x} {sign}= {value}", f"{x} {sign}= {value}", f"{x}[...] = {value}", f"{x}[:] = {y}[::-1]", f"{x}[1:] {sign}= {y}[:-1]", f"{x}[:-1] = {y}[1:]",
        f"{x}[1:] = {y}[:-1] {sign} {y}[1:]", f"{x}[::-1] {sign}= {y}", f"{x}[:, 1:] {sign}= {y}[:, :-1]", f"{x}[0] = {y}[-1]", f"{x}[0], {x}[-1] = {y}[-1], {y}[0]",
        f"{x}[i] = {o}", f"{x}[i] {sign}= {o}", f"{x}[i] = {x}[i] * {o}", f"{x}[{y} > 0] = {o}", f"{x}[{y} > {o}] = {x}.max()", f"{x}[{x} < 0] *= -1",
        f"cp.add({x}, {value}, out={x})", f"cp.multiply({y}, {o}, out={x})", f"cp.add({x}[1:], {y}[:-1], out={x}[1:])", f"{x}.sort()", f"{x}.fill({o})",
        f"cp.sqrt(cp.abs({y}), out={x})", f"{x}[-1] = {x}.sum(axis=0)", f"{x}[..., 0] = {y}.max(axis=-1)", f"cp.maximum({x}, {y}, {x})", f"{x}.T[...] = {y}.T * 2",
        f"cp.sum({x}, axis=0, out={y}[0])", f"{x} {sign}= {reduction(growth, x, kept=True)}", f"cp.cumsum({x}, axis=0, out={y})", f"{x}[0, ...] {sign}= {y}[-1]",
    )  # fmt: skip


def simple(growth: Growth, calm: bool = False) -> Block:
    """A statement of one line; `calm`: one that is mostly captured."""
    rng = growth.rng
    which = rng.choices(range(6), (7, 4, 4, 0, 7, 0) if calm else (7, 3, 3, 4, 6, 1))[0]
    if which == 0:
        return Block(f"{growth.fresh()} = {elementwise(growth, array(growth))}")
    if which == 1:
        return Block(f"{growth.fresh()} = {reduction(growth, array(growth))}")
    if which == 2:
        return Block(f"{growth.fresh()} = {view(growth, array(growth))}")
    if which == 3:
        return Block(f"{growth.fresh()} = {called(growth)}")
    if which == 4:
        return Block(stored(growth))
    x, y = array(growth), array(growth)
    return Block(
        growth.pick(
            f"{growth.fresh()} = {x}", f"{x}, {y} = {y}, {x}", f"n += {rng.choice((1, -1))}", f"s = float({x}.sum())", "s = s * 2", f"LOG.append({x})",
            f"del {x}",
        )
    )  # fmt: skip


def compound(growth: Growth, calm: bool) -> Block:
    """A loop of a fixed number of turns, a branch on a number of Python's or on the device."""
    rng = growth.rng
    body = tuple(simple(growth, calm) for _ in range(rng.choice((1, 2, 2, 3))))
    x = array(growth)
    if calm or rng.random() < 0.5:
        return Block(f"for turn in range({rng.choice(('2', '3', '4', 'n'))}):", body)
    test = growth.pick("n > 2", f"{x}.ndim > 1", f"float({x}.sum()) > 0", f"({x} > 0).any()", f"{x}.shape[0] > 3", "s > 0", f"bool({x}.all())")  # fmt: skip
    tail = ""
    if rng.random() < 0.5:
        other = simple(growth)
        tail = "else:\n" + "\n".join(other.lines(1))
    return Block(f"if {test}:", body, tail)


def arguments(rng: random.Random) -> tuple[list[tuple[str, ...]], list[Any]]:
    """Shapes in words, of `N`, `M` and `K`, and what is done with them: dtype, layout, or which earlier one it is a view of."""
    shapes = [("M", "N"), ("M", "N"), ("N",), ("M", "1"), ("K", "M", "N"), ("1", "N"), ()]
    home = rng.choice(shapes[:3])
    chosen, ways = [], []
    for number in range(rng.choice((2, 2, 3, 3, 4))):
        chosen.append(home if rng.random() < 0.7 else rng.choice(shapes))
        ways.append((way(rng, number, chosen), rng.choice(DTYPES)))
    return chosen, ways


LAYOUTS = "C C C C F T strided reversed view view".split()
OVERLAPS = (
    "{0}",
    "{0}",
    "{0}[::-1]",
    "{0}.T",
    "{0}[1:]",
    "{0}[...]",
    "{0}.base.reshape(-1, *{0}.shape[1:])[2:]",
)


def way(rng: random.Random, number: int, chosen: list[tuple[str, ...]]) -> str:
    """A layout, or a text of an earlier argument."""
    if number and rng.random() < 0.15:
        place = rng.randrange(number)
        return rng.choice(OVERLAPS).format("abcd"[place])
    return rng.choice(LAYOUTS)


def texts(
    rng: random.Random, shapes: list[Any], ways: list[Any], lengths: dict[str, int]
) -> tuple[Given, ...]:
    """The arguments of these lengths: arrays, whole numbers as places, and two numbers."""
    given = []
    home, special = rng.choice(DTYPES[:7]), rng.choice((0, 0, 0, 0, 2))
    for name, words, (how, dtype) in zip("abcd", shapes, ways, strict=False):
        shape = tuple(lengths[word] for word in words)
        kind = home if rng.random() < 0.6 else dtype
        fresh = f"array({kind!r}, {shape}, {how!r}, {rng.randrange(100)}, {special})"
        given.append(Given(name, fresh if how in LAYOUTS else how))
    least = max(1, min(lengths["M"], lengths["N"]))
    places = rng.sample(range(-least, least), min(least, rng.choice((1, 2, 4))))
    dtype = rng.choice("i8 i8 i4 u1 i2".split())
    if dtype == "u1":
        places = [one % least % 256 for one in places]
    given.append(
        Given("i", f"np.array({sorted({one % least: one for one in places}.values())}, {dtype!r})")
    )
    given.append(Given("n", rng.choice("1 2 3 4".split())))
    given.append(Given("s", rng.choice("0.5 -1.5 2.0 3.0".split())))
    return tuple(given)


def lengths(rng: random.Random, empty: bool = True) -> dict[str, int]:
    """What the letters of shapes stand for; `empty`: perhaps nothing."""
    while True:
        m, n = rng.choice(LENGTHS[not empty :]), rng.choice(LENGTHS[not empty :])
        found = {"M": m, "N": n, "K": rng.choice((1, 2, 3)), "1": 1}
        if found["K"] * m * n <= LARGEST:
            return found


def usable(given: tuple[Given, ...]) -> dict[str, Any] | None:
    """The values of arguments, or None where an expression does not fit those before it."""
    try:
        return dict(zip((one.name for one in given), made(given), strict=True))
    except (AttributeError, IndexError, TypeError, ValueError):
        return None


def runs(program: Devices) -> bool:
    """Whether the program raises nothing where NumPy stands for CuPy."""
    values = usable(program.sets[0])
    if values is None:
        return False
    growth = started(random.Random(0), values)  # noqa: S311  not for secrets
    return all(failure(growth, block) is None for block in program.blocks)


def started(rng: random.Random, values: dict[str, Any]) -> Growth:
    """A program without statements."""
    known: dict[str, Any] = {}
    exec(PRELUDE.replace("import cupy as cp", "import numpy as cp"), known)
    known.update(values)
    return Growth(rng, known, [name for name in values if name in "abcd"])


def generated(seed: int) -> Devices:
    """The program of a seed."""
    rng = random.Random(seed)  # noqa: S311  not for secrets
    while True:
        shapes, ways = arguments(rng)
        given = texts(rng, shapes, ways, lengths(rng, empty=rng.random() < 0.1))
        values = usable(given)
        if values is not None:
            break
    growth = started(rng, values)
    blocks: list[Block] = []
    calm = rng.random() < 0.5
    for _ in range(rng.choice((4, 6, 8, 12, 16, 24))):
        for _try in range(6):
            block = compound(growth, calm) if rng.random() < 0.12 else simple(growth, calm)
            before = dict(growth.values)
            error = failure(growth, block)
            if error is None and all(
                np.size(v) <= LARGEST for v in growth.values.values() if is_array(v)
            ):
                growth.own += [k for k in growth.values if k not in before and k[0] == "v"]
                blocks.append(block)
                break
            if error is not None and not isinstance(error, NameError) and rng.random() < 0.01:
                blocks.append(block)
                break
            growth.values.clear()
            growth.values.update(before)
    names = [name for name in growth.own if name in growth.values]
    returned = [name for name in names if rng.random() < 0.6] or names[-1:] or ["n"]
    if rng.random() < 0.1:
        returned.append(rng.choice(returned))
    program = Devices(tuple(blocks), tuple(returned), (given,), seed)
    return Devices(
        program.blocks, program.returned, (given, *others(rng, program, shapes, ways)), seed
    )


def others(
    rng: random.Random, program: Devices, shapes: list[Any], ways: list[Any]
) -> list[tuple[Given, ...]]:
    """Other arguments: other lengths, other dtypes and layouts; most are such that nothing is raised."""
    found: list[tuple[Given, ...]] = []
    for _ in range(12):
        if rng.random() < 0.3:
            ways = [(way(rng, number, shapes), rng.choice(DTYPES)) for number in range(len(ways))]
        chosen = lengths(rng)
        given = texts(rng, shapes, ways, chosen)
        trial = Devices(program.blocks, program.returned, (given,), program.seed)
        # Picking from nothing ends the process: CuPy's kernels divide by the length, and the host's processor raises.
        may_fail = 0 not in chosen.values() and rng.random() < 0.05
        if usable(given) is not None and (runs(trial) or may_fail):
            found.append(given)
        if len(found) == 2:
            break
    return found
