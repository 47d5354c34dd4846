"""`np.errstate` within a graph: what is captured, and where a graph ends instead."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.programs.error_states import PROGRAMS

# Programs that raise in some error states, and are one graph in others.
WHOLE = """one_statement nested elements casts unrolled_inside raising_around argument_written_and_warned_of
numpys_own_calls_behind_a_write a_side_that_enters a_generator_that_enters entered_by_hand a_loop_inside""".split()
X, Y = np.array([0.0, -1.0, 2.5, 1e300, np.nan, np.inf]), np.array([0.0, 0.0, 1.0, 1e-300, 1.0, 2])


@pytest.mark.parametrize("name", WHOLE)
def test_what_may_raise_is_one_graph_where_it_does_not(name: str) -> None:
    """Nothing but the error state around the call ends it."""
    (program,) = [row for row in PROGRAMS.rows if row.function.__name__ == name]
    compiled = ufuse.compile(program.function, fullgraph=True)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(*program.make_args())


def ratio(x: Any, y: Any) -> Any:
    """Enter an error state for two flags, and leave it."""
    with np.errstate(divide="ignore", invalid="warn"):
        z = x / y
    return z * x


def told(function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """What a call gives or raises, and the warnings and messages that it gives."""
    log: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = np.seterrcall(lambda *said: log.append(said))
        try:
            result: Any = function(*args).tobytes()
        except FloatingPointError as error:
            result = str(error)
        finally:
            np.seterrcall(before)
    return result, [(str(one.message), one.lineno) for one in caught], log


def test_the_state_around_decides_of_the_flags_that_are_not_named() -> None:
    """One graph obeys whatever state is around it, call by call."""
    compiled = ufuse.compile(ratio)
    calm, other = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    modes: tuple[Any, ...] = ("ignore", "warn", "raise", "call")
    for over, divide, (x, y) in itertools.product(modes, modes, [(calm, other), (X, Y)]):
        with np.errstate(over=over, divide=divide, under="ignore"):
            assert told(compiled, x, y) == told(ratio, x, y)
    assert "errors=" in str(compiled.graphs[0])


def test_nodes_say_what_the_program_does() -> None:
    """The graph as text has it, beside those nodes alone that may warn."""
    text = str(ufuse.compile(ratio).trace(X, Y))
    assert text.count("errors=(('divide', 'ignore'), ('invalid', 'warn'))") == 1


def test_a_graph_ends_in_front_of_the_block() -> None:
    """Where it cannot go on to the end of the block, plain Python enters that."""

    def program(x: Any, y: Any) -> Any:
        a = x * 2
        with np.errstate(divide="ignore", invalid="ignore"):
            b = a / y
            print(end="")
            c = b / y
        return c * 2

    compiled = ufuse.compile(program)
    for _ in range(3):
        assert told(compiled, X, Y) == told(program, X, Y)
    assert not any("errors=" in str(graph) for graph in compiled.graphs)
    reasons = [one.reason for one in compiled.breaks]
    assert "print cannot be part of a graph" in reasons
    assert "`with np.errstate(...)` around the end of a graph is not captured yet" in reasons


@pytest.mark.parametrize("mode", ["raise", "print", "log"])
def test_other_modes_end_a_graph(mode: Any) -> None:
    """They do more than warn: the reason names the mode."""

    def program(x: Any) -> Any:
        with np.errstate(over=mode):
            return x + 1

    compiled = ufuse.compile(program)
    assert compiled(X).tobytes() == program(X).tobytes()
    assert [one.reason for one in compiled.breaks][:1] == [
        f"np.errstate with {mode!r} cannot be part of a graph"
    ]


def test_a_decorated_function_is_compiled() -> None:
    """`ufuse.compile` above `np.errstate`, and below it."""

    def divided(x: Any, y: Any) -> Any:
        return x / y

    plain = np.errstate(divide="ignore")(divided)
    above = ufuse.compile(np.errstate(divide="ignore")(divided))
    below = np.errstate(divide="ignore")(ufuse.compile(divided))
    for _ in range(3):
        assert told(above, X, Y)[:2] == told(below, X, Y)[:2] == told(plain, X, Y)[:2]
    assert not above.breaks
