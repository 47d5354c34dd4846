"""Items in variables: what control comes to a block with, and what locals hold."""

from __future__ import annotations

from ufuse.frame_hook.nests.arrays import elements, elementwise, tables, views
from ufuse.frame_hook.nests.containers import identity, object_lists
from ufuse.frame_hook.nests.known.arrays import (
    Array,
    Lazy,
    Member,
    Numbers,
    Objects,
    OtherList,
    Part,
    Row,
    Table,
)
from ufuse.frame_hook.nests.known.containers import (
    Bound,
    Entries,
    Generating,
    Generator,
    GivenRows,
    MadeDeque,
    MadeDict,
    MadeFunction,
    MadeList,
    MadeRows,
    NewDict,
    OwnGroups,
    OwnList,
    OwnListKind,
    OwnLists,
    Ragged,
    RaggedRow,
    RaggedRowKind,
    RangeOf,
    Thing,
)
from ufuse.frame_hook.nests.known.kinds import (
    TYPES,
    ArrayKind,
    BoundKind,
    CharacterKind,
    EitherKind,
    MemberKind,
    NewKind,
    NotNativeError,
    NumberKind,
    PartKind,
    RangeKind,
    RowKind,
    TemporaryKind,
    ViewKind,
    kind_of,
)
from ufuse.frame_hook.nests.known.numbers import (
    Character,
    Complex,
    ConstantKind,
    Empty,
    Known,
    Number,
    Text,
    constant_kind,
)
from ufuse.frame_hook.nests.known.values import (
    Item,
    Items,
    ItemsKind,
    Kind,
    Listed,
    ListedKind,
    Method,
    MethodKind,
    Turning,
    Vectorized,
)
from ufuse.frame_hook.nests.numbers import complexes
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, U32


def keep(reader: Reader, name: str, item: Item) -> Kind:
    """Put an item into variables, whose names begin with `name`; its kind, for `kept`.

    Raises:
        NotNativeError: it is not followed across blocks.

    """
    out = reader.out
    match item:
        case Number(tag=tag):
            out.set(number_variable(name, item.type), item.value)
            if tag is not None:
                out.set(f"{name}:{item.type.kind}.tag", tag)
            return item.type
        case Complex():
            complexes.keep(out, number_variable(name, item.type), item)
            return item.type
        case Known() if kind_of(item.value) is not None:
            return keep(reader, name, complexes.scalar(out, item))
        case Known():
            return constant_kind(item)
        case Bound(function, Member() as owner):
            kind = keep(reader, name, owner)
            assert isinstance(kind, MemberKind)
            return BoundKind(function, kind)
        case Empty() | Turning() | Thing() | Entries() | Bound() | Generator() | Generating():
            return item
        case MadeFunction():  # its variables are those of what made it
            return item
        case Vectorized(Known() | MadeFunction()):
            return item
        case (
            Numbers()
            | Table()
            | Objects()
            | OtherList()
            | MadeList()
            | MadeRows()
            | MadeDeque()
            | Text()
        ):
            return item
        case NewDict() | MadeDict() | Method(NewDict() | MadeDict()):
            return item
        case Ragged() | GivenRows() | Method(GivenRows()):
            return item
        case OwnLists() | OwnGroups() | Method(OwnLists() | OwnGroups()):
            return item
        case OwnList(of, place):
            out.set(f"{name}.place", place)
            return OwnListKind(of)
        case RaggedRow(of, start, count):
            out.set(f"{name}.start", start)
            out.set(f"{name}.count", count)
            return RaggedRowKind(of)
        case Method(Numbers() | OtherList() | MadeList() | MadeRows() | MadeDeque() | Entries()):
            return item
        case Method(owner, method):
            return MethodKind(keep(reader, name, owner), method)
        case Character(value):
            out.set(f"{name}:char", value)
            return CharacterKind()
        case Row(holder, type_, index):
            tables.doubt_no_row(reader, item)
            out.set(f"{name}[0]", index)
            return RowKind(holder, type_)
        case Member(holder, index):
            object_lists.doubt_no_member(reader, item)
            out.set(f"{name}[0]", index)
            return MemberKind(holder)
        case Array(holder, ()):
            return holder
        case Array(holder, indices):
            elements.doubt_no_row(reader, item)
            for axis, index in enumerate(indices):
                out.set(f"{name}[{axis}]", index)
            return PartKind(holder, len(indices))
        case Part():
            return views.keep(reader, item)
        case Lazy():
            return keep(reader, name, elementwise.computed(reader, item))
        case Items(items, register):
            pairs = ((f"{name}.{place}", one) for place, one in enumerate(items))
            return ItemsKind(tuple(keep_item(reader, *pair) for pair in pairs), register, item.site)
        case Listed(items, site):
            pairs = ((f"{name}.{place}", one) for place, one in enumerate(items))
            return ListedKind(tuple(keep_item(reader, *pair) for pair in pairs), site)
        case RangeOf(start, stop, step):
            for part, value in (("start", start), ("stop", stop), ("step", step)):
                out.set(f"{name}.{part}", value)
            return RangeKind()
    raise NotNativeError("it keeps {item} for later, which is not followed", item)


