"""Lists of lists of numbers in random programs of loops."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.loops import Writer

NAMES = ("grid", "table")
ITEMS = {
    "d": ("0.0", "0.5 * i_ + k_", "x", "-0.0", "i_ / (k_ + 1)"),
    "l": ("0", "(3 * i_ + k_) % 7", "k_ - i_", "n"),
    "?": ("False", "i_ > k_"),
}
INDICES = tuple("ijk")


def begin(rng: random.Random, writer: Writer) -> list[str]:
    """Some tables, of which rows may have names of their own; the names of all."""
    names = []
    for name in NAMES[: rng.choice((1, 1, 2))]:
        kind = rng.choice("ddlll?")
        rows, columns = rng.choice(("3", "8", "n", "41")), rng.choice(("3", "8", "n", "41"))
        item = rng.choice(ITEMS[kind])
        start = f"[[{item} for i_ in range({columns})] for k_ in range({rows})]"
        if rng.random() < 0.1:
            odd = (f"[[{item.replace('i_', '2').replace('k_', '1')}] * 5] * 4", f"{start} + [[]]",
                   f"[*map(tuple, {start})]", f"{start} + [[0, 0.5]]", "[]", "[[]]")  # fmt: skip
            start = rng.choice((*odd, *writer.tables))
        writer.put(f"{name} = {start}")
        writer.tables[name] = kind
        names.append(name)
        if rng.random() < 0.05:
            writer.put(f"{name}[{rng.choice(('0', '-1'))}:] = [{rng.choice(names)}[1]]")
    if rng.random() < 0.15:
        writer.put(f"line = {rng.choice(names)}[{rng.choice(('0', '1', '-1'))}]")
        writer.lists["line"] = writer.tables[names[-1]]
        writer.stored.add("line")
        names.append("line")
    return names


def _index(writer: Writer, length: str) -> str:
    chance = writer.rng.random()
    if writer.loops and chance < 0.4:
        return f"{writer.rng.choice(writer.loops)} % {length}"
    if writer.loops and chance < 0.6:
        turn = writer.rng.choice(writer.loops)
        return writer.pick(turn, f"{turn} - 1", f"-{turn} - 1", f"~{turn}")
    number = writer.rng.choice(writer.ints or ["2"])
    if chance < 0.97:
        return writer.pick("0", "-1", "1", "-2", f"{number} % {length}")
    return number


def _place(writer: Writer, name: str) -> str:
    return f"{name}[{_index(writer, f'len({name})')}][{_index(writer, f'len({name}[0])')}]"


def item(writer: Writer, kind: str) -> str | None:
    """An item of a table of a kind."""
    known = [name for name, of in writer.tables.items() if of == kind]
    return _place(writer, writer.rng.choice(known)) if known else None


def change(writer: Writer) -> None:
    """Store into a table."""
    name = writer.rng.choice(list(writer.tables))
    kind = writer.tables[name]
    if writer.chance(0.02):
        writer.put(f"{name}[{_index(writer, f'len({name})')}] = {name}[0]")
        return
    value = {"d": writer.real, "l": writer.integer, "?": writer.truth}[kind](1)
    exact = {"d": f"float({value})", "l": f"int({value})", "?": f"bool({value})"}[kind]
    sign = writer.pick("", "", "+") if kind != "?" else ""
    writer.put(f"{_place(writer, name)} {sign}= {exact if writer.chance(0.8) else value}")


def loop(writer: Writer, product: int) -> bool:
    """A loop over the rows of a table, or over the items of a row; False where there is none to go over."""
    name = writer.rng.choice(list(writer.tables))
    known = {"d": writer.floats, "l": writer.ints, "?": writer.bools}[writer.tables[name]]
    free = [one for one in INDICES if one not in writer.loops]
    if not known or not free:
        return False
    turn, value = free[0], writer.rng.choice(known)
    row = f"{turn}_row"
    if writer.chance(0.5):
        over = f"{name}[{_index(writer, f'len({name})')}]"
        text = writer.pick(
            f"{value} in {over}",
            f"{turn}, {value} in enumerate({over})",
            f"{value} in reversed({over})",
        )
        writer.put(f"for {text}:")
        writer.inside(product * 40, [turn] if text.startswith(turn) else [])
        return True
    text = writer.pick(
        f"{row} in {name}",
        f"{turn}, {row} in enumerate({name})",
        f"{turn}, {row} in zip(range(n), {name})",
    )
    writer.put(f"for {text}:")
    writer.depth += 1
    if writer.chance(0.5):
        writer.put(f"{row}[{writer.pick('0', '-1')}] = {row}[1]")
    writer.put(f"for {value} in {row}:")
    writer.depth -= 1
    writer.depth += 1
    writer.inside(product * 1600, [turn] if text.startswith(turn + ",") else [])
    writer.depth -= 1
    return True
