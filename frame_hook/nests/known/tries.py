"""What tries to read a loop have come to, and what has it read anew, with more that is known."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ufuse.frame_hook.nests.known.containers import EntryOf, ListsOf, RowOf
from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import (
    EITHER_KINDS,
    FLOAT,
    INT,
    NP_FLOAT,
    NP_INT,
    EitherKind,
    NotNativeError,
    NumberKind,
)
from ufuse.graph.records import record

SEVERAL_TYPES = "a list gets items of several types"
MAY_BE_MIXED = frozenset((INT, FLOAT, NP_INT, NP_FLOAT))
GrownBy = NumberKind | RowOf | EntryOf | ListsOf
Grown = frozenset[tuple[str, frozenset[GrownBy]]]


@record
class Tries:
    """What tries to read a loop have come to.

    `widened`: locals that are Python's or NumPy's numbers, whichever, at the headers of loops; None: none may be.
    `rolled`: inner loops that are not unrolled; None: all. `doubts_nothing`: a sum of nothing, which would be an int
    where others are none, is in doubt. By the program's names for them: `dynamic` are ints from outside
    that change from call to call, `fields` attributes that the loop sets, `wide` those of them that are Python's or
    NumPy's numbers, whichever. `members`: slots of locals that it does not bind, which are items of lists of objects.
    `grown`: where it makes lists, dicts and sets that grow, with what they get. `gives_lists`: it gives some back.
    `small`: of what it makes, that of which the ints are to be small, see `identity.py`.
    `keyed`: dicts that are read as tables of computed keys, by the program's names for them. `recursive`: functions
    that call themselves.
    """

    widened: frozenset[str] | None = None
    rolled: frozenset[str] | None = frozenset()
    doubts_nothing: bool = False
    dynamic: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    wide: frozenset[str] = frozenset()
    members: frozenset[int] = frozenset()
    grown: Grown = frozenset()
    gives_lists: bool = False
    small: frozenset[str] = frozenset()
    keyed: frozenset[str] = frozenset()
    recursive: frozenset[types.CodeType] = frozenset()


NO_TRIES = Tries()


class ReadAnewError(Exception):
    """A loop is to be read once more, with more that is known of it."""

    def added(self, tries: Tries) -> Tries:
        """With that beside what is known already.

        Raises:
            NotNativeError: it goes with nothing else.

        """
        raise NotImplementedError


class WidenError(ReadAnewError):
    """Some locals come to a loop's header, in this version, as Python's and as NumPy's: they are read as either."""

    def __init__(self, names: frozenset[str], version: Version) -> None:
        super().__init__()
        self.names = names
        self.version = version

    def added(self, tries: Tries) -> Tries:
        """With these locals; where they are known already, none may be either."""
        known = tries.widened or frozenset()
        return replace(tries, widened=known | self.names if self.names - known else None)


class FieldError(ReadAnewError):
    """The loop sets an attribute, which was not known. `is_wide`: also to numbers of NumPy."""

    def __init__(self, text: str, *, is_wide: bool) -> None:
        super().__init__(text)
        self.text, self.is_wide = text, is_wide

    def added(self, tries: Tries) -> Tries:
        """With the attribute."""
        wide = tries.wide | {self.text} if self.is_wide else tries.wide
        return replace(tries, fields=tries.fields | {self.text}, wide=wide)


class MemberError(ReadAnewError):
    """Some locals, by their slots, are items of a list that the loop uses, too."""

    def __init__(self, slots: Iterable[int]) -> None:
        super().__init__()
        self.slots = frozenset(slots)

    def added(self, tries: Tries) -> Tries:
        """With these locals."""
        return replace(tries, members=tries.members | self.slots)


class ListsError(ReadAnewError):
    """It is to be known whether items of a list or dict are objects that others have."""

    def added(self, tries: Tries) -> Tries:
        """With lists that are given back."""
        return replace(tries, gives_lists=True)


class SmallError(ReadAnewError):
    """Ints that these lists, dicts and sets get, by the names of their places, are to be small: others are in doubt."""

    def __init__(self, sites: frozenset[str]) -> None:
        super().__init__(sites)
        self.sites = sites

    def added(self, tries: Tries) -> Tries:
        """With these places."""
        return replace(tries, small=tries.small | self.sites)


class CallsItselfError(ReadAnewError):
    """A function calls itself: it is read with frames of its own for each call."""

    def __init__(self, code: types.CodeType) -> None:
        super().__init__()
        self.code = code

    def added(self, tries: Tries) -> Tries:
        """With the function."""
        return replace(tries, recursive=tries.recursive | {self.code})


