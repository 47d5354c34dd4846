"""Lists that a nest makes and appends to: each is a temporary, which holds its numbers one behind another.

What they are numbers of is known once one is appended: reading begins anew then (`GrowError`). Until then what asks for
more than the items that the list begins with is in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ufuse.frame_hook.nests import conversions, either, elementwise, reductions, views
from ufuse.frame_hook.nests.frames import Version
from ufuse.frame_hook.nests.temporaries import parts_in
from ufuse.frame_hook.nests.values import (
    BOOL,
    FLOAT,
    INT,
    NP_FLOAT,
    NP_INT,
    Array,
    Elements,
    Item,
    Items,
    Lazy,
    Length,
    Listed,
    MadeList,
    NotNativeError,
    Number,
    NumberKind,
    Numbers,
    Part,
    Row,
    TemporaryKind,
)
from ufuse.graph.nest import I1, I64, Value

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.reader import Reader

SEVERAL_TYPES = "a list gets items of several types"
MAY_BE_MIXED = frozenset((INT, FLOAT, NP_INT, NP_FLOAT))
Grown = frozenset[tuple[str, frozenset[NumberKind]]]


class GrowError(Exception):
    """The loop is to be read with a list that gets numbers of a kind: where that is made, and the kind."""

    def __init__(self, site: str, kind: NumberKind) -> None:
        super().__init__()
        self.site, self.kind = site, kind

    def added(self, grown: Grown) -> Grown:
        """With those that are known already.

        Raises:
            NotNativeError: the same list gets others, with which it has no array.

        """
        known = dict(grown)
        kinds = known.get(self.site, frozenset()) | {self.kind}
        if len(kinds) > 1 and not kinds <= MAY_BE_MIXED:
            raise NotNativeError(SEVERAL_TYPES)
        return frozenset((known | {self.site: kinds}).items())


def begin(reader: Reader, items: Sequence[Item]) -> Listed | MadeList:
    """`[*items]`."""
    site = f"{reader.frame.function.prefix}{reader.at.position}"
    kinds = dict(reader.tries.grown).get(site)
    if kinds is None:
        return Listed(tuple(items), site)
    made = _new(reader, kinds, site)
    for one in items:
        append(reader, made, one)
    return made


def _new(reader: Reader, kinds: frozenset[NumberKind], site: str) -> MadeList:
    """An empty list for numbers of some kinds."""
    is_real = any(one.is_real for one in kinds)
    kind = next(one for one in kinds if one.is_real is is_real)
    holder = _memory(reader, kind, reader.out.constant(I64, 0))
    made = MadeList(holder, kind, site, f".list{holder.number}.real" if len(kinds) > 1 else "")
    if made.mixed:
        reader.out.set(made.mixed, reader.out.constant(I1, False))
    return made


def _memory(reader: Reader, kind: NumberKind, count: Value) -> TemporaryKind:
    """Memory for so many numbers of a kind, which grows."""
    holder = reader.memory.array(reader, kind.dtype, ((False, 0),), kind)
    reader.out.alloc(reader.array(holder), count)
    return holder


def is_unknown(item: Item) -> bool:
    """Whether it is a list of which it is not known yet whether it gets items."""
    return isinstance(item, Listed) and bool(item.site)


def settled(item: MadeList) -> MadeList:
    """A list whose items are read.

    Raises:
        NotNativeError: they are of several types.

    """
    if item.mixed:
        raise NotNativeError(SEVERAL_TYPES)
    return item


def append(reader: Reader, owner: Listed | MadeList, item: Item) -> None:
    """`owner.append(item)`."""
    out, one = reader.out, _number(reader, item)
    if isinstance(owner, Listed):
        if not owner.site:
            raise NotNativeError("it appends to a list of which an array is made")
        raise GrowError(owner.site, one.type)
    if owner.mixed:
        if one.type not in MAY_BE_MIXED:
            raise NotNativeError(SEVERAL_TYPES)
        if one.type.is_real:
            out.set(owner.mixed, out.constant(I1, True))
        value = conversions.as_f64(out, one) if owner.type.is_real else one.value
    elif one.type != owner.type:
        if not owner.site:
            raise NotNativeError(SEVERAL_TYPES)
        raise GrowError(owner.site, one.type)
    else:
        value = one.value
    if any(one.holder == owner.holder for one in _gone_over(reader)):
        raise NotNativeError("it appends to a list that it goes over")
    elementwise.settle(reader)
    out.append(reader.number(owner.holder), value)


def _number(reader: Reader, item: Item) -> Number:
    if isinstance(item, Items | Listed | MadeList):
        raise NotNativeError(
            "a list of lists or tuples that is made in the loop is not compiled yet"
        )
    return either.known(conversions.number(reader.out, item))


def _gone_over(reader: Reader) -> list[Elements]:
    """What loops go over, in the functions around, too."""
    versions: list[Version | None] = [reader.frame.caller]
    while versions[-1] is not None:
        versions.append(versions[-1].caller)
    stacks = [one.stack for one in versions if one is not None]
    return list(parts_in((reader.stack, *stacks), (Elements,)))


def length(reader: Reader, item: MadeList) -> Number:
    """`len(item)`."""
    return reader.length(item.holder, 0)


def store(reader: Reader, container: MadeList, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    one = _number(reader, item)
    if one.type != settled(container).type:
        raise NotNativeError(SEVERAL_TYPES)
    elementwise.settle(reader)
    reader.out.store(reader.array(container.holder), views.index(reader, key), one.value)


def as_array(reader: Reader, item: MadeList, kind: np.dtype | None) -> Array:
    """`np.array(item, kind)`: a new array. What an empty list gives by itself is one of floats."""
    out, own = reader.out, item.type.dtype
    wanted = own if kind is None else kind
    if wanted != own and (own.kind not in "if" or wanted.kind != "f"):
        raise NotNativeError(f"an array of {wanted} of a list of other numbers")
    count = length(reader, item).value
    if kind is None and item.mixed and item.type.is_real:
        # of whole numbers alone it is one of these
        out.doubt_if(out.op("not", I1, out.get(item.mixed, I1)))
    elif kind is None and own != np.dtype(float):
        out.doubt_if(out.op("ieq", I1, count, out.constant(I64, 0)))
    fresh = elementwise.allocated(reader, wanted, [Length(count)])
    elementwise.assign(reader, views.part(reader, fresh), views.part(reader, Array(item.holder)))
    return fresh


PYTHONS = {"f": FLOAT, "i": INT, "b": BOOL}


def of_array(reader: Reader, item: Item) -> MadeList:
    """`item.tolist()` of a vector: its elements as Python's numbers."""
    given = reductions.row(reader, item)
    kind = PYTHONS.get(given.dtype.kind)
    if kind is None:
        raise NotNativeError(f"a list of elements of {given.dtype} is not compiled yet")
    return _copied(reader, given, kind)


def _copied(reader: Reader, given: Part, kind: NumberKind) -> MadeList:
    holder = _memory(reader, kind, given.lengths[0].value)
    elementwise.assign(reader, views.part(reader, Array(holder)), given)
    return MadeList(holder, kind)


def copied(reader: Reader, item: Item) -> MadeList:
    """The items of a sequence of numbers of one type, as they are now: a list that nothing else has.

    Raises:
        NotNativeError: it is none.

    """
    match item:
        case Array() | Part() | Lazy():
            given = reductions.row(reader, item)
            return _copied(reader, given, reader.element_kind(given.dtype))
        case Numbers(holder, kind) | Row(holder, kind):
            indices = (item.index,) if isinstance(item, Row) else ()
            return _copied(reader, views.part(reader, Array(holder, indices)), kind)
        case MadeList():
            given = views.part(reader, Array(settled(item).holder))
            return _copied(reader, given, item.type)
        case Items(items) | Listed(items) if items:
            numbers = [_number(reader, one) for one in items]
            if len({one.type for one in numbers}) == 1:
                made = _new(reader, frozenset((numbers[0].type,)), "")
                for one in numbers:
                    append(reader, made, one)
                return made
    raise NotNativeError("it goes over a product of what are no ranges and no numbers of one type")
