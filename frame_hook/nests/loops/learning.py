"""What lists, dicts and sets that a loop makes get, found out in one reading for all of them.

What one gets is known once something is appended to it. A reading that began anew for each of them would take as many
times as long as there are: so this one goes on where that list is made, as one that grows, and begins anew when it
has seen everything. What it has read by then is of no use, as blocks for the list as it was are among it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import EitherError, NotNativeError
from ufuse.frame_hook.nests.known.tries import GrowError, LearnedError, ReadAnewError
from ufuse.frame_hook.nests.known.values import ListedKind
from ufuse.frame_hook.nests.loops.versions import Versions
from ufuse.frame_hook.trace.reasons import GraphBreak


@contextmanager
def all_at_once(reader: Versions) -> Iterator[None]:
    """Read a loop anew when all is known of the lists that it makes.

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
        raise LearnedError(reader.tries.grown)


def go_on(reader: Versions, more: GrowError) -> None:
    """Go on where a list, dict or set is made, which gets what was not known.

    Raises:
        GrowError: reading cannot go on there.

    """
    makers = reader.makers.get(more.site, ())
    if not makers or reader.tries.recursive:
        raise more
    if not frozenset(more.kinds) <= dict(reader.tries.grown).get(more.site, frozenset()):
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


def _has(version: Version, site: str) -> bool:
    """Whether control came to a position with a list that was made in a place, as it was known before."""
    kinds = (*(kind for _, kind in version.locals), *version.stack)
    return any(isinstance(kind, ListedKind) and kind.site == site for kind in kinds)
