"""Why a graph ends: the short table of reasons, each with what a user can do about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.places import function_in_words, short_file

__builtins__ = KEPT

# For each reason: what happened, and what to do about it. docs/breaks.md shows this table; a test compares them.
REASONS: dict[str, tuple[str, str]] = {
    "opcode": (
        "{what} is not captured yet",
        "no need to change it: plain Python runs it, and capture goes on behind it",
    ),
    "data-branch": (
        "it branches on {what}, which is known only once the graph has run",
        "no need to change it: the next graph begins on the side that is taken",
    ),
    "sides": (
        "both sides of the branch cannot be in one graph: {what}",
        "no need to change it: the next graph begins on the side that is taken",
    ),
    "call": (
        "{what} cannot be part of a graph",
        "do it before or after the array work, if it is in your code; left here it runs as plain Python",
    ),
    "numpy-call": (
        "{what} is not captured yet",
        "no need to change it: NumPy runs it as always, and capture goes on behind it",
    ),
    "operator": (
        "{what} is not captured yet",
        "no need to change it: plain Python runs it, and capture goes on behind it",
    ),
    "attribute": (
        "the attribute {what} is not followed",
        "read it before the array work, into a local variable",
    ),
    "effect": (
        "{what} changes something that outlives the graph",
        "do it before or after the array work; left here it runs as plain Python",
    ),
    "finalizer": (
        "{what} dies here, which a finalizer or a weak reference's callback may notice",
        "no need to change it: plain Python runs it, and capture goes on behind it",
    ),
    "index": (
        "indexing {what} is not captured yet",
        "slices, whole numbers, a mask, or arrays of places keep one graph; np.where often replaces another mask",
    ),
    "dtype": (
        "{what} is left to NumPy",
        "bool, int, float and complex arrays of the machine's byte order are captured",
    ),
    "layout": (
        "{what} cannot be captured",
        "pass np.ascontiguousarray(…) of it",
    ),
    "overlap": (
        "{what} is written while another argument shares its memory",
        "pass a copy if they need not share memory",
    ),
    "raise-after-write": (
        "{what} could fail, perhaps after an array was already changed",
        "put what can fail in front of the assignments to array elements",
    ),
    "eager-raises": (
        "plain Python stops or warns here: {what}",
        "no need to change it: plain Python runs this and says so itself, in the usual words",
    ),
    "size": (
        "it depends on how long {what} is, which only values decide",
        "no need to change it: the next graph begins where that is known",
    ),
    "unfit": (
        "a call did not fit the graph: {what}",
        "no need to change it: plain Python ran that call, and does again where it has to",
    ),
    "varying": (
        "{what} changes from call to call",
        "no need to change it: plain Python runs what depends on it, and capture goes on behind it",
    ),
    "loop": (
        "this loop is not unrolled",
        "no need to change it: the body has graphs of its own, used again at every turn",
    ),
    "requested": (
        "ufuse.graph_break({what}) asks for it",
        "remove that call",
    ),
    "disabled": (
        "{what}() is marked with ufuse.disable",
        "remove the mark to capture it",
    ),
    "builtins": (
        "builtins.{what} was replaced, on which ufuse relies",
        "no need to change it: everything runs as plain Python until it is put back",
    ),
    "remade": (
        "{what}() is made anew again and again, as new code, and each time a graph would be too",
        "make it once, outside the function that is called often; left here it runs as plain Python",
    ),
    "slow": (
        "reading {what}() takes longer than may be spent on it now",
        "no need to change it: plain Python goes on from here, and so may a graph at a later call",
    ),
    "recursion": (
        "{what}() calls itself, or others, too deeply to inline",
        "no need to change it: plain Python makes the call",
    ),
}

# What people call an instruction that has no handler.
# fmt: off
INSTRUCTIONS = {
    "BEFORE_ASYNC_WITH":     "an `async with` block",
    "BEFORE_WITH":           "a `with` block",
    "BUILD_INTERPOLATION":   "a t-string",
    "BUILD_TEMPLATE":        "a t-string",
    "CALL_INTRINSIC_2":      "`except*` or type parameters",
    "CHECK_EG_MATCH":        "`except*`",
    "CHECK_EXC_MATCH":       "`except`",
    "CONVERT_VALUE":         "an f-string",
    "DELETE_ATTR":           "deleting an attribute",
    "DELETE_DEREF":          "deleting a closure variable",
    "DELETE_GLOBAL":         "deleting a global",
    "DELETE_SUBSCR":         "deleting an item",
    "FORMAT_SIMPLE":         "an f-string",
    "FORMAT_VALUE":          "an f-string",
    "FORMAT_WITH_SPEC":      "an f-string",
    "IMPORT_FROM":           "an import",
    "IMPORT_NAME":           "an import",
    "LOAD_BUILD_CLASS":      "a class statement",
    "LOAD_SPECIAL":          "a `with` block",
    "LOAD_SUPER_ATTR":       "super()",
    "MATCH_CLASS":           "`match` against a class",
    "MATCH_KEYS":            "`match` against a dict",
    "MATCH_MAPPING":         "`match` against a dict",
    "MATCH_SEQUENCE":        "`match` against a sequence",
    "POP_EXCEPT":            "`except`",
    "PREP_RERAISE_STAR":     "`except*`",
    "PUSH_EXC_INFO":         "handling an exception",
    "RERAISE":               "handling an exception",
    "SET_ADD":               "building a set",
    "SET_UPDATE":            "building a set",
    "STORE_ATTR":            "assigning to an attribute",
    "STORE_GLOBAL":          "assigning to a global",
    "WITH_EXCEPT_START":     "a `with` block",
}
# fmt: on


@dataclass(frozen=True, slots=True)
class Break:
    """Where and why a graph ended.

    Attributes:
        code: the name of the reason, a key of the table in docs/breaks.md.
        reason: what happened, in a sentence.
        file, line, function: the place in the program.
        hint: what a user can do.
        called_from: where the captured function called the one that broke; empty where they are the same.

    Example:
        >>> import numpy as np, ufuse
        >>> @ufuse.compile
        ... def shown(x):
        ...     y = x + 1
        ...     print(y)
        ...     return y * 2
        >>> shown(np.zeros(2))
        [1. 1.]
        array([2., 2.])
        >>> shown.breaks[0].reason
        'print cannot be part of a graph'

    """

    code: str
    reason: str
    file: str
    line: int
    hint: str
    function: str = ""
    called_from: str = field(default="", compare=False)

    @property
    def place(self) -> str:
        """`file:line in function()`, with who called it."""
        where = f"{short_file(self.file)}:{self.line}"
        if self.function:
            where += f" in {function_in_words(self.function)}"
        return f"{where}, called from {self.called_from}" if self.called_from else where

    def __str__(self) -> str:
        return f"{self.place}: the graph ends here, because {self.reason} [{self.code}]"


class GraphBreak(Exception):  # noqa: N818  it is information, not an error
    """Raised inside the tracer where the graph must end; never leaves it."""

    def __init__(self, code: str, what: str = "", hint: str = "") -> None:
        super().__init__(code, what, hint)
        self.code = code
        self.what = what
        self.hint = hint  # where there is a better one than the reason's

    def at(self, file: str, line: int, function: str, called_from: str = "") -> Break:
        """The break as a user sees it."""
        text, hint = REASONS[self.code]
        what = self.what
        if self.code == "opcode":
            what = INSTRUCTIONS.get(what, f"the instruction {what}" if what.isupper() else what)
        hint = self.hint or hint
        return Break(self.code, text.format(what=what), file, line, hint, function, called_from)


class NotKnownYet(GraphBreak):
    """A value is needed while the code is read that only the graph computes."""

    def __init__(self, value: str) -> None:
        super().__init__("call", f"{value}, which is known only at run time,")
        self.value = value
