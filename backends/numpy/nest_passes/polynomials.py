"""Polynomials with whole coefficients over variables and lengths of arrays: what the integers of a loop are."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

Atom = tuple[Any, ...]  # ("get", a variable) or ("dim", an array's number, an axis)
Monomial = tuple[Atom, ...]  # sorted; their product
Polynomial = tuple[tuple[Monomial, int], ...]  # sorted, without zeros: equal ones are the same

MOST_FACTORS = 2
MOST_MONOMIALS = 8
ONE: Monomial = ()


def _sorted(parts: Iterable[tuple[Monomial, int]]) -> Polynomial:
    found: dict[Monomial, int] = {}
    for monomial, factor in parts:
        found[monomial] = found.get(monomial, 0) + factor
    return tuple(sorted(((one, factor) for one, factor in found.items() if factor), key=repr))


def constant(value: int) -> Polynomial:
    """A number."""
    return ((ONE, value),) if value else ()


def atom(*parts: Any) -> Polynomial:
    """A variable or a length."""
    return (((parts,), 1),)


def total(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """The sum; None where it has too many parts."""
    found = _sorted([*left, *right])
    return found if len(found) <= MOST_MONOMIALS else None


def negative(value: Polynomial) -> Polynomial:
    """The same with the other sign."""
    return tuple((one, -factor) for one, factor in value)


def difference(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """The difference, as `total`."""
    return total(left, negative(right))


def product(left: Polynomial, right: Polynomial) -> Polynomial | None:
    """The product; None where it has too many parts or factors."""
    if len(left) * len(right) > MOST_MONOMIALS:
        return None
    found = _sorted(
        (tuple(sorted((*one, *other), key=repr)), factor * other_factor)
        for one, factor in left
        for other, other_factor in right
    )
    return found if all(len(one) <= MOST_FACTORS for one, _ in found) else None


def number(value: Polynomial) -> int | None:
    """The number that it is, if it is one."""
    return 0 if not value else value[0][1] if len(value) == 1 and value[0][0] == ONE else None


def atoms(value: Polynomial) -> set[Atom]:
    """The variables and lengths in it."""
    return {each for one, _ in value for each in one}


def split(value: Polynomial) -> tuple[Polynomial, int]:
    """What is not constant, and the constant."""
    rest = tuple(part for part in value if part[0] != ONE)
    return rest, sum(factor for one, factor in value if one == ONE)


def greatest(value: Polynomial, most: int) -> int:
    """What it does not exceed, with either sign, where variables and lengths do not exceed `most`."""
    return sum(abs(factor) * prod(most for _ in one) for one, factor in value)


def in_words(value: Polynomial) -> str:
    """The polynomial as people write it, but for what is multiplied, the number last."""
    rest, more = split(value)
    parts = [(by, "*".join(".".join(map(str, each[1:])) for each in one)) for one, by in rest]
    found = "".join(
        f" {'-' if by < 0 else '+'} {'' if abs(by) == 1 else f'{abs(by)}*'}{text}"
        for by, text in sorted(parts, key=lambda part: part[0] < 0)
    )
    found += "" if more == 0 and found else f" {'-' if more < 0 else '+'} {abs(more)}"
    return found[3:] if found[1] == "+" else f"-{found[3:]}"
