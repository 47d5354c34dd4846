"""Text in LLVM's language for the tests in front of loops that have a copy without checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ufuse.backends.numpy.nest_code.body import Body
from ufuse.backends.numpy.nest_passes.buffers import BATCH
from ufuse.backends.numpy.nest_passes.fits import Fits, Inside
from ufuse.backends.numpy.nest_passes.hoisting import FEW
from ufuse.backends.numpy.nest_passes.integers import SMALL
from ufuse.backends.numpy.nest_passes.polynomials import Atom, Polynomial
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import I64

Last = Mapping[Atom, str]  # what variables that turn are in the last turn


def emit_fits(body: Body, one: Instruction) -> str:
    """Whether all holds that an instruction `fits` is about. Where integers overflow something is not small."""
    (fits,) = one.attributes
    most = _text(body, fits.turns, {})
    turns = _least(body, most, fits.ends)
    more = body.add(f"sub i64 {turns}, 1")  # turns behind the first
    conditions = [body.add(f"icmp ult i64 {more}, {fits.limit}")]
    conditions += [
        body.add(f"icmp sge i64 {_text(body, other, {})}, {turns}") for other in fits.others
    ]
    last: dict[Atom, str] = {}
    for name, step in fits.steps:
        way = body.add(f"mul i64 {more}, {_text(body, step, {})}")
        last["get", name] = body.add(f"add i64 {body.get(name, I64)}, {way}")
    always = _are_small(
        body,
        [each for each in fits.small if each[0] == "dim"],
        [_atom(body, each, {}) for each in fits.small if each[0] != "dim"]
        + [body.get(name, I64) for name, _ in fits.steps],
        SMALL,
    )
    conditions += _are_small(body, [], list(last.values()), SMALL)
    for name, value in fits.equal:
        always.append(body.add(f"icmp eq i64 {body.get(name, I64)}, {value}"))
    for each in fits.zero:
        conditions.append(body.add(f"icmp eq i64 {_text(body, each, {})}, 0"))
    rooms = [room for inside in fits.inside for room in _rooms(body, fits, inside, last)]
    for dividend, divisor in fits.wrapped:
        length = _text(body, divisor, {})
        conditions.append(body.add(f"icmp sgt i64 {length}, 0"))
        rooms += _rooms_of_wrapped(body, dividend, length, last)
    conditions += _none_negative(body, rooms)
    # What stands in front of the test for the end is done where there are no turns, too.
    always += _are_neighbours(body, fits.dense)
    found = _all(body, conditions)
    if fits.is_alone and not fits.is_behind:
        none = body.add(f"icmp sle i64 {most}, 0")
        found = body.add(f"or i1 {found}, {none}")
    found = _all(body, [found, *always])
    if fits.is_inner:
        done = body.add(f"select i1 {found}, i64 {turns}, i64 0")
        body.lose_patience(_or_one(body, done) if fits.is_alone else done)
    return found


def emit_spent(body: Body, one: Instruction) -> str:
    """Count the turns of a loop that was tested elsewhere."""
    (turns,) = one.attributes
    body.lose_patience(_or_one(body, _text(body, turns, {})))
    return ""


def emit_holds(body: Body, one: Instruction) -> str:
    """Whether all holds that an instruction `holds` is about; nothing overflows where all is small."""
    (holds,) = one.attributes
    variables = [_atom(body, each, {}) for each in holds.small if each[0] != "dim"]
    lengths = [each for each in holds.small if each[0] == "dim"]
    always = _are_small(body, lengths, variables, FEW)
    conditions = _are_neighbours(body, holds.dense)
    # Where it does not hold nothing but a doubt follows.
    body.known.sizes.update(dict.fromkeys(variables, FEW))
    body.known.sizes.update((body.length(*each[1:]), FEW) for each in lengths)
    conditions += _none_negative(body, [_text(body, each, {}) for each in holds.least])
    turns = body.add(f"icmp sle i64 {_text(body, holds.turns, {})}, 0")
    return _all(body, [body.add(f"or i1 {_all(body, conditions)}, {turns}"), *always])


def emit_batch_turns(body: Body, one: Instruction) -> str:
    """How many turns a batch has: what is left of the loop, and no more than there is room for."""
    turns, *ends = one.attributes
    least = _least(body, _text(body, turns, {}), ends)
    left = body.intrinsic("llvm.smax.i64", "i64", [("i64", least), ("i64", "0")])
    return body.intrinsic("llvm.smin.i64", "i64", [("i64", left), ("i64", str(BATCH))])


def _least(body: Body, value: str, others: Iterable[Polynomial]) -> str:
    for other in others:
        pair = [("i64", value), ("i64", _text(body, other, {}))]
        value = body.intrinsic("llvm.smin.i64", "i64", pair)
    return value


def _or_one(body: Body, turns: str) -> str:
    """At least one: so the loop around it need not be counted."""
    return body.intrinsic("llvm.smax.i64", "i64", [("i64", turns), ("i64", "1")])


def _are_neighbours(body: Body, arrays: Iterable[int]) -> list[str]:
    """Tests of the strides along last axes, where they are not known."""
    found = []
    for array in arrays:
        slot = body.numbered[array]
        stride = body.stride(array, slot.ndim - 1)
        if stride != str(slot.dtype.itemsize):
            found.append(body.add(f"icmp eq i64 {stride}, {slot.dtype.itemsize}"))
    return found


def _all(body: Body, conditions: list[str]) -> str:
    found, *others = dict.fromkeys(conditions or ["true"])
    for condition in others:
        found = body.add(f"and i1 {found}, {condition}")
    return found


def _are_small(body: Body, lengths: Iterable[Atom], values: Iterable[str], limit: int) -> list[str]:
    """Tests that lengths are less than a power of two, and values are with either sign: one for all of each.

    A bit from there on is set in one of some numbers where it is set in their union.
    """
    found = []
    sizes = [_atom(body, each, {}) for each in lengths]
    if sizes:
        found.append(body.add(f"icmp ult i64 {_union(body, sizes)}, {limit}"))
    moved = [body.add(f"add i64 {value}, {limit}") for value in values]
    if moved:
        found.append(body.add(f"icmp ult i64 {_union(body, moved)}, {2 * limit}"))
    return found


def _none_negative(body: Body, values: list[str]) -> list[str]:
    """A test that no integer is negative, if there are any: their signs are bits."""
    return [body.add(f"icmp sge i64 {_union(body, values)}, 0")] if values else []


def _union(body: Body, values: list[str]) -> str:
    found, *others = dict.fromkeys(values)
    for other in others:
        found = body.add(f"or i64 {found}, {other}")
    return found


def _rooms(body: Body, fits: Fits, inside: Inside, last: Last) -> list[str]:
    """What is not negative where indices are inside: how far the least and the greatest are from the ends.

    It is known in which turns they are, or it is tested of the first and the last. Where the least is inside, what is
    said of the greatest cannot overflow.
    """
    length = body.length(inside.array, inside.axis)
    ends = _text(body, inside.base, {}), _text(body, inside.base, last)
    falls = fits.falls(inside.base)
    lows = ends if falls is None else ends[1:] if falls else ends[:1]
    highs = ends if falls is None else ends[:1] if falls else ends[1:]
    beyond = [body.add(f"sub i64 {length}, {end}") for end in highs]
    return [
        *(_plus(body, end, inside.least) for end in lows),
        *(_plus(body, one, -1 - inside.most) for one in beyond),
    ]


def _rooms_of_wrapped(body: Body, dividend: Polynomial, length: str, last: Last) -> list[str]:
    """What is not negative where a quotient is -1, 0 or 1 in the first turn and in the last."""
    found = []
    for end in (_text(body, dividend, {}), _text(body, dividend, last)):
        moved = body.add(f"add i64 {end}, {length}")
        beyond = body.add(f"sub i64 {length}, {end}")
        found += [moved, _plus(body, body.add(f"add i64 {beyond}, {length}"), -1)]
    return found


def _plus(body: Body, value: str, more: int) -> str:
    return body.add(f"add i64 {value}, {more}") if more else value


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
