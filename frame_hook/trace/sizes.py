"""Whole numbers that are known as expressions: their symbols, and what is guarded to hold between them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, NoReturn

from ufuse.frame_hook.trace.guards import RELATIONS, GuardProgram, lower_bound, postfix
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.graph import size
from ufuse.graph.size import Size

LARGEST_INT = 2**62
MADE = ("made",)  # the leaf of a length that values decide: no guard can read it
MOST_ASSUMED = 4
LETTERS = "nmklpqrst"  # for lengths of axes, besides those that the program has for variables


def _refuse(name: str, operator: str, other: Size) -> None:
    raise GraphBreak("size", f"{name}, which is compared with {other},")


class Sizes:
    """What one trace knows of sizes; a relation that does not always hold is decided by the values now, and guarded."""

    def __init__(
        self,
        guards: GuardProgram,
        varying: frozenset[str] = frozenset(),
        variables: tuple[str, ...] = (),
    ) -> None:
        self.leaves: dict[str, tuple[Any, ...]] = {}  # symbol -> how the guard program reads it
        self.known: dict[str, Size] = {}  # symbol -> what it was found, and guarded, to equal
        self._guards = guards
        self._letters = [one for one in LETTERS if one not in variables] or [*LETTERS]
        self._varying = varying  # expressions, as `described`, that are fixed for no trace any more
        self._texts: dict[str, str] = {}  # symbol -> what the program calls it
        self._alone: set[str] = set()  # lengths that are equal to others only by chance
        self._examples: dict[str, int] = {}  # symbol -> its value now
        self._least: dict[str, int] = {}  # symbol -> lower bound
        self._most: dict[str, Size] = {}  # symbol that values decide -> upper bound
        self._decided: dict[tuple[str, Size, Size], bool] = {}  # guards are never taken back
        # Has the graph check how a length that values decide compares with another.
        self.assure: Callable[[str, str, Size], None] = _refuse

    def new_symbol(
        self, wanted: str, value: int, leaf: tuple[Any, ...], least: int | None = None
    ) -> Size:
        """A new name for a whole number that is bound at run time."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted).strip("_") or "i"
        base = base if base[0].isalpha() else f"i{base}"
        name, count = base, 1
        while name in self._examples:
            count += 1
            name = f"{base}{count}"
        self._examples[name] = value
        self._texts[name] = wanted
        self.leaves[name] = leaf
        if least is not None:
            self._least[name] = least
        return size.symbol(name)

    def dimension(self, text: str, length: int, leaf: tuple[Any, ...], *, alone: bool) -> Size:
        """One name for every dimension of this length: sizes that are equal now are guarded to stay so.

        `alone`: not this one, which was found to change by itself.
        """
        for name, value in () if alone else self._examples.items():
            if value == length and self.leaves[name][0] == "size" and name not in self._alone:
                program, fields = (leaf, self.leaves[name], ("eq",)), (text, name)
                self._guards.check(
                    "RELATION", program, says="RELATION equal", fields=fields, source=text
                )
                return size.symbol(name)
        letter = self._letters[len(self._examples) % len(self._letters)]
        expression = self.new_symbol(letter, length, leaf, least=2)
        self._texts[str(expression)] = text
        if alone:
            self._alone.add(str(expression))
        program = (leaf, ("const", 2), ("ge",))
        self._guards.check("RELATION", program, says="RELATION several", fields=(text,))
        return expression

    def made(self, text: str, most: Size, *, is_bound: bool = False) -> str:
        """The symbol of a length that values decide; `most` is what it may be: for estimates, unless it `is_bound`."""
        name = str(self.new_symbol("u", self.example(most), MADE, least=0))
        self._texts[name] = text
        if is_bound:
            self._most[name] = most
        return name

    def most(self, value: Size) -> Size | None:
        """A size that values decide is no more than this, which they do not; None where no such size is known."""
        value = self.resolved(value)
        while made := self.are_made(value):
            name = min(made)
            if name not in self._most or not size.rises_with(value, name):
                return None
            named: dict[str, Size] = {one: size.symbol(one) for one in size.symbols(value)}
            named[name] = self._most[name]
            value = self.resolved(size.substitute(value, named.__getitem__))
        return value

    def are_made(self, value: Size) -> set[str]:
        """The symbols in it that values decide."""
        return {name for name in size.symbols(value) if self.leaves[name] == MADE}

    def refuse(self, made: set[str]) -> NoReturn:
        """Raise the reason why a graph ends where a length is to be known that values decide."""
        raise GraphBreak("size", self._texts[min(made)])

    def _assumed(self, relation: str, left: Size, right: Size, made: set[str]) -> bool:
        """The answer where a length that values decide is not very small, which the graph checks."""
        difference = left - right
        assert not isinstance(difference, int)
        name = min(made)
        for sign in (1, -1):
            rest = size.multiply(difference, sign) - size.symbol(name)
            if isinstance(rest, int) and 0 <= 1 - rest <= MOST_ASSUMED:
                break
        else:
            self.refuse(made)
        self.assure(name, "ge", 1 - rest)
        self._least[name] = max(self._least[name], 1 - rest)
        answer = self._proved(relation, left, right)
        assert answer is not None
        return answer

    def reaches(self, value: Size, least: int) -> bool:
        """Whether a size is `least` or more.

        Of one that values decide, where it may be much more, that is taken for granted, and the graph checks it.
        """
        most = self.most(value)
        if most is None or not self.are_made(value):
            return self.decide("ge", value, least)
        if not self.decide("ge", most, least):
            return False
        value = self.resolved(value)
        assert not isinstance(value, int)
        match value.terms:
            case [((size.Symbol(name),), factor)] if self.example(most) >= 3 * least:
                enough = -(-least // factor)
                if self._least[name] < enough:
                    self.assure(name, "ge", enough)
                    self._least[name] = enough
                return True
        return self.decide("ge", value, least)

    def decide(self, relation: str, left: Size, right: Size) -> bool:
        """Whether the relation holds now; guarded to go on holding unless it always does."""
        if isinstance(left, int) and isinstance(right, int):
            return bool(getattr(operator, relation)(left, right))
        question = relation, left, right
        answer = self._decided.get(question)
        if answer is None:
            answer = self._decided[question] = self._decide(relation, left, right)
        return answer

    def _decide(self, relation: str, left: Size, right: Size) -> bool:
        function = getattr(operator, relation)
        left, right = self.resolved(left), self.resolved(right)
        if isinstance(left, int) and isinstance(right, int):
            return bool(function(left, right))
        proved = self._proved(relation, left, right)
        if proved is not None:
            return proved
        if made := self.are_made(left) | self.are_made(right):
            return self._assumed(relation, left, right, made)
        holds = bool(function(self.example(left), self.example(right)))
        name = (
            relation
            if holds
            else {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}[relation]
        )
        program = (*postfix(left, self.leaves), *postfix(right, self.leaves), (name,))
        if any(step[0] == "const" and abs(step[1]) > LARGEST_INT for step in program):
            raise GraphBreak("operator", "a comparison with a very large number")
        is_fixed = name == "eq" and isinstance(right, int)
        self._guards.check(
            "RELATION",
            program,
            fields=(left, RELATIONS[name], right),
            source=self.described(left) if is_fixed else "",
        )
        if name == "eq":
            self._note_equal(left, right)
        return holds

    def _proved(self, relation: str, left: Size, right: Size) -> bool | None:
        difference = left - right
        if isinstance(difference, int):
            return bool(getattr(operator, relation)(difference, 0))
        low = lower_bound(difference, self._least)
        high = lower_bound(size.multiply(difference, -1), self._least)
        if low is not None and low > 0:
            return relation in ("gt", "ge", "ne")
        if high is not None and high > 0:
            return relation in ("lt", "le", "ne")
        if low == 0 and relation in ("ge", "lt"):
            return relation == "ge"
        if high == 0 and relation in ("le", "gt"):
            return relation == "le"
        return None

    def _note_equal(self, left: Size, right: Size) -> None:
        """From now on a symbol that was found equal to something else stands for that."""
        for one, other in ((left, right), (right, left)):
            name = str(one)
            if name in self._examples and name not in size.symbols(other):
                self.known[name] = other
                return

    def resolved(self, value: Size) -> Size:
        """`value` with every symbol replaced by what it was found equal to."""
        if isinstance(value, int) or not self.known:
            return value
        while not self.known.keys().isdisjoint(size.symbols(value)):
            value = size.substitute(value, lambda n: self.known.get(n, size.symbol(n)))
        return value

    def example(self, value: Size) -> int:
        """What `value` is in this call."""
        return size.evaluate(value, self._examples)

    def fixed(self, value: Size) -> int:
        """`value`, guarded to be what it is now."""
        if isinstance(value, int):
            return value
        if made := self.are_made(value):
            self.refuse(made)
        if self._varying and not self._varying.isdisjoint({self.described(self.resolved(value))}):
            raise GraphBreak("varying", self.described(value))
        number = self.example(value)
        self.decide("eq", value, number)
        return number

    def described(self, value: Size) -> str:
        """`value` in the program's words."""
        if isinstance(value, int):
            return str(value)
        try:
            return str(size.substitute(value, lambda name: size.symbol(self._texts[name])))
        except (
            ZeroDivisionError
        ):  # the program calls two by one name, and divides by their difference
            return re.sub(r"\w+", lambda found: self._texts.get(found[0], found[0]), str(value))

    def equal(self, left: Size, right: Size) -> bool:
        """Part of `infer`'s facts: sizes that are equal now, guarded."""
        return left == right or self._takes_for_equal(left, right) or self.decide("eq", left, right)

    def _takes_for_equal(self, left: Size, right: Size) -> bool:
        """Whether two lengths are taken for equal, which the graph checks: values decide both, or the one alone.

        Otherwise the program could hardly join them, and plain Python does what it does then.
        """
        left, right = self.resolved(left), self.resolved(right)
        names = [str(one) if str(one) in self.leaves else "" for one in (left, right)]
        are_made = [bool(name) and self.leaves[name] == MADE for name in names]
        is_fixed = isinstance(left, int) or isinstance(right, int)
        if left == right or not any(are_made) or not (all(are_made) or is_fixed):
            return False
        if min(one for one in (left, right, 2) if isinstance(one, int)) < 2:
            return False  # such a length is asked for because it broadcasts
        name, other = (names[0], right) if are_made[0] else (names[1], left)
        if all(are_made) and [*self.leaves].index(names[0]) < [*self.leaves].index(names[1]):
            name, other = names[1], left  # the node that makes the earlier one comes first
        if self._proved("eq", left, right) is not None:
            return False
        self.assure(name, "eq", other)
        self.known[name] = other
        return True

    def at_most(self, left: Size, right: Size) -> bool:
        """Part of `infer`'s facts: whether a size is no more than another now, guarded."""
        return self.decide("le", left, right)

    def is_one(self, value: Size) -> bool:
        """Part of `infer`'s facts: whether the size is 1 now, guarded."""
        return self.decide("eq", value, 1)
