"""The C layer: what each guard tells, and which entries are refused."""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import abc
import functools
import gc
import itertools
import math
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tests.support.frames.hooking import (
    NULL,
    K,
    Session,
    dispatcher,
    entry,
)
from ufuse.frame_hook import _hook

# ---- guards --------------------------------------------------------------------------------------


def sample(a: int, b: int = 2, *, c: int = 3) -> Any:
    """A function with every kind of part."""
    return lambda: (a, b, c)


def closure_of(value: Any) -> Any:
    """A function whose only closure variable is `value`."""
    return lambda: value


class Screaming:
    """An object that must not be compared, hashed or asked for anything again."""

    def __init__(self, code: int) -> None:
        self.code: int | None = code

    def __hash__(self) -> int:
        assert self.code is not None
        return self.code

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


def screams(self: Any, *args: Any) -> NoReturn:
    raise AssertionError("called")


OVERRIDDEN = dict.fromkeys(
    ["__getitem__", "__len__", "__iter__", "__contains__", "__eq__", "__missing__", "get", "keys"],
    screams,
)
TupleSub: Any = type("TupleSub", (tuple,), OVERRIDDEN)
ListSub: Any = type("ListSub", (list,), OVERRIDDEN)
DictSub: Any = type("DictSub", (dict,), OVERRIDDEN)
SetSub: Any = type("SetSub", (set,), OVERRIDDEN)
DequeSub: Any = type("DequeSub", (deque,), OVERRIDDEN)


class Pair(NamedTuple):
    """A named tuple."""

    first: int
    second: int


class Base:
    """A class with an attribute of every sort."""

    scale = property(screams)
    note = "class"

    def __init__(self, mass: int) -> None:
        self.weight = mass

    def method(self) -> int:
        """Of an instance."""
        return self.weight

    @classmethod
    def of_class(cls) -> Any:
        """Of the class."""
        return cls

    @staticmethod
    def of_none() -> int:
        """Of nothing."""
        return 1


class Below(Base):
    """One that inherits them."""


class Asked(Below):
    """A class with `__getattr__`, which is for what is nowhere else."""

    __getattr__ = screams


class Overriding(Asked):
    """A class all of whose lookups are its own."""

    __getattribute__ = screams


class Slotted:
    """One whose attributes are in slots."""

    __slots__ = ("weight",)

    def __init__(self, mass: int) -> None:
        self.weight = mass


def with_own(**attributes: Any) -> Any:
    """An object with these attributes, none of which is in a dict yet."""
    made = Below(1)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def with_dict(**attributes: Any) -> Any:
    """An object whose dict has been asked for."""
    made = Below(1)
    vars(made).update(attributes)
    return made


namespace = types.SimpleNamespace


def hushed(container: Any) -> Any:
    """A container whose screaming members may not even be hashed any more."""
    for each in container:
        if isinstance(each, Screaming):
            each.code = None
    return container


def moved(entries: Any, key: Any) -> Any:
    """An OrderedDict whose order is no longer that of its insertions."""
    made = OrderedDict(entries)
    made.move_to_end(key)
    return made


def emptied(*members: Any) -> Any:
    """A set that has lost members."""
    made = {*range(100, 120), *members}
    made -= set(range(100, 120))
    return made


SHARING, SPACE = with_dict(a=1), namespace(a=1)
FORTRAN = np.asfortranarray(np.zeros((3, 4)))
MANY = [np.zeros(3) for _ in range(100)]
C_ORDER = np.zeros((3, 4))
READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
BIG = 1 << 100
F8, I8 = np.dtype("f8"), np.dtype("i8")
POINT = np.dtype([("x", "f8"), ("y", "i4")])
NAN = math.nan
OTHER_NAN = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0].item()
HASHES: dict[str, int] = {"k": 1}
UNALIGNED = np.frombuffer(b"\0" * 33, np.uint8)[1:].view(np.float64)


class Finalized:
    """An object whose end is noticed."""

    def __del__(self) -> None: ...


def watched() -> Any:
    """An array with a weak reference that calls back."""
    array = np.zeros(2)
    WATCHING.append(weakref.ref(array, print))
    return array


def generated() -> Any:
    """A generator that waits in a `try`."""
    try:
        yield 1
    finally:
        print()


