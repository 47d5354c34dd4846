"""What lists, dicts and sets that a loop makes get, and which loops in it are not unrolled, found out in one reading.

What a list gets is known once something is appended to it, and that a loop is not to be unrolled when another one is
found in it. A reading that began anew for each of them would take as many times as long as there are: so this one goes
on where the list is made, or that loop begins, with what is known now, and begins anew when it has seen everything.
What it has read by then is of no use, as blocks with the list as it was, and turns of the loop, are among it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import EitherError, NotNativeError
from ufuse.frame_hook.nests.known.tries import GrowError, LearnedError, ReadAnewError, RollError
from ufuse.frame_hook.nests.known.values import ListedKind, Turning
from ufuse.frame_hook.nests.loops.versions import Versions
from ufuse.frame_hook.trace.reasons import GraphBreak


@contextmanager
def all_at_once(reader: Versions) -> Iterator[None]:
    """Read a loop anew when all is known of the lists that it makes, and of the loops in it.

    Whatever else ends a reading in which something was learned may be due to blocks that the next one does not have.

    Raises:
        LearnedError: something was learned.

    """
    before = reader.tries
    try:
        yield
    except (NotNativeError, EitherError, ReadAnewError, GraphBreak):
        if reader.tries == before:
            raise
    if reader.tries != before:
        raise LearnedError(reader.tries)


def go_on(reader: Versions, more: GrowError | RollError) -> None:
    """Go on where a list, dict or set is made, which gets what was not known, or where a loop begins.

    Raises:
        GrowError, RollError: reading cannot go on there.

    """
    makers = reader.makers.get(more.site, ())
    if not makers or reader.tries.recursive:
        raise more
    if not _is_known(reader, more):
        try:
            reader.tries = more.added(reader.tries)
        except NotNativeError:
            raise more from None
        reader.waiting[:] = [
            one for one in reader.waiting if one not in makers and not _has(one, more.site)
        ]
        for version in makers:
            del reader.labels[version]
            reader.label(version)
        del reader.makers[more.site]
    if reader.out.is_open:
        reader.go_to_doubt()


def _is_known(reader: Versions, more: GrowError | RollError) -> bool:
    """Whether this is of a block with a list as it was known before, or in a turn of what is no longer unrolled."""
    if isinstance(more, RollError):
        return reader.tries.rolled is None or more.site in reader.tries.rolled
    return frozenset(more.kinds) <= dict(reader.tries.grown).get(more.site, frozenset())


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
