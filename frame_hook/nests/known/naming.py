"""What people call the values that a reader of loops knows: `an int`, `a list`, `an object of class Body`."""

from __future__ import annotations

import types

from ufuse.frame_hook.nests.known.arrays import (
    Array,
    Converted,
    Lazy,
    ListPart,
    Member,
    Numbers,
    Objects,
    OtherList,
    Part,
    Rolled,
    Row,
    Table,
)
from ufuse.frame_hook.nests.known.containers import (
    Bound,
    DictView,
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
    OwnLists,
    Ragged,
    RaggedRow,
    RangeOf,
    Thing,
)
from ufuse.frame_hook.nests.known.numbers import Character, Complex, Empty, Known, Number, Text
from ufuse.frame_hook.nests.known.values import (
    EnumerateOf,
    Generated,
    GridOf,
    Items,
    Listed,
    Method,
    ReversedOf,
    SliceOf,
    Turning,
    ZipOf,
)

VOWELS = "aeiou"
WORDS: dict[type, str] = {
    **dict.fromkeys((Array, Lazy, Part, Rolled, Converted), "an array"),
    **dict.fromkeys((Numbers, MadeList), "a list of numbers"),
    **dict.fromkeys((Table, Ragged, OwnLists), "a list of lists"),
    **dict.fromkeys((Row, RaggedRow, OwnList, OtherList, Listed, ListPart), "a list"),
    MadeRows: "a list of tuples or lists",
    Objects: "a list of objects",
    Member: "an object in a list",
    **dict.fromkeys((Entries, GivenRows, OwnGroups), "a dict"),
    DictView: "a view of a dict",
    MadeDeque: "a deque",
    Text: "a str",
    Character: "a character of a str",
    **dict.fromkeys((Method, Bound, Generating), "a method"),
    MadeFunction: "a function",
    Generated: "a generator",
    Generator: "a generator of random numbers",
    SliceOf: "a slice",
    RangeOf: "a range",
    Turning: "an iterator",
    EnumerateOf: "enumerate(…)",
    ZipOf: "zip(…)",
    ReversedOf: "reversed(…)",
    GridOf: "a product of several ranges or axes",
}


def kind_in_words(item: object) -> str:
    """What a value is; empty where nothing can be said."""
    if isinstance(item, Known):
        return value_in_words(item.value)
    if isinstance(item, Thing):
        return value_in_words(item.value)
    if isinstance(item, Number | Complex):
        kind = item.type.kind
        names = {"int": "int64", "float": "float64", "complex": "complex128"}
        return with_article(names.get(kind, kind) if item.type.numpy else kind)
    if isinstance(item, Items):
        return "a list" if item.site else "a tuple"
    if isinstance(item, NewDict):
        return "a set" if item.is_set else "a dict"
    if isinstance(item, MadeDict):
        return "a set" if item.values is None else "a dict"
    return "" if isinstance(item, Empty) else WORDS.get(type(item), "")


def value_in_words(value: object) -> str:
    """What an object of the program is, by its type; none of its own code runs."""
    kind = type(value)
    if value is None:
        return "None"
    if issubclass(kind, types.ModuleType):
        return "a module"
    if issubclass(kind, type):
        return "a class"
    if issubclass(kind, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return "a function"
    return with_article(kind.__name__)


def with_article(noun: str) -> str:
    """`an int`, `a list`."""
    return f"{'an' if noun[:1].lower() in VOWELS else 'a'} {noun}"
