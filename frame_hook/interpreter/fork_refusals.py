"""Why both sides of a branch are not in one graph, in words, and what to do about it."""

from __future__ import annotations

from types import CodeType

# For each reason: what is so, and what a user can do.
# fmt: off
REFUSALS: dict[str, tuple[str, str]] = {
    "changes":  ("a side changes {what}, and the other one does not do the same",
                 "let the sides choose a value, and change the object behind them"),
    "types":    ("the sides give {what}",
                 "give it one dtype and one shape on both sides, for instance with astype"),
    "integers": ("the sides give {what} whole numbers of Python's",
                 "use the number within the side, or make it a float"),
    "lengths":  ("the sides give {what} other lengths or keys",
                 "let both sides fill it alike"),
    "views":    ("a side gives {what} a view of an array",
                 "give it a copy, where nobody needs to write through the view"),
    "aliases":  ("the sides give {what} objects of which one is two on the other side, or was there before",
                 "make it anew in each side"),
    "written":  ("{what} is written, and may be another array that was there before",
                 "give it a copy in the side, or write before the branch"),
    "unbound":  ("only one side gives {what} a value",
                 "give it one in front of the branch"),
    "loop":     ("a loop turns in a side, or the branch ends a turn",
                 "no need to change it: the next graph begins on the side that is taken"),
    "device":   ("the sides compute on a device",
                 "choose with cupy.where"),
    "nested":   ("a branch within it cannot be in one graph",
                 "see what is said of that branch"),
    "errstate": ("a side enters or leaves `np.errstate`, and the branch ends within it",
                 "let the sides meet within the `with` block, and return behind it"),
    "raises":   ("a side raises {what}, or catches it",
                 "no need to change it: the next graph begins on the side that is taken"),
}
# fmt: on


class Unlike(Exception):  # noqa: N818  turned into a CannotFork
    """A law of branches is broken."""

    def __init__(self, why: str, what: str = "") -> None:
        super().__init__(why, what)
        text, self.hint = REFUSALS[why]
        self.why = text.format(what=what)


class CannotFork(Exception):  # noqa: N818  a decision, not an error
    """The sides of a jump cannot be in one graph; `why` and `hint` are for the user."""

    def __init__(self, code: CodeType, position: int, why: str, hint: str) -> None:
        super().__init__(code, position, why, hint)
        self.code = code
        self.position = position
        self.why = why
        self.hint = hint
