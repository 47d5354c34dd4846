"""The C layer: guards, recipes, dispatchers, the loop, restore and suspend, the eval-frame hook."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, RET504, PLW0108, PYI036, C416
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import dis
import gc
import inspect
import itertools
import math
import operator
import signal
import sys
import threading
import traceback
import types
import weakref
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest

from ufuse.frame_hook import _hook, instructions, resume

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NULL = _hook.NULL


class Session:
    """A session whose answers are given by the test; it keeps what it was asked."""

    def __init__(self) -> None:
        self.notify_eager = True
        self.asked: list[tuple[str, int]] = []
        self.seen: list[str] = []
        self.eager: list[Any] = []
        self.errors: list[BaseException] = []
        self.caches: dict[int, Any] = {}
        self.stops: dict[int, frozenset[int]] = {}
        self.answer: Callable[..., Any] = lambda *_: None
        self.takes: Callable[[types.CodeType], bool] = lambda _code: False
        self.user_error: tuple[type[BaseException], ...] = ()

    def capture(self, cache: Any, position: int, function: Any, state: tuple[Any, ...]) -> Any:
        """Ask the test."""
        self.asked.append((function.__name__, position))
        return self.answer(cache, position, function, state)

    def resume_code(self, cache: Any, position: int) -> types.CodeType:
        """The user's code from `position` to the stops the test chose, or to the next ones."""
        code = cache.code
        stops = self.stops.get(id(code))
        if stops is None:
            stops = resume.stops_after(code, position, frozenset())
        return resume.resume_code(
            code, position, stops, restore=_hook.restore, suspend=_hook.suspend
        )

    def cache_for(self, code: types.CodeType) -> Any:
        """A cache for the code the test wants taken."""
        self.seen.append(code.co_name)
        if not self.takes(code):
            return None
        return self.caches.setdefault(id(code), _hook.CodeCache(code, self))

    def eager_run(self, cache: Any, position: int, entry: Any) -> None:
        """Count."""
        self.eager.append((position, entry))

    def internal_error(self, error: BaseException) -> None:
        """Keep."""
        self.errors.append(error)

    def is_user_error(self, error: BaseException) -> bool:
        """Whatever the test says."""
        return isinstance(error, self.user_error)


@pytest.fixture
def session() -> Iterator[Session]:
    """A session; nothing may be left installed after the test."""
    yield Session()
    assert not _hook.hook_installed()


def entry(
    guards: Any = (),
    inputs: Any = (),
    artefact: Any = None,
    outputs: int = 0,
    recipe: Any = (),
    ending: Any = ("return", 0),
) -> Any:
    """Make an entry with the usual parts left out."""
    return _hook.Entry(guards, inputs, artefact, outputs, recipe, ending)


def dispatcher(function: Any, session: Any, *entries: Any) -> Any:
    """Make a dispatcher with entries for the function's start, first one first."""
    made = _hook.Dispatcher(function, session)
    for each in reversed(entries):
        made.cache.add(0, each)
    return made


# ---- guards --------------------------------------------------------------------------------------


def sample(a: int, b: int = 2, *, c: int = 3) -> Any:
    """A function with every kind of part."""
    return lambda: (a, b, c)


def closure_of(value: Any) -> Any:
    """A function whose only closure variable is `value`."""
    return lambda: value


class Plain:
    """A class to change."""

    x = 1


class Sub(Plain):
    """Another."""


FORTRAN = np.asfortranarray(np.zeros((3, 4)))
C_ORDER = np.zeros((3, 4))
READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
BIG = 1 << 100
F8, I8 = np.dtype("f8"), np.dtype("i8")
POINT = np.dtype([("x", "f8"), ("y", "i4")])
K = _hook
NAN = math.nan
OTHER_NAN = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0].item()
HASHES: dict[str, int] = {"k": 1}
UNALIGNED = np.frombuffer(b"\0" * 33, np.uint8)[1:].view(np.float64)

