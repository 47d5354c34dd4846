"""Random programs that make lists of lists, and dicts that lead to lists, which grow one by one."""

from __future__ import annotations

import linecache
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

# Of an item: what it is made of `a` and `b`, how it is unpacked, and what a number is made of it.
ITEMS = {
    "int": ("a * 3 - b", "w", "w"),
    "float": ("a * 0.5 - b", "w", "w"),
    "pair": ("(a, b)", "w, v", "(w - v)"),
    "mixed": ("(b, a * 0.5)", "w, v", "(w * v)"),
    "any": ("(a if a > 2 else a * 0.5)", "w", "w"),
}
BEGUN = (
    "g = [[] for _ in range(n)]",
    "g = [[] for _ in range(n)]",
    "g = [[{item}] for a in range(n)]",
    "g = [[{item} for b in range(a % 4)] for a in range(n)]",
    "g = []\nfor _ in range(n): g.append([])",
    "g = []\nfor a in range(n):\n    row = []\n    for b in range(a % 3): row.append({item})\n    g.append(row)",
    "g = []\nfor a in range(n):\n    row = [{item}]\n    g.append(row)\n    row.append({item})",
    "g = []; row = []\nfor a in range(n):\n    row = []\n    g.append(row)",
    "row = [{item}]\ng = [[] for a in range(n)] + []\ng.append(row)",
    "g = []; row = [{item}]\nfor a in range(n):\n    g.append([])\ng.append(row)",
)
TABLES = {
    "int": ("g = [[0] * k for _ in range(n)]", "g = [[k] * 3 for _ in range(n)]"),
    "float": ("g = [[0.0] * k for _ in range(n)]",),
}
DICTS = (
    "g = defaultdict(list)",
    "g = defaultdict(list)\ng[0].append({item})",
    "g = {{}}",
    "g = {{}}",
)
ADDED = (
    "g.setdefault(a, []).append({item})",
    "if a not in g: g[a] = []\ng[a].append({item})",
    "if a in g: g[a].append({item})\nelse: g[a] = [{item}]",
    "if a in g: g[a].append({item})\nelse: g[a] = [{item}, {item}]",
    "if a not in g: g[a] = [{item}]",
    "row = []\ng.setdefault(a, row).append({item})",
    "row = [{item}]\nif a not in g: g[a] = row\ng[a].append({item})",
)


def _statements(item: str, *, is_dict: bool) -> list[str]:
    made, unpacked, used = ITEMS[item]
    found = [
        f"g[a].append({made})",
        f"g[a].append({made})",
        f"g[b].append({made})\ng[a].append({made})",
        f"g[a][b % (len(g[a]) or 1)] = {made}",
        "if g[a]: g[a].pop()",
        "last = g[a].pop()",
        f"row = g[a]\nrow.append({made})\nt += len(row) * 3 + len(g[a])",
        f"for {unpacked} in g[a]: t += {used}",
        f"for {unpacked} in g[a]:\n    if {used} > 2: break\n    t += 1",
        f"if -1 < a != b > -1:\n    for {unpacked} in g[a]: g[b].append({made})",
        f"for i, ({unpacked}) in enumerate(g[a]): t += i * {used}",
        f"for {unpacked} in reversed(g[a]): t = (t * 2 + {used}) % 97",
        "t += len(g[a])",
        "t += len(g)",
        "if a in g: t += 1" if is_dict else f"g.append([{made}])",
        "if not g[a]: t += 5",
        f"t += push(g[a], {made})",
        "t += len(row)",
        "if row: t += 2",
        f"{unpacked} = g[a][0]\nt += {used}",
        f"{unpacked} = g[a][-1]\nt += {used}",
        f"g[a][0] = {made}",
        "row = g[a]\nwhile row and len(row) > b: row.pop()",
        "for row in g.values(): t += len(row)"
        if is_dict
        else "for row in g: t = t * 2 % 91 + len(row)",
        f"for a, row in g.items():\n    for {unpacked} in row: t += a * {used}"
        if is_dict
        else f"for i, row in enumerate(g):\n    for {unpacked} in row: t += i * {used}",
    ]
    if unpacked == "w":
        found += [
            "t += sum(g[a])",
            "if g[a]: t += max(g[a]) - min(g[a])",
            f"t += {made} in g[a]",
            f"t += g[a].count({made})",
            f"if {made} in g[a]: t += g[a].index({made})",
            "g[a][0] += b",
            "out.append(len(g[a]))",
            "t += sum(1 for w in g[a] if w > b)",
        ]
    return found


def program_of(rng: random.Random) -> Callable[..., Any]:
    """A program; its text is its `__doc__`."""
    item, is_dict = rng.choice([*ITEMS]), rng.random() < 0.35
    made = ITEMS[item][0]
    begun = rng.choice(DICTS if is_dict else (*BEGUN, *TABLES.get(item, ())))
    lines = [
        "t = 0; last = 0; out = []; row = []",
        "a = b = 1",
        *begun.format(item=made).split("\n"),
    ]
    for _ in range(rng.choice((1, 1, 2))):
        lines.append(rng.choice(("for a, b in e:", "for a, b in e:", "for a in range(k):")))
        added = [rng.choice(ADDED).format(item=made)] * begun.endswith("{{}}")
        some = rng.choices(_statements(item, is_dict=is_dict), k=rng.randint(1, 3))
        for statement in added + some:
            lines += [f"    {one}" for one in statement.split("\n")]
    end = ["t", "t", "t, len(g)", "t, out", "t, last", "[len(row) for row in g]", "g", "t, g[0]"]
    if is_dict:
        end[5] = "[*map(len, g.values())]"
    lines.append(f"return {rng.choice(end)}")
    head = [
        "def push(row, x):",
        "    row.append(x)",
        "    return len(row)",
        "def program(e, n, k):",
    ]
    text = "\n".join([*head, *(f"    {one}" for one in lines), ""])
    name = f"<own lists {rng.random()}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    known: dict[str, Any] = {"defaultdict": defaultdict}
    exec(compile(text, name, "exec"), known)
    known["program"].__doc__ = text
    return known["program"]  # type: ignore[no-any-return]


def arguments_of(rng: random.Random) -> tuple[list[tuple[int, int]], int, int]:
    """Pairs of places, how many lists there are, and a small int; a place may be none."""
    n = rng.choice((1, 3, 6))
    top = n + (rng.random() < 0.1)
    pairs = [(rng.randrange(-1, top), rng.randrange(top)) for _ in range(rng.choice((1, 7, 30)))]
    return pairs, n, rng.randint(1, 4)
