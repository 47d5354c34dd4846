"""Random programs that take items out of dicts and sets which they make."""

from __future__ import annotations

import linecache
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

SETS = ("d = set()", "d = {1, 2}", "d = set(x)")
DICTS = ("d = {}", "d = {0: 3}", "d = defaultdict(int)", "d = Counter()", "d = {{v: 1 for v in x}}")
KEYS = ("v", "v", "v % 5", "(v, i)", "(i % 3, v % 3)")
OF_SETS = (
    "d.add({k})",
    "d.add({k})",
    "d.discard({k})",
    "if {k} in d: d.remove({k})",
    "if {k} in d: d.remove({k})\nelse: d.add({k})",
    "d.remove({k})",
    "while len(d) > 3:\n    d.discard(low)\n    low += 1\n    if low > 60: break",
)
OF_DICTS = (
    "d[{k}] = i",
    "d[{k}] = d.get({k}, 0) + 1",
    "d[{k}] += 1",
    "d.pop({k}, None)",
    "t += d.pop({k}, 7)",
    "if {k} in d: t += d.pop({k})",
    "if {k} in d: del d[{k}]",
    "if {k} in d:\n    d[{k}] -= 1\n    if d[{k}] == 0: del d[{k}]",
    "del d[{k}]",
    "t += d[{k}]",
    "t += d.setdefault({k}, i)",
)
BOTH = (
    "t += len(d)",
    "t += {k} in d",
    "if d: t += 2",
    "if not d: t += 3",
    "if {k} not in d: t += 1",
)


TEXTS = ("v", "v", "s[i // 2]", "v.upper()", "s[-1]")


def program_of(rng: random.Random) -> Callable[..., Any]:
    """A program; its text is its `__doc__`."""
    is_set, is_text = rng.random() < 0.4, rng.random() < 0.4
    key, over = (rng.choice(TEXTS), "s") if is_text else (rng.choice(KEYS), "x")
    begun = (
        rng.choice(SETS if is_set else DICTS)
        if "(" not in key
        else ("d = set()" if is_set else "d = {}")
    )
    lines = ["t = 0; low = -9; i = 0", begun.replace("{{", "{").replace("}}", "}")]
    for _ in range(rng.choice((1, 1, 2))):
        lines.append(f"for i, v in enumerate({over}):")
        for statement in rng.choices(
            [*(OF_SETS if is_set else OF_DICTS), *BOTH], k=rng.randint(2, 4)
        ):
            lines += [f"    {one}" for one in statement.replace("{k}", key).split("\n")]
    end = [
        "t",
        "t, len(d)",
        "len(d), t, low",
        "d",
        "[v for v in x if v in d]",
        "sum(v in d for v in x), t",
    ]
    lines.append(f"return {rng.choice(end)}")
    text = "\n".join(["def program(x, s):", *(f"    {one}" for one in lines), ""])
    name = f"<removals {rng.random()}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    known: dict[str, Any] = {"defaultdict": defaultdict, "Counter": Counter}
    exec(compile(text, name, "exec"), known)
    known["program"].__doc__ = text
    return known["program"]  # type: ignore[no-any-return]


def arguments_of(rng: random.Random) -> tuple[list[int], str]:
    """Keys, of which some are there several times, and a text."""
    letters = rng.choice(("ab", "abcdefgh", "aBc d1", "aé€b", "01"))
    text = "".join(rng.choices(letters, k=rng.choice((1, 7, 30))))
    return [rng.randrange(-9, rng.choice((3, 60))) for _ in range(rng.choice((0, 1, 9, 40)))], text