# fmt: off
GUARDS: list[tuple[str, Any, list[tuple[Any, ...]], list[tuple[Any, ...]]]] = [
    # kind              rows                                                       states that pass                 states that fail
    ("LOAD_CELL",      [(K.LOAD_CELL, 0), (K.INT, 1, 5)],                        [(types.CellType(5),)],          [(types.CellType(),), (5,), (NULL,), (types.CellType(6),)]),
    ("LOAD_KEY",       [(K.LOAD_KEY, HASHES, "k"), (K.INT, 1, 1)],               [(0,)],                          []),
    ("LOAD_KEY",       [(K.LOAD_KEY, HASHES, "no")],                             [],                              [(0,)]),
    ("ABSENT",         [(K.ABSENT, HASHES, "no")],                               [(0,)],                          []),
    ("ABSENT",         [(K.ABSENT, HASHES, "k")],                                [],                              [(0,)]),
    ("LOAD_ITEM",      [(K.LOAD_ITEM, 0, 1), (K.INT, 1, 7)],                     [((0, 7),), ([1, 7],)],          [((0,),), ((0, 8),), ("07",), (NULL,)]),
    ("LOAD_DICT_ITEM", [(K.LOAD_DICT_ITEM, 0, (1, "a")), (K.INT, 1, 7)],         [({(1, "a"): 7},)],              [({},), (7,), (types.MappingProxyType({(1, "a"): 7}),)]),
    ("LOAD_ATTR",      [(K.LOAD_ATTR, 0, "pi"), (K.FLOAT, 1, math.pi)],          [(math,), (np,)],                [(3,), (types.ModuleType("m"),)]),
    ("LOAD_ATTR",      [(K.LOAD_ATTR, 0, "real"), (K.INT, 1, 3)],                [(3,)],                          [("3",), (4,)]),
    ("LOAD_TYPE",      [(K.LOAD_TYPE, 0), (K.IDENTITY, 1, int)],                 [(3,)],                          [(True,), (NULL,)]),
    ("LOAD_CLOSURE",   [(K.LOAD_CLOSURE, 0, 0), (K.LOAD_CELL, 1), (K.INT, 2, 5)], [(closure_of(5),)],             [(closure_of(6),), (dispatcher,), (5,)]),
    ("LOAD_DEFAULT",   [(K.LOAD_DEFAULT, 0, 0), (K.INT, 1, 2)],                  [(sample,)],                     [(closure_of,), (len,)]),
    ("LOAD_KWDEFAULT", [(K.LOAD_KWDEFAULT, 0, "c"), (K.INT, 1, 3)],              [(sample,)],                     [(closure_of,), (len,)]),
    ("LOAD_CONST",     [(K.LOAD_CONST, "x"), (K.SAME, 0, 1)],                    [("x",)],                        [("y",)]),
    ("TYPE",           [(K.TYPE, 0, int)],                                       [(3,)],                          [(True,), (3.0,), (NULL,)]),
    ("IDENTITY",       [(K.IDENTITY, 0, None)],                                  [(None,)],                       [(0,), (NULL,)]),
    ("UNBOUND",        [(K.UNBOUND, 0)],                                         [(NULL,)],                       [(None,)]),
    ("BOUND",          [(K.BOUND, 0)],                                           [(None,)],                       [(NULL,)]),
    ("INT",            [(K.INT, 0, -7)],                                         [(-7,)],                         [(7,), (-7.0,), (BIG,), (NULL,)]),
    ("INT",            [(K.INT, 0, 1)],                                          [(1,)],                          [(True,), (np.int64(1),)]),
    ("BIG_INT",        [(K.BIG_INT, 0, BIG)],                                    [(BIG,), (BIG + 1 - 1,)],        [(BIG + 1,), (float(BIG),)]),
    ("FLOAT",          [(K.FLOAT, 0, 0.0)],                                      [(0.0,)],                        [(-0.0,), (0,), (np.float64(0),)]),
    ("FLOAT",          [(K.FLOAT, 0, NAN)],                                      [(NAN,)],                        [(OTHER_NAN,), (1.0,)]),
    ("STR",            [(K.STR, 0, "ab")],                                       [("ab",), ("".join("ab"),)],     [("ba",), (b"ab",), (np.str_("ab"),)]),
    ("EQUAL",          [(K.EQUAL, 0, (1, "a", (2.0, None)))],                    [((1, "a", (2.0, None)),)],      [((True, "a", (2.0, None)),), ((1, "a", (2, None)),), ([1],), ((1,),)]),
    ("EQUAL",          [(K.EQUAL, 0, -0.0)],                                     [(-0.0,)],                       [(0.0,)]),
    ("EQUAL",          [(K.EQUAL, 0, 1 + 2j)],                                   [(1 + 2j,)],                     [(1 - 2j,)]),
    ("LENGTH",         [(K.LENGTH, 0, 2)],                                       [((1, 2),), ([1, 2],), ({1, 2},), ({1: 1, 2: 2},)], [((),), ("ab",), (5,)]),
    ("DICT_KEYS",      [(K.DICT_KEYS, 0, ("a", 2))],                             [({"a": 0, 2: 0},)],             [({2: 0, "a": 0},), ({"a": 0},), ({"a": 0, True: 0},), (5,)]),
    ("FUNCTION",       [(K.FUNCTION, 0, sample.__code__, sample.__defaults__, sample.__kwdefaults__)], [(sample,)], [(closure_of,), (len,)]),
    ("FUNCTION",       [(K.FUNCTION, 0, closure_of.__code__, None, None)],       [(closure_of,)],                 [(sample,)]),
    ("ARRAY",          [(K.ARRAY, 0, F8, 1)],                                    [(np.zeros(3),), (np.zeros(3, np.dtype("f8", copy=True)),)],
                                                                                 [(np.zeros((1, 1)),), (np.zeros(3, "f4"),), (np.zeros(3, ">f8"),), (np.float64(0),), (np.ma.zeros(3),), (UNALIGNED,), (3,), (NULL,), (np.zeros(3, np.dtype("f8", metadata={"a": 1})),)]),
    ("ARRAY",          [(K.ARRAY, 0, np.dtype("q"), 1)],                         [(np.zeros(3, "q"),)],           [(np.zeros(3, "l"),)]),
    ("ARRAY",          [(K.ARRAY, 0, POINT, 0)],                                 [(np.zeros((), POINT),), (np.zeros((), np.dtype(POINT.descr)),)], [(np.zeros((), [("x", "f8"), ("z", "i4")]),)]),
    ("WRITEABLE",      [(K.WRITEABLE, 0, True)],                                 [(C_ORDER,)],                    [(READ_ONLY,), (5,)]),
    ("WRITEABLE",      [(K.WRITEABLE, 0, False)],                                [(READ_ONLY,)],                  [(C_ORDER,)]),
    ("ORDER",          [(K.ORDER, 0, (0, 1))],                                   [(C_ORDER,), (C_ORDER[:, ::2],), (FORTRAN[:, :1],)], [(FORTRAN,), (C_ORDER[::-1],), (np.broadcast_to(0.0, (3, 4)),), (READ_ONLY,)]),
    ("ORDER",          [(K.ORDER, 0, (1, 0))],                                   [(FORTRAN,)],                    [(C_ORDER,)]),
    ("CONTIGUOUS",     [(K.CONTIGUOUS, 0, (0, 1), True)],                        [(C_ORDER,), (C_ORDER[:1],), (C_ORDER[:0, ::2],)], [(C_ORDER[:, ::2],), (FORTRAN,), (READ_ONLY,)]),
    ("CONTIGUOUS",     [(K.CONTIGUOUS, 0, (0, 1), False)],                       [(C_ORDER[:, ::2],)],            [(C_ORDER,), (READ_ONLY,)]),
    ("SIZE",           [(K.SIZE, 0, 1, 4)],                                      [(C_ORDER,)],                    [(C_ORDER.T,), (READ_ONLY,), (5,)]),
    ("RELATION",       [(K.RELATION, (("size", 0, 0), ("int", 1), ("mul",), ("const", 12), ("le",)))], [(C_ORDER, 4)], [(C_ORDER, 5), (5, 5), (C_ORDER, BIG), (C_ORDER, True), (C_ORDER, 1 << 62), (C_ORDER, NULL)]),
    ("DISJOINT",       [(K.DISJOINT, 0, 1)],                                     [(C_ORDER, FORTRAN), (C_ORDER[:1], C_ORDER[1:]), (C_ORDER[:0], C_ORDER)], [(C_ORDER, C_ORDER), (C_ORDER[:, 0], C_ORDER[:, 1]), (C_ORDER[::-1], C_ORDER), (C_ORDER, 5)]),
    ("SAME",           [(K.SAME, 0, 1)],                                         [(C_ORDER, C_ORDER)],            [(C_ORDER, FORTRAN), (C_ORDER, NULL)]),
    ("DIFFERENT",      [(K.DIFFERENT, 0, 1)],                                    [(C_ORDER, FORTRAN)],            [(C_ORDER, C_ORDER)]),
    ("PREDICATE",      [(K.PREDICATE, 0, callable)],                             [(len,)],                        [(5,)]),
    ("PREDICATE",      [(K.PREDICATE, 0, operator.index)],                       [(5,)],                          [("error",), (0,)]),
]
# fmt: on


