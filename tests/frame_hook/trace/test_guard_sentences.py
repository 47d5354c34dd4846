"""Every sentence about a guard is told by a program that is traced again because that guard failed."""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: ANN001, ANN201, ANN202, D102, PLW0603

from __future__ import annotations

import abc
import builtins
import contextlib
import enum
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import ufuse
from ufuse.frame_hook import _hook
from ufuse.frame_hook.trace.guards import SENTENCES

X = np.arange(6.0)
DEEP = np.ones((3, 2, 2))
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False
LISTS: list[list[Any]] = [[], []]
SQUARE = np.ones((3, 3))


class Color(enum.Enum):
    """An enumeration."""

    RED = 1
    BLUE = 2


class Shape(abc.ABC):  # noqa: B024  other classes are registered with it
    """An abstract class."""


class Meta(type):
    """A metaclass."""


class Ball:
    """An object, the attributes of whose class are replaced."""

    def __init__(self, size: Any = 2.0) -> None:
        self.size = size

    @property
    def width(self):
        return self.size

    @property
    def height(self):
        return self.size


class Other(Ball):
    """Another base."""


class Small(Ball):
    """A class that gets another base."""

    def area(self):
        return super().width * 3


class New(Ball):
    """A class that gets an attribute."""


class Written(Ball):
    """A class on which a program sets an attribute."""


class Silent:
    """A class whose `__init__` is not Python."""

    __init__ = object.__init__


class Made(metaclass=Meta):
    """A class that gets another metaclass."""


class Finalized:
    """An object whose end is noticed."""

    def __del__(self) -> None: ...


def with_closure() -> Any:
    """A function, and another that empties the variable it closes over."""
    value = 2.0

    def scaled(x):
        return x * value

    def empty():
        nonlocal value
        del value

    return scaled, empty


def with_empty_closure() -> Any:
    """A function that writes a variable it closes over, which is empty."""
    if not X.size:
        value = X

    def keep(x):
        nonlocal value
        value = x + 1

    return keep


def elsewhere(**namespace: Any) -> Any:
    """A function with other globals."""
    return types.FunctionType(with_closure.__code__, {"__builtins__": builtins, **namespace})()[0]


def add_one(x):
    return x + 1


def changed(x):
    return x + 1


def add_all(x, total):
    for i in range(len(x)):
        total += x[i]
    return total


def fill(x, y):
    x[:] = y
    return x


def fill_all(arrays, x):
    for one in arrays:
        one[:] = x + one
    return x


def keep_global(x, value):
    global kept
    kept = value  # type: ignore[name-defined]  # not before the first call
    return x + 1


def replace_global(x, value):
    global replaced
    replaced = value
    return x + 1


def set_on_class(x, kind):
    kind.note = 1.0
    return x + 1


def set_on_object(x, ball):
    ball.size = x + 1


def set_on_both(x, first, second):
    first.size = second.size = 1.0
    return x + 1


def append_both(x, first, second):
    first.append(1)
    second.append(2)
    return x + 1


def change_both(x, mapping, ball):
    mapping["key"] = 1.0
    ball.size = 2.0
    return x + 1


def perhaps_bound(x, n):
    """A variable that may be empty where a graph begins."""
    print(end="")
    if n > 3:
        y = 2
    print(end="")
    try:
        y
    except NameError:
        y = 3
    return x * y


def in_handler(call: Callable[..., Any], *arguments: Any) -> None:
    """Call where an exception is being handled."""
    try:
        raise KeyError  # noqa: TRY301  it is caught here
    except KeyError:
        call(*arguments)


def shared(*_: Any) -> tuple[Any, ...]:
    """Two arrays that share memory."""
    memory = np.arange(12.0)
    return memory[:6], memory[3:9]


def parts_of_one(*_: Any) -> tuple[Any, ...]:
    """Arrays of which the last two share memory."""
    memory = np.arange(18.0)
    return [memory[i : i + 3] for i in (0, 3, 6, 9, 12, 14)], X[:3]


