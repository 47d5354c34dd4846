"""Functions of `math` that compute with ints in a loop: each is read as if it were written in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ufuse.frame_hook.nests.calls import idioms
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.numbers import functions
from ufuse.frame_hook.nests.reading.reader import Reader

# What stands in the place of calls; where it raises, plain Python does, and says why --------------------------------


def _gcd(one: int, other: int) -> int:
    one, other = abs(one), abs(other)
    while other:
        one, other = other, one % other
    return one


def _lcm(one: int, other: int) -> int:
    if one == 0 or other == 0:
        return 0
    divisor, rest = abs(one), abs(other)
    while rest:
        divisor, rest = rest, divisor % rest
    return abs(one // divisor * other)


def _factorial(number: int) -> int:
    if number < 0:
        raise ValueError
    result = 1
    for factor in range(2, number + 1):
        result *= factor
    return result


def _comb(number: int, chosen: int) -> int:
    if number < 0 or chosen < 0:
        raise ValueError
    fewest = min(chosen, number - chosen)
    if fewest < 0:
        return 0
    result = 1
    for k in range(1, fewest + 1):
        result = result * (number - fewest + k) // k
    return result


def _perm(number: int, chosen: int) -> int:
    if number < 0 or chosen < 0:
        raise ValueError
    if chosen > number:
        return 0
    result = 1
    for k in range(chosen):
        result *= number - k
    return result


# Calls --------------------------------------------------------------------------------------------------------------

CALLS: dict[Any, Callable[..., int]] = {
    math.gcd: _gcd,
    math.lcm: _lcm,
    math.factorial: _factorial,
    math.comb: _comb,
    math.perm: _perm,
}


def enter(reader: Reader, function: Any, arguments: Sequence[Item]) -> None:
    """Read on in what stands in the place of a call.

    Raises:
        NotNativeError: it has other arguments than ints, or not as many as most calls have.

    """
    body = CALLS[function]
    if len(arguments) != body.__code__.co_argcount:
        raise NotNativeError(f"calls of {function.__name__} with other arguments")
    idioms.enter(reader, body, *(functions.as_int(reader.out, one) for one in arguments))
