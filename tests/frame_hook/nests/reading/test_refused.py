"""Why loops are plain Python, in the user's words: the expression, what it is, the line, and what would help."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse.frame_hook.code.instructions import flow, instructions
from ufuse.frame_hook.code.places import stack_expression
from ufuse.frame_hook.nests.entries.records import LoopRecord
from ufuse.frame_hook.nests.known.refusals import REFUSALS

pytest.importorskip("llvmlite")

X = np.random.default_rng(0).random(20_000)


class Item:
    """An object with a number, a text and a list."""

    def __init__(self) -> None:
        self.n, self.name, self.tags = 0, "a", list[int]()


def prices(rows):
    total = 0.0
    for row in rows:
        total += row["price"]
    return total


def words_in(lines):
    total = 0
    for line in lines:
        total += len(line.split(","))
    return total


def values_of(table):
    total = 0
    for _, value in table.items():  # noqa: PERF102
        total += value.sum()
    return total


def zipped(x, names):
    total = 0.0
    for value, name in zip(x, names, strict=True):
        total += value * len(name)
    return total


def stripped(words, lengths):
    total = 0
    for i in range(len(words)):
        total += len(words[i].strip()) * lengths[i]
    return total


def texts(x, label):
    text = ""
    for _ in range(len(x)):
        text += label
    return text


def best_of(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best[1]:
            best = [i, x[i]]
    return best


def labelled(x):
    out = {}
    for i in range(len(x)):
        out[str(i % 10)] = x[i]
    return out


def interpolated(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.interp(x[i], [0, 1], [2, 3])
    return out


def until(x):
    begin, n = time.time(), 0
    for _ in range(len(x)):
        if time.time() - begin > 100:
            break
        n += 1
    return n


def tagged(items):
    total = 0.0
    for item in items:
        total += item.n
        item.tags.append(item.n)
    return total


def named(items):
    for item in items:
        item.name = item.name + "x"


def mixed(items, x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * items[i % 2].n
    return total


def of_objects(x):
    values = x.astype(object)
    total = 0
    for i in range(len(values)):
        total += values[i]
    return total


def ratio(x):
    total = 0.0
    for i in range(len(x)):
        with np.errstate(all="ignore"):
            total += 1 / x[i]
    return total


def smallest(table):
    total = 0.0
    for row in table:
        total += sum(sorted(row)[:2])
    return total


def shown(value):
    return len(f"{value:.2f}")


def calling(x):
    total = 0
    for i in range(len(x)):
        total += shown(x[i])
    return total


def items() -> list[Item]:
    """Some objects of one class."""
    return [Item() for _ in range(5000)]


def ints_and_floats() -> list[Item]:
    """Two objects with numbers of two types."""
    pair = [Item(), Item()]
    pair[1].n = 0.5  # type: ignore[assignment]
    return pair


# The function, its arguments, the code of the reason, and the reason up to the line, which is that of `text`.
# fmt: off
REASONS: list[tuple[Any, Any, str, str, str]] = [
    (prices, lambda: ([{"price": 1.5} for _ in range(5000)],), "loop-over",
     "it goes over `rows`, a list whose first item is a dict", ""),
    (words_in, lambda: (["1,2"] * 5000,), "loop-over", "it goes over `lines`, a list whose first item is a str", ""),
    (values_of, lambda: ({n: np.ones(3) for n in range(3000)},), "loop-over",
     "it goes over `table.items()`, the items of a dict", ""),
    (zipped, lambda: (X.tolist(), ["a"] * len(X)), "loop-over",
     "it goes over `zip(x, names, strict=True)`, zip(…) of a list whose first item is a str", ""),
    (stripped, lambda: ([" one "] * 5000, np.ones(5000)), "loop-text",
     "the attribute strip of a str is not compiled yet, in line {}: `words[i].strip`", "words[i]"),
    (texts, lambda: (X, "q"), "loop-text", "`text` is a str, and the loop assigns to it, in line {}", "for "),
    (best_of, lambda: (X,), "loop-types", "`best` is a list, and the loop assigns to it, in line {}", "for "),
    (labelled, lambda: (X,), "loop-text", "calls of str are not compiled yet, in line {}: `str(i % 10)`", "str("),
    (interpolated, lambda: (X,), "loop-call", "calls of np.interp are not compiled yet, in line {}", "np.interp"),
    (until, lambda: (X,), "loop-call", "calls of time.time are not compiled yet, in line {}", "if time"),
    (tagged, lambda: (items(),), "loop-objects", "the attribute tags of the objects in `items` is a list, in line {}", "tags"),
    (named, lambda: (items(),), "loop-text", "the attribute name of the objects in `items` is a str, in line {}", "name +"),
    (mixed, lambda: (ints_and_floats(), X), "loop-attribute",
     "the attribute n of the objects in items is an int in some of them and a float in others, in line {}: `items[i % 2].n`", "].n"),
    (of_objects, lambda: (X,), "loop-dtype",
     "it uses values, an array of dtype object, in line {}", "values[i]"),
    (ratio, lambda: (X,), "loop-control", "a `with` block is not compiled yet, in line {}", "with "),
    (smallest, lambda: (X.reshape(-1, 10).tolist(),), "loop-call",
     "calls of sorted are not compiled yet, in line {}: `sorted(row)`", "sorted"),
]
# fmt: on


def loop_of(function: Any, *given: Any) -> LoopRecord:
    """What the report says of the only loop of a function."""
    (loop,) = ufuse.explain(function, *given).loops
    return loop


def line_of(function: Any, text: str) -> int:
    """The line on which a text stands first inside a function."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    first: int = function.__code__.co_firstlineno
    return next(n for n, line in enumerate(lines[first - 1 :], first) if text in line)