def one_dict(*_: Any) -> tuple[Any, ...]:
    """Two objects that have their attributes in one dict."""
    first, second = Ball(), Ball()
    second.__dict__ = first.__dict__
    return X, first, second


def own_dict(*_: Any) -> tuple[Any, ...]:
    """An object beside the dict of its attributes."""
    ball = Ball()
    return X, vars(ball), ball


def rows(*strides: int) -> np.ndarray:
    """An array of two rows and three columns that lies so in memory."""
    return as_strided(np.arange(12.0), (2, 3), strides)


def after(change: Callable[..., Any], *given: Any) -> Callable[..., tuple[Any, ...]]:
    """The arguments of the call before, given again when something has changed."""

    def arguments(*before: Any) -> tuple[Any, ...]:
        change(*given)
        return before

    return arguments


def set_global(name: str, value: Any) -> None:
    """Define a global of this module."""
    globals()[name] = value


replaced = scale = 1.0
SCALED, EMPTY = with_closure()
KEEP = with_empty_closure()
BALL = Ball()
KEPT_ALIVE = (
    changed.__code__,
    Ball.width,
)  # entries that depend on what is gone are dropped, and say nothing
# For each sentence: how it reads, a program, and its calls, the last of which is traced again; a call may be made of
# the arguments before it.
# fmt: off
TOLD: dict[str, tuple[str, Any, list[Any]]] = {
    "LOAD": ("value can no longer be found", SCALED, [(X,), after(EMPTY)]),
    "ABC_TOKEN": ("a class was registered, perhaps with Shape",
                  lambda x, o: x * isinstance(o, Shape), [(X, Ball()), after(Shape.register, Finalized)]),
    "ABSENT": ("the global kept is defined now", keep_global, [(X, 1.0), after(set_global, "kept", 2)]),
    "ABSENT builtin": ("the builtin ascii is hidden by a global now",
                       lambda x: x if ascii is None else x + 1, [(X,), after(set_global, "ascii", 1)]),
    "ALL_DISJOINT": ("a written one of 7 arrays shares memory with another now",
                     fill_all, [([np.ones(3) for _ in range(6)], X[:3]), parts_of_one]),
    "APART": ("elements of x share memory now", fill, [(rows(32, 8), 1.0), (rows(16, 8), 1.0)]),
    "ARRAY": ("x is no longer a 1-d array of float64", add_one, [(X,), (SQUARE,)]),
    "BASE": ("the bases of Small were changed",
             lambda x, o: x * o.area(), [(X, Small()), after(setattr, Small, "__bases__", (Other,))]),
    "BIG_INT": (f"n is no longer {2**70}", lambda x, n: x * n, [(X, 2**70), (X, 2**71)]),
    "BOUND": ("y has no value now", perhaps_bound, [(X, 5), (X, 2)]),
    "CELL_EMPTY": ("value has a value now", KEEP, [(X,), (X,)]),
    "CLASS_LACKS": ("New.note is defined now",
                    lambda x, o: x * getattr(o, "note", 1.0), [(X, New()), after(setattr, New, "note", 2.0)]),
    "CLASS_OWN_LACKS": ("Written.note is defined now", set_on_class, [(X, Written), (X, Written)]),
    "CONTIGUOUS": ("x is no longer contiguous", add_one, [(X,), (X[::2],)]),
    "CONTIGUOUS not": ("x is now contiguous", add_one, [(X[::2],), (X,)]),
    "DICT_KEYS": ("d no longer has the keys ('a', the class int)",
                  lambda x, d: x * sum(d.values()), [(X, {"a": 1.0, int: 2.0}), (X, {"a": 1.0})]),
    "DICT_LACKS": ("d has the key 'a' now", lambda x, d: x * d.get("a", 1.0), [(X, {}), (X, {"a": 2.0})]),
    "DIFFERENT": ("first and second are the same object now", append_both, [(X, [], []), (X, LISTS, LISTS)]),
    "DIFFERENT dicts": ("first and second are the same object now, or have one __dict__",
                        set_on_both, [(X, Ball(), Ball()), one_dict]),
    "DISJOINT": ("x shares memory with y now", fill, [(X.copy(), X), shared]),
    "EQUAL": ("s is no longer b'ab'", lambda x, s: x * len(s), [(X, b"ab"), (X, b"abc")]),
    "FLOAT": ("k is no longer 0.5", lambda x, k: x**k, [(X, 0.5), (X, 0.25)]),
    "FUNCTION": ("changed was changed", lambda x, f: f(x),
                 [(X, changed), after(setattr, changed, "__code__", add_one.__code__.replace(co_name="other"))]),
    "IDENTITY": ("f is another ufunc now", lambda x, f: f(x), [(X, np.sin), (X, np.cos)]),
    "IDENTITY globals": ("scaled has other globals now",
                         lambda x, f: f(x), [(X, elsewhere(a=1)), (X, elsewhere())]),
    "EITHER_TYPE": ("total is no longer a float or float64", add_all, [(np.ones(3000), 0.0), (np.ones(3000), 1j)]),
    "FIRST_TYPE": ("x no longer begins with a float", add_all, [([0.5] * 3000, 0.0), ([1] * 3000, 0.0)]),
    "IDENTITY member": ("c is no longer the same member of Color",
                        lambda x, c: x * c.value, [(X, Color.RED), (X, Color.BLUE)]),
    "IDENTITY plain": ("k is no longer None", lambda x, k: x if k is None else x + 1, [(X, None), (X, 1)]),
    "IDENTITY replaced": ("Silent.__init__ was replaced",
                          lambda x: (x + 1, Silent()), [(X,), after(setattr, Silent, "__init__", lambda _: None)]),
    "INSTANCE_LACKS": ("o has an attribute area of its own now", lambda x, o: x * getattr(o, "area", 1.0),
                       [(X, BALL), after(setattr, BALL, "area", 2.0)]),
    "INT": ("k is no longer 2", lambda x, k: x * k, [(X, 2), (X, 3)]),
    "LENGTH": ("items no longer has 1 items", lambda x, items: x * len(items), [(X, [1]), (X, [1, 2])]),
    "NOT_DICT_OF": ("mapping is the __dict__ of ball now", change_both, [(X, {}, Ball()), own_dict]),
    "NOT_FLOAT": ("k is now 0.5", lambda x, k: x**k, [(X, 0.25), (X, 0.5)]),
    "ORDER": ("the axes of x no longer lie in memory as they did", add_one, [(SQUARE,), (SQUARE.T,)]),
    "NO_FINALIZER": ("something runs now when replaced dies",
              replace_global, [(X, 1.0), after(set_global, "replaced", Finalized())]),
    "NO_FINALIZER_ATTR": ("something runs now when ball.size dies", set_on_object, [(X, Ball()), (X, Ball(Finalized()))]),
    "RELATION": ("n <= m no longer holds", lambda x, n: x[:n] + 1, [(X, 3), (X, 4), (X, 9)]),
    "RELATION equal": ("y.shape[0] no longer equals n", lambda x, y: (x + 1, y + 1), [(X, X.copy()), (X, X[:3])]),
    "RELATION large": ("n*n is very large now", lambda x, n: x * (n * n), [(X, 3), (X, 4), (X, 2**40)]),
    "RELATION several": ("x.shape[0] is now 0 or 1", add_one, [(X,), (X[:1],)]),
    "SAME": ("y is no longer the same object as x", lambda x, y: x + y, [(X, X), (X, X.copy())]),
    "SET_IS": ("s no longer has the same members", lambda x, s: x * len(s), [(X, {1}), (X, {1, 2})]),
    "SIZE": ("x.shape[0] is no longer 1", add_one, [(X[:1],), (X,)]),
    "SIZE few": ("x.shape[0] is no longer 2", add_one, [(DEEP[:2],), (DEEP,)]),
    "STR": ("s is no longer 'ab'", lambda x, s: x * len(s), [(X, "ab"), (X, "abc")]),
    "TYPE": ("items is no longer a list", lambda x, items: x * len(items), [(X, [1]), (X, (1,))]),
    "TYPE of class": ("Made has another metaclass now", lambda x, kind: (x + 1, kind()),
                      [(X, Made), after(setattr, Made, "__class__", type("Again", (Meta,), {}))]),
    "TYPE of number": ("k is no longer a Python float", lambda x, k: x * k, [(X, 2.0), (X, 2)]),
    "TYPE replaced": ("Ball.width was replaced",
                      lambda x, o: x * o.width, [(X, Ball()), after(setattr, Ball, "width", 3.0)]),
    "UNBOUND": ("y has a value now", perhaps_bound, [(X, 2), (X, 5)]),
    "WRITEABLE": ("x is read-only now", fill, [(X.copy(), X), (READ_ONLY, X)]),
}
# fmt: on


