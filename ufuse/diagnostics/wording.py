"""A captured graph in a line or two: its lines, its inputs, operations and outputs, its guards."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

from ufuse.frame_hook.code.places import in_words, short_file
from ufuse.frame_hook.entries.entry import Specialisation
from ufuse.frame_hook.trace.guards import Guard
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, GeneratorType, NothingType, NumberType, TupleType, Type
from ufuse.graph.typing.bounds import BOUNDS

LEAST_WIDTH = 40
# What stands in front of the text of a line: spaces, a label or an arrow, or "because".
TEXT_AFTER = re.compile(r" *(?:[a-z]{2,6} {2,}|-> |because )?(?=\S)")
MOST_NAMES = 8  # operations, or guards, that are named; the others are counted
NOT_WORK = (Kind.INPUT, Kind.CONST, Kind.SIZE, Kind.ITEM)

# Operations that people call otherwise than the graph does.
# fmt: off
WORDS = {
    "branch":          "one of two sides",
    "cast":            "astype",
    "check":           "check which side of an `if` is taken",
    "element":         "read an element",
    "index":           "slice",
    "reduce_add":      "sum",
    "reduce_maximum":  "max",
    "reduce_minimum":  "min",
    "reduce_multiply": "prod",
    "store":           "assign in place",
}
# fmt: on


class Shown(str):
    """Text that a Python prompt shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def terminal_width() -> int | None:
    """How wide lines may be where text goes to a terminal; None: any, as for files and pipes."""
    try:
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    except (AttributeError, ValueError):  # there is none, or it is closed
        return None


def folded(lines: Iterable[str], width: int | None) -> str:
    """Lines as one text, those that are too long folded between words, under where their text begins."""
    if width is None:
        return "\n".join(lines)
    return "\n".join(part for line in lines for part in _folded(line, max(width, LEAST_WIDTH)))


def _folded(line: str, width: int) -> list[str]:
    if len(line) < width or (line.startswith(" " * 4) and not line.startswith(" " * 10)):
        return [line]  # short, or a line of the program
    found = TEXT_AFTER.match(line)
    under = " " * (len(found[0]) if found else 0)
    return textwrap.wrap(
        line, width - 1, subsequent_indent=under, break_long_words=False, break_on_hyphens=False
    )


def count(number: int, noun: str) -> str:
    """`1 graph`, `2 graphs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def grouped(texts: Iterable[str]) -> str:
    """`a ×2, b`."""
    found = Counter(texts).items()
    return ", ".join(text if times == 1 else f"{text} ×{times}" for text, times in found)


def kind(type_: Type) -> str:
    """`float64[n, 3]` for an array, `np.float64` for a NumPy number, `float` for a Python one."""
    match type_:
        case ArrayType(dtype=dtype, scalar=True):
            return f"np.{dtype.name}"
        case ArrayType(dtype=dtype, shape=shape):
            return f"{dtype.name}[{', '.join(map(str, shape))}]"
        case NumberType(kind=number):
            return number
        case TupleType(items=items):
            return f"({', '.join(map(kind, items))})"
        case NothingType():
            return "nothing"
        case GeneratorType(kind=name):
            return name if name.startswith("cupy.") else f"np.random.{name}"


def line_range(kept: Specialisation) -> tuple[int, int]:
    """The first and the last line of the function that a graph covers."""
    code = kept.code
    at = [
        node.location.line
        for node in _all_nodes(kept.graph)
        if node.location is not None
        and (node.location.file, node.location.function) == (code.co_filename, code.co_name)
    ]
    return min(at, default=kept.line), max(at, default=kept.line)


def lines(kept: Specialisation) -> str:
    """The lines of the function that a graph covers, in words."""
    first, last = line_range(kept)
    return f"line {first}" if first == last else f"lines {first} to {last}"


def takes(kept: Specialisation) -> list[str]:
    """`image: float64[n, m]`; inputs of one kind share a line."""
    kinds: dict[str, list[str]] = {}
    for source, node in zip(kept.inputs, kept.graph.inputs, strict=False):
        name = in_words(source, kept.code, kept.position)
        kinds.setdefault(kind(node.type), []).append(name)
    for node in kept.graph.inputs[len(kept.inputs) :]:
        kinds.setdefault("int", []).append(str(node.attributes["name"]))
    return [f"{_some(names)}: {one}" for one, names in kinds.items()]


def _some(names: list[str]) -> str:
    rest = len(names) - MOST_NAMES
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:MOST_NAMES])} and {rest} more"


def gives(kept: Specialisation) -> str:
    """What the outputs are."""
    return grouped(kind(node.type) for node in kept.graph.outputs)


def goes_on(kept: Specialisation) -> str:
    """Where the function goes on behind a graph that does not end it."""
    if kept.ends_with is None:
        return ""
    called = kept.ends_with.called_from
    return ", and goes on" if called else f", and goes on at line {kept.ends_with.line}"


def work(kept: Specialisation) -> list[Node]:
    """The nodes that compute something."""
    return work_of(kept.graph)


def work_of(graph: Graph) -> list[Node]:
    """The nodes of a graph, and of the sides of its branches, that compute something."""
    return [node for node in _all_nodes(graph) if node.op.kind not in NOT_WORK]


def _all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, and of the sides of its branches."""
    for node in graph.nodes:
        yield node
        if node.op.kind is Kind.BRANCH:
            yield from _all_nodes(node.attributes["then"])
            yield from _all_nodes(node.attributes["otherwise"])


