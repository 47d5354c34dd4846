"""Short programs that make lists, in the place of some of `loops.py`: most become native code from start to end."""

from __future__ import annotations

import random

SHARE = 0.15  # of the programs
PARAMETERS = {"x": ("d", 1), "a": ("d", 2)}
ITEMS = (
    "v", "v * 2", "v * v - 0.5", "max(v, 0)", "float(v)", "abs(v)", "v if v > 0 else 0.0", "v if v > 0 else 0", "bent(v)",
    "math.sqrt(abs(v))", "v - n", "v * k",
)  # fmt: skip
RARE_ITEMS = (
    "int(v)",
    "v > 0",
    "1.0 / v",
    "bool(v > 0)",
    "n",
    "2 ** min(int(abs(v)), 70)",
    "np.exp(v)",
    "math.log(v)",
)
SEQUENCES = (
    "x", "x", "x[1:]", "x.tolist()", "a[0]", "range(n)", "a.flat", "x[::-1]", "reversed(x)", "(1.5, 0.5, -1.0)", "a[:, 1]",
)  # fmt: skip
CONDITIONS = ("", "", "", " if v > 0", " if v != 0.5", " if abs(v) < 1")
MAKERS = (
    "np.array(r)",
    "np.array(r)",
    "np.asarray(r)",
    "np.array(r, float)",
    "np.array(r, dtype=np.float32)",
)
USES = (
    "len(r)", "sum(r)", "max(r)", "r[0]", "r[-1]", "[v + 1 for v in r]", "min(r, default=0)", "r", "(r, len(r))", "(r, r)",
    "sum(v * v for v in r)", "[q - p for p, q in pairwise(r)]", "max(q - p for p, q in pairwise(x))",
)  # fmt: skip
USES_OF_TUPLES = (
    "len(r)", "sum(p * q for p, q in r)", "r[-1][0]", "[p - q for p, q in r]", "np.array(r)[:, 1]", "np.array(r).T", "r",
)  # fmt: skip
USES_OF_ROWS = (
    "len(r)",
    "np.vstack(r)",
    "np.stack(r)",
    "np.array(r).sum(0)",
    "np.array([len(p) for p in r])",
    "r",
)


def _item(rng: random.Random) -> str:
    return rng.choice(RARE_ITEMS if rng.random() < 0.15 else ITEMS)


def _numbers(rng: random.Random) -> tuple[list[str], tuple[str, ...]]:
    turns = f"for v in {rng.choice(SEQUENCES)}"
    if rng.random() < 0.5:
        return [f"r = [{_item(rng)} {turns}{rng.choice(CONDITIONS)}]"], USES
    lines = [
        f"r = {rng.choice(('[]', '[]', '[0.0]', '[x[0], x[1]]', 'x.tolist()', '[n, 1]'))}",
        f"{turns}:",
    ]
    if rng.random() < 0.5:
        lines += [f"    if v > {rng.choice(('0', '0.5', 'k'))}:", f"        r.append({_item(rng)})"]
        if rng.random() < 0.5:
            lines += [
                "    else:",
                f"        {rng.choice(('r.append', 'r.append', 'bent'))}({_item(rng)})",
            ]
    else:
        lines.append(
            f"    r.append({rng.choice((_item(rng), 'v + len(r)', 'r[-1] * 0.5 + v', _item(rng)))})"
        )
    if rng.random() < 0.2:
        lines.append(
            rng.choice(
                ("r[0] = k", "r[-1] = r[0]", "r.append(k)", "q = r", "del r[0]", "r.reverse()")
            )
        )
    return lines, USES


def _tuples(rng: random.Random) -> tuple[list[str], tuple[str, ...]]:
    items = ", ".join(_item(rng) for _ in range(rng.choice((2, 2, 2, 3, 1))))
    items = items if "," in items else f"{items},"
    row = f"[{items}]" if rng.random() < 0.3 else f"({items})"
    if rng.random() < 0.4:
        return [
            f"r = [{row} for v in {rng.choice(SEQUENCES)}{rng.choice(CONDITIONS)}]"
        ], USES_OF_TUPLES
    lines = [
        f"r = {rng.choice(('[]', '[]', '[(0.0, 1.0)]', '[(n, k)]'))}",
        f"for v in {rng.choice(SEQUENCES)}:",
    ]
    if rng.random() < 0.5:
        lines += [f"    if v > {rng.choice(('0', '0.5'))}:", f"        r.append({row})"]
        if rng.random() < 0.3:
            lines += [
                "    else:",
                f"        r.append({rng.choice((row, '(v, v)', '(0, 0)', '(1.0, 2.0, 3.0)'))})",
            ]
    else:
        lines.append(f"    r.append({row})")
    return lines, USES_OF_TUPLES


def _rows(rng: random.Random) -> tuple[list[str], tuple[str, ...]]:
    over = rng.choice(("row", "row", "row", "row[:3]", "row[1:]"))
    chance = rng.random()
    if chance < 0.25:
        condition = " if v > 0" if rng.random() < 0.15 else ""
        return [f"r = [[{_item(rng)} for v in {over}{condition}] for row in a]"], USES_OF_ROWS
    if chance < 0.45:
        made = rng.choice(
            ("row * 2", "row / row.sum()", "row", "np.sqrt(abs(row))", "row[:2]", "row.copy()", "x")
        )
        return [f"r = [{made} for row in a]"], USES_OF_ROWS
    if chance < 0.65:
        lines = ["y = x * 1.0", "r = []", "for i in range(4):"]
        own = [
            "    r.append(y)",
            rng.choice(("    y = y * 0.5 + i", "    y = np.sin(y)", "    y += i", "    y[i] = k")),
        ]
        rng.shuffle(own)
        return [*lines, *own], USES_OF_ROWS
    lines = [
        "r = []",
        "for row in a:",
        f"    one = {rng.choice(('[]', '[]', '[k]', '[0]'))}",
        f"    for v in {over}:",
    ]
    lines.append(f"        one.append({_item(rng)})")
    end = ["    r.append(one)"]
    if rng.random() < 0.25:
        end.append(
            rng.choice(
                (
                    "    one.append(k)",
                    "    one[0] = k",
                    "    r.append(one)",
                    "    one = [k]",
                    "    bent(one[0])",
                )
            )
        )
        rng.shuffle(end)
    return [*lines, *end], USES_OF_ROWS


KINDS = (_numbers, _numbers, _tuples, _rows)


def body(rng: random.Random) -> list[str]:
    """The lines of a function of `x`, `a`, `n` and `k`: what it makes, and what it returns."""
    lines = ["k = 0.75"]
    results = []
    for number in range(rng.choice((1, 1, 1, 2))):
        made, uses = rng.choice(KINDS)(rng)
        lines += made
        what = rng.choice(MAKERS) if rng.random() < 0.5 else rng.choice(uses)
        lines.append(f"result{number} = {what}")
        results.append(f"result{number}")
        if rng.random() < 0.2:
            lines.append(f"other{number} = {rng.choice(uses)}")
            results.append(f"other{number}")
    return [*lines, f"return {', '.join(results)}"]
