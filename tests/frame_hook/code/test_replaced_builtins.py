"""Programs that replace Python's builtins: ours do not use the replacements, and nothing is captured meanwhile."""

from __future__ import annotations

import builtins
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.pieces import failures_heard, in_pieces
from tests.support.sources import texts
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.kept_builtins import KEPT, NOT_OURS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

X = np.arange(5.0)
NAMES = (
    "len", "max", "min", "getattr", "dict", "sorted", "range", "any", "tuple", "id", "isinstance", "list", "set", "zip",
    "hash", "int", "abs", "enumerate", "reversed", "next", "iter", "type", "KeyError", "AttributeError",
)  # fmt: skip
PUT = setattr


@pytest.fixture(autouse=True)
def no_other_threads() -> Iterator[None]:
    """Keep the threads of pytest-xdist, which need builtins, from running while one is replaced."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    yield
    sys.setswitchinterval(before)


class RefusedError(Exception):
    """What a replacement raises."""


def refuse(*_: Any, **__: Any) -> Any:
    """A builtin that fails."""
    raise RefusedError


def nothing(*_: Any, **__: Any) -> Any:
    """A builtin that gives nothing."""


def lying(name: str) -> Callable[..., Any]:
    """A builtin whose numbers are wrong by one."""
    real = KEPT[name]

    def lie(*given: Any, **named: Any) -> Any:
        found = real(*given, **named)
        return found + 1 if type(found) is KEPT["int"] else found

    return lie


def replacing(name: str, replacement: Any) -> Any:
    """A function in the middle of which a builtin is replaced for a while, and what it did besides."""
    done: list[str] = []

    def function(x: Any) -> Any:
        y = x + 1
        PUT(builtins, name, replacement)
        try:
            z = x * 2
            done.append("try")
            w = z + 1
            try:
                w.reshape(77)
            except ValueError:
                done.append("except")
        finally:
            PUT(builtins, name, KEPT[name])
            done.append("finally")
        return y, z, w, tuple(done)

    return function, done


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["refuse", "nothing", "lying"])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_function_that_replaces_a_builtin_runs_on(name: str, how: str, length: int) -> None:
    """Half of the frame has run compiled when the builtin changes; the rest runs plainly, and rightly."""
    replacement = lying(name) if how == "lying" else {"refuse": refuse, "nothing": nothing}[how]
    function, done = replacing(name, replacement)
    compiled = in_pieces(function, length, 0, "numpy") if length else ufuse.compile(function)
    with failures_heard() as failures:
        for x in (X, X, np.arange(4), X):
            done.clear()
            wanted = repr(function(x))
            done.clear()
            assert repr(compiled(x)) == wanted
            assert getattr(builtins, name) is KEPT[name]
    assert failures == []


def test_nothing_is_captured_while_a_builtin_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is told; when the builtin is put back, the next call is captured as ever."""
    compiled = ufuse.compile(lambda x: (x + 1) * 2)
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "sorted", refuse)
        assert _hook.replaced_builtin() == "sorted"
        np.testing.assert_array_equal(compiled(X), (X + 1) * 2)
    assert _hook.replaced_builtin() is None
    assert compiled.graphs == ()
    assert [each.reason for each in compiled.breaks] == [
        "builtins.sorted was replaced, on which ufuse relies"
    ]
    np.testing.assert_array_equal(compiled(X), (X + 1) * 2)
    assert len(compiled.graphs) == 1


def called(x: Any) -> Any:
    """A function that plain Python calls."""
    return x * 3


def test_functions_that_are_called_are_captured_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What plain Python calls while a builtin is replaced is asked about again."""
    functions = [called]
    compiled = ufuse.compile(lambda x: (print(end=""), [each(x) for each in functions])[1])
    with monkeypatch.context() as patched:
        patched.delattr(builtins, "sorted")
        compiled(X)
    assert compiled.graphs == ()
    np.testing.assert_array_equal(compiled(X)[0], X * 3)
    assert compiled.graphs != ()


def test_what_was_captured_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hit asks nobody, and uses none of the replaced functions."""
    compiled = ufuse.compile(lambda x: x + 1)
    compiled(X)
    hits = compiled.__ufuse_hits__
    monkeypatch.setattr(builtins, "len", refuse)
    result = compiled(X)
    monkeypatch.undo()
    np.testing.assert_array_equal(result, X + 1)
    assert compiled.__ufuse_hits__ == hits + 1


def test_new_names_are_no_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs add names to builtins, as gettext does, and replace those that only they call."""
    monkeypatch.setattr(builtins, "_", str, raising=False)
    monkeypatch.setattr(builtins, "print", nothing)
    assert _hook.replaced_builtin() is None
    compiled = ufuse.compile(lambda x: x + 1)
    compiled(X)
    assert len(compiled.graphs) == 1


def test_a_replaced_import_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import statement is only captured where `__import__` is Python's own."""
    asked: list[str] = []

    def listed(name: str, *rest: Any) -> Any:
        asked.append(name)
        return KEPT["__import__"](name, *rest)

    def importing(x: Any) -> Any:
        import math  # noqa: PLC0415

        return x * math.pi

    compiled = ufuse.compile(importing)
    monkeypatch.setattr(builtins, "__import__", listed)
    importing(X)
    wanted, asked[:] = asked.count("math"), []
    compiled(X)
    assert asked.count("math") == wanted == 1


def names_in(code: CodeType) -> set[str]:
    """The names that code looks up."""
    inner = [names_in(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def test_the_builtins_that_do_not_matter_are_used_nowhere() -> None:
    """No code that traces calls them: `open` and `input` are attributes, and imports of ours stand outside functions."""
    used = set().union(
        *(names_in(compile(source, "<ours>", "exec")) for source in texts("frame_hook"))
    )
    attributes = {"open", "input", "__name__", "__doc__", "__spec__"}
    assert used & NOT_OURS <= attributes


def test_only_builtins_are_kept() -> None:
    """A name that is none is refused."""
    with pytest.raises(ValueError, match="'no such' is no builtin"):
        _hook.keep_builtins({}, ("no such",))