def told(program: Any, calls: list[Any]) -> Any:
    """The compiled program after its calls, in which it may raise."""
    compiled = ufuse.compile(program)
    arguments: tuple[Any, ...] = ()
    for call in calls:
        arguments = call(*arguments) if callable(call) else call
        with contextlib.suppress(NameError, ValueError):  # of what is unbound, or read-only
            compiled(*arguments)
    return compiled


@pytest.mark.parametrize("says", sorted(TOLD))
def test_every_sentence_is_told_by_a_program(says: str) -> None:
    """A guard of that sentence fails in the last call, and people read what is wrong."""
    sentence, program, calls = TOLD[says]
    compiled = told(program, calls)
    assert compiled.retraces[-1].guard == sentence
    guards = [row for kept in compiled.__ufuse_session__.specialisations for row in kept.guards]
    assert says in {row.says for row in guards if row.text == sentence}


def test_a_handled_exception_is_told() -> None:
    """A graph that was made where nothing is handled is not used in a handler."""
    compiled = ufuse.compile(lambda x: (x + 1, sys.exception()))
    compiled(X)
    in_handler(compiled, X)
    assert compiled.retraces[-1].guard == "an exception is being handled now"


def test_every_kind_of_guard_has_a_sentence_that_is_told() -> None:
    """Those that fill a register share one; arrays on a device are CuPy's, which may not be there."""
    kinds = {"LOAD" if kind.startswith("LOAD_") else kind for kind in _hook.GUARD_KINDS}
    assert {says.split()[0] for says in SENTENCES} == kinds
    of_cupy = {says for says in SENTENCES if says.startswith("DEVICE_")}
    assert {*TOLD, "NOTHING_HANDLED", *of_cupy} == set(SENTENCES)


