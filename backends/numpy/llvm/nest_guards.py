"""Text in LLVM's language for the tests in front of loops that have a copy without checks."""

from __future__ import annotations

from collections.abc import Mapping

from ufuse.backends.numpy.llvm.nest_body import Body
from ufuse.backends.numpy.llvm.nest_integers import SMALL
from ufuse.backends.numpy.llvm.nest_versions import Fits, Inside
from ufuse.backends.numpy.llvm.polynomials import Atom, Polynomial, number
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
    for array in fits.dense:
        dtype, axis = body.nest.numbered[array].dtype, body.nest.numbered[array].ndim - 1
        stride = body.stride(array, axis)
        if stride != str(dtype.itemsize):
            conditions.append(body.add(f"icmp eq i64 {stride}, {dtype.itemsize}"))
    found = _all(body, conditions)
    if fits.is_alone:
        none = body.add(f"icmp sle i64 {turns}, 0")
        found = body.add(f"or i1 {found}, {none}")
    found = _all(body, [found, *always])
    if fits.is_inner:
        done = body.add(f"select i1 {found}, i64 {turns}, i64 0")
        if fits.is_alone:
            done = body.intrinsic("llvm.smax.i64", "i64", [("i64", done), ("i64", "0")])
        body.lose_patience(done)
    return found


def _all(body: Body, conditions: list[str]) -> str:
    found = conditions[0]
    for condition in dict.fromkeys(conditions[1:]):
        found = body.add(f"and i1 {found}, {condition}")
    return found


def _is_small(body: Body, value: str) -> str:
    moved = body.add(f"add i64 {value}, {SMALL}")
    return body.add(f"icmp ult i64 {moved}, {2 * SMALL}")


def _are_inside(body: Body, fits: Fits, inside: Inside, last: Last) -> list[str]:
    """Tests of the least index and the greatest, where it is known in which turns they are."""
    length = body.length(inside.array, inside.axis)
    ends = _text(body, inside.base, {}), _text(body, inside.base, last)
    falls = _falls(fits, inside.base)
    lows = ends if falls is None else ends[1:] if falls else ends[:1]
    highs = ends if falls is None else ends[:1] if falls else ends[1:]
    found = [body.add(f"icmp sge i64 {end}, {-inside.least}") for end in lows]
    for end in highs:
        index = body.add(f"add i64 {end}, {inside.most}") if inside.most else end
        found.append(body.add(f"icmp slt i64 {index}, {length}"))
    return found


def _falls(fits: Fits, base: Polynomial) -> bool | None:
    """Whether it falls from turn to turn, or not; None where that is not known."""
    steps, found = dict(fits.steps), set()
    for monomial, factor in base:
        for _, name in (one for one in monomial if one[0] == "get" and one[1] in steps):
            step = number(steps[name])
            if step is None or len(monomial) > 1:
                return None
            found.add(step * factor < 0)
    return found.pop() if len(found) == 1 else None if found else False


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
