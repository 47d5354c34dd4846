"""Places of the keys of dicts and sets that a nest makes: what they lead to, and which keys were taken out.

A key that is taken out stays where it is; a number beside it says whether it is there. Nothing is known of the order
then: such a dict or set is neither gone over nor given back. How many items there are lies in a variable.
"""

from __future__ import annotations

from ufuse.frame_hook.nests.known.containers import MadeDict
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, I1, I64, Value


def zero_of(kind: NumberKind) -> bool | int | float:
    """What a key leads to that has got nothing."""
    return False if kind.kind == "bool" else 0.0 if kind.is_real else 0


def value_at(reader: Reader, owner: MadeDict, place: Value) -> Number:
    """What the key at a place leads to."""
    if owner.values is None or owner.entry.value is None:
        raise NotNativeError("it takes an item of a set")
    behind = reader.out.op("add", I64, place, reader.out.constant(I64, 1))
    type_, number = ELEMENTS[owner.entry.value.dtype], reader.array(owner.values)
    return Number(owner.entry.value, reader.out.op("load", type_, behind, attributes=(number,)))


# Taken out --------------------------------------------------------------------------------------------------------


def site_of(site: str) -> str:
    """The name for this of a dict or set."""
    return f"{site}.removed"


def is_known(reader: Reader, site: str) -> bool:
    """Whether items are taken out of what is made in a place, as far as has been read."""
    return site_of(site) in dict(reader.tries.grown)


def begin(reader: Reader, owner: MadeDict) -> None:
    """A dict or set without items."""
    reader.out.set(count_of(owner), reader.out.constant(I64, 0))


def count_of(owner: MadeDict) -> str:
    """The variable of how many items there are."""
    return f".keys{owner.keys.number}.count"


def refuse(owner: MadeDict) -> None:
    """Refuse what asks for the order of items.

    Raises:
        NotNativeError: it is not known.

    """
    if owner.removes:
        raise NotNativeError(
            "it goes over a dict or set, or gives it back, and takes items out of it"
        )


def length(reader: Reader, owner: MadeDict) -> Number:
    """`len(owner)`."""
    return Number(INT, reader.out.get(count_of(owner), I64))


def flag(reader: Reader, owner: MadeDict, place: Value) -> tuple[Value, Value]:
    """Where it stands whether the key at a place is there, of which -1 is none; and that."""
    assert owner.places is not None
    out = reader.out
    behind = out.op("add", I64, place, out.constant(I64, 1))
    flag = out.op("load", I64, behind, attributes=(reader.array(owner.places),))
    return behind, out.op("ine", I1, flag, out.constant(I64, 0))


def place_of(reader: Reader, owner: MadeDict, place: Value) -> Value:
    """The place of a key, or -1; the place may be one of a key that was taken out."""
    out = reader.out
    _, is_there = flag(reader, owner, place)
    return out.op("select", I64, is_there, place, out.constant(I64, -1))


def enter(reader: Reader, owner: MadeDict, place: Value) -> None:
    """The key at a place is there, and leads to a zero where it was not."""
    assert owner.places is not None
    out = reader.out
    behind, is_there = flag(reader, owner, place)
    kind = owner.entry.value
    if owner.values is not None and kind is not None:
        zero = out.constant(ELEMENTS[kind.dtype], zero_of(kind))
        found = value_at(reader, owner, place).value
        kept = out.op("select", found.type, is_there, found, zero)
        out.store(reader.array(owner.values), behind, kept)
    out.store(reader.array(owner.places), behind, out.constant(I64, 1))
    more = out.op("widen", I64, out.op("not", I1, is_there))
    out.set(count_of(owner), out.op("add", I64, out.get(count_of(owner), I64), more))
