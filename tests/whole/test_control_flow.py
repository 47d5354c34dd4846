"""The control-flow examples of TensorFlow's guides to tf.function and AutoGraph, in NumPy: what is one graph here.

What runs per call behind a warm-up: entries of graphs, native loops, and how often a Python frame was needed in between.
"""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, RET505
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse.compiled import loops_of

WARM = 100  # calls: until it is known which side of a branch is usual


def conditional(x):
    """`if` on a tensor: the guide's `tf_if`."""
    if x.sum() > 0:
        x = x * x
    return x


def sign(x):
    """The guide's `elif` with early returns."""
    if x.sum() > 0:
        return x + 1
    elif x.sum() < -1:
        return x - 1
    return x * 2


def conditional_expression(x):
    return x * (2.0 if x.max() > 1 else 3.0)


def guarded(x):
    """An assertion on a tensor: `tf.debugging.Assert`."""
    if not np.isfinite(x).all():
        message = "not finite"
        raise AssertionError(message)
    return np.tanh(x)


def relu_by_hand(x, threshold):
    """The guide's function that is decorated with `autograph`: a branch in a function that is called."""
    return _leaky(x, threshold) + _leaky(x * 2, threshold)


def _leaky(x, threshold):
    if (x < threshold).any():
        return np.where(x < threshold, x * 0.1, x)
    return x


def while_on_a_tensor(x):
    """The guide's `while tf.reduce_sum(x) > 1: x = tf.tanh(x)`."""
    while x.sum() > 1:
        x = x * 0.5
    return x


def fizz(n):
    """The guide's FizzBuzz, with numbers for words."""
    found = np.zeros(n, dtype=np.int64)
    for i in range(1, n):
        if i % 15 == 0:
            found[i] = 15
        elif i % 3 == 0:
            found[i] = 3
        elif i % 5 == 0:
            found[i] = 5
        else:
            found[i] = i
    return found


def skips_and_stops(x):
    """`for` with `break` and `continue`."""
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0:
            continue
        total += x[i]
        if total > 100:
            break
    return total


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def dynamic_rnn(inputs, state, lengths):
    """The guide's dynamic RNN: a condition for each row."""
    for i in range(inputs.shape[0]):
        state = np.where((i < lengths)[:, None], np.tanh(inputs[i] + state), state)
    return state


def accumulated(x):
    """A list that grows in a loop, stacked."""
    found = []
    for i in range(5):
        found.append(x * i)
    return np.stack(found)


X = np.array([0.5, 0.25, 0.75])
ROWS = np.linspace(-1, 1, 24).reshape(4, 2, 3)


@dataclass(frozen=True, slots=True)
class Example:
    """A function, the arguments of its usual calls, and of one that takes another way."""

    function: Callable[..., Any]
    usual: tuple[Any, ...]
    other: tuple[Any, ...]


EXAMPLES = [
    Example(conditional, (X,), (-X,)),
    Example(sign, (X,), (-X,)),
    Example(conditional_expression, (X,), (X * 10,)),
    Example(guarded, (X,), (X * np.inf,)),
    Example(relu_by_hand, (X, 0.0), (-X, 0.0)),
    Example(dynamic_rnn, (ROWS, ROWS[0] * 0, np.array([2, 4])), (ROWS, ROWS[0], np.array([0, 1]))),
    Example(accumulated, (X,), (-X,)),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.function.__name__)
def test_one_graph_from_start_to_end(example: Example) -> None:
    """The usual call is one graph; another one is right, too."""
    made = _warm(example.function, example.usual)
    cache = made.__ufuse_cache__
    before = cache.whole, cache.suspensions
    made(*example.usual)
    assert (cache.whole, cache.suspensions) == (before[0] + 1, before[1])
    _compare(made, example.function, example.other)
    _compare(made, example.function, example.usual)


IN_TURN = [
    Example(conditional, (X,), (-X,)),
    Example(sign, (X * 9,), (-X * 9,)),
    Example(conditional_expression, (X,), (X * 10,)),
    Example(relu_by_hand, (X, 0.0), (-X, 0.0)),
]


@pytest.mark.parametrize("example", IN_TURN, ids=lambda one: one.function.__name__)
def test_sides_that_are_taken_in_turn_are_in_one_graph(example: Example) -> None:
    """Both run without a frame, as `tf.cond` does."""
    made = ufuse.compile(example.function)
    for _ in range(WARM):
        _compare(made, example.function, example.usual)
        _compare(made, example.function, example.other)
    assert any("branch" in str(graph) for graph in made.graphs)
    before = made.__ufuse_cache__.whole
    made(*example.usual)
    made(*example.other)
    assert made.__ufuse_cache__.whole == before + 2


@pytest.mark.parametrize("example", IN_TURN, ids=lambda one: one.function.__name__)
def test_one_graph_where_one_is_asked_for(example: Example) -> None:
    """At the first call."""
    made = ufuse.compile(example.function, fullgraph=True)
    _compare(made, example.function, example.usual)
    _compare(made, example.function, example.other)
    assert len(made.graphs) == 1


LOOPS = [
    Example(fizz, (3000,), (7,)),
    Example(skips_and_stops, (np.linspace(-1, 9, 60),), (X,)),
    Example(collatz, (27,), (1,)),
]


@pytest.mark.parametrize("example", LOOPS, ids=lambda one: one.function.__name__)
def test_loops_are_native_code(example: Example) -> None:
    """With the branches, exits and conditions in them."""
    made = _warm(example.function, example.usual)
    assert sum(loop.turns > 0 for loop in loops_of(made)) == 1
    _compare(made, example.function, example.other)


def test_turns_of_a_loop_on_a_tensor_need_no_frame() -> None:
    """Its condition is a choice, its body a graph, or the whole of it a native loop."""
    made = _warm(while_on_a_tensor, (X * 100,))
    before = made.__ufuse_cache__.suspensions
    made(X * 100)
    assert made.__ufuse_cache__.suspensions - before <= 1
    _compare(made, while_on_a_tensor, (X * 0,))


def _warm(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    made = ufuse.compile(function)
    for _ in range(WARM):
        _compare(made, function, arguments)
    return made


def _compare(made: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    found, wanted = _outcome(made, arguments), _outcome(function, arguments)
    assert found == wanted


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        try:
            result = function(*arguments)
        except AssertionError as error:
            return str(error)
    return type(result), np.asarray(result).dtype, np.asarray(result).tobytes()
