"""What has a loop read anew, found out in one reading: what lists get, what is not unrolled, which numbers are either.

What a list gets is known once something is appended to it, that a loop is not to be unrolled when another one is found
in it, and that a number is either where it comes back to a header. A reading that began anew for each of them would
take as many times as long as there are: so this one goes on where the list is made, or that loop begins, with what is
known now, and begins anew when it has seen everything. What it has read by then is of no use, as blocks with the list
as it was, and turns of the loop, are among it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import EitherError, EitherKind, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.tries import (
    GrowError,
    LearnedError,
    ReadAnewError,
    RollError,
    Tries,
    WidenError,
)
from ufuse.frame_hook.nests.known.values import Kind, ListedKind, Turning
from ufuse.frame_hook.nests.loops.versions import Versions
from ufuse.frame_hook.trace.reasons import GraphBreak

T = TypeVar("T")


def all_at_once(reader: Versions, read: Callable[[], T]) -> T:
    """What reading a loop gives; it is to be read anew when all is known of its lists, numbers and the loops in it.

    Whatever else ends a reading in which something was learned may be due to blocks that the next one does not have.

    Raises:
        LearnedError: something was learned.

    """
    try:
        found = read()
    except (NotNativeError, EitherError, ReadAnewError, GraphBreak):
        if reader.tries == reader.begun:
            raise
    else:
        if reader.tries == reader.begun:
            return found
    # Not within the handler: what was raised there must not outlive this, with the program's objects in its frames.
    raise LearnedError(reader.tries)


def go_on(reader: Versions, more: GrowError | RollError | WidenError) -> bool:
    """Go on where a list, dict or set is made, which gets what was not known, or where a loop begins.

    Whether that can be: who has caught `more` raises it again where not. Raised here it would keep itself alive, by the
    frame in its traceback, and with it the program's objects.
    """
    if reader.tries.recursive or _is_known(reader.begun, more):
        return False
    # Where it is known meanwhile, the block has what it was before that was learned.
    if not _is_known(reader.tries, more):
        goes = (
            _widen(reader, more) if isinstance(more, WidenError) else _make_otherwise(reader, more)
        )
        if not goes:
            return False
    if reader.out.is_open:
        reader.go_to_doubt()
    return True


def _make_otherwise(reader: Versions, more: GrowError | RollError) -> bool:
    """Read the blocks anew in which a list is made, or a loop begins; whether they are known."""
    makers = reader.makers.pop(more.site, [])
    if not makers:
        return False
    try:
        reader.tries = more.added(reader.tries)
    except NotNativeError:
        return False
    _read_again(reader, makers, [one for one in reader.waiting if _has(one, more.site)])
    return True


def _widen(reader: Versions, more: WidenError) -> bool:
    """Come to a loop's header with numbers of both kinds, as if it had not been come to with others.

    Whether that can be: to the outermost one the frame comes.
    """
    known, new = more.added(reader.tries), more.version
    if new.place == ("", reader.position) or known.widened is None:
        return False
    reader.tries = known
    stale = [one for one in reader.labels if one.place == new.place]
    for version in stale:
        del reader.labels[version]
    _read_again(reader, [replace(new, locals=_widened(new, more.names))], stale)
    return True


def _widened(version: Version, names: frozenset[str]) -> tuple[tuple[int, Kind], ...]:
    """The kinds of the locals where these are either."""
    return tuple(
        (
            slot,
            EitherKind(kind.kind)
            if isinstance(kind, NumberKind) and version.function.variable(slot) in names
            else kind,
        )
        for slot, kind in version.locals
    )


def _read_again(reader: Versions, versions: list[Version], stale: list[Version]) -> None:
    """Read versions once more, but none of others that wait."""
    dropped = {*versions, *stale}
    reader.waiting[:] = [one for one in reader.waiting if one not in dropped]
    for version in versions:
        reader.labels.pop(version, None)
        reader.label(version)


def _is_known(tries: Tries, more: GrowError | RollError | WidenError) -> bool:
    """Whether nothing is to be learned from this beside what is known."""
    if isinstance(more, WidenError):
        return tries.widened is None or more.names <= tries.widened
    if isinstance(more, RollError):
        return tries.rolled is None or more.site in tries.rolled
    return frozenset(more.kinds) <= dict(tries.grown).get(more.site, frozenset())


def _has(version: Version | None, site: str) -> bool:
    """Whether control came to a position with a list that was made in a place, or in a loop, as known before."""
    if version is None:
        return False
    kinds = (*(kind for _, kind in version.locals), *version.stack)
    return _has(version.caller, site) or any(
        (isinstance(kind, ListedKind) and kind.site == site)
        or (isinstance(kind, Turning) and kind.name == site)
        for kind in kinds
    )
