"""What is tested in front of loops without checks, and of loops around these."""

from __future__ import annotations

from ufuse.backends.numpy.nest_passes.polynomials import Atom, Polynomial, number
from ufuse.graph.records import record


@record
class Inside:
    """Indices along an axis of an array: `base` and constants from `least` to `most`."""

    array: int
    axis: int
    base: Polynomial
    least: int
    most: int


@record
class Fits:
    """What is tested in front of a loop: the attribute of the instruction `fits`, which gives whether all holds.

    `turns`: how many there will be at most, `limit`: how many there may be, `others`: what is no less; `equal`:
    variables and what they must be; `steps`: variables that turn, and by what; `small`: what must be small beside
    these; `zero`: what must be zero, and does not turn; `inside`: what indices must be;
    `wrapped`: dividends and divisors, of which the quotient must be -1, 0 or 1;
    `dense`: arrays along whose last axis the elements must be neighbours.
    """

    turns: Polynomial
    limit: int
    others: tuple[Polynomial, ...]
    equal: tuple[tuple[str, int], ...]
    steps: tuple[tuple[str, Polynomial], ...]
    small: tuple[Atom, ...]
    zero: tuple[Polynomial, ...]
    inside: tuple[Inside, ...]
    wrapped: tuple[tuple[Polynomial, Polynomial], ...]
    dense: tuple[int, ...]
    is_inner: bool  # whether its turns are counted to know when to look for signals
    is_alone: bool = False  # whether it has to be so where there are no turns, too
    is_behind: bool = False  # whether the test for the end is behind a turn: there is one at least
    ends: tuple[Polynomial, ...] = ()  # there are no more turns than this either

    def falls(self, base: Polynomial) -> bool | None:
        """Whether a polynomial falls from turn to turn, or not; None where that is not known."""
        steps, found = dict(self.steps), set()
        for monomial, factor in base:
            for _, name in (one for one in monomial if one[0] == "get" and one[1] in steps):
                step = number(steps[name])
                if step is None or len(monomial) > 1:
                    return None
                found.add(step * factor < 0)
        return found.pop() if len(found) == 1 else None if found else False


@record
class Holds:
    """What is tested in front of a loop around others: the attribute of the instruction `holds`.

    `turns`: how many it has at most; without any, `least` does not matter: what may not be negative. `small`: what must
    be less than FEW, with either sign; `dense`: as of `Fits`.
    """

    turns: Polynomial
    least: tuple[Polynomial, ...]
    small: tuple[Atom, ...]
    dense: tuple[int, ...]
