"""How a place in the user's program is named in a message: a short file, a line, an expression."""

from __future__ import annotations

import linecache
import re
import sysconfig
from functools import lru_cache
from importlib.util import decode_source
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np

from ufuse.frame_hook.code.instructions import (
    Instruction,
    Location,
    by_position,
    flow,
    instructions,
    slot_names,
)
from ufuse.frame_hook.code.kept_builtins import KEPT

__builtins__ = KEPT

ON_STACK = "the value {} on the stack"  # what a trace calls a slot of the stack
_ON_STACK = re.compile(r"the value (\d+) on the stack")
# The same in texts for people: what an iterator there goes over is the expression after `in`.
STACK_VALUE = re.compile(
    r"what the value (\d+) on the stack goes over|the value (\d+) on the stack"
)
_ITEM_OF_NAMES = re.compile(r"\((\w+(?:, \w+)+)\)\[(\d+)\]")  # `(key, value)[1]`, which is `value`
_LIBRARIES = tuple(
    sorted({sysconfig.get_path(n) for n in ("purelib", "platlib", "stdlib")}, key=len, reverse=True)
)
LONGEST = 48  # characters of an expression
MOST_BITS = 256  # of an int that is written out
MOST_ITEMS = 8
MOST_SHOWN = 80
NAMED = (type, FunctionType, BuiltinFunctionType)


# Methods that no program names.
SPECIAL = {
    "__enter__": "entering a `with` block",
    "__exit__": "leaving a `with` block",
    "__iter__": "a loop over {}",
}


def is_on_stack(text: str) -> bool:
    """Whether a trace calls a slot of the stack so."""
    return _ON_STACK.fullmatch(text) is not None


def is_of_stack(text: str) -> bool:
    """Whether a trace calls something so that it found on the stack, or in what was there."""
    return _ON_STACK.search(text) is not None


class Named:
    """Stands for an object that what is kept for people must not keep alive."""

    def __init__(self, value: Any) -> None:
        self.kind = type(value).__name__
        self._name = value.__name__ if isinstance(value, NAMED) else f"a {self.kind}"
        self._is_class = type(value) is type

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"the class {self._name}" if self._is_class else self._name


SHOWN = (
    Named,
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    type(None),
    type(...),
    type(NotImplemented),
    FunctionType,
    BuiltinFunctionType,
)

# Instructions that move or drop what is on the stack, so that they are not where a value comes from.
_REPLACES = (
    "LOAD_ATTR",
    "LOAD_METHOD",
    "LOAD_SUPER",
    "UNPACK_",
)  # they take the top, and leave more
STORES_AND_LOADS = "STORE_FAST_LOAD_FAST"
_MOVES = (
    "NOP",
    "NOT_TAKEN",
    "RESUME",
    "STORE_",
    "POP_",
    "DELETE_",
    "COPY",
    "SWAP",
    "PUSH_NULL",
    "KW_NAMES",
    "PRECALL",
    "JUMP",
)


def shown(value: Any) -> str:
    """A few words for a value, that run no code of the user's: a `__repr__` may do anything."""
    kind = type(value)
    if kind is int and value.bit_length() > MOST_BITS:
        return f"an int of {value.bit_length()} bits"
    if kind in (str, bytes) and len(value) > MOST_SHOWN:
        return f"{value[:MOST_SHOWN]!r}…"
    if kind is tuple:
        return f"({', '.join(map(shown, value[:MOST_ITEMS]))}{', …' if len(value) > MOST_ITEMS else ''})"
    if kind in SHOWN:
        return repr(value)[:MOST_SHOWN]
    if kind is type:
        return f"the class {value.__qualname__}"[:MOST_SHOWN]
    return f"a {kind.__name__}"


def function_in_words(name: str) -> str:
    """`step()`; of `<listcomp>` and its like, up to Python 3.11, the function around."""
    outer, _, last = name.rpartition(".<locals>.")
    return f"a comprehension of {outer}()" if last.endswith("comp>") and outer else f"{name}()"


def full_name(function: Any) -> str:
    """What people call a function in C: `print`, `time.time`, `list.append`."""
    name, module = str(function.__qualname__), getattr(function, "__module__", None)
    if KEPT.get(name) is function:
        return name
    if (words := SPECIAL.get(function.__name__)) is not None:
        return words.format(name.partition(".")[0])
    is_told = isinstance(module, str) and module != "builtins" and not module.startswith("_")
    return f"{module}.{name}" if is_told else name


def short_file(file: str) -> str:
    """A file as its package names it, where it is an installed one: `skimage/restoration/_denoise.py`."""
    for folder in _LIBRARIES:
        if file.startswith(f"{folder}/"):
            return file[len(folder) + 1 :]
    return file


