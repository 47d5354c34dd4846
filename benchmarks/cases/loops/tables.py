"""Dynamic programming: tables filled element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def floyd_warshall(weights: Array) -> Any:
    """The shortest paths between all pairs."""
    path = weights.copy()
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return path


def match(one: int, other: int) -> int:
    """Whether two bases pair."""
    return 1 if one + other == 3 else 0


def nussinov(sequence: Array) -> Any:
    """The most pairs in a folded strand."""
    n = len(sequence)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    pair = 1 if sequence[i] + sequence[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pair)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def nussinov_with_calls(sequence: Array) -> Any:
    """The same, with a function for the pairs."""
    n = len(sequence)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            if i < j - 1:
                paired = table[i + 1, j - 1] + match(sequence[i], sequence[j])
                table[i, j] = max(table[i, j], paired)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def smith_waterman(one: Array, other: Array) -> Any:
    """The score of the best local alignment, and the table."""
    n, m = len(one), len(other)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    best = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = 3 if one[i - 1] == other[j - 1] else -3
            here = max(0, table[i - 1, j - 1] + score)
            here = max(here, table[i - 1, j] - 2)
            here = max(here, table[i, j - 1] - 2)
            table[i, j] = here
            best = max(best, here)
    return int(best), table


def smith_waterman_int32(one: Array, other: Array) -> Any:
    """The table alone, of small integers."""
    n, m = len(one), len(other)
    table = np.zeros((n + 1, m + 1), dtype=np.int32)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            score = 3 if one[i - 1] == other[j - 1] else -3
            paired = table[i - 1, j - 1] + score
            table[i, j] = max(0, paired, table[i - 1, j] - 2, table[i, j - 1] - 2)
    return table


def edit_distance(one: Array, other: Array) -> Any:
    """Levenshtein's distance, with `min` of three."""
    n, m = len(one), len(other)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if one[i - 1] == other[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return int(table[n, m])


def viterbi(observed: Array, start: Array, step: Array, emit: Array) -> Any:
    """The likeliest states of a hidden chain, in logarithms."""
    length, states = len(observed), len(start)
    score = np.zeros((length, states))
    back = np.zeros((length, states), dtype=np.int64)
    for s in range(states):
        score[0, s] = start[s] + emit[s, observed[0]]
    for t in range(1, length):
        for s in range(states):
            best, chosen = -math.inf, 0
            for before in range(states):
                value = score[t - 1, before] + step[before, s]
                if value > best:
                    best = value
                    chosen = before
            score[t, s] = best + emit[s, observed[t]]
            back[t, s] = chosen
    path = np.zeros(length, dtype=np.int64)
    path[length - 1] = np.argmax(score[length - 1])
    for t in range(length - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score


def knapsack(weights: Array, values: Array, capacity: int) -> Any:
    """The most value that fits, each thing once."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        weight, value = int(weights[i]), int(values[i])
        for room in range(capacity, weight - 1, -1):
            taken = best[room - weight] + value
            best[room] = max(best[room], taken)
    return best
