"""Kernels that refuse their arguments after something was written: nothing of that can be noticed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy.report import Warner

SIGNALING = np.array([0x7FA00000], np.uint32).view(np.float32)[0]  # converting it is invalid


def added(t: Any, x: Any, y: Any) -> None:
    """An operator in place."""
    t[0] = 1
    x += y


def assigned(t: Any, x: Any, y: Any) -> None:
    """An assignment to all elements."""
    t[0] = 1
    x[:] = x * y


def given_out(t: Any, x: Any, y: Any) -> None:
    """A function that writes into its argument."""
    t[0] = 1
    np.add(x, y, out=x)


def chosen(t: Any, x: Any, y: Any) -> Any:
    """A choice among what was written."""
    t[0] = 1
    return np.where(t > 0, x[0], y), t


def warned_in_order(t: Any, x: Any, y: Any) -> Any:
    """Other steps that warn, before and behind."""
    t /= 0.0
    x += y
    t *= 0.0
    return x + t[0]


PROGRAMS = [added, assigned, given_out, chosen, warned_in_order]
FLOATS: dict[str, Sequence[Any]] = {
    "f2": (1.5, 1e5, 1e-5, -1e-9),
    "f4": (1.5, 1e39, 1e-310, -1e39, SIGNALING),
    "f8": (1.5, 1e-310, SIGNALING, 2),
    "F": (1.5, 1e-310, 1e300j, 1e300 + 1j, 1e39),
    "g": (1.5, 1e-310, SIGNALING, 2**53 + 1, 3),
}
WHOLE: dict[str, Sequence[int]] = {
    "i1": (2, 300, -129, 3),
    "u1": (2, -1, 256, 3),
    "u8": (2, -1, 3),
}


def rotated(dtype: str, numbers: Sequence[Any]) -> Callable[[], tuple[Any, ...]]:
    """Makes arguments with one number after another."""
    following: Iterator[Any] = itertools.cycle(numbers)
    return lambda: (np.zeros(2), np.arange(2).astype(dtype), next(following))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_that_do_not_fit(program: Any, dtype: str) -> None:
    """The first call and every later one convert a number with NumPy's own bits and warnings, in their order."""
    for first in range(len(FLOATS[dtype])):
        numbers = (*FLOATS[dtype][first:], *FLOATS[dtype][:first])
        check_same(program, ufuse.compile(program), rotated(dtype, numbers), calls=len(numbers) + 1)


@pytest.mark.parametrize("program", [added, assigned, given_out])
@pytest.mark.parametrize("dtype", WHOLE)
def test_whole_numbers_that_do_not_fit(program: Any, dtype: str) -> None:
    """NumPy's OverflowError comes after what was written before it, and nothing after."""
    check_same(program, ufuse.compile(program), rotated(dtype, WHOLE[dtype]), calls=8)


def test_a_product_that_no_float_holds() -> None:
    """A whole number computed from floats is too large for an array: OverflowError, after the write."""

    def program(t: Any, x: Any, y: float) -> None:
        t[0] = 1
        z = int(y) * int(y) * int(y)
        x += z

    check_same(program, ufuse.compile(program), rotated("f8", (1e10, 1e200, 3.0)), calls=6)


def test_a_constant_that_underflows() -> None:
    """NumPy converts a tiny literal without a warning."""

    def program(t: Any, x: Any) -> None:
        t[0] = 1
        x += 1e-310

    check_same(program, ufuse.compile(program), lambda: (np.zeros(2, "f4"), np.ones(3, "f4")))


@pytest.mark.parametrize("dtype", ["f2", "f4", "F"])
def test_a_number_that_underflows_is_taken(dtype: str) -> None:
    """Where the error state ignores underflow, as it does by default, a kernel takes a number too small for its dtype.

    Otherwise NumPy decides: up to 2.4 `np.where` warns.
    """

    def program(x: Any, y: float) -> Any:
        return x * y, np.where(x > 0, x, y)

    compiled = ufuse.compile(program)
    numbers = (1.5, 1e-50, -1e-310)
    check_same(program, compiled, rotated_arrays(dtype, numbers), calls=6)
    before = compiled.stats.eager_calls
    for number in numbers:
        compiled(np.ones(3, dtype), number)
    assert compiled.stats.eager_calls == before


def rotated_arrays(dtype: str, numbers: Sequence[float]) -> Callable[[], tuple[Any, ...]]:
    """`rotated`, without an array to write to."""
    make = rotated(dtype, numbers)
    return lambda: make()[1:]


def scaled(t: Any, x: Any) -> Any:
    """The number meets what is written again and summed."""
    t[0] = SIGNALING
    s = t[0]
    x *= s
    x /= 0.0
    return x.sum()


def chained(t: Any, x: Any) -> Any:
    """A short sum is a chain of additions, which warn as one."""
    t[0] = SIGNALING
    return (x * t[0]).sum(axis=0), (x * 1.5).sum(axis=0)


def by_rows(t: Any, x: Any) -> Any:
    """Values of rows meet all elements, copies and casts."""
    t[0] = SIGNALING
    s = t[0]
    rows = (x + s).sum(axis=1)
    x -= rows[:, None]
    return x / x.sum(axis=-1, keepdims=True), (x * s).astype("f4"), x.max(axis=1), x.copy("F") + s


@pytest.mark.parametrize(
    ("program", "shape"), [(scaled, (2, 4)), (chained, (3, 2, 2)), (by_rows, (2, 4))]
)
def test_a_number_read_after_the_write(program: Any, shape: tuple[int, ...]) -> None:
    """A NumPy scalar that is known only then warns when it is converted, on the user's line and in order."""
    values = np.array([np.inf, 1.0, 1e308, 0.0, -np.inf, -0.0, 1e308, 1e308, 3.0, 4.0, -2.0, 1e308])
    values = values[: math.prod(shape)].reshape(shape)
    check_same(program, ufuse.compile(program), lambda: (np.zeros(2, "f4"), values.copy()))


def exponential(t: Any, x: Any) -> Any:
    """A function with vector code of its own reads what was written."""
    t[0] = 0.5
    x += 1
    return np.exp(x)


def into_itself(t: Any, x: Any) -> Any:
    """The same, written, and summed along rows."""
    t[0] = 0.5
    x[...] = np.sin(x) + 1
    return np.exp(x) * 2, (x * 2).sum()


@pytest.mark.parametrize("program", [exponential, into_itself])
def test_one_element_with_odd_strides(program: Any) -> None:
    """NumPy takes other loops for a single strided element: so do kernels behind a write."""
    arguments = itertools.cycle([lambda: np.arange(4.0)[::4], lambda: np.arange(3.0)])
    check_same(
        program,
        ufuse.compile(program),
        lambda: (np.zeros(2), next(arguments)()),
        calls=5,
        copies=True,
    )


def test_a_run_that_is_never_finished_keeps_no_warnings() -> None:
    """What a signal handler raises may come before the end of a run whose warnings are kept: later ones are shown."""
    warner = Warner()
    finish = warner.in_order()
    unfinished = warner.in_order()
    warner.warn(2, "lost", None)
    del unfinished
    warner.warn(1, "kept", None)
    with pytest.warns(RuntimeWarning, match="kept"):
        finish()
    with pytest.warns(RuntimeWarning, match="at once"):
        warner.warn(0, "at once", None)