WATCHING: list[Any] = []
KEPT = with_dict(one=1)
IN_ONE_DICT = Below(2)
IN_ONE_DICT.__dict__ = vars(KEPT)
LOOPED: list[Any] = []
LOOPED.append({"itself": LOOPED})
WEAKLY_KNOWN = np.zeros(2)
WATCHING.append(weakref.ref(WEAKLY_KNOWN))
FINALIZER_FREE: list[Any] = [
    NULL,
    None,
    3,
    "text",
    np.zeros(3),
    np.zeros(3)[1:],
    np.float64(1.0),
    [1, (2, {"a": np.zeros(2)})],
    KEPT,
    LOOPED,
    Finalized,
    math,
    sample,
    closure_of(3),
    [0.0] * 900,
    WEAKLY_KNOWN,
    {1, 2},
    iter([1]),
]
remembering = functools.lru_cache(maxsize=None)(lambda *_: 7)
of_two = functools.lru_cache(maxsize=2)(lambda *_: 8)
REMEMBERED_KEY, KEY_OF_TWO = [
    ((one(dict, "a") and _hook.remembered(one, (dict, "a"))) or ())[:2]
    for one in (remembering, of_two)
]
FINALIZED: list[Any] = [
    Finalized(),
    [Finalized()],
    {"a": (1, [Finalized()])},
    with_dict(held=Finalized()),
    closure_of(Finalized()),
    watched(),
    watched()[1:],
    np.array([None]),
    generated(),
    [0.0] * 2000,
    [[] for _ in range(100)],
    iter([Finalized()]),
]


def ended(items: Any) -> Any:
    """An iterator behind its end."""
    iterator = iter(items)
    list(iterator)
    return iterator