@pytest.mark.parametrize(("kind", "rows", "passing", "failing"), GUARDS)
def test_each_guard_tells_what_it_should(kind: str, rows: Any, passing: Any, failing: Any) -> None:
    """A guard holds for the states it describes and for no other, and leaves no exception behind."""
    guarded = entry(rows)
    assert [guarded.first_failing(state) for state in passing] == [None] * len(passing), kind
    assert [
        guarded.first_failing(state) for state in failing if guarded.first_failing(state) is None
    ] == [], kind


def test_every_guard_kind_is_tried() -> None:
    """The table above has every kind; TYPE_VERSION has a test of its own."""
    assert {row[0] for row in GUARDS} | {"TYPE_VERSION"} == set(_hook.GUARD_KINDS)


def test_guard_kinds_are_numbered_and_have_a_sentence() -> None:
    """`GUARD_KINDS` and the constants come from one list."""
    for name, (number, text) in _hook.GUARD_KINDS.items():
        assert getattr(_hook, name) == number
        assert text.format("x", Plain, "b", "c").strip()


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


def test_a_changed_class_has_another_version() -> None:
    """Setting an attribute on a class or on its base fails TYPE_VERSION."""
    for changed in (Sub, Plain):
        version = _hook.type_version(Sub)
        assert version
        guarded = entry([(K.TYPE_VERSION, Sub, version)])
        assert guarded.first_failing((0,)) is None
        changed.x = 2
        assert guarded.first_failing((0,)) == 0
        assert _hook.type_version(Sub) != version


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
        ([("const", -(2**63)), ("neg",)], None),
        ([("const", -(2**63)), ("const", -1), ("floordiv",)], None),
        ([("const", 2**62), ("const", 2), ("mul",)], None),
        ([("const", 2**63 - 1), ("const", 1), ("add",)], None),
    ],
)
def test_integer_programs_compute_as_python_does(session: Session, steps: Any, value: Any) -> None:
    """Floor division, signs and overflow: what does not fit 64 bits has no value."""
    for compare, holds in [
        ("eq", True),
        ("ne", False),
        ("le", True),
        ("lt", False),
        ("ge", True),
        ("gt", False),
    ]:
        relation = (*steps, ("const", value or 0), (compare,))
        failing = entry([(K.RELATION, relation)]).first_failing((C_ORDER, 5))
        assert (failing is None) == (holds and value is not None)
    built = dispatcher(
        lambda a, b: None, session, entry(recipe=[("int", steps)], ending=("return", 2))
    )
    if value is None:
        with pytest.raises(SystemError, match="integer"):
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


# ---- recipes -------------------------------------------------------------------------------------


class Box:
    """An object to write to."""

    value: Any


def follow(session: Session, recipe: Any, result: int, *values: Any) -> Any:
    """Call a dispatcher that only follows a recipe over three arguments."""
    values += (None,) * (3 - len(values))
    return dispatcher(
        lambda a, b, c: None, session, entry(recipe=recipe, ending=("return", result))
    )(*values)


def test_recipes_build_objects(session: Session) -> None:
    """Each row appends what it builds."""
    assert follow(session, [("const", "x"), ("tuple", (0, 3, 1))], 4, 1, 2) == (1, "x", 2)
    assert follow(session, [("list", (0, 0))], 3, 1) == [1, 1]
    assert follow(session, [("dict", (0, 1, 1, 0))], 3, "a", "b") == {"a": "b", "b": "a"}
    assert follow(session, [("set", (0, 1))], 3, 1, 2) == {1, 2}
    assert follow(session, [("slice", 0, -1, 1)], 3, 1, 2) == slice(1, None, 2)
    assert follow(session, [("cell", 0)], 3, 1).cell_contents == 1
    assert follow(session, [("cell", -1)], 3) == types.CellType()
    assert follow(session, [("call", max, (0, 1, 2))], 3, 1, 5, 2) == 5
    assert follow(session, [("call", lambda *a: a, (0,) * 12)], 3, 1) == (1,) * 12
    assert list(follow(session, [("iter", 0)], 3, [1, 2])) == [1, 2]
    assert follow(session, [("tuple", ())], 3) == ()


def test_recipes_write_in_order(session: Session) -> None:
    """Effects happen one after the other, on objects that may contain themselves."""
    made = follow(session, [("list", (0,)), ("list_append", 3, 3), ("list_set", 3, 0, 1)], 3, 1, 2)
    assert made[0] == 2
    assert made[1] is made
    target: dict[str, Any] = {"a": 1, "b": 2}
    assert (
        follow(session, [("dict_set", 0, 1, 2), ("dict_set", 0, 2, -1)], 3, target, "a", "b")
        is None
    )
    assert target == {"a": "b"}
    cell = types.CellType(1)
    follow(session, [("cell_set", 0, 1)], 3, cell, 5)
    assert cell.cell_contents == 5
    follow(session, [("cell_set", 0, -1)], 3, cell)
    assert cell == types.CellType()
    box, array = Box(), np.zeros(3)
    follow(session, [("set_attr", 0, "value", 1)], 3, box, 5)
    assert box.value == 5
    follow(session, [("set_attr", 0, "value", -1)], 3, box)
    assert not hasattr(box, "value")
    follow(session, [("set_item", 0, 1, 2)], 3, array, 1, 7)
    assert array.tolist() == [0, 7, 0]
    items = [1, 2]
    follow(session, [("set_item", 0, 1, -1)], 3, items, 0)
    assert items == [2]


