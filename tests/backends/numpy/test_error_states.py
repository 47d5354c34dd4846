"""Steps of programs within `np.errstate` of the program: what shares a step, and what each does with flags."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pytest

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.assemble import program
from ufuse.backends.numpy.listing import listing
from ufuse.backends.numpy.rules import plan_of
from ufuse.backends.protocol import DEFAULT
from ufuse.graph.text import parse

IGNORED = "errors=(('divide', 'ignore'),)"


def test_kernels_of_two_states_are_two() -> None:
    """Operations that may warn share no kernel with those of another state; the others go anywhere."""
    plan = plan_of(
        parse(
            f"a: f8[n]; m = less a 0.0; s = divide 1.0 a {IGNORED}; b = add s a {IGNORED}; "
            "w = where m a b; c = divide w a; d = add c a; return d"
        )
    )
    kernels = [step for step in plan.steps if step.kernel is not None]
    assert [step.errors for step in kernels] == [(("divide", "ignore"),), ()]
    assert "np.errstate(divide='ignore')" in listing(plan, native=False)


def test_code_over_numbers_of_two_states_is_two() -> None:
    """So it is with operations on numbers."""
    plan = plan_of(
        parse(
            f"a: f8[n]; x = element a [0]; b = scalar.truediv x 0.0 {IGNORED}; c = scalar.truediv b 0.0; return c"
        )
    )
    assert [step.errors for step in plan.steps if step.numbers] == [(("divide", "ignore"),), ()]


@pytest.mark.parametrize("around", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("own", ["ignore", "warn"])
@pytest.mark.parametrize(
    "text",
    [
        "a: f8[n]; b = log a ERRORS; return b",
        "a: f8[n]; x = element a [0]; b = scalar.truediv 1.0 x ERRORS; return b",
        "a: f8[n]; b = reduce_add a errors=(('invalid', 'ignore'),); c = log a ERRORS; return b, c",
        "a: f8[n]; b = divide 1.0 a errors=(('divide', 'ignore'),); c = call numpy.cumsum(b); d = log a ERRORS; return c, d",
    ],
)
def test_a_flag_that_is_named_is_treated_as_said(text: str, own: str, around: str) -> None:
    """The program declines where its own state warns of the flag, and only then, whatever the call's state is."""
    said = f"errors=(('divide', {own!r}),)"
    function = program(plan_of(parse(text.replace("ERRORS", said))), DEFAULT)
    with np.errstate(all=around):  # type: ignore[call-overload]
        for _ in range(2):
            declined = function(np.array([0.0, 1.0])) is NotImplemented
            assert declined == (own == "warn")


@pytest.mark.parametrize("around", ["ignore", "warn"])
def test_behind_a_write_each_step_warns_in_its_state(around: str) -> None:
    """Kernels report, and calls are made again, with the modes of where they stand."""
    text = (
        "a: f8[n]; z: f8[n]; w = store z a; "
        "b = divide 1.0 w errors=(('divide', 'ignore'),); c = divide 1.0 w errors=(('divide', 'warn'),); d = divide 1.0 w; "
        "e = call numpy.cumsum(w) errors=(('invalid', 'ignore'),); "
        "f = call numpy.cumsum(w) errors=(('invalid', 'warn'),); g = call numpy.cumsum(w); return b, c, d, e, f, g"
    )
    function: Any = program(plan_of(parse(text)), DEFAULT)
    given = np.array([0.0, np.inf, -np.inf])
    with np.errstate(all=around), warnings.catch_warnings(record=True) as caught:  # type: ignore[call-overload]
        warnings.simplefilter("always")
        assert function(given, np.zeros(3)) is not NotImplemented
    texts = [str(one.message).partition(" encountered")[0] for one in caught]
    always = around == "warn"
    wanted = ["divide by zero", *["divide by zero"] * always]
    wanted += ["invalid value", *["invalid value"] * always]
    assert texts == wanted


@pytest.mark.parametrize("modes", [{}, {"divide": "ignore"}, {"all": "raise"}])
def test_no_memory(modes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever allocation fails while NumPy is to raise: the error state is the program's own again."""
    testing = pytest.importorskip("_testcapi")
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    text = "a: f8[n]; b = call numpy.cumsum(a); c = log b; d = call numpy.cumprod(c); return d"
    function: Any = program(plan_of(parse(text)), DEFAULT)
    given = np.array([1.0, 2.0, 3.0])
    wanted, failures = np.cumprod(np.log(np.cumsum(given))), 0
    for failing in range(150):
        with np.errstate(**modes):
            before, found = np.geterr(), None
            testing.set_nomemory(failing, failing + 1)
            try:
                found = function(given)
            except MemoryError:
                failures += 1  # a context manager would need memory, too
            finally:
                testing.remove_mem_hooks()
            assert np.geterr() == before
            if found is NotImplemented:
                failures += 1
            else:
                assert found is None or found.tobytes() == wanted.tobytes()
            assert function(given).tobytes() == wanted.tobytes()
    assert 1 < failures < 150
    assert not unraisable


def test_masks_are_for_every_step() -> None:
    """A program is made with a pair of masks for each step, or with none."""
    steps = (("call", abs, (0,), (), 1, (), False),)
    assert _tiles.Program(1, 2, (), steps, (1,), None, None, None, False, ((0, 0),))(-3) == 3
    assert _tiles.Program(1, 2, (), steps, (1,))(-3) == 3
    with pytest.raises(ValueError, match="error states of 2 steps, not of 1"):
        _tiles.Program(1, 2, (), steps, (1,), None, None, None, False, ((0, 0), (0, 0)))
    with pytest.raises(TypeError, match="a pair of masks"):
        _tiles.Program(1, 2, (), steps, (1,), None, None, None, False, (0,))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _tiles.Program(1, 2, (), steps, (1,), None, None, None, False, ((0,),))  # type: ignore[arg-type]
