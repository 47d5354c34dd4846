"""The C layer: recipes, and dispatchers that bind and run entries."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, RET504
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import inspect
import itertools
import math
import operator
import sys
import threading
import traceback
import types
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.comparing.recording import FLOAT_FLAGS, LIBM
from tests.support.frames.hooking import (
    NULL,
    K,
    Session,
    dispatcher,
    entry,
)
from ufuse.frame_hook import _hook

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    assert follow(session, [("slice", 0, -1, 1)], 3, 1, 2) == slice(1, None, 2)
    assert follow(session, [("cell", 0)], 3, 1).cell_contents == 1
    assert follow(session, [("cell", -1)], 3) == types.CellType()
    assert follow(session, [("call", max, (0, 1, 2))], 3, 1, 5, 2) == 5
    assert follow(session, [("call", lambda *a: a, (0,) * 12)], 3, 1) == (1,) * 12
    assert follow(session, [("tuple", ())], 3) == ()


def test_rows_are_left_out_where_a_number_says_so(session: Session) -> None:
    """The row behind `only` runs where the number is true, or is not, as it says."""
    box = Box()
    for number, wanted, value in [(True, 1, 5), (False, 1, 6), (0.0, 0, 7), ([1], 0, 8)]:
        rows = [("only", 1, wanted), ("set_attr", 0, "value", 2), ("tuple", (0,))]
        assert follow(session, rows, 5, box, number, value) == (box,)
        assert follow(session, rows, 4, box, number, value) is None
        assert box.value == (value if bool(number) == bool(wanted) else {6: 5, 8: 7}[value])


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
    ordered = OrderedDict(a=1, b=2)
    follow(session, [("dict_set", 0, 1, 2), ("dict_set", 0, 2, -1)], 3, ordered, "c", "a")
    assert list(ordered.items()) == [("b", 2), ("c", "a")]
    cell = types.CellType(1)
    follow(session, [("cell_set", 0, 1)], 3, cell, 5)
    assert cell.cell_contents == 5
    follow(session, [("cell_set", 0, -1)], 3, cell)
    assert cell == types.CellType()
    box = Box()
    follow(session, [("set_attr", 0, "value", 1)], 3, box, 5)
    assert box.value == 5
    follow(session, [("set_attr", 0, "value", -1)], 3, box)
    assert not hasattr(box, "value")


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
    assert square.area.__ufuse_calls__ == 2
    square.area.note = 1
    assert weakref.ref(square.area)() is square.area
    assert Compiled.__call__ is not None
    with pytest.raises(TypeError, match="immutable"):
        Compiled.__call__ = None  # type: ignore[method-assign,assignment]
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
    assert compiled.__ufuse_cache__.entries(0) == [entries[2], entries[0], entries[1]]
    entries[2].valid = False
    assert compiled(2) is None
    assert compiled.__ufuse_cache__.entries(0) == [entries[0], entries[1]]
    assert (
        compiled.__ufuse_calls__,
        compiled.__ufuse_hits__,
        compiled.__ufuse_eager_calls__,
        entries[2].hits,
    ) == (2, 1, 1, 1)


def test_what_is_captured_is_kept_and_run(session: Session) -> None:
    """The session is asked once; its entry serves the same call and later ones."""
    session.answer = lambda *_: entry([(K.TYPE, 0, int)], (0,), abs, 1, (), ("return", 1))
    compiled = _hook.Dispatcher(lambda a: "plain", session)
    assert [compiled(-1), compiled(-2)] == [1, 2]
    assert len(session.asked) == 1
    session.answer = lambda *_: None
    assert compiled("x") == "plain"
    compiled.__ufuse_cache__.give_up(0)
    assert compiled("x") == "plain"
    assert compiled.__ufuse_cache__.given_up(0)
    assert len(session.asked) == 2


def test_capturing_leaves_the_floating_point_status(session: Session) -> None:
    """What our own code computes while it captures shows no flag, and hides none of the program's."""

    def plain(x: Any) -> Any:
        return x

    def answer(*_: Any) -> None:
        LIBM.feclearexcept(sum(FLOAT_FLAGS))
        assert math.isinf(float("1e308") * float("1e308"))

    session.answer = answer
    run = dispatcher(plain, session)
    for before in (0, FLOAT_FLAGS[0]):
        LIBM.feclearexcept(sum(FLOAT_FLAGS))
        LIBM.feraiseexcept(before)
        run(None)
        left = LIBM.fetestexcept(sum(FLOAT_FLAGS))
        LIBM.feclearexcept(sum(FLOAT_FLAGS))
        assert left == before


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
    for wrong in (5.0, "x"):
        session.answer = lambda *_, wrong=wrong: wrong
        compiled.__ufuse_cache__.clear()
        assert compiled(1) == 1
    assert len(session.errors) == 3


def test_a_session_may_want_to_be_left_alone(session: Session) -> None:
    """An int for an answer is a time, in nanoseconds, in which it is not asked again."""
    session.answer = lambda *_: 3_600_000_000_000
    compiled = _hook.Dispatcher(lambda a: a, session)
    assert [compiled(1), compiled(2)] == [1, 2]
    assert len(session.asked) == 1
    compiled.__ufuse_cache__.clear()
    session.answer = lambda *_: 0
    assert [compiled(1), compiled(2)] == [1, 2]
    assert len(session.asked) == 3
    assert not session.errors


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
    compiled.__ufuse_enabled__ = False
    assert compiled(1) == "plain"
    compiled.__ufuse_enabled__ = True
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