def test_errors_of_a_recipe_reach_the_caller(session: Session) -> None:
    """What a call raises propagates, without an entry for any frame of ours."""
    with pytest.raises(ZeroDivisionError) as caught:
        follow(session, [("const", 1), ("call", operator.truediv, (0, 1)), ("const", 2)], 3, 1, 0)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2

    def unbound():
        x = 1
        return x

    with pytest.raises(SystemError, match="empty"):
        dispatcher(unbound, session, entry(recipe=[("tuple", (0,))], ending=("return", 1)))()


def test_outputs_come_before_the_recipe(session: Session) -> None:
    """One output is the object itself, several come in a tuple, none is ignored."""
    function = dispatcher(
        lambda a, b: None,
        session,
        entry((), (1, 0), divmod, 2, [("tuple", (3, 2, 0))], ("return", 4)),
    )
    assert function(3, 17) == (2, 5, 3)
    one = entry((), (0,), abs, 1, [("tuple", (1, 1))], ("return", 2))
    assert dispatcher(lambda a: None, session, one)(-3) == (3, 3)
    seen: list[int] = []
    none = entry((), (0,), seen.append, 0, (), ("return", 0))
    assert dispatcher(lambda a: None, session, none)(4) == 4
    assert seen == [4]
    many = entry((), (0,) * 20, lambda *a: len(a), 1, (), ("return", 1))
    assert dispatcher(lambda a: None, session, many)(4) == 20
    wrong = entry((), (), lambda: (1, 2, 3), 2, (), ("return", 1))
    with pytest.raises(SystemError, match="2 outputs"):
        dispatcher(lambda: None, session, wrong)()


# ---- dispatching ---------------------------------------------------------------------------------


def plain(a, b, c):
    return locals()


def defaults(a, b=10, c=20):
    return locals()


def positional_only(a, b=1, /, c=2, **rest):
    return locals()


def keyword_only(a, *, b, c=3):
    return locals()


def stars(*args, **rest):
    return locals()


def everything(a, b=1, /, c=2, *args, d, e=5, **rest):
    x = 1
    return locals()


def captured_arguments(a, b=1, *args, c=2, **rest):
    both = lambda: (a, b, args, c, rest)  # noqa: E731
    return both()


SIGNATURES = [plain, defaults, positional_only, keyword_only, stars, everything, captured_arguments]
CALLS = [
    (args, dict(kwargs))
    for args in [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4, 5)]
    for n in range(4)
    for kwargs in itertools.combinations({"a": 9, "b": 8, "c": 7, "d": 6, "z": 5}.items(), n)
]


def outcome(function: Any, args: Any, kwargs: Any) -> Any:
    """What a call gives: its result, or its exception's type and text."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("function", SIGNATURES)
def test_binding_is_cpythons(session: Session, function: Any) -> None:
    """Every call form binds or fails as it would without a dispatcher, text included."""
    names = function.__code__.co_varnames
    count = len(inspect.signature(function).parameters)
    states: list[Any] = []
    session.answer = lambda cache, position, function, state: states.append(state)
    compiled = _hook.Dispatcher(function, session)
    for args, kwargs in CALLS:
        states.clear()
        expected = outcome(function, args, kwargs)
        assert outcome(compiled, args, kwargs) == expected
        if isinstance(expected, dict):
            ((*values,),) = states
            bound = dict(zip(names, values, strict=False))
            assert {k: v for k, v in bound.items() if v is not NULL} == {
                k: v for k, v in expected.items() if k != "x"
            }
            assert list(bound.get("rest", {})) == list(expected.get("rest", {}))
        else:
            assert len(states) == (not isinstance(expected, str))
        assert all(value is NULL for state in states for value in state[count:])


def test_defaults_are_read_at_call_time(session: Session) -> None:
    """Replaced defaults count, as in a plain call."""

    def function(a: int = 1, *, b: int = 2) -> Any:
        return a, b

    compiled = dispatcher(
        function, session, entry(recipe=[("tuple", (0, 1))], ending=("return", 2))
    )
    assert compiled() == (1, 2)
    function.__defaults__, function.__kwdefaults__ = (3,), {"b": 4}
    assert compiled() == (3, 4)
    function.__kwdefaults__ = None
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'b'"):
        compiled()


def test_closure_cells_are_in_the_state(session: Session) -> None:
    """Free variables are the function's own cells, whatever the call form."""
    value = 5

    def function(a: int, b: int = 0) -> int:
        return value + a

    guards = [(K.LOAD_CELL, 2), (K.TYPE, 3, int)]
    compiled = dispatcher(
        function, session, entry(guards, (3, 0), operator.mul, 1, (), ("return", 4))
    )
    assert compiled(3, 0) == 15
    assert compiled(a=3) == 15
    value = 7
    assert compiled(3) == 21


def test_methods_bind(session: Session) -> None:
    """A dispatcher in a class is a method; a subclass made in Python is as fast and as good."""

    @_hook.enable_vectorcall
    class Compiled(_hook.Dispatcher):
        pass

    def area(self: Any, k: int) -> int:
        return self.side * k  # type: ignore[no-any-return]

    square: Any = type("Square", (), {"side": 3, "area": Compiled(area, session)})
    assert square().area(2) == 6
    assert square.area(square(), 2) == 6
    assert square.area.calls == 2
    square.area.note = 1
    assert weakref.ref(square.area)() is square.area
    assert Compiled.__call__ is not None
    with pytest.raises(TypeError):
        _hook.enable_vectorcall(int)  # type: ignore[type-var]
    with pytest.raises(TypeError):
        _hook.Dispatcher(len, session)


def test_the_most_recently_hit_entry_is_first(session: Session) -> None:
    """A hit moves to the front, a false `valid` out of the list."""
    entries = [
        entry([(K.INT, 0, n)], recipe=[("const", n)], ending=("return", 1)) for n in range(3)
    ]
    compiled = dispatcher(lambda a: None, session, *entries)
    assert compiled(2) == 2
    assert compiled.cache.entries(0) == [entries[2], entries[0], entries[1]]
    entries[2].valid = False
    assert compiled(2) is None
    assert compiled.cache.entries(0) == [entries[0], entries[1]]
    assert (compiled.calls, compiled.hits, compiled.eager_calls, entries[2].hits) == (2, 1, 1, 1)


