"""Inside `ufuse.everywhere()`, what is called is compiled, and does what plain Python does."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import ufuse
from ufuse.everywhere import Everywhere
from ufuse.frame_hook import _hook

X = np.linspace(0.5, 2.0, 1000)


def polynomial(x):
    return (x * 2.0 + 1.0) * (x - 3.0)


def divided(a, b):
    return a / b


def begun(generator):
    return next(generator)


def total(x):
    s = 0.0
    for v in x:
        s += v * v
    return s


def both(x):
    return polynomial(x).sum() + total(x)


def words(text):
    return text.upper() + "!"


@pytest.fixture(autouse=True)
def leaves_nothing() -> Iterator[None]:
    """No block is open behind a test, and no hook installed."""
    yield
    assert not _hook.hook_installed()


def functions_in(block: Everywhere) -> set[str]:
    """The names of the functions of this file that were captured in it."""
    report = block.report()
    graphs = {one.code.co_name for one in report.specialisations}
    return graphs | {one.function for one in report.loops if one.turns}


def module_of(name: str, **values: object) -> types.ModuleType:
    """A module from a file of its own, so that its code has a place."""
    module = types.ModuleType(name)
    file = f"/somewhere/{name}.py"
    vars(module).update(__file__=file, np=np, **values)
    source = f"def scaled(x):\n    return x * {len(name)}.0 + 1.0\n"
    exec(compile(source, file, "exec"), vars(module))
    return module


def test_functions_are_compiled_that_take_arrays_or_have_loops() -> None:
    """Results are plain Python's, at the first call and later."""
    expected = polynomial(X).tobytes(), total(X), both(X), words("a b")
    block = ufuse.everywhere(exclude=["json"])
    for _ in range(3):
        with block as entered:
            found = polynomial(X).tobytes(), total(X), both(X), words("a b")
        assert entered is block
        assert found == expected
    assert {"polynomial", "total"} <= functions_in(block)
    assert "words" not in functions_in(block)
    assert str(block.report()).startswith("The block at ")
    assert "test_everywhere.py:" in str(block.report())


def test_nothing_is_compiled_before_and_behind_a_block() -> None:
    """Neither are functions of other threads."""
    one, other = module_of("one"), module_of("other")
    block = ufuse.everywhere([one, other])
    one.scaled(X)
    with block:
        thread = threading.Thread(target=one.scaled, args=(X,))
        thread.start()
        thread.join()
    one.scaled(X)
    assert block.report().specialisations == ()
    with block:
        one.scaled(X)
        assert repr(block) == "<block of everywhere(), open, 1 captured>"
    assert repr(block) == "<block of everywhere(), not open, 1 captured>"
    assert len(block.report().specialisations) == 1


def test_modules_are_chosen() -> None:
    """By name or as objects, packages with all that is in them; what is excluded is not included."""
    one, other = module_of("one_of"), module_of("other_of")
    for include, exclude, names in (
        (one, (), {"one_of"}),
        ([one, other], other, {"one_of"}),
        ((), one, {"other_of"}),
        ("numpy", (), set()),
        ((), [one, other], set()),
    ):
        block = ufuse.everywhere(include, exclude)
        with block:
            one.scaled(X)
            other.scaled(X)
        files = {kept.code.co_filename for kept in block.report().specialisations}
        assert {file.rpartition("/")[2].removesuffix(".py") for file in files} == names