def keep_item(reader: Reader, name: str, item: Item) -> Kind:
    """The same for an item of a tuple, of which a constant stays one."""
    return constant_kind(item) if isinstance(item, Known) else keep(reader, name, item)


def kept(reader: Reader, name: str, kind: Kind) -> Item:
    """The item that was put into variables."""
    out = reader.out
    match kind:
        case NewKind(of):
            return identity.made(kept(reader, name, of))
        case EitherKind():
            value = out.get(number_variable(name, kind), TYPES[kind.kind])
            return Number(kind, value, out.get(f"{name}:{kind.kind}.tag", I1))
        case NumberKind():
            return complexes.kept(out, number_variable(name, kind), kind)
        case ConstantKind():
            return kind.item
        case ArrayKind() | TemporaryKind():
            return Array(kind)
        case PartKind():
            indices = (out.get(f"{name}[{axis}]", I64) for axis in range(kind.count))
            return Array(kind.holder, tuple(indices))
        case RowKind(holder, type_):
            return Row(holder, type_, out.get(f"{name}[0]", I64))
        case RaggedRowKind(of):
            return RaggedRow(of, out.get(f"{name}.start", I64), out.get(f"{name}.count", I64))
        case OwnListKind(of):
            return OwnList(of, out.get(f"{name}.place", I64))
        case MemberKind(holder):
            return Member(holder, out.get(f"{name}[0]", I64))
        case BoundKind(function, owner):
            return Bound(function, Member(owner.holder, out.get(f"{name}[0]", I64)))
        case MethodKind(owner, method):
            return _method(kept(reader, name, owner), method)
        case CharacterKind():
            return Character(out.get(f"{name}:char", U32))
        case ViewKind():
            return views.kept(reader, kind)
        case ItemsKind():
            pairs = ((f"{name}.{place}", one) for place, one in enumerate(kind.items))
            return Items(tuple(kept(reader, *pair) for pair in pairs), kind.register, kind.site)
        case ListedKind(items, site):
            pairs = ((f"{name}.{place}", one) for place, one in enumerate(items))
            return Listed(tuple(kept(reader, *pair) for pair in pairs), site)
        case RangeKind():
            return RangeOf(*(out.get(f"{name}.{part}", I64) for part in ("start", "stop", "step")))
    return kind


def _method(owner: Item, name: str) -> Method:
    """A method of what can be kept."""
    owners = Array | Part | Number | Complex | Character | Listed | OwnList | Row | RaggedRow
    assert isinstance(owner, owners)
    return Method(owner, name)


def number_variable(name: str, kind: NumberKind) -> str:
    """The variable of a number, as control may go on with one of two types."""
    if isinstance(kind, EitherKind):
        return f"{name}:{kind.kind}.either"
    return f"{name}:{kind.kind}{'.numpy' if kind.numpy else ''}"