def test_what_is_captured_is_kept_and_run(session: Session) -> None:
    """The session is asked once; its entry serves the same call and later ones."""
    session.answer = lambda *_: entry([(K.TYPE, 0, int)], (0,), abs, 1, (), ("return", 1))
    compiled = _hook.Dispatcher(lambda a: "plain", session)
    assert [compiled(-1), compiled(-2)] == [1, 2]
    assert len(session.asked) == 1
    session.answer = lambda *_: None
    assert compiled("x") == "plain"
    compiled.cache.give_up(0)
    assert compiled("x") == "plain"
    assert compiled.cache.given_up(0)
    assert len(session.asked) == 2


def test_an_artefact_may_decline(session: Session) -> None:
    """NotImplemented runs the frame in plain Python, with the arguments as they were, and is told."""
    declining = entry((), (0,), lambda x: NotImplemented, 1, (), ("return", 1))
    compiled = dispatcher(lambda *, a: ("plain", a), session, declining)
    assert compiled(a=3) == ("plain", 3)
    assert session.eager == [(0, declining)]
    session.notify_eager = False
    assert compiled(a=3) == ("plain", 3)
    assert len(session.eager) == 1


def test_an_artefacts_error_has_no_frame_of_ours(session: Session) -> None:
    """It propagates as it is."""
    compiled = dispatcher(
        lambda a: a, session, entry((), (0,), operator.index, 1, (), ("return", 1))
    )
    with pytest.raises(TypeError) as caught:
        compiled("x")
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)] == [
        sys._getframe().f_code.co_name
    ]


def test_our_errors_are_never_the_users(session: Session) -> None:
    """What capture raises goes to internal_error and gives the position up; the call runs plainly."""

    def fail(*_: Any) -> None:
        raise RuntimeError("ours")

    session.answer = fail
    compiled = _hook.Dispatcher(lambda a: a, session)
    assert [compiled(1), compiled(2)] == [1, 2]
    assert [str(error) for error in session.errors] == ["ours"]
    for wrong in (5, "x"):
        session.answer = lambda *_, wrong=wrong: wrong
        compiled.cache.clear()
        assert compiled(1) == 1
    assert len(session.errors) == 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, LookupError])
def test_what_the_user_must_see_propagates(session: Session, error: type[BaseException]) -> None:
    """Interrupts, and what the session says is the user's."""

    def fail(*_: Any) -> None:
        raise error

    session.answer = fail
    session.user_error = (LookupError,)
    with pytest.raises(error):
        _hook.Dispatcher(lambda a: a, session)(1)
    assert not session.errors


def test_generators_and_coroutines_are_called_plainly(session: Session) -> None:
    """Their frames outlive the call."""

    def numbers(n: int) -> Iterator[int]:
        yield from range(n)

    async def nothing() -> None: ...

    assert list(_hook.Dispatcher(numbers, session)(3)) == [0, 1, 2]
    _hook.Dispatcher(nothing, session)().close()
    assert session.asked == []


def test_eager_switches(session: Session) -> None:
    """One for the dispatcher, one for the thread, one for the process."""
    compiled = dispatcher(
        lambda a: "plain", session, entry(recipe=[("const", "fast")], ending=("return", 1))
    )
    assert compiled(1) == "fast"
    compiled.enabled = False
    assert compiled(1) == "plain"
    compiled.enabled = True
    _hook.enter_eager()
    _hook.enter_eager()
    _hook.leave_eager()
    assert compiled(1) == "plain"
    others: list[str] = []
    thread = threading.Thread(target=lambda: others.append(compiled(1)))
    thread.start()
    thread.join()
    _hook.leave_eager()
    assert others == ["fast"] == [compiled(1)]
    with pytest.raises(RuntimeError):
        _hook.leave_eager()
    _hook.set_eager(True)
    try:
        assert compiled(1) == "plain"
    finally:
        _hook.set_eager(False)


def test_replaced_code_is_run_as_it_is(session: Session) -> None:
    """A function whose `__code__` was set has no use for the old entries."""

    def function(a: int) -> str:
        return "old"

    compiled = dispatcher(
        function, session, entry(recipe=[("const", "fast")], ending=("return", 1))
    )
    function.__code__ = (lambda a: "new").__code__
    assert compiled(1) == "new"


# ---- restore and suspend -------------------------------------------------------------------------


