"""Arrays without elements: NumPy gives them strides of its own liking, and everything has to work on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_in_turn, check_same, misfits_of

EMPTY: dict[str, Callable[[], Any]] = {
    "line": lambda: np.array([]),
    "cut line": lambda: np.arange(4.0)[::2][:0],
    "reversed": lambda: np.arange(5.0)[::-1][:0],
    "no rows": lambda: np.zeros((0, 3)),
    "no columns": lambda: np.zeros((3, 0)),
    "Fortran": lambda: np.zeros((0, 3), order="F"),
    "turned": lambda: np.zeros((2, 3, 0)).transpose(2, 0, 1),
    "cut": lambda: np.arange(6.0).reshape(2, 3)[:, :0],
    "turned and cut": lambda: np.arange(6.0).reshape(2, 3).T[:0],
    "broadcast": lambda: np.broadcast_to(1.0, (0, 3)),
    "one row of nothing": lambda: np.zeros((0, 1, 0)),
    "bytes": lambda: np.zeros((2, 0), np.int8),
    "no middle": lambda: np.zeros((2, 0, 3)).transpose(2, 1, 0),
}
USES: list[Callable[[Any], Any]] = [
    lambda p: p + 1, lambda p: p * p, lambda p: np.sqrt(p) * 1, lambda p: p.T + 1, lambda p: p.copy(), lambda p: p.copy("K"),
    lambda p: np.zeros_like(p) + 1, lambda p: np.empty_like(p) * 0, lambda p: p.sum(), lambda p: p.sum(axis=0),
    lambda p: p.sum(axis=-1), lambda p: p.mean(), lambda p: p.max(axis=0), lambda p: p.max(), lambda p: np.where(p > 0, p, 1.0),
    lambda p: p.astype("f4"), lambda p: p.astype("i4", order="F"), lambda p: p.ravel(), lambda p: p.reshape(p.shape[::-1]),
    lambda p: (p + 1).reshape(p.size), lambda p: p[:1] + p[:1], lambda p: p[None] * 2, lambda p: np.concatenate([p, p]),
    lambda p: np.stack([p, p]) + 1, lambda p: np.cumsum(p) + 0, lambda p: p @ p.T, lambda p: np.sort(p) + 0, lambda p: p.clip(0, 1),
    lambda p: p + np.ones(p.shape[-1:]), lambda p: p.__iadd__(1), lambda p: p.argmax(), lambda p: p.flatten(),
    lambda p: (p > 0).all(), lambda p: p.std(axis=0), lambda p: p.prod(), lambda p: np.outer(p, p), lambda p: np.diff(p) + 0,
    lambda p: np.swapaxes(p, 0, -1) * 2, lambda p: p.reshape(-1, 3), lambda p: p.reshape(-1), lambda p: p.reshape(1, -1),
    lambda p: p[:, None].reshape(-1, 3), lambda p: p.reshape(p.shape[0], -1),
]  # fmt: skip


def check(program: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    """Compare three calls with plain Python."""
    check_same(program, ufuse.compile(program), make, calls=3, modes=MODES[:1], copies=False)


@pytest.mark.parametrize("name", EMPTY)
def test_everything_that_is_done_with_an_array(name: str) -> None:
    """Results, errors and warnings are plain Python's, to the strides."""
    for use in USES:
        check(use, lambda: (EMPTY[name](),))


@pytest.mark.parametrize("name", EMPTY)
def test_an_entry_fits_what_it_was_made_for(name: str) -> None:
    """An empty array is met again: the second call hits, and nothing is traced anew."""

    def use(x: Any, p: Any) -> Any:
        return x * 2 + p.size, p + 1

    compiled = ufuse.compile(use)
    for _ in range(3):
        compiled(np.arange(3.0), EMPTY[name]())
    assert (compiled.stats.hits, compiled.stats.traces, misfits_of(compiled)) == (2, 1, [])


