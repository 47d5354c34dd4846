"""Generators of random numbers in nests: which there are, their state, what is drawn."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import GeneratorSlot
from ufuse.graph.semantics.nest_arithmetic import Number


def generators_of(nest: Nest, objects: Sequence[Any]) -> dict[str, Any]:
    """The generators among an object for each slot, by the slot's name."""
    pairs = zip(nest.given, objects, strict=True)
    return {slot.name: one for slot, one in pairs if isinstance(slot, GeneratorSlot)}


def is_generator(value: object) -> bool:
    """Whether an object is a generator of NumPy's, whose module that loads when it is asked for, or of Python's."""
    module = sys.modules.get("numpy.random")
    kinds = (getattr(module, name, None) for name in ("Generator", "RandomState"))
    return type(value) is random.Random or (module is not None and type(value) in kinds)


def bit_generator_of(generator: Any) -> Any:
    """What the bits of a Generator or RandomState come from."""
    is_legacy = isinstance(generator, np.random.RandomState)
    return generator._bit_generator if is_legacy else generator.bit_generator


def state_of(generator: Any) -> Any:
    """The state of a generator, for `restore`."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    return bit_generator_of(generator).state


def restore(generator: Any, state: Any) -> None:
    """Put a generator back into a state."""
    if isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        bit_generator_of(generator).state = state


def drawn(name: str, generator: Any, inputs: Sequence[Any]) -> Number:
    """One random number."""
    if name == "below":
        return int(generator._randbelow(*inputs))
    if name == "gauss":
        return float(generator.gauss(-0.0, 1.0))
    if name.endswith("seed"):
        return _seeded(name, generator, *inputs)
    if name == "uniform":
        least, more = inputs
        return float(least + more * generator.random())
    if name == "interval":
        (most,) = inputs
        return int(np.random.RandomState(bit_generator_of(generator)).randint(0, most + 1))
    if name == "masked_integers":
        least, most = inputs
        return int(generator.randint(least, most + 1))
    if name == "integers":
        return int(generator.integers(*inputs, endpoint=True))
    of_legacy = {"legacy_gauss": "standard_normal", "legacy_normal": "normal"}
    method = of_legacy.get(name, name.removeprefix("legacy_"))
    number: Number = getattr(generator, method)(*inputs)
    return number


def _seeded(name: str, generator: Any, seed: int) -> int:
    """Have a generator begin anew; whether it cannot."""
    if name != "seed":
        if name == "legacy_seed" and not 0 <= seed < 2**32:
            return 1
        generator.seed(seed)
        return 0
    if seed < 0:
        return 1
    generator.bit_generator.state = np.random.PCG64(seed).state
    return 0