def stop_everywhere(session: Session, function: Any) -> Any:
    """A dispatcher that enters resume code at once and then suspends wherever it can."""
    code = function.__code__
    positions = range(len(code.co_code) // 2)
    stops = frozenset(p for p in positions if resume.why_not_stop(code, p) is None)
    session.stops[id(code)] = stops
    size = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
    compiled = _hook.Dispatcher(function, session)
    compiled.cache.add(0, once(size))
    compiled.cache.give_up(0)
    return compiled


def once(size: int, *registers: int) -> Any:
    """An entry for a function's start that goes on there in resume code; it holds every second time."""
    turns = itertools.cycle((True, False))
    guards = [(K.LOAD_CONST, None), (K.PREDICATE, size, lambda _: next(turns))]
    return entry(guards, ending=("resume", 0, registers or tuple(range(size))))


def looping(n, scale=2):
    total = []
    for i in range(n):
        if i % 2:
            continue
        total.append(i * scale)
    return total


def handling(values):
    log = []
    for value in values:
        try:
            log.append(10 // value)
        except ZeroDivisionError as error:
            log.append(str(error))
        else:
            log.append("fine")
        finally:
            log.append("end")
    return log


def unbinding(a):
    b = a
    del a
    try:
        a  # noqa: F821
    except UnboundLocalError as error:
        return b, str(error)
    return None


def with_cells(a, *rest):
    def inner(x):
        nonlocal total  # type: ignore[misc]
        total += x + a
        return total

    total = 0
    for each in rest:
        inner(each)
    a += 1
    return total, inner(1), a


def nested(m):
    return [[(i, j) for j in range(i)] for i in range(m)], {
        k: v for k, v in zip("ab", range(m), strict=False)
    }


class Manager:
    """A context manager that keeps what happens."""

    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __enter__(self) -> Self:
        self.log.append("enter")
        return self

    def __exit__(self, kind: Any, *_: object) -> bool:
        self.log.append(kind)
        return True


def managing(log):
    with Manager(log) as manager:
        log.append(manager is not None)
        with Manager(log):
            raise KeyError
        log.append("after")
    return log


def calling(f, xs):
    return max(f(*xs, key=abs), f(xs, default=-1) if xs else 0, len(str(xs)) + xs[0] * 2)


PROGRAMS = [
    (looping, (7,)), (handling, ([1, 0, 2],)), (unbinding, (3,)), (with_cells, (1, 2, 3)), (nested, (4,)),
    (managing, ([],)), (calling, (max, [3, -9, 4])),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_suspending_everywhere_changes_nothing(
    session: Session, function: Any, arguments: Any
) -> None:
    """A frame that leaves at every instruction where it can gives what it would have given."""
    compiled = stop_everywhere(session, function)
    fresh = [list(a) if isinstance(a, list) else a for a in arguments]
    assert compiled(*fresh) == function(*[list(a) if isinstance(a, list) else a for a in arguments])
    assert compiled.cache.suspensions > 3
    assert not session.errors


def summing(values):
    total = 0
    for value in values:
        total = total + value
    return total


def test_entries_are_taken_where_a_frame_stops(session: Session) -> None:
    """A loop goes from plain Python to an entry and back, however often, in one frame's place."""
    listing = list(dis.get_instructions(summing))
    places = [i.offset // 2 for i in listing if i.opname == "BINARY_OP"]
    (behind,) = [b.offset // 2 for a, b in itertools.pairwise(listing) if a.opname == "BINARY_OP"]
    session.stops[id(summing.__code__)] = frozenset(places)
    compiled = _hook.Dispatcher(summing, session)
    compiled.cache.add(0, once(3))
    compiled.cache.give_up(0)
    # locals 0 to 2, the iterator 3, the operands 4 and 5, the sum 6
    adding = entry((), (4, 5), operator.add, 1, (), ("resume", behind, (0, 1, 2, 3, 6)))
    compiled.cache.add(places[0], adding)
    compiled.cache.give_up(behind)
    assert compiled([1, 2, 3]) == 6
    assert adding.hits == compiled.cache.suspensions == 3
    assert compiled(range(100_000)) == 4_999_950_000
    assert session.asked == []


def test_a_suspended_frame_owns_its_values_alone(session: Session) -> None:
    """Objects die when they would: nothing keeps a value the frame has dropped."""
    alive: list[Any] = []

    class Value:
        pass

    def function():
        value = Value()
        alive.append(weakref.ref(value))
        value = None  # type: ignore[assignment]
        alive.append(alive[0]() is None)

    stop_everywhere(session, function)()
    assert alive[1] is True


def test_errors_keep_their_line_and_their_only_frame(session: Session) -> None:
    """A traceback out of resume code looks like the function's own."""

    def failing(x):
        y = x + 1
        return y / 0

    def text(function: Any) -> list[str]:
        with pytest.raises(ZeroDivisionError) as caught:
            function(1)
        return traceback.format_tb(caught.value.__traceback__)[1:]

    assert text(stop_everywhere(session, failing)) == text(failing)


def test_an_entrys_error_meets_the_frames_handlers(session: Session) -> None:
    """What an artefact raises in the middle of a `try` is handled there."""

    def guarded(x):
        log = ["begin"]
        try:
            log.append(x + 1)
        except LookupError:
            log.append("handled")
        finally:
            log.append("finally")
        return log

    compiled = stop_everywhere(session, guarded)

    def lose(*_: Any) -> Any:
        raise LookupError

    def answer(cache: Any, position: int, function: Any, state: Any) -> Any:
        inside = state[1] is not NULL and state[1] == ["begin"] and len(state) > 3
        inside = inside and not instructions.flow(cache.code).stacks[position].handlers
        return entry((), (0,), lose, 1, (), ("return", len(state))) if inside else None

    session.answer = answer
    assert compiled(1) == ["begin", "handled", "finally"]


def test_an_interrupt_while_capturing_is_raised_inside_the_frame(session: Session) -> None:
    """`finally` blocks of the user's frame run."""
    log: list[str] = []
    interrupted: list[int] = []

    def guarded(x):
        try:
            x = x + 1
            return x
        finally:
            log.append("finally")

    compiled = stop_everywhere(session, guarded)

    def answer(cache: Any, position: int, function: Any, state: Any) -> Any:
        if len(state) > 2 and not interrupted:  # something is on the stack
            interrupted.append(position)
            raise KeyboardInterrupt

    session.answer = answer
    with pytest.raises(KeyboardInterrupt):
        compiled(1)
    assert log == ["finally"]


def test_interrupts_at_any_moment_run_finally_blocks(session: Session) -> None:
    """A signal's exception, also between the loop and resume code, belongs to the user's frame."""
    lock = threading.Lock()
    interrupted = 0

    def guarded(n):
        with lock:
            total = 0
            for i in range(n):
                total += i * 2
            return total

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    compiled = stop_everywhere(session, guarded)
    # Between its body and the call of __exit__ a `with` has no moment for a signal, unless a frame stops there.
    protected = instructions.protections(guarded.__code__)
    inside = frozenset(p for p in session.stops[id(guarded.__code__)] if p in protected)
    session.stops[id(guarded.__code__)] = inside
    for position in inside:
        if position % 2:
            compiled.cache.give_up(position)  # so that half of the signals meet C code
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # an exception in a callback of the collector is ignored by CPython itself
    try:
        for each in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + each * 1e-6)
                result = compiled(60)
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert result == 3540
            except KeyboardInterrupt:
                interrupted += 1
            # From 3.14 plain Python itself looks for signals between the call of __enter__ and the block.
            assert not lock.locked() or sys.version_info >= (3, 14)
            if lock.locked():
                lock.release()
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 50
    assert not session.errors


def test_only_resume_code_may_restore_and_suspend() -> None:
    """Anybody else gets an error, not a crash."""
    with pytest.raises(SystemError, match="only resume code"):
        _hook.restore(None)
    with pytest.raises(SystemError, match="only resume code"):
        _hook.suspend((0, 0))


def test_bad_resume_code_is_refused(session: Session) -> None:
    """Code that does not restore, or is of another shape, ends in SystemError."""

    def function(x):
        return x

    going = entry(ending=("resume", 1, (0,)))
    session.resume_code = lambda cache, position: looping.__code__  # type: ignore[method-assign]
    with pytest.raises(SystemError, match="no resume code"):
        dispatcher(function, session, going)(1)
    lazy = function.__code__.replace(co_argcount=0)
    session.resume_code = lambda cache, position: lazy  # type: ignore[method-assign]

    def other(x):
        return 7

    session.resume_code = lambda cache, position: other.__code__.replace(co_argcount=0)  # type: ignore[method-assign]
    with pytest.raises(SystemError, match="restore"):
        dispatcher(other, session, going)(1)


def test_resume_functions_are_made_once(session: Session) -> None:
    """Per position, until they are dropped."""
    made: list[int] = []
    make = session.resume_code
    session.resume_code = lambda cache, position: made.append(position) or make(cache, position)  # type: ignore[func-returns-value, method-assign, redundant-expr]
    compiled = stop_everywhere(session, looping)
    compiled(5)
    assert len(set(made)) == len(made) > 3
    before = len(made)
    compiled(5)
    assert len(made) == before
    compiled.cache.drop_resume(made[0])
    compiled.cache.drop_resume(None)
    compiled(5)
    assert len(made) == 2 * before


# ---- the eval-frame hook -------------------------------------------------------------------------


def callee(x, y=1):
    return x + y


def caller(x):
    return callee(x), callee([x])[:0], callee(1)


def test_callees_are_caught(session: Session) -> None:
    """While the caller runs in plain Python, a callee's frame with an array goes through its entries."""
    session.takes = lambda code: code is callee.__code__
    answer = entry([(K.TYPE, 0, np.ndarray)], (0,), np.negative, 1, (), ("return", 2))
    session.answer = lambda cache, position, function, state: answer if function is callee else None
    compiled = _hook.Dispatcher(caller, session)
    x = np.arange(3.0)

    def listed(x):
        return callee(x), callee(1)

    first, second = _hook.Dispatcher(listed, session)(x)
    assert first.tolist() == [0.0, -1.0, -2.0]
    assert second == 2
    with pytest.raises(TypeError):
        compiled(x)
    assert answer.hits == 2
    assert callee(x).tolist() == [1.0, 2.0, 3.0]


def test_a_code_is_asked_about_once(session: Session) -> None:
    """Per session, and never while no argument brings an array."""

    def deep(x):
        return [callee(x) for _ in range(3)] + [callee(1)]

    _hook.Dispatcher(deep, session)(1)
    assert session.seen == []
    _hook.Dispatcher(deep, session)(np.zeros(1))
    _hook.Dispatcher(deep, session)(np.zeros(1))
    assert session.seen.count("callee") == 1
    other = Session()
    _hook.Dispatcher(deep, other)(np.zeros(1))
    assert other.seen.count("callee") == 1


def test_a_session_is_not_kept_by_marks() -> None:
    """Neither code objects nor the hook keep a session, its caches or their arrays alive."""
    session = Session()
    session.takes = lambda code: code is callee.__code__
    _hook.Dispatcher(lambda x: callee(x), session)(np.zeros(1))
    assert session.caches
    alive = [weakref.ref(session), weakref.ref(next(iter(session.caches.values())))]
    del session
    gc.collect()
    assert [each() for each in alive] == [None, None]
    assert callee(1) == 2


def test_dropped_code_dies(session: Session) -> None:
    """A cache does not keep code alive behind its last owner."""
    space: dict[str, Any] = {}
    exec("def f(x): return x", space)
    compiled = dispatcher(space["f"], session, entry([(K.LOAD_KEY, space, "f")]))
    assert compiled(3) == 3
    alive = weakref.ref(space["f"].__code__)
    del compiled
    space.clear()
    gc.collect()
    assert alive() is None


def three(x):
    return through(x)


def through(x):
    y = [x]
    return y


@pytest.mark.parametrize("depth", [0, 1, 5, 60, 150])
def test_frames_are_discarded_at_any_depth(session: Session, depth: int) -> None:
    """Results, errors and continuations of hooked frames, also where a frame begins a chunk of the data stack."""
    session.takes = lambda code: code is through.__code__
    kinds = [
        entry((), (0,), operator.attrgetter("shape"), 1, (), ("return", 2)),
        entry((), (0,), operator.index, 1, (), ("return", 2)),
        once(2),
    ]
    x = np.zeros((2, 3))

    def descend(n, pad=0, a=0, b=0, c=0, d=0, e=0, f=0, g=0, h=0, i=0, j=0):
        return three(x) if n == 0 else descend(n - 1)

    results: list[Any] = []
    cache = session.caches[id(through.__code__)] = _hook.CodeCache(through.__code__, session)
    for kind in kinds:
        cache.clear()
        cache.add(0, kind)
        cache.give_up(0)
        for extra in range(60):
            try:
                results.append(_hook.Dispatcher(lambda n: descend(n), session)(depth + extra))
            except TypeError as error:
                names = [f.name for f in traceback.extract_tb(error.__traceback__)]
                assert names[-1] == "three"
                results.append("error")
    assert results[:60] == [(2, 3)] * 60
    assert results[60:120] == ["error"] * 60
    assert all(len(r) == 1 and r[0] is x for r in results[120:])
    del results
    gc.collect()
    assert sys.getrefcount(x) <= 4


def test_generators_of_callees_are_left_alone(session: Session) -> None:
    """They run, throw and close under the hook as without."""

    def numbers(x):
        try:
            yield x
            yield x + 1
        except KeyError:
            yield "thrown"

    def function(x):
        g, h = numbers(x), numbers(x)
        next(g)
        next(h)
        h.close()
        return g.throw(KeyError)

    assert _hook.Dispatcher(function, session)(np.zeros(1)) == "thrown"
    assert session.seen == []


def test_a_hook_below_ours_is_called(session: Session) -> None:
    """Calling inside a call keeps one hook; it is gone after the outermost."""
    states: list[bool] = []

    def inner(x):
        states.append(_hook.hook_installed())

    compiled = _hook.Dispatcher(inner, session)

    def outer(x):
        compiled(x)
        states.append(_hook.hook_installed())

    _hook.Dispatcher(outer, session)(1)
    assert states == [True, True]
    with pytest.raises(ZeroDivisionError):
        _hook.Dispatcher(lambda x: 1 / x, session)(0)
    assert not _hook.hook_installed()


def test_recursion_is_as_deep_as_without(session: Session) -> None:
    """The limit counts Python frames, ours takes none."""

    def make(wrap: Any) -> Any:
        def down(n):
            deepest[0] = n
            return again(n + 1)

        again = wrap(down)
        return again

    depths = []
    for wrap in (lambda f: f, lambda f: _hook.Dispatcher(f, session)):
        deepest = [0]
        with pytest.raises(RecursionError):
            make(wrap)(0)
        depths.append(deepest[0])
    assert abs(depths[0] - depths[1]) <= 2


def test_the_c_stack_is_never_overrun(session: Session) -> None:
    """With a huge recursion limit, RecursionError comes before the stack ends."""

    def down(n):
        return compiled(n + 1)

    compiled = _hook.Dispatcher(down, session)
    before = sys.getrecursionlimit()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            compiled(0)
        except RecursionError as error:
            errors.append(error)

    sys.setrecursionlimit(10**6)
    size = threading.stack_size(2 << 20)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(before)
    assert len(errors) == 1


def test_threads_share_a_dispatcher(session: Session) -> None:
    """Entries, resume code and the hook, from several threads, while another clears the cache."""
    compiled = stop_everywhere(session, looping)
    expected = looping(9)
    wrong: list[Any] = []
    done = threading.Event()

    def work() -> None:
        for _ in range(200):
            if compiled(9) != expected:
                wrong.append(1)

    def clear() -> None:
        while not done.is_set():
            compiled.cache.clear()

    workers = [threading.Thread(target=work) for _ in range(4)]
    clearing = threading.Thread(target=clear)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in (*workers, clearing):
            thread.start()
        for thread in workers:
            thread.join()
    finally:
        done.set()
        clearing.join()
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile])
def test_tracers_see_none_of_ours(session: Session, install: Any) -> None:
    """Under a trace or a profile function results are the same and our Python code is invisible."""
    seen: list[str] = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        seen.append(frame.f_code.co_name)
        return tracer

    compiled = stop_everywhere(session, handling)
    install(tracer)
    try:
        result = compiled([1, 0])
    finally:
        install(None)
    assert result == handling([1, 0])
    assert "capture" not in seen
    assert "resume_code" not in seen
    assert "handling" in seen


# ---- leaks ---------------------------------------------------------------------------------------


def growth(action: Callable[[], Any], count: int) -> int:
    """Count the blocks `count` actions leave behind."""
    for _ in range(200):
        action()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(count):
        action()
    gc.collect()
    return sys.getallocatedblocks() - before


def test_hits_leak_nothing(session: Session) -> None:
    """Two hundred thousand calls leave memory and reference counts as they were."""
    x = np.zeros((3, 4))
    guards = [(K.ARRAY, 0, F8, 2), (K.LOAD_ATTR, 0, "shape"), (K.LOAD_ITEM, 2, 0), (K.INT, 3, 3)]
    recipe = [("tuple", (4, 0)), ("list", (5,)), ("const", None), ("dict", (7, 6))]
    compiled = dispatcher(
        lambda a, b=None: a, session, entry(guards, (0,), callable, 1, recipe, ("return", 8))
    )
    assert compiled(x) == {None: [(False, x)]}
    before = sys.getrefcount(x), sys.getrefcount(None), sys.getrefcount(F8)
    assert growth(lambda: compiled(x), 100_000) < 20
    assert growth(lambda: compiled(a=x), 100_000) < 20
    after = sys.getrefcount(x), sys.getrefcount(None), sys.getrefcount(F8)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 200


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_suspensions_leak_nothing(session: Session, function: Any, arguments: Any) -> None:
    """Bouncing between the loop and resume code leaves nothing behind."""
    compiled = stop_everywhere(session, function)

    def action() -> None:
        compiled(*[list(a) if isinstance(a, list) else a for a in arguments])
        session.asked.clear()

    action()  # what resume code holds is there once
    before = sys.getrefcount(None)
    assert growth(action, 2000) < 50
    assert abs(sys.getrefcount(None) - before) < 200


def test_misses_errors_and_callees_leak_nothing(session: Session) -> None:
    """Failing guards, declining and raising artefacts, hooked frames, rejected entries."""
    x = np.zeros(3)
    missing = entry([(K.LOAD_ATTR, 0, "shape"), (K.LOAD_ITEM, 1, 0), (K.INT, 2, 4)])
    declining = entry([(K.INT, 0, 5)], (0,), lambda _: NotImplemented, 1, (), ("return", 1))
    raising = entry([(K.INT, 0, 6)], (0,), lambda n: n / 0, 1, (), ("return", 1))
    compiled = dispatcher(lambda a: callee(a), session, missing, declining, raising)
    session.takes = lambda code: code is callee.__code__
    session.notify_eager = False
    callee_entry = entry([(K.TYPE, 0, np.ndarray)], (0,), np.negative, 1, (), ("return", 2))
    session.answer = lambda cache, p, f, state: (
        callee_entry if f is callee and state[0] is x else None
    )

    def action() -> None:
        compiled(x)
        compiled(5)
        with pytest.raises(ZeroDivisionError):
            compiled(6)
        with pytest.raises(TypeError):
            compiled(6, 7)
        with pytest.raises(ValueError, match="no row of a recipe"):
            entry([(K.EQUAL, 0, "abc")], recipe=[("const", object()), ("what",)])
        session.asked.clear()

    assert growth(action, 3000) < 100
    assert callee_entry.hits > 1000


def test_entries_and_caches_are_collected(session: Session) -> None:
    """Cycles through entries, caches, dispatchers and sessions are garbage."""

    def make() -> weakref.ref[Any]:
        own = Session()
        compiled = dispatcher(lambda a: a, own, entry())
        made = compiled.cache.entries(0)[0]
        made.data = made
        compiled.self = compiled
        own.caches[0] = compiled.cache
        own.answer = compiled
        return weakref.ref(own)

    alive = [make() for _ in range(5)]
    gc.collect()
    assert [each() for each in alive] == [None] * 5