class KeyedError(ReadAnewError):
    """A dict, by the program's name for it, is to be read as one of computed keys."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def added(self, tries: Tries) -> Tries:
        """With the dict."""
        return replace(tries, keyed=tries.keyed | {self.text})


class RollError(ReadAnewError):
    """Some inner loops are not to be unrolled: `names`, all where that is None; `site` is the one around the others."""

    def __init__(self, names: frozenset[str] | None, site: str = "") -> None:
        super().__init__()
        self.names = names
        self.site = site

    def added(self, tries: Tries) -> Tries:
        """With these among the loops that are not unrolled."""
        if tries.rolled is None or self.names is None:
            return replace(tries, rolled=None)
        return replace(tries, rolled=tries.rolled | self.names)


class GrowError(ReadAnewError):
    """A list or dict gets items of some kinds: where that is made, and the kinds."""

    def __init__(self, site: str, *kinds: GrownBy) -> None:
        super().__init__()
        self.site = site
        self.kinds = kinds

    def added(self, tries: Tries) -> Tries:
        """With these kinds.

        Raises:
            NotNativeError: the same list gets others, with which it has no array.

        """
        return replace(tries, grown=self._with(tries.grown))

    def _with(self, grown: Grown) -> Grown:
        """What is known with these."""
        known = dict(grown)
        kinds = known.get(self.site, frozenset()).union(self.kinds)
        if any(isinstance(one, ListsOf) for one in kinds):
            return frozenset((known | {self.site: _of_lists(kinds, known.get(self.site))}).items())
        if any(isinstance(one, EntryOf) for one in kinds):
            kinds = _of_origin(kinds)
            if len(kinds) > 1 or known.get(self.site) == kinds:
                raise NotNativeError("a dict or set gets keys, or values, of several types")
            return frozenset((known | {self.site: kinds}).items())
        rows = [one for one in kinds if isinstance(one, RowOf)]
        types = {one.type for one in rows} | {one for one in kinds if isinstance(one, NumberKind)}
        if (rows and len(rows) < len(kinds)) or (len(types) > 1 and not types <= MAY_BE_MIXED):
            raise NotNativeError(SEVERAL_TYPES)
        if rows:
            widths = {one.width for one in rows}
            width = widths.pop() if len(widths) == 1 else None
            has_tuples = width is not None and all(one.has_tuples for one in rows)
            columns = _columns(rows) if has_tuples else ()
            is_list = any(one.is_list for one in rows)
            kinds = frozenset(RowOf(one, width, has_tuples, columns, is_list) for one in types)
        if known.get(self.site) == kinds:
            raise NotNativeError(SEVERAL_TYPES)
        return frozenset((known | {self.site: kinds}).items())


class LearnedError(ReadAnewError):
    """What lists, dicts and sets get, which loops are not unrolled, and which numbers are either: all that is known."""

    def __init__(self, known: Tries) -> None:
        super().__init__()
        self.known = known

    def added(self, tries: Tries) -> Tries:
        """With that."""
        known = self.known
        return replace(tries, grown=known.grown, rolled=known.rolled, widened=known.widened)


def _columns(rows: Sequence[RowOf]) -> tuple[NumberKind, ...]:
    """The kinds of the numbers of all rows by their places, Python's or NumPy's or either; () where there are none."""
    found = []
    for kinds in map(set, zip(*(one.columns for one in rows), strict=False)):
        names = {one.kind for one in kinds}
        if len(names) > 1 or (len(kinds) > 1 and not names <= EITHER_KINDS):
            return ()
        found.append(kinds.pop() if len(kinds) == 1 else EitherKind(names.pop()))
    return tuple(found)


def _of_lists(kinds: frozenset[GrownBy], known: frozenset[GrownBy] | None) -> frozenset[GrownBy]:
    """What all lists in a list get: that is no guess once they have got some.

    Raises:
        NotNativeError: they get others, or others than lists are beside them.

    """
    wanted = {one for one in kinds if isinstance(one, ListsOf)}
    before = [one for one in kinds if isinstance(one, RowOf)]
    wanted |= {ListsOf((one.type,)) for one in before}
    found = frozenset(one for one in wanted if not one.is_guess) or frozenset(wanted)
    if len(before) + sum(isinstance(one, ListsOf) for one in kinds) < len(kinds):
        raise NotNativeError(SEVERAL_TYPES)
    if len(found) > 1 or found == known:
        raise NotNativeError(SEVERAL_TYPES)
    return found


def _of_origin(kinds: frozenset[GrownBy]) -> frozenset[GrownBy]:
    """What a dict gets, with the only list of which some of its keys are items."""
    entries = [one for one in kinds if isinstance(one, EntryOf)]
    origins = {one.origin for one in entries} - {None}
    if len(origins) != 1:
        return kinds
    (origin,) = origins
    return frozenset(replace(one, origin=origin) for one in entries).union(
        one for one in kinds if not isinstance(one, EntryOf)
    )