@pytest.mark.parametrize(
    ("function", "given", "code", "why", "text"),
    REASONS,
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_reasons_name_the_expression(
    function: Any, given: Any, code: str, why: str, text: str
) -> None:
    """What it is, where it stands, and of which kind the reason is; never what the insides call it."""
    loop = loop_of(function, *given())
    found = loop.why_not
    if function is ratio:  # from Python 3.14 on its instructions have the place of what is entered
        found = found.removesuffix(': `np.errstate(all="ignore")`')
    assert found == why.format(line_of(function, text) if text else "")
    assert (loop.code, loop.hint) == (code, REFUSALS[code].hint)


def test_reasons_within_a_called_function_say_its_name() -> None:
    """The line is that of the function that is called."""
    loop = loop_of(calling, X)
    line = line_of(shown, 'f"')
    assert re.match(
        rf"an f-string is not compiled yet, in line {line} of shown\(\): `", loop.why_not
    )


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from then on it is no function of its own")
def test_comprehensions_have_no_name_of_their_own() -> None:
    """The line says where one stands, not what CPython calls it."""
    report = ufuse.explain(lambda lines: [one.strip() for one in lines], [" a "] * 5000)
    (loop,) = report.loops
    assert loop.why_not == "it goes over a list whose first item is a str"
    assert f"Loop, line {loop.line}: no native code" in str(report)
    assert "<listcomp>" not in str(report)


def test_two_locals_that_one_instruction_loads() -> None:
    """The one that is to blame is named, whichever it is: they have one place in the code from Python 3.13 on."""

    def second(x: Any, label: str) -> int:
        n = 0
        for i in range(len(x)):
            n += i
            if i > len(x):
                n += x - label
        return n

    def first(x: Any, label: str) -> int:
        n = 0
        for i in range(len(x)):
            n += i
            if i > len(x):
                n += label - x
        return n

    def behind_a_store(x: Any, label: str) -> int:
        n = 0
        for i in range(len(x)):
            found = label - x
            n += i
            del found
        return n

    for function in (second, first):
        loop = loop_of(function, X, "b")
        assert "`label` (a str)" in loop.why_not, loop.why_not
    with pytest.raises(TypeError):
        behind_a_store(X, "b")
    for code in (first.__code__, second.__code__, behind_a_store.__code__):
        for one in instructions(code):
            if one.opname == "BINARY_OP":
                depth = flow(code).depths[one.position]
                texts = [stack_expression(code, one.position, depth - n) for n in (2, 1)]
                (line,) = {one.location[0]}
                assert line is not None
                source = Path(__file__).read_text(encoding="utf-8").splitlines()[line - 1]
                assert re.search(rf"{texts[0]} (\+|-)=? {re.escape(texts[1])}", source), texts


def test_source_is_read_when_asked() -> None:
    """A refused loop costs no reading of files; its reason is a text all the same."""
    compiled = ufuse.compile(labelled)
    for _ in range(3):
        compiled(X)
    session = compiled.__ufuse_session__
    (found,) = [one.refused for one in session.record(labelled.__code__).visits.values()]
    assert isinstance(found, str)
    assert found == f"calls of str are not compiled yet, in line {line_of(labelled, 'str(')}"
    assert compiled.loops[0].why_not == f"{found}: `str(i % 10)`"


def test_reasons_without_source() -> None:
    """Code of no file is told by its lines alone, and values by their kinds."""
    names: dict[str, Any] = {}
    exec(
        "def counted(x, label):\n    n = 0\n    for i in range(len(x)):\n        n += label[::2]\n    return n",
        names,
    )
    with pytest.raises(TypeError):
        ufuse.compile(names["counted"])(X, "ab")
    exec("def joined(x):\n    t = ''\n    for i in x:\n        t = t + str(i)\n    return t", names)
    report = ufuse.explain(names["joined"], X)
    (loop,) = report.loops
    assert "`" not in loop.why_not.replace("`t`", "")
    assert "in line 3" in loop.why_not or "in line 4" in loop.why_not
