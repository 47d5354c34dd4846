"""Tests of loops without checks, moved in front of loops around them: these hold for all of their turns.

They are that polynomials are not negative. What the variables of these are where the inner loop begins is known from
the turn of the loop around it; what changes by the same in each of these turns is least in the first or in the last.
"""

from __future__ import annotations

from collections.abc import Mapping

from ufuse.backends.numpy.nest_passes.fits import Fits, Holds, Inside
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.integers import SMALL, Integers, Known, Turns
from ufuse.backends.numpy.nest_passes.polynomials import (
    Atom,
    Polynomial,
    atom,
    atoms,
    constant,
    difference,
    greatest,
    number,
    product,
    split,
    total,
)

FEW = 1 << 28
HIGHEST = (1 << 63) - 1
MOST_TESTS = 80
Conditions = dict[Polynomial, None]  # what may not be negative, in order


class _UnknownError(Exception):
    """Something is no polynomial, or one that is too large."""


class Hoister:
    """Moves tests outwards as far as they can be made there."""

    def __init__(self, flow: Flow, constants: Mapping[str, int]) -> None:
        self._flow = flow
        self._constants = constants
        self._loops = flow.whole_loops()
        self._integers: dict[str, Integers] = {}
        self._tests: dict[str, tuple[Conditions, set[int]]] = {}

    def moves(self, header: str, labels: set[str], fits: Fits) -> bool:
        """Whether the test of an innermost loop is moved in front of a loop around it."""
        if not fits.is_inner or self._loops[header] != labels:
            return False
        place, conditions = header, Conditions()
        try:
            inner = _conditions(fits)
            for outer in self._around(header):
                inner = self._moved(inner, place, outer)
                place, conditions = outer, inner
        except _UnknownError:
            pass
        if place == header:
            return False
        kept, dense = self._tests.setdefault(place, ({}, set()))
        kept.update(conditions)
        dense.update(fits.dense)
        return True

    def tests(self) -> dict[str, tuple[set[str], Holds]]:
        """What is to be tested in front of loops, by their headers; and their blocks."""
        found = {}
        for header, (conditions, dense) in self._tests.items():
            turns = self._turns(header)
            small = {each for one in (*conditions, turns.count) for each in atoms(one)}
            holds = Holds(
                turns.count,
                tuple(one for one in conditions if not _is_implied(one)),
                tuple(sorted(small, key=repr)),
                tuple(sorted(dense)),
            )
            found[header] = self._loops[header], holds
        return found

    def _around(self, header: str) -> list[str]:
        """The headers of the loops around a loop, from the inside."""
        found = [
            each for each, labels in self._loops.items() if header in labels and each != header
        ]
        return sorted(found, key=lambda each: len(self._loops[each]))

    def _integers_of(self, header: str) -> Integers:
        if header not in self._integers:
            labels = self._loops[header]
            inner = {
                other: set(self._flow.variables_set(inside))
                for other, inside in self._loops.items()
                if other in labels and other != header
            }
            self._integers[header] = Integers(self._flow, header, labels, self._constants, inner)
        return self._integers[header]

    def _turns(self, header: str) -> Turns:
        """The turns of a loop that ends by nothing else, but for doubts."""
        labels = self._loops[header]
        turns = self._integers_of(header).turns
        exits = [
            label
            for label in labels
            for target in self._flow.blocks[label].end.targets
            if target not in labels and self._flow.blocks[target].end.kind != "doubt"
        ]
        is_entered_once = all(self._flow.is_dominated(label, header) for label in labels)
        if turns is None or exits != [turns.label] or not is_entered_once:
            raise _UnknownError
        return turns

    def _moved(self, conditions: Conditions, inner: str, outer: str) -> Conditions:
        """Conditions for all turns of a loop that hold for what it leads to an inner loop with."""
        turns, integers = self._turns(outer), self._integers_of(outer)
        if not integers.always(self._flow.blocks[inner]) or self._makes(outer, conditions):
            raise _UnknownError
        if not self._flow.is_dominated(inner, turns.label):  # it is come to once more
            raise _UnknownError
        entry = integers.entries[inner]
        behind = _minus(turns.count, constant(1))
        last: Known = {
            name: _plus(atom("get", name), _times(behind, step))
            for name, step in integers.steps.items()
        }
        found: Conditions = {}
        for condition in conditions:
            first = _with(condition, entry)
            if not integers.is_linear(first):
                raise _UnknownError
            slope = integers.slope(first)
            if slope is None or slope >= 0:
                found[first] = None
            if slope is None or slope < 0:
                found[_with(first, last)] = None
        for name in sorted(integers.used_constants):
            found.update(_equal(name, integers.constants[name]))
        return _unknown_ones(found)

    def _makes(self, header: str, conditions: Conditions) -> bool:
        """Whether a loop makes an array anew whose lengths are looked at."""
        arrays = {one[1] for each in conditions for one in atoms(each) if one[0] == "dim"}
        return any(
            one.op in {"alloc", "append", "trim", "push", "drop", "enter"}
            and arrays.intersection(one.attributes)
            for label in self._loops[header]
            for one in self._flow.instructions(label)
        )