# fmt: off
GUARDS: list[tuple[str, Any, list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [
    # kind              rows                                                       states that pass                 states that fail
    ("LOAD_CELL",      [(K.LOAD_CELL, 0), (K.INT, 1, 5)],                        [(types.CellType(5),)],          [(types.CellType(),), (5,), (NULL,), (types.CellType(6),)]),
    ("LOAD_KEY",       [(K.LOAD_KEY, HASHES, "k"), (K.INT, 1, 1)],               [(0,)],                          []),
    ("LOAD_KEY",       [(K.LOAD_KEY, HASHES, "no")],                             [],                              [(0,)]),
    ("ABSENT",         [(K.ABSENT, HASHES, "no")],                               [(0,)],                          []),
    ("ABSENT",         [(K.ABSENT, HASHES, "k")],                                [],                              [(0,)]),
    ("LOAD_ITEM",      [(K.LOAD_ITEM, 0, 1), (K.INT, 1, 7)],                     [((0, 7),), ([1, 7],)],          [((0,),), ((0, 8),), ("07",), (NULL,)]),
    ("LOAD_ITERATED",  [(K.LOAD_ITERATED, 0), (K.LENGTH, 1, 2)],                 [(iter([1, 2]),), (iter((1, 2)),), (reversed([1, 2]),), (reversed((1, 2)),), (zip("a", "b", strict=True),)], [(iter([1]),), (iter(range(2)),), (iter("ab"),), ([1, 2],), (ended([1]),), (NULL,)]),
    ("LOAD_ITERATED",  [(K.LOAD_ITERATED, 0), (K.LOAD_ITERATED, 1), (K.INT, 2, 7)], [],                          [(enumerate("ab"),)]),
    ("LOAD_ITERATED",  [(K.LOAD_ITERATED, 0), (K.LENGTH, 1, 2)],                 [(itertools.product("a", "b"),), (itertools.product("ab", repeat=2),)], [(itertools.product("ab"),), (ended(itertools.product("a", "b")),), (itertools.permutations("ab"),)]),
    ("LOAD_ITERATED",  [(K.LOAD_ITERATED, 0), (K.TYPE, 1, np.ndarray)],          [(np.zeros(2).flat,)],           [(iter("ab"),)]),
    ("LOAD_DICT_ITEM", [(K.LOAD_DICT_ITEM, 0, (1, "a")), (K.INT, 1, 7)],         [({(1, "a"): 7},)],              [({},), (7,), (types.MappingProxyType({(1, "a"): 7}),)]),
    ("LOAD_DICT_ITEM", [(K.LOAD_DICT_ITEM, 0, (-1, 0)), (K.INT, 1, 7)],          [({(-2, 0): 8, (-1, 0): 7},)], [({(-2, 0): 7},), ({(-1.0, 0): 7},)]),
    ("LOAD_ATTR",      [(K.LOAD_ATTR, 0, "pi"), (K.FLOAT, 1, math.pi)],          [(math,), (np,)],                [(3,), (types.ModuleType("m"),)]),
    ("LOAD_ATTR",      [(K.LOAD_ATTR, 0, "real"), (K.INT, 1, 3)],                [(3,)],                          [("3",), (4,)]),
    ("LOAD_OWN",       [(K.LOAD_OWN, 0, "weight"), (K.INT, 1, 1)],               [(Below(1),), (Slotted(1),), (Asked(1),), (Overriding(1),), (with_dict(weight=1),)], [(Slotted.__new__(Slotted),), (Below.__new__(Below),), (3,), (NULL,)]),
    ("LOAD_OWN",       [(K.LOAD_OWN, 0, "note"), (K.STR, 1, "own")],             [(with_own(note="own"),), (with_dict(note="own"),)], [(Below(1),), (math,)]),
    ("LOAD_REMEMBERED", [(K.LOAD_REMEMBERED, 0, *REMEMBERED_KEY), (K.INT, 1, 7)], [(remembering,)],               [(of_two,), (len,), (Below,), (NULL,)]),
    ("LOAD_REMEMBERED", [(K.LOAD_REMEMBERED, 0, *KEY_OF_TWO), (K.INT, 1, 8)],    [(of_two,)],                     [(remembering,), (types.SimpleNamespace(),)]),
    ("LOAD_CLASS",     [(K.LOAD_CLASS, Below, "scale"), (K.IDENTITY, 1, vars(Base)["scale"])], [(0,)],               []),
    ("LOAD_CLASS",     [(K.LOAD_CLASS, Below, "none")],                          [],                              [(0,)]),
    ("CLASS_LACKS",    [(K.CLASS_LACKS, Below, "none")],                         [(0,)],                          []),
    ("CLASS_LACKS",    [(K.CLASS_LACKS, Below, "scale")],                        [],                              [(0,)]),
    ("DICT_LACKS",     [(K.DICT_LACKS, 0, "mass")],                              [({},), ({"weight": 1, 2: 3},), ({(1, "mass"): 1},)], [({"mass": None},), (NULL,), (5,), (DictSub(),), ({Screaming(hash("mass")): 1},)]),
    ("DICT_LACKS",     [(K.DICT_LACKS, 0, (-1, "a", (0,)))],                     [({(-2, "a", (0,)): 1},), ({(-1, "a", (0,), 0): 1},)], [({(-2, "a", (0,)): 1, (-1, "a", (0,)): 1},), ({(-1, "a", (0.0,)): 1},), ({(-1, "a", (False,)): 1},)]),
    ("DICT_LACKS",     [(K.DICT_LACKS, 0, (1, "a"))],                            [({},), ({(2, "a"): 1, "a": 2},)],  [({(1, "a"): 7},), ([],)]),
    ("INSTANCE_LACKS", [(K.INSTANCE_LACKS, 0, "mass")],                          [(Below(1),), (Slotted(1),), (3,), (math,), (with_own(depth=1),)], [(with_own(mass=1),), (with_dict(mass=1),), (NULL,), (int,), (namespace(mass=1),)]),
    ("INSTANCE_LACKS", [(K.INSTANCE_LACKS, 0, "weight")],                        [(Slotted.__new__(Slotted),), (Below.__new__(Below),)], [(Slotted(1),), (Below(1),)]),
    ("CLASS_OWN_LACKS", [(K.CLASS_OWN_LACKS, Below, "scale")],                   [(0,)],                          []),
    ("CLASS_OWN_LACKS", [(K.CLASS_OWN_LACKS, Base, "scale")],                    [],                              [(0,)]),
    ("BASE",           [(K.BASE, Below, 1, len(Below.__mro__), Below.__mro__[1])], [(0,)],                        []),
    ("BASE",           [(K.BASE, Below, 1, 1, Below.__mro__[1])],                [],                              [(0,)]),
    ("BASE",           [(K.BASE, Below, 1, len(Below.__mro__), int)],            [],                              [(0,)]),
    ("LOAD_DICT_ITEM", [(K.LOAD_DICT_ITEM, 0, Below), (K.INT, 1, 7)],            [({Below: 7},), ({"a": 1, Below: 7},), ({Screaming(1): 1, Below: 7},)], [({Base: 7},), ({},), ({"a": 7},)]),
    ("LOAD_CLOSURE",   [(K.LOAD_CLOSURE, 0, 0), (K.LOAD_CELL, 1), (K.INT, 2, 5)], [(closure_of(5),)],             [(closure_of(6),), (dispatcher,), (5,)]),
    ("LOAD_DEFAULT",   [(K.LOAD_DEFAULT, 0, 0), (K.INT, 1, 2)],                  [(sample,)],                     [(closure_of,), (len,)]),
    ("LOAD_KWDEFAULT", [(K.LOAD_KWDEFAULT, 0, "c"), (K.INT, 1, 3)],              [(sample,)],                     [(closure_of,), (len,)]),
    ("LOAD_CONST",     [(K.LOAD_CONST, "x"), (K.SAME, 0, 1)],                    [("x",)],                        [("y",)]),
    ("TYPE",           [(K.TYPE, 0, int)],                                       [(3,)],                          [(True,), (3.0,), (NULL,)]),
    ("EITHER_TYPE",    [(K.EITHER_TYPE, 0, float, np.float64)],                  [(3.0,), (np.float64(3),)],      [(True,), (3,), (np.float32(3),), (NULL,)]),
    ("FIRST_TYPE",     [(K.FIRST_TYPE, 0, float)],                               [([1.0, 2],), ((1.0,),), ([],), ((),)], [([2, 1.0],), (b"",), (NULL,)]),
    ("IDENTITY",       [(K.IDENTITY, 0, None)],                                  [(None,)],                       [(0,), (NULL,)]),
    ("UNBOUND",        [(K.UNBOUND, 0)],                                         [(NULL,)],                       [(None,)]),
    ("BOUND",          [(K.BOUND, 0)],                                           [(None,)],                       [(NULL,)]),
    ("INT",            [(K.INT, 0, -7)],                                         [(-7,)],                         [(7,), (-7.0,), (BIG,), (NULL,)]),
    ("INT",            [(K.INT, 0, 1)],                                          [(1,)],                          [(True,), (np.int64(1),)]),
    ("BIG_INT",        [(K.BIG_INT, 0, BIG)],                                    [(BIG,), (BIG + 1 - 1,)],        [(BIG + 1,), (float(BIG),)]),
    ("FLOAT",          [(K.FLOAT, 0, 0.0)],                                      [(0.0,)],                        [(-0.0,), (0,), (np.float64(0),)]),
    ("NOT_FLOAT",      [(K.NOT_FLOAT, 0, 0.5)],                                  [(0.25,), (-0.5,), (NAN,), (1,)],  [(0.5,)]),
    ("FLOAT",          [(K.FLOAT, 0, NAN)],                                      [(NAN,)],                        [(OTHER_NAN,), (1.0,)]),
    ("STR",            [(K.STR, 0, "ab")],                                       [("ab",), ("".join("ab"),)],     [("ba",), (b"ab",), (np.str_("ab"),)]),
    ("EQUAL",          [(K.EQUAL, 0, (1, "a", (2.0, None)))],                    [((1, "a", (2.0, None)),)],      [((True, "a", (2.0, None)),), ((1, "a", (2, None)),), ([1],), ((1,),)]),
    ("EQUAL",          [(K.EQUAL, 0, -0.0)],                                     [(-0.0,)],                       [(0.0,)]),
    ("EQUAL",          [(K.EQUAL, 0, 1 + 2j)],                                   [(1 + 2j,)],                     [(1 - 2j,)]),
    ("LENGTH",         [(K.LENGTH, 0, 2)],                                       [((1, 2),), ([1, 2],), ({1, 2},), ({1: 1, 2: 2},)], [((),), ("ab",), (5,)]),
    ("DICT_KEYS",      [(K.DICT_KEYS, 0, ("a", 2))],                             [({"a": 0, 2: 0},)],             [({2: 0, "a": 0},), ({"a": 0},), ({"a": 0, True: 0},), (5,)]),
    ("LENGTH",         [(K.LENGTH, 0, 2)],                                       [(TupleSub((1, 2)),), (ListSub((1, 2)),), (DictSub({1: 1, 2: 2}),), (SetSub((1, 2)),), (deque((1, 2)),)], [(TupleSub(),), (DequeSub((1, 2)),)]),
    ("LOAD_ITEM",      [(K.LOAD_ITEM, 0, 1), (K.INT, 1, 7)],                     [(TupleSub((0, 7)),), (ListSub((0, 7)),), (deque((0, 7)),), (Pair(0, 7),)], [(TupleSub((0,)),), (deque((0,)),), (deque(),), (DequeSub((0, 7)),), ({0: 0, 1: 7},)]),
    ("LOAD_DICT_ITEM", [(K.LOAD_DICT_ITEM, 0, "a"), (K.INT, 1, 7)],              [(DictSub(a=7),), (OrderedDict(a=7),), (defaultdict(int, a=7),), ({1: 1, "a": 7},), ({Screaming(0): 1, "a": 7},)], [(DictSub(),), (defaultdict(int),), ({Screaming(hash("a")): 7},)]),
    ("DICT_KEYS",      [(K.DICT_KEYS, 0, ("a", 2))],                             [(DictSub({"a": 0, 2: 0}),), (OrderedDict({"a": 0, 2: 0}),), (moved({2: 0, "a": 0}, 2),)], [(moved({"a": 0, 2: 0}, "a"),), (OrderedDict({2: 0, "a": 0}),), ({"a": 0, Screaming(2): 0},), (hushed(OrderedDict({"a": 0, Screaming(2): 0})),)]),
    ("SET_IS",         [(K.SET_IS, 0, frozenset({1, "a", (2, None)}))],          [({1, "a", (2, None)},), (frozenset({(2, None), "a", 1}),), (emptied(1, "a", (2, None)),)], [({True, "a", (2, None)},), ({1, "a"},), ({1, "a", 2},), ({5, "a", Screaming(1)},), (SetSub({1, "a", (2, None)}),), ([1, "a"],), (NULL,)]),
    ("SET_IS",         [(K.SET_IS, 0, frozenset())],                             [(set(),), (frozenset(),)],      [({1},), ((),)]),
    ("CELL_EMPTY",     [(K.CELL_EMPTY, 0)],                                      [(types.CellType(),)],           [(types.CellType(None),), (5,), (NULL,)]),
    ("FUNCTION",       [(K.FUNCTION, 0, sample.__code__, sample.__defaults__, sample.__kwdefaults__)], [(sample,)], [(closure_of,), (len,)]),
    ("FUNCTION",       [(K.FUNCTION, 0, closure_of.__code__, None, None)],       [(closure_of,)],                 [(sample,)]),
    ("ARRAY",          [(K.ARRAY, 0, np.dtype("f8", copy=True), 1)],             [(np.zeros(3, np.dtype("f8", copy=True)),)], [(np.zeros(3),)]),
    ("ARRAY",          [(K.ARRAY, 0, F8, 1)],                                    [(np.zeros(3),)],
                                                                                 [(np.zeros((1, 1)),), (np.zeros(3, "f4"),), (np.zeros(3, ">f8"),), (np.float64(0),), (np.ma.zeros(3),), (UNALIGNED,), (3,), (NULL,), (np.zeros(3, np.dtype("f8", metadata={"a": 1})),), (np.zeros(3, np.dtype("f8", copy=True)),)]),
    ("ARRAY",          [(K.ARRAY, 0, np.dtype("q"), 1)],                         [(np.zeros(3, "q"),)],           [(np.zeros(3, "l"),)]),
    ("ARRAY",          [(K.ARRAY, 0, POINT, 0)],                                 [(np.zeros((), POINT),), (np.zeros((), np.dtype(POINT.descr)),)], [(np.zeros((), [("x", "f8"), ("z", "i4")]),)]),
    ("DEVICE_ARRAY",   [(K.DEVICE_ARRAY, 0, F8, 0, 1)],                          [],                              [(np.zeros(3),), (5,), (NULL,)]),
    ("DEVICE_LAYOUT",  [(K.DEVICE_LAYOUT, 0, F8, 0, (0,), True)],                [],                              [(np.zeros(3),), (5,), (NULL,)]),
    ("WRITEABLE",      [(K.WRITEABLE, 0, True)],                                 [(C_ORDER,)],                    [(READ_ONLY,), (5,)]),
    ("WRITEABLE",      [(K.WRITEABLE, 0, False)],                                [(READ_ONLY,)],                  [(C_ORDER,)]),
    ("ORDER",          [(K.ORDER, 0, (0, 1))],                                   [(C_ORDER,), (C_ORDER[:, ::2],), (FORTRAN[:, :1],)], [(FORTRAN,), (C_ORDER[::-1],), (np.broadcast_to(0.0, (3, 4)),), (as_strided(np.zeros(9), (2, 3), (8, 8)),), (READ_ONLY,)]),
    ("ORDER",          [(K.ORDER, 0, (1, 0))],                                   [(FORTRAN,)],                    [(C_ORDER,)]),
    ("CONTIGUOUS",     [(K.CONTIGUOUS, 0, (0, 1), True)],                        [(C_ORDER,), (C_ORDER[:1],), (C_ORDER[:0, ::2],)], [(C_ORDER[:, ::2],), (FORTRAN,), (READ_ONLY,)]),
    ("CONTIGUOUS",     [(K.CONTIGUOUS, 0, (0, 1), False)],                       [(C_ORDER[:, ::2],)],            [(C_ORDER,), (READ_ONLY,)]),
    ("APART",          [(K.APART, 0)],                                           [(C_ORDER,), (C_ORDER.T[::-2],), (C_ORDER[:, ::-1],), (C_ORDER[:0],), (as_strided(np.zeros(9), (3,), (32,)),), (as_strided(np.zeros(9), (1, 3), (0, 8)),), (as_strided(np.zeros(9), (0, 3), (0, 0)),), (np.array(1.0),)],
                                                                                 [(as_strided(np.zeros(9), (3,), (0,)),), (as_strided(np.zeros(9), (2, 3), (8, 8)),), (as_strided(np.zeros(9), (2, 3), (16, 8)),), (as_strided(np.zeros(9), (2,), (-4,)),), (np.broadcast_to(0.0, (3, 4)),), (5,), (NULL,)]),
    ("SIZE",           [(K.SIZE, 0, 1, 4)],                                      [(C_ORDER,)],                    [(C_ORDER.T,), (READ_ONLY,), (5,)]),
    ("RELATION",       [(K.RELATION, (("size", 0, 0), ("int", 1), ("mul",), ("const", 12), ("le",)))], [(C_ORDER, 4)], [(C_ORDER, 5), (5, 5), (C_ORDER, BIG), (C_ORDER, True), (C_ORDER, 1 << 62), (C_ORDER, NULL)]),
    ("DISJOINT",       [(K.DISJOINT, 0, 1)],                                     [(C_ORDER, FORTRAN), (C_ORDER[:1], C_ORDER[1:]), (C_ORDER[:0], C_ORDER)], [(C_ORDER, C_ORDER), (C_ORDER[:, 0], C_ORDER[:, 1]), (C_ORDER[::-1], C_ORDER), (C_ORDER, 5)]),
    ("ALL_DISJOINT",   [(K.ALL_DISJOINT, 2, (0, 1, 2, 3))],                      [(C_ORDER[1:2], C_ORDER[:1], C_ORDER[2:], C_ORDER[2:]), (C_ORDER[:0], C_ORDER[::-1], FORTRAN, C_ORDER[:0]), (C_ORDER[2:], FORTRAN, C_ORDER[:2], C_ORDER[:1])],
                                                                                 [(C_ORDER, FORTRAN, FORTRAN.T, C_ORDER[:0]), (C_ORDER, C_ORDER, FORTRAN, FORTRAN), (FORTRAN, C_ORDER[:, :1], C_ORDER[:, 1:], 0), (FORTRAN, C_ORDER[1:], C_ORDER[::-1], C_ORDER[:1]), (FORTRAN, C_ORDER, READ_ONLY, NULL), (FORTRAN, C_ORDER[1:2], READ_ONLY, C_ORDER)]),
    ("ALL_DISJOINT",   [(K.ALL_DISJOINT, 1, tuple(range(100)))],                 [tuple(MANY), (*MANY[1:], MANY[5])], [(*MANY[:99], MANY[0])]),
    ("SAME",           [(K.SAME, 0, 1)],                                         [(C_ORDER, C_ORDER)],            [(C_ORDER, FORTRAN), (C_ORDER, NULL)]),
    ("NOT_DICT_OF",    [(K.NOT_DICT_OF, 0, 1)],                                  [({}, Below(1)), ({}, 3), (vars(SHARING), with_dict(a=1)), ({}, int)], [(vars(SHARING), SHARING), (vars(math), math), (vars(SPACE), SPACE), ({}, NULL)]),
    ("DIFFERENT",      [(K.DIFFERENT, 0, 1)],                                    [(C_ORDER, FORTRAN), (with_dict(a=1), with_dict(a=1)), (KEPT, SHARING)], [(C_ORDER, C_ORDER), (KEPT, KEPT), (KEPT, IN_ONE_DICT)]),
    ("NOT_DICT_OF",    [(K.NOT_DICT_OF, 0, 1)],                                  [({}, KEPT), (vars(KEPT), Finalized)], [(vars(KEPT), KEPT), ({}, NULL)]),
    ("NO_FINALIZER",          [(K.NO_FINALIZER, 0)],                                           [(v,) for v in FINALIZER_FREE],           [(v,) for v in FINALIZED]),
    ("NO_FINALIZER_ATTR",     [(K.NO_FINALIZER_ATTR, 0, "kept")],                              [(KEPT,), (namespace(kept=3),)], [(namespace(kept=v),) for v in FINALIZED]),
]
# fmt: on


class Getter:
    """A class that screams where a lookup asks it."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(name)


class Nondata:
    """A descriptor that an instance's attribute hides."""

    def __get__(self, *_: object) -> NoReturn:
        raise AssertionError("asked")


class Data(Nondata):
    """A descriptor that hides an instance's attribute."""

    __set__ = screams


class Described(Below):
    """A class with descriptors in Python, wrapped ones too."""

    nondata, data = Nondata(), Data()
    of_property = classmethod(property(screams))  # type: ignore[arg-type]


class Meta(type):
    """A metaclass with a property."""

    tuned = property(screams)


class WithMeta(metaclass=Meta):
    """A class that hides nothing of its metaclass."""

    tuned = 1
    plain = 2


class Scaled(np.ndarray):
    """A subclass that hears of its views."""


scaled = np.zeros(3).view(Scaled)
Scaled.__array_finalize__ = screams  # type: ignore[assignment]


def crowded() -> Any:
    """An object with a key in its dict that may not be compared."""
    made = with_dict(a=1)
    vars(made)[Screaming(hash("weight2"))] = 2
    return made


method_of_one = Below(1).method
# fmt: off
ATTRIBUTES: list[tuple[Any, str]] = [
    (Below(1), "weight"), (Below(1), "note"), (Below(1), "method"), (Below(1), "of_class"), (Below(1), "of_none"),
    (Below(1), "__class__"), (with_own(note="own"), "note"), (with_dict(note="own"), "note"), (Slotted(3), "weight"),
    (Asked(1), "weight"), (Asked(1), "method"), (with_own(method=4), "method"), (crowded(), "a"),
    (math, "pi"), (np, "sin"), (Pair(1, 2), "second"), (namespace(a=5), "a"),
    (3, "real"), (2.5, "imag"), (np.float64(2.5), "real"), (np.zeros((2, 3)), "shape"), (np.dtype("f4"), "itemsize"),
    (slice(1, 2), "stop"), (range(3), "stop"), (method_of_one, "__self__"), (method_of_one, "__func__"),
    (sample, "__defaults__"), ([].append, "__self__"), (Below, "note"), (Below, "method"), (Below, "of_class"),
    (Below, "of_none"), (Below, "__name__"), (Slotted, "weight"), (WithMeta, "plain"), (np.float64, "__module__"),
    (int, "bit_length"), (Described(1), "weight"),
]
REFUSED: list[tuple[Any, str]] = [
    (Below(1), "none"), (Below(1), "scale"), (with_dict(scale=1), "scale"), (Slotted.__new__(Slotted), "weight"),
    (Asked(1), "none"), (Getter(), "none"), (Overriding(1), "weight"), (Described(1), "nondata"), (Described(1), "data"),
    (Described(1), "of_property"), (crowded(), "weight2"), (types.ModuleType("m"), "none"), (method_of_one, "note"),
    (np.zeros(3), "ctypes"), (scaled, "T"), (np.dtype("f4"), "name"),
    (Below, "none"), (Below, "__doc__"), (Described, "nondata"), (Described, "data"), (WithMeta, "tuned"), (super(Below, Below(1)), "note"),
    (property(screams), "__isabstractmethod__"), (sample, "__annotations__"), (sample.__get__(Getter()), "missing"),
]
# fmt: on


def names_of(table: list[tuple[Any, str]]) -> list[str]:
    """What tests are called, where pytest may not ask the objects."""
    return [f"{type(owner).__name__}-{name}" for owner, name in table]


@pytest.mark.parametrize(("owner", "name"), ATTRIBUTES, ids=names_of(ATTRIBUTES))
def test_attributes_are_loaded_as_getattr_does(owner: Any, name: str) -> None:
    """Own attributes, slots, C getters, and what functions and class methods of the class become."""
    wanted = getattr(owner, name)
    loaded = dispatcher(
        lambda a: None, Session(), entry([(K.LOAD_ATTR, 0, name)], ending=("return", 1))
    )(owner)
    assert type(loaded) is type(wanted)
    assert loaded is wanted or loaded == wanted


@pytest.mark.parametrize(("owner", "name"), REFUSED, ids=names_of(REFUSED))
def test_attributes_in_python_are_not_loaded(owner: Any, name: str) -> None:
    """Nothing of the user's runs to tell what an attribute is: the guard fails."""
    assert entry([(K.LOAD_ATTR, 0, name)]).first_failing((owner,)) == 0


def test_looking_at_an_instance_makes_no_dict() -> None:
    """Attributes that an instance keeps in itself stay there."""
    guarded = entry([(K.INSTANCE_LACKS, 0, "three"), (K.LOAD_ATTR, 0, "two"), (K.INT, 1, 0)])
    made = [with_own(one=n, two=n) for n in range(500)]
    gc.collect()
    before = sys.getallocatedblocks()
    failing = [guarded.first_failing((each,)) for each in made]
    assert sys.getallocatedblocks() - before < 50
    assert failing == [None] + [2] * 499


@pytest.mark.parametrize(("kind", "rows", "passing", "failing"), GUARDS)
def test_each_guard_tells_what_it_should(kind: str, rows: Any, passing: Any, failing: Any) -> None:
    """A guard holds for the states it describes and for no other, and leaves no exception behind."""
    guarded = entry(rows)
    assert [guarded.first_failing(state) for state in passing] == [None] * len(passing), kind
    assert [
        guarded.first_failing(state) for state in failing if guarded.first_failing(state) is None
    ] == [], kind


def test_every_guard_kind_is_tried() -> None:
    """The table above has every kind; those that are not about registers have tests of their own."""
    assert {row[0] for row in GUARDS} | {"ABC_TOKEN", "NOTHING_HANDLED"} == set(_hook.GUARD_KINDS)


def test_registering_with_an_abstract_class_is_noticed() -> None:
    """ABC_TOKEN holds until some class is registered with some abstract class."""
    abstract = abc.ABCMeta("abstract", (), {})

    guarded = entry([(K.ABC_TOKEN, abc.get_cache_token())])
    assert guarded.first_failing((0,)) is None
    abstract.register(int)
    assert guarded.first_failing((0,)) == 0


def test_a_handled_exception_is_noticed() -> None:
    """NOTHING_HANDLED holds where neither the caller nor who called that handles an exception."""
    guarded = entry([(K.NOTHING_HANDLED,)])
    assert guarded.first_failing((0,)) is None
    try:
        int("q")
    except ValueError:
        inside = guarded.first_failing((0,))
    assert inside == 0
    assert guarded.first_failing((0,)) is None


def test_guard_kinds_are_numbered() -> None:
    """Kinds are numbered from 0, in the order of the list in C."""
    assert list(_hook.GUARD_KINDS.values()) == list(range(len(_hook.GUARD_KINDS)))


def test_the_first_failing_row_is_told() -> None:
    """Rows are counted as they were given, loads included."""
    guarded = entry([(K.LOAD_ITEM, 0, 0), (K.INT, 1, 1), (K.LOAD_ITEM, 0, 1), (K.INT, 2, 2)])
    assert [guarded.first_failing(s) for s in [((1, 2),), ((1, 3),), ((1,),), ((0,),), ((),)]] == [
        None,
        3,
        2,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ([("const", 7), ("const", -2), ("floordiv",)], 7 // -2),
        ([("const", 7), ("const", -2), ("mod",)], 7 % -2),
        ([("const", -7), ("const", 2), ("floordiv",)], -7 // 2),
        ([("const", -7), ("const", 2), ("mod",)], -7 % 2),
        ([("const", 7), ("neg",)], -7),
        ([("const", 7), ("const", 9), ("sub",)], -2),
        ([("const", 7), ("const", 9), ("min",), ("const", 1), ("add",)], 8),
        ([("const", 7), ("const", 9), ("max",)], 9),
        ([("size", 0, 1), ("int", 1), ("mul",)], 20),
        ([("const", 1), ("const", 0), ("mod",)], None),
        ([("const", 1), ("const", 0), ("floordiv",)], None),
        ([("const", -(2**63)), ("neg",)], 2**63),
        ([("const", -(2**63)), ("const", -1), ("floordiv",)], 2**63),
        ([("const", 2**62), ("const", 2), ("mul",)], 2**63),
        ([("const", 2**63 - 1), ("const", 1), ("add",)], 2**63),
    ],
)
def test_integer_programs_compute_as_python_does(session: Session, steps: Any, value: Any) -> None:
    """Floor division, signs and overflow: what does not fit 64 bits can be built, but not compared."""
    fits = value is not None and -(2**63) <= value < 2**63
    for compare, holds in [
        ("eq", True),
        ("ne", False),
        ("le", True),
        ("lt", False),
        ("ge", True),
        ("gt", False),
    ]:
        relation = (*steps, ("const", value if fits else 0), (compare,))
        failing = entry([(K.RELATION, relation)]).first_failing((C_ORDER, 5))
        assert (failing is None) == (holds and fits)
    built = dispatcher(
        lambda a, b: None, session, entry(recipe=[("int", steps)], ending=("return", 2))
    )
    if value is None:
        with pytest.raises(ZeroDivisionError):
            built(C_ORDER, 5)
    else:
        assert built(C_ORDER, 5) == value


@pytest.mark.parametrize(
    "arguments",
    [
        ([(999,)], (), None, 0, (), ("return", 0)),
        ([(K.INT, 0)], (), None, 0, (), ("return", 0)),
        ([(K.INT, -1, 0)], (), None, 0, (), ("return", 0)),
        ([(K.INT, 0, 2**70)], (), None, 0, (), ("return", 0)),
        ([(K.ORDER, 0, (0, 0))], (), None, 0, (), ("return", 0)),
        ([(K.EQUAL, 0, [])], (), None, 0, (), ("return", 0)),
        ([(K.RELATION, (("const", 1),))], (), None, 0, (), ("return", 0)),
        ([(K.RELATION, (("const", 1), ("add",), ("eq",)))], (), None, 0, (), ("return", 0)),
        ([(K.RELATION, (("const", 1),) * 40 + (("eq",),))], (), None, 0, (), ("return", 0)),
        ([(K.ARRAY, 0, "f8", 1)], (), None, 0, (), ("return", 0)),
        ((), ("x",), None, 0, (), ("return", 0)),
        ((), (), 5, 0, (), ("return", 0)),
        ((), (), None, 1, (), ("return", 0)),
        ((), (), None, 0, [("what",)], ("return", 0)),
        ((), (), None, 0, [("tuple",)], ("return", 0)),
        ((), (), None, 0, [("dict", (0,))], ("return", 0)),
        ((), (), None, 0, (), ("return",)),
        ((), (), None, 0, (), ("resume", 3)),
        ((), (), None, 0, (), 5),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: Any) -> None:
    """An entry that could not run is not made."""
    with pytest.raises((TypeError, ValueError, OverflowError)):
        _hook.Entry(*arguments)