def test_a_module_is_named(tmp_path, monkeypatch) -> None:
    """It need not be imported yet."""
    package = tmp_path / "a_package_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "inner.py").write_text("def twice(x):\n    return x * 2.0 + x\n")
    monkeypatch.syspath_prepend(tmp_path)
    block = ufuse.everywhere("a_package_of_mine", exclude="json")
    from a_package_of_mine import inner  # type: ignore[import-not-found]  # noqa: PLC0415

    with block:
        assert inner.twice(X).tobytes() == (X * 2.0 + X).tobytes()
        polynomial(X)
    assert functions_in(block) == {"twice"}
    del sys.modules["a_package_of_mine"], sys.modules["a_package_of_mine.inner"]


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"include": "no_such_module"}, ValueError, "include: there is no module 'no_such_module'"),
        ({"exclude": "no.such"}, ValueError, "exclude: there is no module 'no.such'"),
        ({"include": "sys"}, ValueError, "include: .* has no Python code"),
        ({"include": 3}, TypeError, "include must be names of modules, or modules, not 3"),
        ({"exclude": [total]}, TypeError, "exclude must be names of modules, or modules, not <func"),
    ],
)  # fmt: skip
def test_what_is_no_module_is_an_error(arguments, kind, says) -> None:
    """It names the argument."""
    with pytest.raises(kind, match=says):
        ufuse.everywhere(**arguments)


def test_blocks_nest() -> None:
    """The innermost one has the frames; errors leave them."""
    one, other = module_of("outer_one"), module_of("inner_one")
    outer, inner = ufuse.everywhere(one), ufuse.everywhere(other)
    with outer:
        with pytest.raises(ZeroDivisionError), inner:
            divided(one.scaled(X).size, other.scaled(X).size - X.size)
        assert outer.report().specialisations == ()
        one.scaled(X)
        with pytest.raises(ufuse.UfuseError, match="open already"), outer:
            pass
    assert [len(block.report().specialisations) for block in (outer, inner)] == [1, 1]


def test_blocks_need_not_be_left_in_order() -> None:
    """A generator may be left with its block open, and go on when others are open."""
    one = module_of("in_a_generator")

    def turns(block):
        with block:
            yield
            yield one.scaled(X)

    block, other = ufuse.everywhere(one), ufuse.everywhere(module_of("nothing_of_it"))
    generator = turns(block)
    ufuse.compile(begun)(generator)
    assert _hook.hook_installed()
    with other:
        next(generator)
        generator.close()
        assert _hook.hook_installed()
    assert block.report().specialisations == ()  # `other` was the innermost


def test_a_block_is_left_in_its_thread() -> None:
    """Elsewhere that is an error, and the block stays open."""
    block = ufuse.everywhere()
    found = []

    def leave():
        try:
            block.__exit__(None, None, None)
        except ufuse.UfuseError as error:
            found.append(str(error))

    with block:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        assert _hook.hook_installed()
    assert found == ["a block of everywhere() has to be left in the thread that entered it"]


def test_compiled_functions_keep_their_own_graphs() -> None:
    """A block has the frames that no compiled function has."""
    compiled = ufuse.compile(polynomial)
    block = ufuse.everywhere(exclude=["json", "csv"])
    with block:
        for _ in range(3):
            assert compiled(X).tobytes() == polynomial(X).tobytes()
    assert compiled.stats.traces == 1
    plain = ufuse.everywhere(exclude=["json", "csv", "queue"])
    with plain, ufuse.eager():
        polynomial(X)
        total(X)
    assert functions_in(plain) == set()


def test_a_block_keeps_no_arguments() -> None:
    """What was called in it dies as in plain Python."""

    class Held(list):  # type: ignore[type-arg]
        pass

    def first(held):
        for one in held:
            return one
        return None

    with ufuse.everywhere():
        held = Held([X])
        seen = weakref.ref(held)
        assert first(held) is X
        del held
        assert seen() is None
    gc.collect()


def test_errors_and_warnings_are_those_of_plain_python() -> None:
    """With the program's own frames in the traceback."""

    def fails(x):
        y = x + 1.0
        return y[2000]

    with pytest.raises(IndexError, match="out of bounds") as plain:
        fails(X)
    for _ in range(3):
        with pytest.raises(IndexError, match="out of bounds") as found, ufuse.everywhere():
            fails(X)
        assert str(found.value) == str(plain.value)
        names = [entry.name for entry in found.traceback]
        assert names[-1] == "fails"
    with pytest.warns(RuntimeWarning, match="divide by zero"), ufuse.everywhere():
        polynomial(1.0 / (X - X[0]))
