"""Objects whose attributes are numbers, dicts and texts, in the programs of `loops.py`."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.whole.fuzz.loops import Writer

PRELUDE = """\
class Holder:
    def __init__(self, u, k, b, w, z):
        self.u, self.k, self.b, self.w, self.z = u, k, b, w, z

    @property
    def twice(self):
        return self.u * 2

    def bump(self, u):
        self.u += u
        self.k += 1
        return self.u

    def swap(self):
        self.w, self.z = self.z, self.w
        return len(self.w)

    def count(self):
        if self.b:
            self.k = self.k + 1
        return self.k

    def __call__(self, u, low=-3.0):
        if u < low:
            self.b = not self.b
        return u - self.u


class Slim:
    __slots__ = ("b", "k", "u", "w", "z")
    __init__, twice, bump, swap, count, __call__ = (
        Holder.__init__, Holder.twice, Holder.bump, Holder.swap, Holder.count, Holder.__call__
    )
"""
# Whole numbers that may be large.
OF_OBJECTS = re.compile(r"\b(?:one|other)\.(?:k|count\(\))(?!\w)|params\['q'\]")
SHARE = 0.2  # of the expressions in a program that has them
STARTS = {
    "u": ("0.0", "0.5", "x", "-0.0", "np.float64(1.0)", "0", "a[0]", "INF"),
    "k": ("0", "n", "-1", "2**62", "np.int64(3)", "m", "7"),
    "b": ("False", "True", "False", "np.True_"),
    "w": (
        "np.linspace(0, 1, 4)",
        "np.arange(4.0)",
        "a",
        "np.ones((3, 2))[:, 0]",
        "np.arange(4)",
        "np.zeros(1)",
    ),
    "z": ("np.linspace(1, 2, 4)", "np.arange(4.0)[::-1]", "a", "np.arange(4)", "np.full(4, 0.5)"),
}
TEXTS = ("'abca b1'", "'Zürich 7'", "'\\U0001f600ab'", "'a'", "''", "'xyz' * 9")
DICTS = (
    "{'p': 0.5, 'q': 3, 'b': True}",
    "{'p': x, 'q': n, 'b': False}",
    "{'p': np.float64(2.0), 'q': 2**62, 'b': False}",
    "{'q': 1, 'p': 3, 'b': 1}",
)
TABLES = ("{0: 0.5, 1: 1.5, 2: -2.5}", "{1: 2, 0: 3, 2: 5}", "{0: 1.0, 1: 2}")


def begin(rng: random.Random, writer: Writer) -> list[str]:
    """Some objects, dicts and texts; what is returned of them."""
    writer.objects = rng
    kept = []
    for name in ("one", "other")[: rng.choice((1, 1, 2))]:
        parts = ", ".join(rng.choice(texts) for texts in STARTS.values())
        kind = rng.choice(("Holder", "Holder", "Holder", "Slim"))
        is_alias = name == "other" and rng.random() < 0.1
        writer.put(f"{name} = {'one' if is_alias else f'{kind}({parts})'}")
        writer.named.append(name)
        kept += [f"{name}.{part}" for part in STARTS]
        kept += [f"{name}.w is {name}.z", f"{name}.w is a"]
    writer.put(f"text = {rng.choice(TEXTS)}")
    writer.put(f"params, table = {rng.choice(DICTS)}, {rng.choice(TABLES)}")
    return kept


def drawn(writer: Writer, kind: str, depth: int) -> str | None:
    """An expression of one kind, `I`, `F` or `B`; None where the program is to have another one here."""
    rng = writer.objects
    if rng is None or depth > 2 or rng.random() > SHARE:
        return None
    name = rng.choice(writer.named)
    if kind == "F":
        return rng.choice((
            f"{name}.u", f"{name}.u", f"{name}.twice", f"{name}.bump({writer.real(2)})", f"{name}({writer.real(2)})",
            "params['p']", "params.get('p', 1.0)", "params.get('z', -1.0)", f"table[{writer.integer(2)} % 3]",
            "table[1]", f"{name}(x, low={writer.real(2)})", f"{name}.w[{rng.choice(('0', '-1', '3'))}]",
            f"{name}.z[{writer.integer(2)} % len({name}.z)]", f"{name}.w.sum()",
        ))  # fmt: skip
    if kind == "I":
        return rng.choice((
            f"{name}.k", f"{name}.k", f"{name}.count()", "params['q']", "len(params)", "len(text)",
            f"ord((text + 'a')[{writer.integer(2)} % (len(text) + 1)])" if rng.random() < 0.1 else "len(table)",
            _of_character(writer, "ord(c_)"), "params['missing']" if rng.random() < 0.05 else "params['q']",
        ))  # fmt: skip
    return rng.choice((
        f"{name}.b", f"{name}.b", "params['b']", f"{rng.choice(('0', '1', '7'))} in table",
        _of_character(writer, "c_ == 'a'"), _of_character(writer, "c_ in 'b1'"), _of_character(writer, "c_.isdigit()"),
        _of_character(writer, "c_.isupper()"), _of_character(writer, "c_ < 'm'"), "text == 'a'",
    ))  # fmt: skip


def _of_character(writer: Writer, what: str) -> str:
    """Something of a character of the text, which may be empty."""
    character = f"text[{writer.integer(2)} % max(1, len(text))]"
    other = "0" if what.startswith("ord") else "False"
    return f"({what.replace('c_', character)} if text else {other})"


def change(writer: Writer) -> None:
    """Set an attribute, or go over a text or a dict."""
    rng = writer.objects
    assert rng is not None
    name, chance = rng.choice(writer.named), rng.random()
    if chance < 0.15:
        _change_arrays(writer, rng, name)
    elif chance < 0.4:
        writer.put(f"{name}.u {rng.choice(('', '', '+', '-', '*'))}= {writer.real(1)}")
    elif chance < 0.6:
        writer.put(f"{name}.k {rng.choice(('', '+', '+', '-'))}= {writer.integer(1)}")
    elif chance < 0.75:
        writer.put(f"{name}.b = {writer.truth(1)}")
    elif chance < 0.85:
        writer.put(f"{name}.bump({writer.real(1)})")
    elif chance < 0.93:
        writer.put(f"for key, value in {rng.choice(('params', 'table'))}.items():")
        writer.put(f"    {name}.u += value * 0.5 if key != {rng.choice(('1', repr('q')))} else 1.0")
    elif chance < 0.97:
        writer.put("for c in text:")
        writer.put(
            f"    {name}.k += 1 if c == {rng.choice(('text[0]', repr('a'), repr('7')))} else 2"
        )
    else:
        writer.put(f"{name}.{rng.choice(('u', 'k'))} = {writer.anything(1)}")


def _change_arrays(writer: Writer, rng: random.Random, name: str) -> None:
    """Bind attributes to other arrays, or write into theirs."""
    one, other = rng.sample(("w", "z"), 2)
    writer.put(
        rng.choice((
            f"{name}.w, {name}.z = {name}.z, {name}.w",
            f"{name}.swap()",
            f"{name}.{one} = {name}.{one} * 0.5 + {writer.real(1)}",
            f"{name}.{one} = {name}.{other}",
            f"{name}.{one} = {name}.{other}[::-1]",
            f"{name}.{one} = {rng.choice(('a', 'a[::2]', 'a * 2', 'np.zeros(3)'))}",
            f"{name}.{one}[{rng.choice(('0', '-1', '2'))}] = {writer.real(1)}",
            f"{name}.{one} += {writer.real(2)}",
        ))
    )  # fmt: skip
