"""Loops of which one turn warns or fails, wherever that is."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

import numpy as np

TURNS = 200
WIDTH = 9

# Programs: each divides by `d[i]` in turn i, and uses `place[i]` as an index or a bound -------------------------------


def elements(a, d, place):
    s, out = 0.0, np.zeros(len(d))
    for i in range(len(d)):
        for j in range(a.shape[1]):
            s = s * 0.5 + a[i, j] / d[i]
        out[i + place[i]] = s
    return out, s, i, j


def rows(a, d, place):
    for i in range(1, len(d)):
        a[i, 1:-1] = (a[i - 1, :-2] + a[i, 2:]) / d[i]
        a[i, : 4 + place[i]] += a[i - 1, :4]
    return a, i


def swapped(a, d, place):
    old, new = a[0].copy(), a[1].copy()
    for i in range(len(d)):
        new[1:-1] = 0.5 * (old[:-2] + old[2:]) / d[i]
        new[0] = old[place[i]]
        old, new = new, old
    return old, new, i


def temporaries(a, d, place):
    most = 0.0
    for i in range(1, len(d)):
        t = a[i] - a[i - 1] * 0.5
        a[i] += t / d[i]
        most = max(most, t[place[i]])
        t = t * 0.25
    return a, most, t


def dots(a, d, place):
    for i in range(1, len(d)):
        d[i] = (1.0 - a[i, :4] @ a[i - 1, : 4 + place[i]]) / d[i]
        a[i] *= 0.5
    return a, d, i


def halved(x, by):
    if x > 1e300:
        return 0.0
    return math.sqrt(x) * 0.5 / by


def calls(a, d, place):
    s, k = 0.0, 0
    for i in range(len(d)):
        s = min(s * 0.5 + halved(a[i, k], d[i]), 1e9)
        k = (k + 1 + place[i]) % 9
        a[i + place[i], 0] = s
    return s, k, i


def inner(a, d, place):
    n = k = j = 0
    for i in range(len(d)):
        k = 0
        while k < 8 and a[i, k] < 1.2:
            k += 1
        n += k
        for j in range(i % 5, 9):
            if a[i, j] > 1.4:
                continue
            a[i, j] = a[i, j - 1] / d[i] + place[i]
        d[i] = a[i + place[i], k]
    return a, d, n, k, j


def whole(a, d, place):
    total, bits = 0, np.zeros(len(d), dtype=np.int32)
    for i in range(len(d)):
        total = (total * 31 + i) & 0xFFFF
        bits[i] = total >> 3 ^ i
        total += int(1.0 / d[i]) + int(a[i + place[i], 1])
    return total, bits, i


def while_turning(a, d, place):
    i, s = 0, 0.0
    while i < len(d):
        s = s * 0.5 + a[i, 1] / d[i]
        i += 1
        if i % 7 == 3:
            continue
        a[i - 1 + place[i - 1], 0] = s
    return a, s, i


def left_late(a, d, place):
    s = last = 0.0
    for i in range(2 * len(d)):
        for j in range(5):
            s = s * 0.5 + a[i, j] / d[i]
            if i + place[i] == len(d) - 1:
                return a, s, i, j
        last = s
        a[i + place[i], 0] = last
    return a, last, j


# Of these a chunk saves rows, or nothing of new arrays --------------------------------------------------------------


def backwards(a, d, place):
    for i in range(len(d) - 1, -1, -1):
        a[i, 1:-1] *= 0.5
        a[i + place[i]] -= a[i, 0] / d[i]
    return a, i


def wrapping(a, d, place):
    for i in range(len(d)):
        a[i - 1, 3] += a[i + place[i], 2] / d[i]
        a[i, 4] = i
    return a, i


def columns(a, d, place):
    b = a.T
    for i, by in enumerate(d):
        b[2:5, i] = b[0, i] / by
        b[1, i + place[i]] = b[2, i] + by
    return a, i, by


def sharing_memory(a, d, place):
    x, y, z = a[1:], a[:-1], a[::-1]
    for i in range(len(d) - 1):
        x[i, 1] = y[i, 1] / d[i]
        y[i, 2] = x[i + place[i], 2] * 0.5
        z[i, 3] += 1.0
    return a, i


def copied(a, d, place):
    now, behind = a.copy(), np.zeros((len(d), 3))
    for i in range(len(d)):
        now[3] += a[i + place[i]] / d[i]
        behind[i] = now[3, :3]
        behind[len(d) - 1, 0] += 1.0
    return now, behind, i


PROGRAMS = [
    elements,
    rows,
    swapped,
    temporaries,
    dots,
    calls,
    inner,
    whole,
    while_turning,
    left_late,
    backwards,
    wrapping,
    columns,
    sharing_memory,
    copied,
]


def arguments_of(turn: int, what: str) -> tuple[Any, ...]:
    """Arguments with which one turn is odd."""
    a = np.random.default_rng(3).random((TURNS, WIDTH)) + 0.5
    d, place = np.full(TURNS, 2.0), np.zeros(TURNS, dtype=np.int64)
    if what == "error":
        place[turn] = 10**6
    else:
        d[turn] = 0.0
    return a, d, place


def counting(x, n):
    s = 0
    for i in range(n):
        s = (s + i) & 0xFFFFFF
        x[0] = i
    return s
