"""Numbers that are Python's or NumPy's, whichever: `max(0, x)`, or what a loop begins with as a Python int.

An int and an int64, or a float and a float64, have one value in a nest; which of them it is lies in a bit of its own,
its tag. Where what is done with it is the same for both, both go on in one version of the code. Else the instruction
is read anew for each: whoever asks whether such a number is NumPy's gets an `EitherError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.kinds import EITHER_KINDS, EitherError, EitherKind, NumberKind
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.tries import WidenError
from ufuse.frame_hook.nests.known.values import Item, Kind
from ufuse.graph.nest_types import I1, Value

SAME_OF_INTS = {"+", "-", "*", "//", "%", "&", "|", "^"}
SAME_OF_REALS = {"+", "-", "*", "/"}


def is_either(item: Item | Kind) -> bool:
    """Whether it may be Python's or NumPy's."""
    return isinstance(item, EitherKind) or (
        isinstance(item, Number) and isinstance(item.type, EitherKind)
    )


def settled(one: Number, *, numpy: bool) -> Number:
    """The number as Python's or NumPy's."""
    return Number(NumberKind(one.type.kind, numpy), one.value)


def known(one: Number) -> Number:
    """The number, of which it is known whose it is."""
    if is_either(one):
        raise EitherError
    return one


def tag(code: Code, one: Number) -> Value:
    """Whether it is NumPy's."""
    return code.constant(I1, one.type.numpy) if one.tag is None else one.tag


def why_not_same(operator: str, one: Number, other: Number) -> str | None:
    """Why an operator may give something else for Python's numbers than for NumPy's."""
    kinds = {one.type.kind, other.type.kind}
    if not kinds <= EITHER_KINDS:
        return "a number of another size"
    known = SAME_OF_REALS if "float" in kinds else SAME_OF_INTS
    return None if operator in known else "another result"


def common_tag(code: Code, one: Number, other: Number) -> Value | None:
    """Whether a result of both is NumPy's; None: it is, always."""
    tags = [each.tag for each in (one, other) if is_either(each)]
    if any(not is_either(each) and each.type.numpy for each in (one, other)):
        return None
    first, *rest = [each for each in tags if each is not None]
    return code.op("or", I1, first, rest[0]) if rest and rest[0] != first else first


def common_kind(numbers: Sequence[Number]) -> EitherKind | None:
    """The kind of numbers that are all ints or all floats of 64 bits, where some are Python's and some NumPy's."""
    kinds = {one.type.kind for one in numbers}
    is_known = len({one.type for one in numbers}) == 1 and not is_either(numbers[0])
    return (
        EitherKind(kinds.pop())
        if len(kinds) == 1 and kinds <= EITHER_KINDS and not is_known
        else None
    )


def each(kinds: Mapping[int, NumberKind]) -> list[dict[int, NumberKind]]:
    """The kinds with every choice for those that are either."""
    choices = [
        [NumberKind(kind.kind, numpy) for numpy in (False, True)] if is_either(kind) else [kind]
        for kind in kinds.values()
    ]
    return [dict(zip(kinds, chosen, strict=True)) for chosen in product(*choices)]


def widened(code: Code, one: Item) -> Number:
    """A number as either, which it is known not to be yet."""
    assert isinstance(one, Number)
    return Number(EitherKind(one.type.kind), one.value, tag(code, one))


def check_versions(known: Sequence[Version], new: Version) -> None:
    """Raise where a version of a loop's header differs from another but in whose numbers its locals are.

    Raises:
        WidenError: it does.

    """
    for one in known:
        kinds, others = dict(one.locals), dict(new.locals)
        if (one.stack, one.caller, kinds.keys()) != (new.stack, new.caller, others.keys()):
            continue
        if all(_are_alike(kinds[slot], others[slot]) for slot in kinds):
            unlike = (slot for slot in kinds if kinds[slot] != others[slot])
            raise WidenError(frozenset(map(new.function.variable, unlike)), new)


def _are_alike(one: Any, other: Any) -> bool:
    if one == other:
        return True
    are_numbers = isinstance(one, NumberKind) and isinstance(other, NumberKind)
    return are_numbers and one.kind == other.kind and one.kind in EITHER_KINDS
