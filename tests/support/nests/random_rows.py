"""Random programs over adjacency lists, and such lists."""

from __future__ import annotations

import linecache
import random
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

KINDS = ("list", "list", "tuples", "sets", "dict", "dict", "sets in a dict", "default")
ITEMS = (*("int",) * 4, "large", "float", "pair", "pair", "mixed", "three")
UNPACKED = {"pair": "v, w", "mixed": "v, w", "three": "w, v, k"}
USED = {"pair": "v * w", "mixed": "v * w", "three": "v + w + k"}
NODES = {"large": "v - 300", "float": "int(v)"}
SEEN = {
    "set()": ("{} in seen", "seen.add({})"),
    "{}": ("{} in seen", "seen[{}] = u"),
    "[False] * n": ("seen[{}]", "seen[{}] = True"),
}


def _item(rng: random.Random, item: str, n: int) -> Any:
    node = rng.randrange(n)
    match item:
        case "int":
            return node if rng.random() < 0.97 else rng.choice((-1, n, n + 5, -n))
        case "large":
            return node + 300
        case "float":
            return rng.random() * 4
        case "pair":
            return node, rng.randint(1, 9)
        case "mixed":
            return node, rng.choice((0.5, 1.5, 2.25))
        case "three":
            return rng.choice((0.5, 1.5, -0.0)), node, rng.randint(0, 3)
    return rng.choice((1, 2.0, True, 10**30, 2**53 + 1, (1, 2), (2.5, 1)))


def graph_of(rng: random.Random, kind: str, item: str, n: int) -> Any:
    """Rows of a kind of KINDS, of items of one of ITEMS or "odd", for so many nodes; in dicts one may be missing."""
    rows = [[_item(rng, item, n) for _ in range(rng.choice((0, 1, 2, 3, 6)))] for _ in range(n)]
    if kind == "tuples":
        return tuple(map(tuple, rows))
    if kind == "sets":
        return [*map(set, rows)]
    if kind == "list":
        return rows
    keys = rng.sample(range(n), n - (rng.random() < 0.2))
    pairs = zip(keys, rows, strict=False)
    if kind == "sets in a dict":
        return {key: set(row) for key, row in pairs}
    return dict(pairs) if kind == "dict" else defaultdict(list, pairs)


def _statement(rng: random.Random, item: str, *, is_dict: bool) -> list[str]:
    """What is done with the row of the node `u`."""
    unpacked, used = UNPACKED.get(item, "v"), USED.get(item, "v")
    defaults = ["g.get(u, [])", "g.get(u + 3, ())"] * is_dict
    row = rng.choice(["g[u]"] * 4 + defaults)
    part = "" if unpacked == "v" else "[0]"
    found = [
        [f"total += len({row})"],
        [f"if {row}: total += 1", "else: total -= 2"],
        [f"for {unpacked} in {row}: total += {used}"],
        [f"for i, x in enumerate({row}): total += i"],
        [f"if len({row}) > 1: last = g[u][{rng.choice((0, 1, -1, -2, 2))}]{part}", "total += last"],
        [
            f"for {unpacked} in {row}:", f"    if {used} > 3: break", "    total = total * 3 % 1009",
            "else:", "    total += 5",
        ],
        [f"for {unpacked} in reversed({row}): total = total * 2 % 997 + {used}"],
        [f"row = {row}", f"for {unpacked} in row: total += len(row)"],
        [
            f"for {unpacked} in {row}:", f"    for {unpacked} in g[{NODES.get(item, 'v')}]:",
            "        total += 1",
        ],
        [f"total += any({used} > 2 for {unpacked} in {row})"],
        [f"for {unpacked} in {row}: best = {used} if {used} > best else best"],
        *[[f"total += sum({row})"]] * (unpacked == "v"),
        *[[f"if u + {rng.choice((0, 1, 7))} in g: total += 1"]] * is_dict,
    ]  # fmt: skip
    return rng.choice(found)


def _lines(rng: random.Random, kind: str, item: str) -> list[str]:
    is_dict = kind in ("dict", "sets in a dict", "default")
    unpacked, used, node = UNPACKED.get(item, "v"), USED.get(item, "v"), NODES.get(item, "v")
    form = rng.randrange(7)
    if form == 0:
        statements = (_statement(rng, item, is_dict=is_dict) for _ in range(rng.randint(1, 3)))
        body = [line for one in statements for line in one]
        over = "g" if is_dict else "range(len(g))"
        return [f"for u in {over}:", *(f"    {one}" for one in body), "return total, best"]
    if form == 1:
        over = "g.values()" if is_dict else "g"
        inner = f"    for {unpacked} in row: total += {used}"
        return [f"for row in {over}:", "    total += len(row)", inner, "return total"]
    if form == 2:
        over = "g.items()" if is_dict else "enumerate(g)"
        inner = f"    for {unpacked} in row: total += u * {used}"
        return [f"for u, row in {over}:", inner, "return total"]
    seen = rng.choice([*SEEN])
    has, mark = (one.format(node) for one in SEEN[seen])
    queue, pop = rng.choice((("[s]", "pop"), ("deque([s])", "pop"), ("deque([s])", "popleft")))
    given = ("total, best", "order", "order, total", "seen", "len(seen), order[0]", "total, last")
    return [
        f"seen = {seen}; q = {queue}; order = []",
        "while q:",
        f"    u = q.{pop}()",
        "    order.append(u)",
        *(f"    {one}" for one in _statement(rng, item, is_dict=is_dict)),
        f"    for {unpacked} in g[u]:",
        f"        if not {has}:",
        f"            {mark}",
        f"            q.append({node})",
        f"return {rng.choice(given)}",
    ]


def program_of(rng: random.Random) -> tuple[str, str, Callable[..., Any]]:
    """The kind of rows and of items that a program is for, and the program; its text is its `__doc__`."""
    kind, item = rng.choice(KINDS), rng.choice(ITEMS)
    first = f"total = {rng.choice(('0', '0', '0.0'))}; best = {rng.choice(('0', '0.0'))}; last = 0"
    lines = [first, *_lines(rng, kind, item)]
    text = "\n".join(["def program(g, s, n):", *(f"    {one}" for one in lines), ""])
    name = f"<rows {rng.random()}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    known: dict[str, Any] = {"deque": deque}
    exec(compile(text, name, "exec"), known)
    known["program"].__doc__ = text
    return kind, item, known["program"]
