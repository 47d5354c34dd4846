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

from ufuse.frame_hook.code.instructions import Instruction, flow, instructions
from ufuse.frame_hook.code.kept_builtins import KEPT

__builtins__ = KEPT

ON_STACK = "the value {} on the stack"  # what a trace calls a slot of the stack
_ON_STACK = re.compile(r"the value (\d+) on the stack")
_LIBRARIES = tuple(
    sorted({sysconfig.get_path(n) for n in ("purelib", "platlib", "stdlib")}, key=len, reverse=True)
)
LONGEST = 48  # characters of an expression
MOST_BITS = 256  # of an int that is written out
MOST_ITEMS = 8
MOST_SHOWN = 80
NAMED = (type, FunctionType, BuiltinFunctionType)


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


def full_name(function: Any) -> str:
    """What people call a function in C: `print`, `time.time`, `list.append`."""
    name, module = str(function.__qualname__), function.__module__
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
    return _ON_STACK.sub(lambda found: stack_expression(code, position, int(found[1])), text)


def stack_expression(code: CodeType, position: int, slot: int) -> str:
    """The source text of the expression that left a value on the stack, or the line it stands on."""
    maker = _maker(code, position, slot)
    if maker is None:
        return "an intermediate value"
    line, end_line, column, end_column = maker.location
    if line is None:
        return "an intermediate value"
    if line == end_line and column is not None and end_column is not None:
        text = _line_of(code.co_filename, line).encode()[column:end_column]
        expression = text.decode(errors="replace").strip()
        if expression:
            return expression if len(expression) <= LONGEST else f"{expression[: LONGEST - 1]}…"
    return f"a value of line {line}"


def _maker(code: CodeType, position: int, slot: int) -> Instruction | None:
    """The last instruction in front of `position` that left a value in this slot of the stack."""
    depths = flow(code).depths
    found = None
    for instruction in instructions(code):
        if instruction.position >= position:
            break
        after = depths.get(instruction.position + instruction.size)
        before = depths.get(instruction.position)
        if after is None or before is None or instruction.opname.startswith(_MOVES):
            continue
        pushes = after > before and not instruction.opname.startswith(_REPLACES)
        deepest = before if pushes else min(before, after) - 1  # the lowest slot that it may write
        if deepest <= slot < after:
            found = instruction
    return found