def _conditions(fits: Fits) -> Conditions:
    """What must hold in front of the loop."""
    behind = _minus(fits.turns, constant(1))
    last: Known = {
        name: _plus(atom("get", name), _times(behind, step)) for name, step in fits.steps
    }
    found: Conditions = {_minus(constant(fits.limit), fits.turns): None}
    found.update(dict.fromkeys(_minus(other, fits.turns) for other in fits.others))
    if fits.is_behind:
        found[behind] = None
    for name, value in last.items():
        assert value is not None
        found.update(_is_small(atom("get", name)) | _is_small(value))
    for known in fits.small:
        found.update(_is_small(atom(*known)))
    for name, wanted in fits.equal:
        found.update(_equal(name, wanted))
    for one in fits.zero:
        found.update({one: None, _minus(constant(0), one): None})
    for dividend, divisor in fits.wrapped:
        found[_minus(divisor, constant(1))] = None
        for end in (dividend, _with(dividend, last)):
            found[_plus(end, divisor)] = None
            found[_minus(_plus(divisor, divisor), _plus(end, constant(1)))] = None
    for inside in fits.inside:
        found.update(_is_inside(fits, inside, last))
    return _unknown_ones(found)


def _is_inside(fits: Fits, inside: Inside, last: Known) -> Conditions:
    """As `nest_guards.emit_fits` tests it."""
    ends = inside.base, _with(inside.base, last)
    falls = fits.falls(inside.base)
    lows = ends if falls is None else ends[1:] if falls else ends[:1]
    highs = ends if falls is None else ends[:1] if falls else ends[1:]
    room = _minus(atom("dim", inside.array, inside.axis), constant(inside.most + 1))
    found = [_plus(end, constant(inside.least)) for end in lows]
    found += [_minus(room, end) for end in highs]
    return dict.fromkeys(found)


def _is_small(value: Polynomial) -> Conditions:
    limit = constant(SMALL - 1)
    return dict.fromkeys((_minus(limit, value), _plus(value, limit)))


def _equal(name: str, value: int) -> Conditions:
    held, wanted = atom("get", name), constant(value)
    return dict.fromkeys((_minus(held, wanted), _minus(wanted, held)))


def _unknown_ones(conditions: Conditions) -> Conditions:
    """Those that are not about numbers alone."""
    numbers = [known for one in conditions if (known := number(one)) is not None]
    found = {one: None for one in conditions if number(one) is None}
    is_too_large = any(greatest(one, FEW) > HIGHEST for one in found)
    if len(found) > MOST_TESTS or is_too_large or any(one < 0 for one in numbers):
        raise _UnknownError
    return found


def _is_implied(condition: Polynomial) -> bool:
    """Whether it holds where all variables and lengths are less than FEW."""
    rest, known = split(condition)
    return known >= greatest(rest, FEW)


# Polynomials


def _with(value: Polynomial, known: Known) -> Polynomial:
    """What it is where variables have other values."""
    found: Polynomial = ()
    for monomial, factor in value:
        part = constant(factor)
        for one in monomial:
            part = _times(part, _held(one, known))
        found = _plus(found, part)
    return found


def _held(one: Atom, known: Known) -> Polynomial:
    if one[0] != "get" or one[1] not in known:
        return atom(*one)
    value = known[one[1]]
    if value is None:
        raise _UnknownError
    return value


def _plus(left: Polynomial, right: Polynomial) -> Polynomial:
    return _some(total(left, right))


def _minus(left: Polynomial, right: Polynomial) -> Polynomial:
    return _some(difference(left, right))


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    return _some(product(left, right))


def _some(value: Polynomial | None) -> Polynomial:
    if value is None:
        raise _UnknownError
    return value
