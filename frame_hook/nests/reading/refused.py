"""Why a loop is not native, with its place in the program: kept as numbers, and as the program's text when asked."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Self, TypeVar

from ufuse.frame_hook.code.instructions import Instruction, Location, flow
from ufuse.frame_hook.code.places import (
    STACK_VALUE,
    expression_at,
    is_of_two,
    items_named,
    loaded_name,
    short_file,
    stack_location,
)
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.naming import kind_in_words
from ufuse.frame_hook.nests.known.tries import ReadAnewError
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.trace.reasons import GraphBreak

T = TypeVar("T")

ITEM = "{item}"
NOWHERE: Location = (None, None, None, None)
Spot = tuple[str, Location]  # a file, and where in it


class Refused(str):
    """A reason, which as a str has nothing of the program's text but names: to read files takes time.

    `template` has a `{}` for each of `spots`, the places of expressions; `words` say what the text is without them.
    """

    __slots__ = ("at", "spots", "template", "where", "words")
    template: str
    spots: tuple[Spot, ...]
    words: tuple[str, ...]
    where: str
    at: Spot

    def __new__(
        cls, template: str, spots: tuple[Spot, ...], words: tuple[str, ...], where: str, at: Spot
    ) -> Self:
        """Word it without expressions."""
        self = super().__new__(cls, _filled(template, words) + where)
        self.template = template
        self.spots = spots
        self.words = words
        self.where = where
        self.at = at
        return self

    def in_words(self) -> str:
        """The reason with the expressions that it is about, as they stand in the program."""
        found = [expression_at(*spot) for spot in self.spots]
        texts = [
            _quoted(one, word) if one else word for one, word in zip(found, self.words, strict=True)
        ]
        told = _filled(self.template, texts) + self.where
        if any(found) or not self.where:
            return told
        expression = expression_at(*self.at)
        return f"{told}: `{expression}`" if expression and expression not in told else told


def at_instruction(
    code: CodeType, instruction: Instruction, why: str, told: CodeType | None = None, *, tells: bool
) -> Refused:
    """A reason that an instruction is. `told`: the code of the loop; `tells`: the reason does not say its text."""
    at = (code.co_filename, instruction.location if tells else NOWHERE)
    where = _where(code, code if told is None else told, instruction.location[0])
    return Refused(why.replace("{", "").replace("}", ""), (), (), where, at)


def in_words(why: str) -> str:
    """A reason with the expressions that it is about, where these are known."""
    return why.in_words() if isinstance(why, Refused) else why


def told(reader: Reader, read: Callable[[], T]) -> T:
    """What reading gives; where it is refused the reason has its place.

    Raises:
        NotNativeError: it is refused.

    """
    tells = False  # the expression: what an instruction does is to blame
    try:
        return read()
    except NotNativeError as why:
        found = why
    except GraphBreak as graph_break:
        found = NotNativeError(f"it uses {graph_break.what}")
    except ReadAnewError as more:
        try:
            more.added(reader.tries)
        except NotNativeError as why:
            found, tells = why, True
        else:
            raise
    note_item(reader, found, reader.stack, tells=tells)
    found.has_sums, found.has_arrivals = reader.has_sums, reader.has_arrivals
    try:
        raise found
    finally:
        del found  # its traceback has this frame: neither may keep the program's objects alive


def note_item(
    reader: Reader, why: NotNativeError, stack: list[Item], *, tells: bool = True
) -> None:
    """Word a reason where an instruction is refused that took the topmost of these values.

    `tells`: it is about the expression that the instruction computes.
    """
    if why.said is None:
        why.said = _worded(reader, why, stack, tells=tells)
        why.item = None


def of_loop(code: CodeType, position: int, why: NotNativeError) -> NotNativeError:
    """The same, worded, that was found before the loop at a position was read."""
    if why.said is None:
        marked = _marked(str(why.args[0]).replace(ITEM, kind_in_words(why.item)), code, position)
        why.said = Refused(*marked, "", (code.co_filename, NOWHERE))
    return why


def _worded(reader: Reader, why: NotNativeError, stack: list[Item], *, tells: bool) -> Refused:
    own = reader.own.code
    before, item, behind = str(why.args[0]).partition(ITEM)
    template, spots, words = _marked(before, own, reader.position)
    if item:
        template += "{}"
        location, name = _source(reader, why.item, stack)
        known = kind_in_words(why.item) or "a value"
        spots += ((reader.code.co_filename, location),)
        words += (_quoted(name, known) if name else known,)
    more, spots_behind, words_behind = _marked(behind, own, reader.position)
    tells = tells and not is_of_two(reader.at)
    at = (reader.code.co_filename, reader.at.location if tells else NOWHERE)
    own_line = reader.at.location[0]
    is_told = reader.code is not own or own is reader.told
    where = _where(reader.code, reader.told, own_line) if is_told else ""
    return Refused(template + more, spots + spots_behind, words + words_behind, where, at)


def _marked(
    text: str, code: CodeType, position: int
) -> tuple[str, tuple[Spot, ...], tuple[str, ...]]:
    """A text whose values on the stack, where the loop begins, are marks; their places, and words for them."""
    slots = [int(one[1] or one[2]) for one in STACK_VALUE.finditer(text)]
    spots = tuple(
        (code.co_filename, stack_location(code, position, slot) or NOWHERE) for slot in slots
    )
    marked = STACK_VALUE.sub("{}", text.replace("{", "").replace("}", ""))
    return marked, spots, ("what it goes over",) * len(slots)


def _source(reader: Reader, item: object, stack: list[Item]) -> tuple[Location, str]:
    """Where the expression stands whose value an instruction took from a stack; or the local that it is."""
    place = next((i for i in reversed(range(len(stack))) if stack[i] is item), None)
    depth = flow(reader.code).depths.get(reader.at.position)
    if place is None or depth is None:
        return NOWHERE, ""
    at = reader.code, reader.at.position, depth - (len(stack) - place)
    if name := loaded_name(*at):
        return NOWHERE, name
    return stack_location(*at) or NOWHERE, ""


def _where(code: CodeType, told: CodeType, line: int | None) -> str:
    if line is None:
        return ""
    is_own = code is told or code.co_name.startswith("<")  # a comprehension shows its line
    of = "" if is_own else f" of {code.co_name}()"
    file = "" if code.co_filename == told.co_filename else f" in {short_file(code.co_filename)}"
    return f", in line {line}{of}{file}"


def _quoted(expression: str, word: str) -> str:
    return f"`{expression}`" if word == "what it goes over" else f"`{expression}` ({word})"


def _filled(template: str, texts: tuple[str, ...] | list[str]) -> str:
    return items_named(template.format(*texts))
