"""Dicts and sets of whole numbers: counting, looking up what came before, remembering results."""

from __future__ import annotations

from collections import defaultdict


def counted(values: list[int]) -> dict[int, int]:
    """How often each number comes."""
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return counts


def most_often(values: list[int]) -> int:
    """How often the number comes that comes most often."""
    counts: dict[int, int] = defaultdict(int)
    for value in values:
        counts[value] += 1
    return max(counts.values())


def weighed(keys: list[int], weights: list[float]) -> float:
    """The greatest sum of the weights of one key."""
    totals: dict[int, float] = defaultdict(float)
    for i in range(len(keys)):
        totals[keys[i]] += weights[i]
    return max(totals.values())


def repeated(values: list[int]) -> int:
    """How many numbers have come before."""
    seen, again = set(), 0
    for value in values:
        if value in seen:
            again += 1
        else:
            seen.add(value)
    return again


def two_sum(values: list[int], target: int) -> tuple[int, int]:
    """The places of the first two numbers whose sum it is."""
    where: dict[int, int] = {}
    for i, value in enumerate(values):
        if target - value in where:
            return where[target - value], i
        where[value] = i
    return -1, -1


def parts_of_sum(values: list[int], target: int) -> int:
    """How many runs of neighbours have a sum."""
    before, total, found = {0: 1}, 0, 0
    for value in values:
        total += value
        found += before.get(total - target, 0)
        before[total] = before.get(total, 0) + 1
    return found


def longest_collatz(n: int) -> int:
    """The number below `n` from which it takes longest to one."""
    steps = {1: 1}
    best = 1
    for i in range(1, n):
        k, count = i, 0
        while k not in steps:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            count += 1
        steps[i] = steps[k] + count
        if steps[i] > steps[best]:
            best = i
    return best
