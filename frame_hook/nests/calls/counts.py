"""Binomial and Poisson numbers by NumPy's generators, as loops that draw numbers from 0 to 1.

NumPy draws few in this way, many in another one, which is a doubt. The Python functions here stand in the place of the
calls; they are compared with the methods once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import making
from ufuse.frame_hook.nests.calls import idioms
from ufuse.frame_hook.nests.given.generator_methods import COUNTS
from ufuse.frame_hook.nests.known.containers import Generating
from ufuse.frame_hook.nests.known.kinds import FLOAT, INT, NP_INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader

Draw = Callable[[], float]
FEW, RARE = 30.0, 10.0  # up to, and below, these means NumPy draws so
NOTHING: Item = Known(None)

# What stands in the place of calls ----------------------------------------------------------------------------------


def _binomial(draw: Draw, trials: int, chance: float) -> int:
    if trials < 0 or not 0.0 <= chance <= 1.0:
        raise ValueError
    few = 1.0 - chance if chance > 0.5 else chance
    other = 1.0 - few
    mean = trials * few
    if mean > FEW:
        raise ValueError
    none = math.exp(trials * math.log(other))
    last = mean + 10.0 * math.sqrt(mean * other + 1)
    bound = int(last) if last < trials else trials
    count = 0
    weight = none
    drawn = draw()
    while drawn > weight:
        count += 1
        if count > bound:
            count = 0
            weight = none
            drawn = draw()
        else:
            drawn -= weight
            weight = ((trials - count + 1) * few * weight) / (count * other)
    return trials - count if chance > 0.5 else count


def _binomial_or_none(binomial: Any, draw: Draw, trials: int, chance: float) -> int:
    """As a Generator does: nothing is drawn where there is one result."""
    if trials == 0 or chance == 0.0:
        return 0
    found: int = binomial(draw, trials, chance)
    return found


def _poisson(draw: Draw, mean: float) -> int:
    if not 0.0 <= mean < RARE:
        raise ValueError
    if mean == 0.0:
        return 0
    least = math.exp(-mean)
    count = 0
    product = draw()
    while product > least:
        count += 1
        product *= draw()
    return count


def _array(one: Any, draw: Draw, first: Any, second: Any, found: Any) -> Any:
    for i in range(len(found)):
        found[i] = one(draw, first, second)
    return found


def _array_of_one(one: Any, draw: Draw, first: Any, found: Any) -> Any:
    for i in range(len(found)):
        found[i] = one(draw, first)
    return found


# Calls --------------------------------------------------------------------------------------------------------------

PARAMETERS = {"binomial": ("n", "p", "size"), "poisson": ("lam", "size")}


def is_read(method: Generating) -> bool:
    """Whether a call of a generator's method is read so."""
    return method.owner.type is not random.Random and method.name in COUNTS


def enter(
    reader: Reader, method: Generating, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> None:
    """Read on in what stands in the place of such a call.

    Raises:
        NotNativeError: its arguments are not followed, or NumPy draws in another way.

    """
    names = PARAMETERS[method.name]
    given = dict(zip(names, arguments, strict=False)) | dict(keywords)
    if len(given) < len(arguments) + len(keywords) or given.keys() - {*names}:
        raise NotNativeError(f"calls of the method {method.name} with other arguments")
    given = {"lam": Known(1.0), "size": NOTHING, **given}
    if not given.keys() >= {*names} or not _draws_so(method.owner.type):
        raise NotNativeError(f"calls of the method {method.name} with other arguments")
    draw = Generating(method.owner, "random")
    if method.name == "poisson":
        _go(reader, given["size"], _poisson, draw, _real(reader, given["lam"]))
        return
    numbers = _whole(reader, given["n"]), _real(reader, given["p"])
    if method.owner.type is np.random.RandomState:
        _go(reader, given["size"], _binomial, draw, *numbers)
    else:
        _go(reader, given["size"], _binomial_or_none, draw, *numbers)


def _go(reader: Reader, size: Item, one: Callable[..., Any], draw: Item, *numbers: Item) -> None:
    tools = [idioms.known(reader, _binomial)] if one is _binomial_or_none else []
    if size == NOTHING:
        idioms.enter(reader, one, *tools, draw, *numbers)
        return
    if tools:
        raise NotNativeError("an array of binomial numbers of a Generator is not compiled yet")
    found = making.maker(None)(reader, _whole(reader, size), Known(int))
    several = _array if len(numbers) > 1 else _array_of_one
    idioms.enter(reader, several, idioms.known(reader, one), draw, *numbers, found)


def _whole(reader: Reader, item: Item) -> Number:
    one = conversions.number(reader.out, item)
    if one.type not in (INT, NP_INT):
        raise NotNativeError("a count of random numbers, or of trials, is no int")
    return Number(INT, conversions.as_i64(reader.out, one))


def _real(reader: Reader, item: Item) -> Number:
    return Number(FLOAT, conversions.as_f64(reader.out, conversions.number(reader.out, item)))


@lru_cache(maxsize=2)
def _draws_so(kind: Any) -> bool:
    """Whether NumPy's methods draw as the functions here do."""
    one, other = (kind(np.random.MT19937(1)) for _ in range(2))
    alike = []
    for trials, chance in (
        (1, 0.5),
        (1, 0.1),
        (0, 0.3),
        (7, 0.0),
        (40, 0.7),
        (300, 0.06),
        (9, 1.0),
    ):
        for _ in range(30):
            if kind is np.random.RandomState:
                expected = _binomial(other.random, trials, chance)
            else:
                expected = _binomial_or_none(_binomial, other.random, trials, chance)
            alike.append(_is_like(one.binomial(trials, chance), expected))
    for mean in (0.0, 0.3, 4.0, 9.9):
        alike += [_is_like(one.poisson(mean), _poisson(other.random, mean)) for _ in range(30)]
        several = np.empty(9, int)
        _array_of_one(_poisson, other.random, mean, several)
        alike.append(np.array_equal(one.poisson(mean, 9), several))
    return all(alike)


def _is_like(found: object, expected: int) -> bool:
    return type(found) is int and found == expected
