"""A nest as bytes, for the key under which its code is kept: unlike nests never have the same."""

from __future__ import annotations

import marshal
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ufuse.graph.nest import Block, Instruction, Nest

# The last one in which what is written does not depend on who else holds an object. A float is its 8 bytes.
VERSION = 2
PLAIN = (str, int, float, complex, bool, bytes, type(None))


@lru_cache(maxsize=4)  # for each of the tiers
def description(nest: Nest) -> bytes | None:
    """All that a nest is made of; None where something has no form of bytes."""
    try:
        parts = [_plain(part) for part in (nest.slots, nest.others, nest.temporaries, nest.views)]
        return marshal.dumps((*parts, tuple(map(_block, nest.blocks))), VERSION)
    except (TypeError, ValueError):
        return None


def _block(block: Block) -> tuple[Any, ...]:
    return block.label, tuple(map(_instruction, block.instructions)), _plain(block.end)


def _instruction(one: Instruction) -> tuple[Any, ...]:
    inputs = tuple([(value.number, value.type) for value in one.inputs])
    result = None if one.result is None else (one.result.number, one.result.type)
    attributes = tuple([_plain(each) for each in one.attributes])
    return one.op, inputs, result, attributes, one.is_sure, one.is_dense


def _plain(part: Any) -> Any:
    """What `marshal` writes, for what it does not know."""
    if type(part) in PLAIN:
        return part
    if type(part) is tuple:
        return tuple(map(_plain, part))
    if isinstance(part, np.dtype):
        return "dtype", part.char, part.str
    if isinstance(part, np.generic):
        return "scalar", part.dtype.char, part.tobytes()
    if is_dataclass(part):
        return type(part).__name__, tuple(_plain(getattr(part, one.name)) for one in fields(part))
    raise TypeError(f"{type(part).__name__} has no form of bytes")
