"""Native loops in which arrays of several axes become vectors, or are joined; in which lists are arrays."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

DTYPES = ["f8", "f4", "i8", "i4", "u1", "i2", "?"]


def windows_as_rows(image):
    out = np.zeros(((len(image) - 2) * 6, 9))
    row = 0
    for i in range(len(image) - 2):
        for j in range(6):
            out[row, :] = np.ravel(image[i : i + 3, j : j + 3])
            row += 1
    return out


def flattened(image):
    total = 0.0
    window = row = image[:1, :1].flatten()
    for i in range(len(image) - 2):
        window = image[i : i + 3, 1:4].flatten()
        window[0] = 7
        row = image[i : i + 2].T.flatten()
        total += (image[i : i + 3] * 2.5).flatten()[4] + window[0] + window[-1] + row[1]
    return total, window, row


def kept_rows(image):
    """Windows that are kept, and written to: they may be views."""
    found = image[0:2, 0:2].ravel()
    for i in range(len(image) - 1):
        found = image[i : i + 2, i % 3 : i % 3 + 2].ravel()
        found[0] = 1
        image[i, i % 3] = 3
    return image, found


def whole_rows(image):
    """They have no gaps: `ravel` gives views."""
    for i in range(len(image) - 2):
        rows = image[i : i + 2].ravel()
        rows[1] = image[i : i + 1, 0:2].ravel()[1]
    return image


def by_masks(image):
    kernel = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    out = np.zeros(len(image))
    for i in range(len(image) - 2):
        window = image[i : i + 3, 2:5]
        chosen = window[kernel == 1]
        out[i] = float(chosen[0]) + len(window[window > window[1, 1]]) + float(chosen.max())
    return out


def in_order(image):
    out, middle = np.zeros_like(image), np.zeros(len(image))
    for i in range(len(image) - 2):
        out[i, :6] = np.sort(image[i, :6])
        middle[i] = np.median(image[i : i + 3, 1:4]) + np.median(image[i, :4])
    return out, middle


def image_of(dtype: str, order: str = "C") -> Callable[[], tuple[np.ndarray]]:
    """Random numbers, with zeros of both signs."""

    def make() -> tuple[np.ndarray]:
        values = np.random.default_rng(0).standard_normal((60, 8)) * 50
        values[4:8, 2:4] = 0.0
        values[5, 3] = -0.0
        with np.errstate(invalid="ignore"):
            return (np.asarray(values.astype(dtype), order=order),)  # type: ignore[call-overload]

    return make


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [windows_as_rows, kept_rows, by_masks])
def test_results(function, dtype) -> None:
    """Are those of plain Python, and turns are native."""
    assert native_turns(function, image_of(dtype)) > 15


@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("function", [flattened, in_order])
def test_numbers(function, dtype) -> None:
    """The same of what is no array of bools."""
    turns = native_turns(function, image_of(dtype))
    assert turns > 15 or (function is in_order and dtype in ("i8", "f4"))


@pytest.mark.parametrize(
    "function", [windows_as_rows, flattened, kept_rows, whole_rows, by_masks, in_order]
)
def test_other_layouts(function) -> None:
    """In Fortran's order, with gaps, read-only, with rows that overlap, with NaN."""
    native_turns(function, image_of("f8", "F"))
    native_turns(function, lambda: (image_of("f8")()[0].repeat(2, axis=1)[:, ::2],))
    native_turns(function, lambda: (image_of("f8")()[0][::-1],))
    native_turns(function, image_of("f8"))
    overlapping = np.lib.stride_tricks.as_strided

    def sliding() -> tuple[np.ndarray]:
        return (overlapping(np.arange(200.0), (60, 8), (16, 8)),)

    def broken() -> tuple[np.ndarray]:
        image = image_of("f8")()[0]
        image[20:22, 3], image[30, 2:5] = np.nan, np.inf
        return (image,)

    def frozen() -> tuple[np.ndarray]:
        image = image_of("f8")()[0]
        image.flags.writeable = False
        return (image,)

    for make in (sliding, broken, frozen):
        native_turns(function, make)


