"""Native loops whose variables begin without a value, or with None, or change from a number of one type to another."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 900


def best_so_far(a):
    best = None
    for i in range(len(a)):
        if a[i] > 0.5 and (best is None or a[i] > best):
            best = a[i]
            where = i
    return best, where


def none_again(a):
    last = None
    gaps = 0
    for i in range(len(a)):
        if a[i] > 1.0:
            last = i
        elif a[i] < -2.0:
            last = None
        if last is not None:
            gaps += i - last
    return last, gaps


def differences(a):
    total = 0.0
    for i in range(len(a)):
        if i > 0:
            total += abs(a[i] - before)  # type: ignore[has-type]  # noqa: F821
        before = a[i]
    return total, before


def never_bound(a):
    total = 0.0
    for i in range(len(a)):
        total += a[i]
        if total > 1e9 or i == 700:
            total += missing  # type: ignore[has-type]  # noqa: F821
        elif total < -1e9:
            missing = i  # noqa: F841
    return total


def least_of_rows(a):
    out = np.zeros(len(a) // 30)
    for k in range(len(out)):
        least = None
        for j in range(30):
            d = abs(a[30 * k + j])
            if least is None or d < least:
                least = d
        out[k] = least
    return out


def pairs(a):
    out = np.zeros((len(a) // 30, 2))
    for k in range(len(out)):
        best = (0.0, 0)
        for j in range(30):
            if a[30 * k + j] > best[0]:
                best = (a[30 * k + j], j)
        out[k] = best
    return out


def some_of_them(a):
    total = 0
    for i in range(len(a)):
        if a[i] > 1.5:
            total += a[i]
    return total


def none_is_no_number(a):
    best = None
    for i in range(len(a)):
        if a[i] > 2.0:
            best = a[i]
        if i > 800:
            best = best + 1.0
        if i == 850:
            best = None
    return best


def with_while(a):
    i, last = 0, None
    while i < len(a):
        if a[i] > 0 and (last is None or i - last > 3):
            last = i
        i += 1
    return last, i


def numbers() -> tuple[np.ndarray]:
    """Some."""
    return (np.random.default_rng(0).standard_normal(N),)


PROGRAMS = (
    best_so_far, none_again, differences, never_bound, least_of_rows, pairs, some_of_them,
    none_is_no_number, with_while,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_results_and_errors(function) -> None:
    """Are those of plain Python, and turns are native."""
    assert native_turns(function, numbers) > 15
