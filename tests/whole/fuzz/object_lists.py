"""Lists of objects, whose attributes are numbers or small arrays, in the programs of `loops.py`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.loops import Writer

PRELUDE = """\
class Part:
    weight = 0.25

    def __init__(self, u, v, k, b):
        self.u, self.v, self.k, self.b = u, v, k, b

    @property
    def size(self):
        return self.u * self.weight

    def step(self, by):
        self.u += self.v * by
        if self.u > 3:
            self.k += 1
            self.v = -self.v
        return self.u

    def __repr__(self):
        return f"{type(self).__name__}({self.u!r}, {self.v!r}, {self.k!r}, {self.b!r})"

    def near(self, other):
        if other is self:
            return False
        return self.u < other.v


class SlimPart:
    __slots__ = ("b", "k", "p", "u", "v", "w")
    weight, size, step, near = Part.weight, Part.size, Part.step, Part.near
    __init__, __repr__ = Part.__init__, Part.__repr__


def with_arrays(items, how, length):
    base = np.arange(8.0 * len(items) + 8) * 0.25 - 2
    for i, one in enumerate(items):
        one.p, one.w = base[6 * i :][:length], base[6 * i + 3 :][:length]
        if how == "overlapping":
            one.p = base[2 * i :][:length]
        elif how == "shared":
            one.p, one.w = base[:length], one.w.copy()
        elif how == "crossed" and i:
            one.p, one.w = items[i - 1].w, one.w.copy()
        elif how == "odd" and i == len(items) // 2:
            one.p, one.w = one.p.astype("f4"), np.append(one.w, 0.5)[::2]
        elif how == "fixed" and i % 2:
            one.w = one.w.copy()
            one.w.flags.writeable = False
        elif how == "own":
            one.p, one.w = one.p.copy(), one.w.copy()
    return base


def changed(items, where, name, value):
    for one in items[where : where + 1]:
        setattr(one, name, value)