def test_masks_of_another_shape() -> None:
    """They raise, in the middle."""

    def unlike(image):
        total = 0.0
        for i in range(len(image) - 2):
            mask = image[i : i + 2 + i // 40, 2:5] > 0
            total += image[i : i + 2, 2:5][mask].sum()
        return total

    native_turns(unlike, image_of("f8"))


# Joined ----------------------------------------------------------------------------------------------------------


def joined(a, b):
    total = 0.0
    for i in range(60):
        wide = np.hstack((a, b, a * 2))
        high = np.vstack((a, b))
        higher = np.vstack((high, a[0]))
        part = np.concatenate((a, b[:, :2]), axis=1)
        line = np.hstack([a[0], b[1]])
        copy = np.array(a)
        copy[0, 0] = i
        total += wide[0, 3] * wide[-1, -1] + high.sum() + higher[-1, 0] + part[1, -1] + line[2]
        total += (
            copy[0, 0] + a[0, 0] + np.concatenate([a[0], b[:, 1]]).sum() + np.array(a[0] + 1)[1]
        )
        a[i % 2, i % 3] += 1
    return total, wide, high, higher, part, line, copy


@pytest.mark.parametrize(
    "kinds", [("f8", "f8"), ("f8", "i8"), ("f4", "i2"), ("i4", "i8"), ("f4", "f8")]
)
def test_joined_arrays(kinds) -> None:
    """Of several types, too."""

    def make() -> tuple[np.ndarray, ...]:
        one, other = (np.arange(9).reshape(3, 3).astype(kind) for kind in kinds)
        return one, other

    assert native_turns(joined, make) > 15


@pytest.mark.parametrize(
    "turn", [lambda x: x, np.transpose, lambda x: x[::-1], lambda x: x[:, ::-1]]
)
def test_memory_of_joined_arrays(turn) -> None:
    """Is laid out as NumPy does it."""
    native_turns(joined, lambda: (turn(np.arange(9.0).reshape(3, 3)), turn(np.ones((3, 3)))))


def test_history() -> None:
    """A matrix that grows by a column in each turn, and one that grows by a row."""

    def grown(x, n):
        columns, rows = np.hstack((x, x)), np.zeros((2, 3))
        for i in range(n):
            x = x * 1.01
            columns = np.hstack((columns, x))
            rows = np.vstack((rows, np.array([i, x[0, 0], -x[1, 0]])))
        return columns, rows

    assert native_turns(grown, lambda: (np.arange(4.0).reshape(4, 1), 60)) > 15
    native_turns(grown, lambda: (np.arange(8.0).reshape(2, 4).T[:, :1], 60))
    native_turns(grown, lambda: (np.arange(8.0).reshape(4, 2).T, 60))


def test_parts_that_do_not_fit() -> None:
    """They raise, in the middle."""

    def unlike(a, n):
        total = 0.0
        for i in range(n):
            total += np.hstack((a, a[: 3 - i // 50])).sum()
        return total

    native_turns(unlike, lambda: (np.ones((3, 3)), 60))


# Lists ------------------------------------------------------------------------------------------------------------


def of_lists(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x)):
        some = []
        for j in range(1, 5 + i % 7):
            some.append(x[(i * j) % len(x)] * 0.5)
        out[i, 0] = np.max(some) - np.min(some) + np.mean(some) * np.std(some) + np.sum(some)
        out[i, 1] = np.argmax(some) + np.argmin(some) + np.median(some) + np.sort(some)[1]
        out[i, 2] = np.sum([i, x[i]]) + np.max((i, j, 3)) + np.mean([i, j])
    return out


def of_ints(x):
    total = 0.0
    for i in range(len(x)):
        places = [2 * j for j in range(i % 5 + 1)]
        total += np.max(places) + np.sum(places) + np.mean(places) + np.prod([1, 2, i])
    return total


def of_nothing(x):
    total = 0.0
    for i in range(len(x)):
        some = [v for v in x if v > i - 40]
        total += np.max(some)
    return total


def shapes(x):
    table = x.reshape(-1, 2)
    total = 0
    for i in range(len(x)):
        part = table[i % 7 :]
        total += np.shape(part)[0] + np.size(part) + np.ndim(part) + np.size(part, 0)
        (places,) = np.where(part[:, 0] > 0)
        total += places.sum() + np.where(part[:, 1] < 0)[0][0]
    return total


def extremes(x):
    """Python's functions, of slices and expressions."""
    total = 0.0
    for i in range(len(x) - 4):
        total += max(abs(x[i : i + 4])) + min(x[i : i + 2]) + max(x * 0.5) + sum(x[i : i + 3] * 2)
        x[i] = -x[i] * 0.5
    return total, x


def vector() -> tuple[np.ndarray]:
    """Numbers of both signs."""
    return (np.random.default_rng(1).standard_normal(60),)


def odd_vector() -> tuple[np.ndarray]:
    """With zeros of both signs, NaN and infinities."""
    (x,) = vector()
    x[3:9:2], x[4:9:2], x[30], x[40] = 0.0, -0.0, np.nan, -np.inf
    return (x,)


@pytest.mark.parametrize("function", [of_lists, of_ints, of_nothing, shapes, extremes])
@pytest.mark.parametrize("make", [vector, odd_vector])
def test_lists_and_shapes(function, make) -> None:
    """Functions of arrays take lists; Python's functions take arrays."""
    assert native_turns(function, make) > 0


@pytest.mark.parametrize("kind", [np.random.Generator, np.random.RandomState])
def test_choices_from_made_lists(kind) -> None:
    """One of the best, by chance."""

    def ties(values, rng):
        total = 0
        for i in range(100):
            values[i % 9] += rng.random()
            best = np.max(values)
            total += rng.choice([place for place, value in enumerate(values) if value == best])
            total += 3 * rng.choice(np.where(values > best - 1)[0])
        return total, rng.random()

    def nobody(values, rng):
        total = 0
        for i in range(100):
            total += rng.choice([2 * place for place in range(60 - i)])
        return total

    assert native_turns(ties, lambda: (np.zeros(9), kind(np.random.PCG64(3)))) > 15
    native_turns(nobody, lambda: (np.zeros(9), kind(np.random.PCG64(3))))


def stored_by_masks(a, b, n):
    for k in range(n):
        b[a > k] = a[a > k] + 1
        b[(a < k,)] = b[a < k] * 2
    return b


def test_stores_by_masks_of_several_axes_reach_the_array() -> None:
    """What a mask picks of several axes is a copy: a store goes into the array itself, in plain Python."""
    made = np.arange(12.0).reshape(3, 4)
    native_turns(stored_by_masks, lambda: (made, np.zeros((3, 4)), 30))