def operations(kept: Specialisation) -> str:
    """The kinds of operations, the most frequent first."""
    names = Counter(map(_word, work(kept)))
    shown = [f"{name} ×{n}" if n > 1 else name for name, n in names.most_common(MOST_NAMES)]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {count(rest, 'more kind')}" if rest else "")


def _word(node: Node) -> str:
    if node.op.kind is Kind.SCALAR:
        return "arithmetic on numbers"
    if node.op.kind is Kind.CALL and "function" in node.attributes:
        name = str(node.attributes["function"])
        return "a place or length" if name.startswith(BOUNDS) else _without_module(name)
    return WORDS.get(node.op.name, node.op.name)


def _without_module(name: str) -> str:
    """`roll` for `numpy.roll`, `linalg.cholesky` for `numpy.linalg.cholesky`."""
    for module in ("builtins.", "numpy.ndarray.", "numpy."):
        name = name.removeprefix(module)
    return {"__getitem__": "index", "__setitem__": "assign in place"}.get(name, name)


def expected(kept: Specialisation) -> list[str]:
    """Which sides of branches the graph goes on along: `the condition of line 3 is false`."""
    found: dict[tuple[str, int], list[str]] = {}
    for one in kept.expected:
        truths = found.setdefault((one.file, one.line), [])
        truths += [word for word in [str(one.truth).lower()] if word not in truths]
    texts = [
        f"the condition of {_place(kept, file, line)} is {' or '.join(truths)}"
        for (file, line), truths in found.items()
    ]
    return texts[:-1] + [f"{one}; else other graphs or plain Python run" for one in texts[-1:]]


def both_sides(kept: Specialisation) -> str:
    """The branches whose sides are in the graph: `both sides of the branch of line 3 are here`."""
    found = [node.location for node in _all_nodes(kept.graph) if node.op.kind is Kind.BRANCH]
    places = [_place(kept, one.file, one.line) for one in found if one is not None]
    if not places:
        return ""
    of = "branch" if len(found) == 1 else "branches"
    *others, last = dict.fromkeys(places)
    where = f"{', '.join(others)} and {last}" if others else last
    return f"both sides of the {of} of {where} are here; one that is nearly always taken will be taken for granted"


def _place(kept: Specialisation, file: str, line: int) -> str:
    own = file == kept.code.co_filename
    return f"line {line}" if own else f"{short_file(file)}:{line}"


def values(kept: Specialisation) -> list[str]:
    """The values to which the graph is specialised: `n == 5`, `axis is None`."""
    code = kept.code
    names = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names, "the"}
    own = [row for row in kept.guards if _root(row) in names]  # no library's
    found = filter(None, map(_value, own))
    return [in_words(fact, kept.code, kept.position) for fact in dict.fromkeys(found)]


def _root(row: Guard) -> str:
    """The name that the source of a guard begins with; `the` of a value on the stack."""
    found = re.match(r"\w+", row.source)
    return found[0] if found else "the"


def _value(row: Guard) -> str | None:
    match row.kind, row.operands:
        case "INT" | "BIG_INT" | "FLOAT" | "STR" | "EQUAL" | "SIZE", (*_, value):
            return f"{row.source} == {value!r}"
        case "IDENTITY", (*_, None | bool() as value) if row.source.isidentifier():
            return f"{row.source} is {value}"
        case "LENGTH", (*_, length):
            return f"len({row.source}) == {length}"
    return None


def checks(kept: Specialisation) -> str:
    """What is checked before a graph is used again."""
    found = values(kept)
    shown = found[:MOST_NAMES]
    others = len(kept.guards) - len(shown)
    rest = f"{count(others, 'fact')} about types, layouts and names"
    return ", ".join([*shown, f"and {rest}"]) if shown else rest
