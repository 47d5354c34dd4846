"""Text in LLVM's language for the tests in front of loops that have a copy without checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ufuse.backends.numpy.llvm.nest_body import Body
from ufuse.backends.numpy.llvm.nest_fits import Fits, Inside
from ufuse.backends.numpy.llvm.nest_hoisting import FEW
from ufuse.backends.numpy.llvm.nest_integers import SMALL
from ufuse.backends.numpy.llvm.polynomials import Atom, Polynomial
from ufuse.graph.nest import I64, Instruction

Last = Mapping[Atom, str]  # what variables that turn are in the last turn


def emit_fits(body: Body, one: Instruction) -> str:
    """Whether all holds that an instruction `fits` is about. Where integers overflow something is not small."""
    (fits,) = one.attributes
    turns = _text(body, fits.turns, {})
    more = body.add(f"sub i64 {turns}, 1")  # turns behind the first
    conditions = [body.add(f"icmp ult i64 {more}, {fits.limit}")]
    conditions += [
        body.add(f"icmp sge i64 {_text(body, other, {})}, {turns}") for other in fits.others
    ]
    always = [_is_small(body, _atom(body, each, {})) for each in fits.small]
    last: dict[Atom, str] = {}
    for name, step in fits.steps:
        way = body.add(f"mul i64 {more}, {_text(body, step, {})}")
        last["get", name] = body.add(f"add i64 {body.get(name, I64)}, {way}")
        always.append(_is_small(body, body.get(name, I64)))
        conditions.append(_is_small(body, last["get", name]))
    for name, value in fits.equal:
        always.append(body.add(f"icmp eq i64 {body.get(name, I64)}, {value}"))
    for inside in fits.inside:
        conditions += _are_inside(body, fits, inside, last)
    for dividend, divisor in fits.wrapped:
        conditions += _is_wrapped(body, dividend, divisor, last)
    # What stands in front of the test for the end is done where there are no turns, too.
    always += _are_neighbours(body, fits.dense)
    found = _all(body, conditions)
    if fits.is_alone:
        none = body.add(f"icmp sle i64 {turns}, 0")
        found = body.add(f"or i1 {found}, {none}")
    found = _all(body, [found, *always])
    if fits.is_inner:
        done = body.add(f"select i1 {found}, i64 {turns}, i64 0")
        body.lose_patience(_or_none(body, done) if fits.is_alone else done)
    return found


def emit_spent(body: Body, one: Instruction) -> str:
    """Count the turns of a loop that was tested elsewhere."""
    (turns,) = one.attributes
    body.lose_patience(_or_none(body, _text(body, turns, {})))
    return ""


def emit_holds(body: Body, one: Instruction) -> str:
    """Whether all holds that an instruction `holds` is about; nothing overflows where all is small."""
    (holds,) = one.attributes
    always = [_is_small(body, _atom(body, each, {}), FEW) for each in holds.small]
    conditions = _are_neighbours(body, holds.dense)
    conditions += [body.add(f"icmp sge i64 {_text(body, each, {})}, 0") for each in holds.least]
    turns = body.add(f"icmp sle i64 {_text(body, holds.turns, {})}, 0")
    return _all(body, [body.add(f"or i1 {_all(body, conditions)}, {turns}"), *always])


def _or_none(body: Body, turns: str) -> str:
    return body.intrinsic("llvm.smax.i64", "i64", [("i64", turns), ("i64", "0")])


def _are_neighbours(body: Body, arrays: Iterable[int]) -> list[str]:
    """Tests of the strides along last axes, where they are not known."""
    found = []
    for array in arrays:
        slot = body.nest.numbered[array]
        stride = body.stride(array, slot.ndim - 1)
        if stride != str(slot.dtype.itemsize):
            found.append(body.add(f"icmp eq i64 {stride}, {slot.dtype.itemsize}"))
    return found


def _all(body: Body, conditions: list[str]) -> str:
    found, *others = dict.fromkeys(conditions or ["true"])
    for condition in others:
        found = body.add(f"and i1 {found}, {condition}")
    return found


def _is_small(body: Body, value: str, limit: int = SMALL) -> str:
    moved = body.add(f"add i64 {value}, {limit}")
    return body.add(f"icmp ult i64 {moved}, {2 * limit}")


def _are_inside(body: Body, fits: Fits, inside: Inside, last: Last) -> list[str]:
    """Tests of the least index and the greatest, where it is known in which turns they are."""
    length = body.length(inside.array, inside.axis)
    ends = _text(body, inside.base, {}), _text(body, inside.base, last)
    falls = fits.falls(inside.base)
    lows = ends if falls is None else ends[1:] if falls else ends[:1]
    highs = ends if falls is None else ends[:1] if falls else ends[1:]
    found = [body.add(f"icmp sge i64 {end}, {-inside.least}") for end in lows]
    for end in highs:
        index = body.add(f"add i64 {end}, {inside.most}") if inside.most else end
        found.append(body.add(f"icmp slt i64 {index}, {length}"))
    return found


def _is_wrapped(body: Body, dividend: Polynomial, divisor: Polynomial, last: Last) -> list[str]:
    """Tests that a quotient is -1, 0 or 1 in the first turn and in the last."""
    length = _text(body, divisor, {})
    twice = body.add(f"add i64 {length}, {length}")
    found = [body.add(f"icmp sgt i64 {length}, 0")]
    for end in (_text(body, dividend, {}), _text(body, dividend, last)):
        moved = body.add(f"add i64 {end}, {length}")
        found += [
            body.add(f"icmp sge i64 {moved}, 0"),
            body.add(f"icmp slt i64 {end}, {twice}"),
        ]
    return found


def _text(body: Body, value: Polynomial, last: Last) -> str:
    found = ""
    for monomial, factor in value:
        part = "" if factor == 1 and monomial else str(factor)
        for one in monomial:
            text = _atom(body, one, last)
            part = body.add(f"mul i64 {text}, {part}") if part else text
        found = body.add(f"add i64 {found}, {part}") if found else part
    return found or "0"


def _atom(body: Body, one: Atom, last: Last) -> str:
    if one[0] == "dim":
        return body.length(*one[1:])
    return last[one] if one in last else body.get(one[1], I64)