def test_what_a_value_was_is_told_in_words() -> None:
    """Objects are not kept for that: only what they are called."""
    for first, second, was in (
        (np.sin, np.cos, "a ufunc"),
        (int, str, "the class int"),
        (len, abs, "len"),
    ):
        compiled = told(lambda x, f: (x + 1, f is None), [(X, first), (X, second)])
        assert compiled.retraces[-1].was == was


def test_what_a_value_is_now_is_told_where_it_matters() -> None:
    """A dict with another key, or an array with other strides, is still what it was."""
    for says in ("DICT_LACKS", "CONTIGUOUS"):
        _, program, calls = TOLD[says]
        assert not told(program, calls).retraces[-1].now


@pytest.mark.parametrize(
    ("program", "given", "reason"),
    [
        (lambda x, d: d[int(x[0])], {0: 1}, "a computed number as a key is not captured yet"),
        (
            lambda x, d: d["x"] + x[0],
            np.zeros(2, [("m", "i4"), ("x", "f8")]),
            'd["x"], which is not aligned in memory, cannot be captured',
        ),
    ],
)
def test_reasons_are_sentences(program: Any, given: Any, reason: str) -> None:
    """What cannot be captured fits the sentence that says so."""
    compiled = ufuse.compile(program)
    compiled(X, given)
    assert reason in [found.reason for found in compiled.breaks]