def source_line(file: str, line: int) -> str:
    """The text of a line without its indentation; empty where it cannot be read."""
    return _line_of(file, line).strip()


def _line_of(file: str, line: int) -> str:
    """A line as it stands in its file. What `linecache` has is used; but a program can see whether it has it."""
    entry = linecache.cache.get(file, ())
    lines = entry[2] if len(entry) == 4 else _lines_of(file)
    return lines[line - 1] if 0 < line <= len(lines) else ""


@lru_cache(maxsize=64)
def _lines_of(file: str) -> list[str]:
    try:
        # In one call, which an interrupt cannot leave with the file open.
        data = np.fromfile(file, np.uint8).tobytes()
        return decode_source(data).split("\n")
    except (OSError, SyntaxError, ValueError):  # there is no such file, or it is no text
        return []


def in_words(text: str, code: CodeType, position: int) -> str:
    """`text` with every value that it finds on the stack at `position` replaced by the expression it came from."""
    said = STACK_VALUE.sub(
        lambda found: stack_expression(code, position, int(found[1] or found[2])), text
    )
    return items_named(said)


def items_named(text: str) -> str:
    """`value` for `(key, value)[1]`, where a loop binds the names of a tuple."""
    return _ITEM_OF_NAMES.sub(_name_of_item, text)


def _name_of_item(found: re.Match[str]) -> str:
    names, place = found[1].split(", "), int(found[2])
    return names[place] if place < len(names) else found[0]


def stack_expression(code: CodeType, position: int, slot: int) -> str:
    """The source text of the expression that left a value on the stack, or the line it stands on."""
    if name := loaded_name(code, position, slot):
        return name
    location = stack_location(code, position, slot)
    if location is None or location[0] is None:
        return "an intermediate value"
    return expression_at(code.co_filename, location) or f"a value of line {location[0]}"


def loaded_name(code: CodeType, position: int, slot: int) -> str:
    """The local that a value on the stack is of, where one instruction has loaded two; empty for others.

    Such an instruction has the place of the first.
    """
    maker = _maker(code, position, slot)
    if maker is None or not is_of_two(maker):
        return ""
    is_first = slot == flow(code).depths[maker.position] and maker.opname != STORES_AND_LOADS
    return slot_names(code)[(maker.arg or 0) >> 4 if is_first else (maker.arg or 0) & 15]


def is_of_two(instruction: Instruction) -> bool:
    """Whether an instruction loads two locals, or one behind setting another."""
    name = instruction.opname
    is_double = name.startswith("LOAD_FAST") and name.count("LOAD_FAST") == 2
    return is_double or name == STORES_AND_LOADS


def stack_location(code: CodeType, position: int, slot: int) -> Location | None:
    """Where the expression stands that left a value on the stack.

    The instructions of a `for` loop have the place of all of it: of an iterator it is what stands behind `in`, of what
    that gives the loop's variable.
    """
    maker = _maker(code, position, slot)
    if maker is None:
        return None
    table = by_position(code)
    if maker.opname == "GET_ITER":
        before = max((one for one in table if one < maker.position), default=maker.position)
        return table[before].location
    if maker.opname == "FOR_ITER":
        return table.get(maker.position + maker.size, maker).location
    return maker.location


def over_expression(code: CodeType, header: int) -> str:
    """The source text of what the `for` loop goes over whose header stands at a position; empty where unknown."""
    depth = flow(code).depths.get(header)
    if code.co_varnames[:1] == (
        ".0",
    ):  # a comprehension up to Python 3.11, which is given an iterator
        return ""
    location = None if depth is None else stack_location(code, header, depth - 1)
    return "" if location is None else expression_at(code.co_filename, location)


def expression_at(file: str, location: Location) -> str:
    """The source text at a place; empty where it cannot be read, or takes several lines."""
    line, end_line, column, end_column = location
    if line is None or line != end_line or column is None or end_column is None:
        return ""
    text = _line_of(file, line).encode()[column:end_column].decode(errors="replace").strip()
    if re.fullmatch(r"\w+(, *\w+)+", text):
        text = f"({text})"  # the variables of a loop
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _maker(code: CodeType, position: int, slot: int) -> Instruction | None:
    """The last instruction in front of `position` that left a value in this slot of the stack."""
    depths = flow(code).depths
    found = None
    for instruction in instructions(code):
        if instruction.position >= position:
            break
        after = depths.get(instruction.position + instruction.size)
        before = depths.get(instruction.position)
        if after is None or before is None:
            continue
        if instruction.opname == STORES_AND_LOADS and slot == after - 1:
            found = instruction
        if instruction.opname.startswith(_MOVES):
            continue
        pushes = after > before and not instruction.opname.startswith(_REPLACES)
        deepest = before if pushes else min(before, after) - 1  # the lowest slot that it may write
        if deepest <= slot < after:
            found = instruction
    return found