def test_from_some_elements_to_none() -> None:
    """One function serves full and empty arrays in turn."""

    def doubled(p: Any) -> Any:
        return (p.T * 2).sum(axis=0)

    full, wide, tall = np.ones((3, 4)), np.ones((0, 4)), np.ones((4, 0))
    rows = [full, wide, full.T, tall.T, full, np.ones((0, 0))]
    check_in_turn(doubled, ufuse.compile(doubled), [(array,) for array in rows])


@pytest.mark.parametrize("length", [0, 1, 3])
def test_nothing_is_left_of_a_new_axis(length: int) -> None:
    """A slice of a new axis of length 1 may have none, and is another array than what was sliced."""

    def added(x: Any) -> Any:
        rows = (x / 2)[None]
        return rows + rows[1:], rows[:1] * rows, rows[1:3] - x

    def stored(x: Any) -> Any:
        rows = (x - 2.5)[None]
        rows[1:3] = 7
        return rows.T * rows

    for use in (added, stored):
        check(use, lambda: (np.arange(float(length)),))


SHORT: list[Callable[[], Any]] = [
    lambda: np.zeros((1, 3)), lambda: np.zeros((1, 3), order="F"), lambda: np.zeros((3, 1)).T, lambda: np.zeros((3, 1)),
    lambda: np.zeros((1, 1)), lambda: np.zeros((2, 2))[1:, :1], lambda: np.zeros(2)[:1], lambda: np.zeros((1, 0, 3)),
]  # fmt: skip


@pytest.mark.parametrize("made", range(len(SHORT)))
def test_reshape_of_axes_of_length_one(made: int) -> None:
    """With -1 NumPy chooses their strides anew, also where the shape stays what it was."""
    for use in USES[-5:]:
        check(use, lambda: (SHORT[made](),))


NUMBERS: list[Any] = [
    np.int64(-(2**62)), np.float64(1e300), np.float32(1e30), np.float64("nan"), 1e300, -(10**5), True, np.int16(300), np.uint8(3),
    np.complex128(1e300), 1e300 + 1j,
]  # fmt: skip


def into_a_slice(a: Any, v: Any) -> Any:
    a[5:1] = v


def into_all(a: Any, v: Any) -> Any:
    a[...] = v


def into_a_new_one(a: Any, v: Any) -> Any:
    b = a + 0
    b[2:2] = v
    return b


def by_fill(a: Any, v: Any) -> Any:
    a[:0].fill(v)


def computed(a: Any, v: Any) -> Any:
    a[::2][:0] = v * 1


def written_before(a: Any, v: Any) -> Any:
    np.add(a, 1, out=a)
    a[5:1, None] = v


def constants(a: Any, v: Any) -> Any:
    a[5:1] = 1e300
    a[5:1] = 1
    a[5:1] = -7.5


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i4", "F", "?"])
@pytest.mark.parametrize(
    "program",
    [into_a_slice, into_all, into_a_new_one, by_fill, computed, written_before, constants],
)
def test_a_number_goes_into_no_element(program: Callable[..., Any], dtype: str) -> None:
    """NumPy converts it all the same, and warns or raises where it does not fit."""
    for size in (0, 3):
        for number in NUMBERS:
            check(program, lambda size=size, number=number: (np.zeros(size, dtype), number))


def divided_into(d: Any, c: Any) -> Any:
    np.add(d, 1, out=d)
    nothing = d[:0] * 2
    np.divide(d, c, out=nothing)


def divided_into_a_column(d: Any, c: Any) -> Any:
    np.add(d, 1, out=d)
    nothing = d[:0, None] * 2
    return np.divide(d, c, out=nothing)


def divided_before(d: Any, c: Any) -> Any:
    return np.divide(d, c, out=d[:0])


@pytest.mark.parametrize("program", [divided_into, divided_into_a_column, divided_before])
@pytest.mark.parametrize("divisor", [np.zeros(1), np.zeros(()), np.zeros((1, 1))])
def test_elements_go_into_none(program: Callable[..., Any], divisor: Any) -> None:
    """NumPy divides nothing by zero where the result has no element, behind a write as before one."""
    check(program, lambda: (np.ones(1), divisor.copy()))
