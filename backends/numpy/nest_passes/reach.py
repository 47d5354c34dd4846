"""Which parts of the arrays that a nest writes its turns can reach, so that a chunk of turns saves no others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ufuse.backends.numpy.nest_passes.independence import Places, Turn
from ufuse.backends.numpy.nest_passes.polynomials import (
    Atom,
    Monomial,
    Polynomial,
    constant,
    in_words,
    number,
    split,
)
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import I64, TURNS
from ufuse.graph.records import record

MOST_PARTS = 6  # of one array
MOST_TERMS = 4  # of a place
CELL, LENGTH = 0, 1  # as C numbers what a place is made of

# (CELL, its number, that of the cell of what each turn adds or -1, what each turn adds else), (LENGTH, array, axis, 0)
Factor = tuple[int, int, int, int]
Kind = tuple[int, Polynomial, Polynomial, bool]
Place = tuple[int, tuple[tuple[int, tuple[Factor, ...]], ...]]  # a constant; factors and products


@record
class Side:
    """Along an axis: from which place to which one a turn may write.

    Where such a place is negative, it is counted from the end.
    """

    axis: int
    least: Polynomial
    most: Polynomial

    def __str__(self) -> str:
        places = dict.fromkeys((in_words(self.least), in_words(self.most)))
        return f"{self.axis}: {' to '.join(places)}"


@record
class WrittenPart:
    """What a turn may write of an array: what is within all sides; along other axes all there is."""

    array: int
    sides: tuple[Side, ...]

    def __str__(self) -> str:
        return f"#{self.array}[{', '.join(map(str, self.sides))}]"


@record
class Reach:
    """The parts of arrays that turns write, for those arrays of which they are known."""

    parts: tuple[WrittenPart, ...]
    factors: Mapping[Atom, Factor]  # of what their places are made

    def in_c(self) -> tuple[tuple[int, tuple[tuple[int, Place, Place], ...]], ...]:
        """The parts as C takes them."""
        return tuple(
            (
                part.array,
                tuple(
                    (one.axis, self._place(one.least), self._place(one.most)) for one in part.sides
                ),
            )
            for part in self.parts
        )

    def _place(self, value: Polynomial) -> Place:
        rest, more = split(value)
        terms = ((by, tuple(self.factors[each] for each in one)) for one, by in rest)
        return more, tuple(terms)


NOWHERE = Reach((), {})


def written_parts(nest: Nest, turn: Turn | None) -> Reach:
    """The parts of arrays that turns write."""
    written = [place for place, one in enumerate(nest.arrays) if one.is_written and not one.items]
    if turn is None or not written or any(one.is_rebound for one in nest.arrays):
        return NOWHERE
    factors = dict(_factors(nest, turn))
    found = [part for array in written for part in _parts_of(array, turn, factors)]
    return Reach(tuple(found), factors)


def _factors(nest: Nest, turn: Turn) -> Iterator[tuple[Atom, Factor]]:
    """What is known where a chunk begins: lengths, variables that stay, and those that each turn changes alike."""
    for array, one in enumerate(nest.arrays):
        yield from ((("dim", array, axis), (LENGTH, array, axis, 0)) for axis in range(one.ndim))
    cells = {cell.name: place for place, cell in enumerate(nest.cells[:-1]) if cell.type == I64}
    changed = turn.changed_anywhere()
    for name in cells.keys() - changed:
        yield ("get", name), (CELL, cells[name], -1, 0)
    is_counted = turn.steps.get(TURNS) == constant(-1)
    turning = cells.keys() & turn.steps.keys() - turn.changed_outside() if is_counted else ()
    for name in turning:
        step = turn.steps[name]
        each = number(step)
        if each is not None:
            yield ("get", name), (CELL, cells[name], -1, each)
            continue
        ((factors, _),) = step  # a variable, which stays
        if factors[0][0] == "get" and factors[0][1] in cells.keys() - changed:
            yield ("get", name), (CELL, cells[name], cells[factors[0][1]], 0)


def _parts_of(array: int, turn: Turn, factors: Mapping[Atom, Factor]) -> tuple[WrittenPart, ...]:
    """The parts of one array; none where what turns write of it is not known."""
    parts: dict[tuple[Kind, ...], list[tuple[Side, ...]]] = {}
    for store in turn.stores_of(array):
        sides = tuple(_sides(store, factors))
        if not sides:
            return ()
        parts.setdefault(tuple(map(_kind, sides)), []).append(sides)
    joined = [_joined(like) for like in parts.values()]
    if len(joined) > MOST_PARTS:
        joined = list(filter(None, [_common(joined)]))
    return tuple(WrittenPart(array, sides) for sides in joined)


def _sides(store: Places, factors: Mapping[Atom, Factor]) -> Iterator[Side]:
    """Those sides of a store that are known where a chunk begins."""
    for axis, (least, most) in sorted(store.items()):
        if all(_is_known(part[0], factors) for part in (*split(least)[0], *split(most)[0])) and (
            max(len(split(least)[0]), len(split(most)[0])) <= MOST_TERMS
        ):
            yield Side(axis, least, most)


def _is_known(factor: Monomial, factors: Mapping[Atom, Factor]) -> bool:
    """Whether a product changes by the same in every turn, by factors that are known."""
    known = [factors.get(each) for each in factor]
    turning = [one for one in known if one is not None and one[0] == CELL and one[2:] != (-1, 0)]
    return None not in known and len(turning) <= 1


def _joined(like: list[tuple[Side, ...]]) -> tuple[Side, ...]:
    """One part that has some in it, which differ in constants alone."""
    return tuple(
        Side(
            same[0].axis,
            min((one.least for one in same), key=lambda place: split(place)[1]),
            max((one.most for one in same), key=lambda place: split(place)[1]),
        )
        for same in zip(*like, strict=True)
    )


def _common(parts: list[tuple[Side, ...]]) -> tuple[Side, ...]:
    """The sides that all parts have but for constants, joined."""
    common = set.intersection(*({*map(_kind, part)} for part in parts))
    return _joined([tuple(one for one in part if _kind(one) in common) for part in parts])


def _kind(side: Side) -> Kind:
    """What sides have in common that are joined: what is counted from the end is not joined with what is not."""
    (least, more), most = split(side.least), split(side.most)[0]
    return side.axis, least, most, more < 0 and not least
