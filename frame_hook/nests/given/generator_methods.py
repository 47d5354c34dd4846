"""Generators of random numbers that a loop is given, and their methods: which are NumPy's and Python's own."""

from __future__ import annotations

import _random
import random
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.containers import Bound, Generating, Generator
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.objects.classes import HEAP_TYPE, class_member
from ufuse.frame_hook.trace.symbols import Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.semantics.nest_generators import bit_generator_of

ABSENT = object()
Take = Callable[[Symbol], Item]


def why_not_followed(
    generator: np.random.Generator | np.random.RandomState | random.Random,
) -> str | None:
    """Why nothing is drawn from a generator in a nest."""
    if type(generator) is random.Random:
        return None
    kind = type(bit_generator_of(generator))
    if kind not in (np.random.PCG64, np.random.MT19937):  # whose state can be saved
        return f"calls of a generator by {kind.__name__} are not compiled yet"
    return None


def may_be_method(value: Any) -> bool:
    """Whether `module_of` may be asked."""
    return type(value) in METHOD_TYPES or _is_seed(value)


def _is_seed(value: object) -> bool:
    """Whether it is `np.random.seed`, which is a function that calls the method."""
    return value is in_c("numpy.random.mtrand", "seed")


def in_c(module: str, name: str) -> Any:
    """What a module of NumPy's has under a name, if it is loaded, and no code of Python's has replaced that."""
    found: Any = getattr(sys.modules.get(module), name, ABSENT)
    is_replaced = isinstance(found, types.FunctionType) or (
        isinstance(found, type) and bool(found.__flags__ & HEAP_TYPE)
    )
    return ABSENT if is_replaced else found


def module_of(method: Any) -> tuple[types.ModuleType, str] | None:
    """Where the generator lies of which a function of `np.random` or `random` is a method; None for others."""
    module = sys.modules.get("numpy.random.mtrand")
    if _is_seed(method):
        assert module is not None
        return module, "_rand"
    names = (*LEGACY_NAMES, *SHUFFLES, *COUNTS)
    if method.__self__ is getattr(module, "_rand", ABSENT) and method.__name__ in names:
        assert module is not None
        return module, "_rand"
    return (random, "_inst") if method.__self__ is getattr(random, "_inst", ABSENT) else None


def method(trace: Trace, take: Take, owner: Generator, name: str) -> Generating | Bound:
    """A method of a generator; of one of Python's it is the class's own, whose functions are taken from outside."""
    if owner.type is not random.Random:
        return Generating(owner, name)
    on_class = _of_random(trace, take, owner, name)
    if name in DRAWN:
        if all(_of_random(trace, take, owner, one) is DRAWN[one] for one in NEEDED[name]):
            return Generating(owner, name)
    elif type(on_class) is types.FunctionType:
        return Bound(on_class, owner)
    raise NotNativeError(f"calls of the method {name} are not compiled yet")


def _of_random(trace: Trace, take: Take, owner: Generator, name: str) -> Any:
    """What `random.Random` has under a name, guarded; no instance has it."""
    found, symbol = class_member(trace, random.Random, name)
    trace.guards.check("INSTANCE_LACKS", owner.source, name)
    if type(found) is types.FunctionType:
        take(symbol)
    return found


# Of `np.random.RandomState`: `draws.py` has what each draws.
LEGACY_NAMES = frozenset(
    (
        *("random", "random_sample", "rand", "uniform", "standard_normal", "randn", "normal"),
        *("exponential", "randint", "choice", "seed"),
    )
)
SHUFFLES = ("shuffle", "permutation")  # as `shuffles.py` reads them
COUNTS = ("binomial", "poisson")  # as `counts.py` reads them


# What these are on the class, and which others they need.
DRAWN = {
    "random": vars(_random.Random)["random"],
    "getrandbits": vars(_random.Random)["getrandbits"],
    "_randbelow": random.Random._randbelow_with_getrandbits,  # type: ignore[attr-defined]
    "randrange": random.Random.randrange,
    "gauss": random.Random.gauss,
    "seed": random.Random.seed,
}


NEEDED = {
    "random": ("random",),
    "getrandbits": (),
    "_randbelow": ("_randbelow", "getrandbits"),
    "randrange": ("randrange", "_randbelow", "getrandbits"),
    "gauss": ("gauss", "random"),
    "seed": ("seed",),
}


METHOD_TYPES = (types.MethodType, types.BuiltinMethodType)


def is_default_rng(value: object) -> bool:
    """Whether it is NumPy's function, whose module NumPy loads when it is asked for."""
    return value is in_c("numpy.random._generator", "default_rng")