"""
SHARE = 0.25  # of the expressions in a program that has them
NUMBERS = {
    "u": ("0.5 * i_", "0.0", "i_ - 1.5", "x + 0.0", "-0.0", "i_ / 3"),
    "v": ("1.0", "0.25 * i_ - 1.0", "INF", "np.float64(0.5)"),
    "k": ("i_", "0", "2**62 + i_", "n + i_", "np.int64(2)"),
    "b": ("True", "i_ % 2 == 0", "False"),
}
ALONE = ("apart", "first")  # objects that have names of their own
WAYS = (
    "own",
    "own",
    "own",
    "own",
    "own",
    "parts",
    "overlapping",
    "shared",
    "crossed",
    "odd",
    "fixed",
)  # of arrays
COUNTS = ("3", "8", "1", "5", "n % 50", "0")


def begin(rng: random.Random, writer: Writer) -> list[str]:
    """Some lists of objects, which may share some; what is returned of them."""
    writer.parts = rng
    kept = []
    for name in ("parts", "others")[: rng.choice((1, 1, 1, 2))]:
        kind = rng.choice(("Part", "Part", "SlimPart"))
        numbers = ", ".join(rng.choice(texts[: rng.choice((2, 9))]) for texts in NUMBERS.values())
        start = f"[{kind}({numbers}) for i_ in range({rng.choice(COUNTS)})]"
        if rng.random() < 0.1:
            start = f"tuple({start})"
        elif name == "others" and rng.random() < 0.3:
            start = rng.choice(("parts", "list(parts)", "parts[1:]", f"{start} + [*parts[:1]]"))
        writer.put(f"{name} = {start}")
        writer.of_parts.append(name)
        kept.append(f"[(e_.u, e_.v, e_.k, e_.b) for e_ in {name}]")
        if rng.random() < 0.2:
            writer.put(rng.choice((
                f"changed({name}, 1, 'u', {rng.choice(('1', 'None', 'np.float64(1.0)'))})",
                f"changed({name}, 2, 'k', True)", f"changed({name}, 0, 'k', 2**70)",
                f"held = [getattr(e_, '__dict__', 0) for e_ in {name}[:2]]",
                f"changed([e_ for e_ in {name} if type(e_) is Part], 1, 'weight', 0.5)",
                f"{name} = [*{name}, *{name}[-1:]]", f"{name} = [*{name}, Part(0.5, 0.5, 1, True)]",
            )))  # fmt: skip
    if rng.random() < 0.2:
        writer.put(
            f"apart = {rng.choice(('Part(0.5, 1.5, 3, False)', '(*parts, Part(0.5, 1.5, 3, False))[0]'))}"
        )
        writer.of_parts.append("apart")
        kept.append("(apart.u, apart.k)")
    if rng.random() < 0.4:
        writer.put(
            f"first = {rng.choice(('None', 'parts[0] if parts else None', 'parts[-1] if parts else None'))}"
        )
        writer.of_parts.append("first")
        kept += ["first and first.u", "[*map(id, [*parts, first])].index(id(first))"]
    if writer.part_arrays is not None:
        kept += _begin_arrays(writer.part_arrays, writer)
    return kept


def _begin_arrays(rng: random.Random, writer: Writer) -> list[str]:
    """Give the objects arrays, which may share memory; what is returned of them."""
    kept, length = [], rng.choice((3, 3, 3, 2, 1, 0))
    for name in writer.of_parts:
        items = name if name not in ALONE else f"[{name}] if {name} else []"
        if name != "first":
            writer.put(f"{name}_base = with_arrays({items}, {rng.choice(WAYS)!r}, {length})")
            kept.append(f"{name}_base")
        kept.append(f"[(e_.p, e_.w) for e_ in ({items})]")
        if rng.random() < 0.3 and name != "first":
            writer.put(f"{name}_held = [e_.w for e_ in ({items})]")
            kept.append(f"{name}_held")
    return kept


def _place(writer: Writer) -> str:
    """An index of an array."""
    rng = writer.part_arrays
    assert rng is not None
    return rng.choice(("0", "1", "-1", "0", "2", f"{writer.integer(2)} % 3"))


def _number_of_arrays(writer: Writer, one: str, other: str) -> str:
    """A number that is made of arrays."""
    rng = writer.part_arrays
    assert rng is not None
    place = _place(writer)
    return rng.choice((
        f"{one}.p[{place}]", f"{one}.w[{place}]", f"({one}.p @ {other}.w)", f"({one}.p * {other}.w).sum()",
        f"np.linalg.norm({one}.p - {other}.p)", f"np.dot({one}.w, {other}.w)", f"{one}.w.max()", f"abs({one}.w).sum()",
        f"{one}.p.min()", f"sum(e_.p[0] for e_ in {writer.of_parts[0]})", f"np.sum({one}.p + 1.5)",
    ))  # fmt: skip


def _change_array(writer: Writer, one: str, other: str) -> str:
    """A statement that changes an array, or binds an attribute to one."""
    rng = writer.part_arrays
    assert rng is not None
    real, place = writer.real(2), _place(writer)
    return rng.choice((
        f"{one}.p += {one}.w * 0.01", f"{one}.p += {other}.w", f"{one}.w *= 0.75", f"{one}.w -= ({one}.p - {other}.p) * 0.1",
        f"{one}.p[{place}] = {real}", f"{one}.w[{place}] += {one}.p[{place}] * 0.1", f"{one}.p[{place}] *= -1",
        f"{one}.p[:] = {other}.w", f"{one}.w[:2] -= 0.5", f"{one}.p[1:] = {one}.p[:-1]", f"{one}.w += np.sin({other}.p)",
        f"{one}.w = {one}.w * 0.75", f"{one}.w = {one}.w * 0.5 + {other}.p", f"{one}.p = {one}.p - {other}.w",
        f"{one}.p = {one}.p.copy()", f"{one}.w = np.zeros(3)", f"{one}.w = {real} - {one}.w",
        f"{one}.w = {other}.w if {writer.truth(1)} else {one}.w", f"{one}.p, {one}.w = {one}.w, {one}.p",
    ))  # fmt: skip


def _one(writer: Writer, rng: random.Random) -> str:
    """An object."""
    if writer.part_turns and rng.random() < 0.6:
        return rng.choice(writer.part_turns)
    name = rng.choice(writer.of_parts)
    if name in ALONE:
        return name
    if writer.loops and rng.random() < 0.7:
        return f"{name}[{rng.choice(writer.loops)} % max(1, len({name}))]"
    return f"{name}[{rng.choice(('0', '-1', '0', '1', '-2'))}]"


def drawn(writer: Writer, kind: str, depth: int) -> str | None:
    """An expression of one kind, `I`, `F` or `B`; None where the program is to have another one here."""
    rng = writer.parts
    if rng is None or depth > 2 or rng.random() > SHARE:
        return None
    one, other, name = _one(writer, rng), _one(writer, rng), writer.of_parts[0]
    if kind == "F" and writer.part_arrays is not None and writer.part_arrays.random() < 0.6:
        return _number_of_arrays(writer, one, other)
    if kind == "F":
        return rng.choice((
            f"{one}.u", f"{one}.u", f"{one}.v", f"{one}.size", f"{one}.step({writer.real(2)})", f"{one}.weight",
            f"sum(e_.u for e_ in {name})", f"max((e_.v for e_ in {name}), default=0.5)",
        ))  # fmt: skip
    if kind == "I":
        return rng.choice(
            (f"{one}.k % 9", f"len({name})", f"sum(e_.k > 2 for e_ in {name})", f"{one}.k % 5")
        )
    return rng.choice((
        f"{one}.b", f"{one}.b", f"({one} is {other})", f"({one} is not {other})", f"{one}.near({other})",
        f"({one} == {other})", f"any(e_.b for e_ in {name})", f"({one} is not None)", f"(not {name})",
    ))  # fmt: skip


def change(writer: Writer) -> None:
    """Set an attribute."""
    rng = writer.parts
    assert rng is not None
    one, chance = _one(writer, rng), rng.random()
    if writer.part_arrays is not None and writer.part_arrays.random() < 0.6:
        writer.put(_change_array(writer, one, _one(writer, rng)))
        return
    if "first" in writer.of_parts and rng.random() < 0.2:
        test = f"first is None or {one}.u > first.u" if rng.random() < 0.7 else writer.truth(1)
        writer.put(f"if {test}:")
        writer.put(f"    first = {one}")
    elif chance < 0.4:
        value = writer.real(1)
        exact = value if rng.random() < 0.3 else f"float({value})"
        writer.put(f"{one}.{rng.choice('uv')} {rng.choice(('', '+', '-'))}= {exact}")
    elif chance < 0.6:
        writer.put(f"{one}.k {rng.choice(('', '+', '+', '-'))}= int({writer.integer(1)})")
    elif chance < 0.7:
        writer.put(f"{one}.b = bool({writer.truth(1)})")
    elif chance < 0.85:
        writer.put(f"{one}.step({writer.real(1)})")
    elif chance < 0.97:
        writer.put(f"{one}.u, {_one(writer, rng)}.v = {one}.v, {writer.real(2)}")
    else:
        writer.put(f"{one}.{rng.choice('ukb')} = {writer.anything(1)}")


def loop(writer: Writer, product: int) -> bool:
    """A loop over a list of objects; False where there is none to go over."""
    rng = writer.parts
    assert rng is not None
    free = [name for name in "ijklghr" if name not in writer.loops]
    known = [name for name in writer.of_parts if name not in ALONE]
    if not free or not known:
        return False
    turn, name = free[0], rng.choice(known)
    one = f"{turn}_part"
    text = rng.choice((
        f"{one} in {name}", f"{one} in {name}", f"{turn}, {one} in enumerate({name})", f"{one} in reversed({name})",
        f"{turn}, {one} in zip(range(n), {name})",
    ))  # fmt: skip
    writer.put(f"for {text}:")
    writer.part_turns.append(one)
    writer.depth += 1
    if rng.random() < 0.5:
        change(writer)
    writer.depth -= 1
    writer.inside(product * 8, [turn] if text.startswith(turn + ",") else [])
    writer.part_turns.pop()
    return True
