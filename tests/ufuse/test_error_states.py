"""`np.errstate` and `warnings.catch_warnings` around compiled functions and in them."""

from __future__ import annotations

import gc
import itertools
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse

FLAGS = ("divide", "over", "under", "invalid")
MODES = ("ignore", "warn", "raise", "call", "print", "log")
# What raises each flag alone.
RAISING: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "divide": (lambda x: 1 / x + 1, np.array([1.0, 0.0, 2.0])),
    "over": (lambda x: x * 1e300 + 1, np.array([1.0, 1e300, 2.0])),
    "under": (lambda x: x * 1e-300 + 1, np.array([1.0, 1e-300, 2.0])),
    "invalid": (lambda x: np.sqrt(x) + 1, np.array([1.0, -1.0, 2.0])),
}


class Log:
    """What `np.seterrcall` is given: something to call, and something to write to."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, *args: Any) -> None:
        """Note a call."""
        self.seen.append(args)

    def write(self, text: str) -> None:
        """Note a message."""
        self.seen.append(text)


def happened(function: Any, x: Any, capfd: Any) -> tuple[Any, ...]:
    """What a call gives, raises, warns of, prints and tells a log."""
    log = Log()
    result: Any
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with np.errstate(call=log):
                result = function(x).tobytes()
        except FloatingPointError as error:
            result = str(error)
    warned = [(w.category, str(w.message)) for w in caught]
    return result, warned, log.seen, capfd.readouterr()


@pytest.mark.parametrize(("flag", "mode"), list(itertools.product(FLAGS, MODES)))
def test_every_mode_of_every_flag(flag: str, mode: str, capfd: Any) -> None:
    """A state around the call, and one that the function enters itself, are obeyed on every call."""
    compute, x = RAISING[flag]
    other = FLAGS[FLAGS.index(flag) - 1]

    def inside(x: Any) -> Any:
        y = x + 0
        with np.errstate(**{flag: mode, other: "ignore"}):  # type: ignore[call-overload]
            y = compute(y)
        return y * 2

    def outside(x: Any) -> Any:
        with np.errstate(**{flag: mode, other: "ignore"}):  # type: ignore[call-overload]
            return computes(x)

    for plain, program in ((inside, ufuse.compile(inside)), (outside, outside)):
        computes = compute
        expected = happened(plain, x, capfd)
        computes = ufuse.compile(compute)
        for _ in range(3):
            assert happened(program, x, capfd) == expected


def test_states_that_change_between_calls() -> None:
    """One compiled function obeys whatever state is current, call by call."""
    compute, x = RAISING["divide"]
    compiled = ufuse.compile(compute)
    for mode in ("ignore", "raise", "warn", "ignore", "warn", "raise"):
        with np.errstate(divide=mode), warnings.catch_warnings(record=True) as caught:  # type: ignore[call-overload]
            warnings.simplefilter("always")
            if mode == "raise":
                with pytest.raises(FloatingPointError, match="divide by zero"):
                    compiled(x)
            else:
                assert compiled(x).tolist() == [2.0, np.inf, 1.5]
        assert len(caught) == (mode == "warn")


def test_a_graph_that_always_warns_is_given_up() -> None:
    """Where nearly every run ends in plain Python, nothing is tried in vain for long, and the rest stays compiled."""

    def quietly(x: Any, y: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            z = x / y
            z = z * z + 1
        return np.where(np.isfinite(z), z, 0.0)

    x, y = np.arange(4.0), np.zeros(4)
    compiled = ufuse.compile(quietly)
    for _ in range(100):
        assert compiled(x, y).tolist() == quietly(x, y).tolist()
    tried = compiled.stats.eager_calls + compiled.__ufuse_session__.stats.eager_calls
    for _ in range(20):
        compiled(x, y)
    assert compiled.stats.eager_calls + compiled.__ufuse_session__.stats.eager_calls == tried
    assert any(graph.nodes for graph in compiled.graphs)


def written(x: Any) -> Any:
    """A program that looks at the filters of warnings before it writes."""
    x[0] = 1.0
    x[1] = x[0] * 2.0
    return x


def test_filters_and_records_die() -> None:
    """A category of warnings that a filter names, and what recorded warnings hold, live no longer than in plain Python."""

    class Local(UserWarning):
        pass

    class Source:
        pass

    compiled, source = ufuse.compile(written), Source()
    gone = weakref.ref(Local), weakref.ref(source)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", Local)
        for _ in range(4):
            compiled(np.ones(3))
        warnings.warn("of a source", ResourceWarning, source=source, stacklevel=1)
    assert caught
    del Local, source, caught
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("CPython itself keeps the last filters", stacklevel=1)
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


MADE_BY_EXEC = """
def halves(x, out):
    for i in range(len(x)):
        out[i:i + 2] = x[i:i + 2] / x[i]
    return out

def apart(x, out):
    out += x / x[0]
    out += 1 / x
    return out
"""


@pytest.mark.parametrize("name", ["halves", "apart"])
def test_warnings_of_code_without_a_module_are_shown_once(name: str) -> None:
    """Their registry is in the globals that `exec` was given, however the lines were run."""

    def shown(*, compiles: bool) -> tuple[list[Any], list[str]]:
        space: dict[str, Any] = {"np": np}
        exec(MADE_BY_EXEC, space)
        function = ufuse.compile(space[name]) if compiles else space[name]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(4):
                x = np.zeros(50)
                x[7], x[3] = np.nan, 1
                function(x, np.zeros(50))
        messages = [(str(one.message), one.lineno, one.filename) for one in caught]
        return messages, sorted(map(str, space["__warningregistry__"]))

    assert shown(compiles=True) == shown(compiles=False)
