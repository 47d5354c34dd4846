"""Where the struct of a `cupy.ndarray` has what C reads, learned from arrays over the host's memory.

Arrays with odd lengths and strides are made, which takes no GPU, and their structs are searched for those numbers.
What is found in none or several places is not used: then such arrays are not captured.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

WORD = struct.calcsize("P")
DEVICE = 23  # a number that no device has, so that it is found
SIZE = 4096
# Shapes and strides of arrays to learn from; what stands at one place in the structs of all is what it seems to be.
EXAMPLES = (
    ("f4", 24, (3, 5, 7), (1140, 228, 12)),
    ("i2", 72, (11, 13), (34, 2)),
)

_learned: dict[type, tuple[int, ...] | None] = {}


def offsets_in(module: Any) -> tuple[int, ...] | None:
    """Offsets of shape, strides, dtype and memory in an array, and of address and device in its memory; or None."""
    if module.ndarray not in _learned:
        _learned[module.ndarray] = _found(examples(module))
    return _learned[module.ndarray]


def examples(module: Any) -> list[Any]:
    """Arrays to learn from, and to compare with `by_attributes` what was learned."""
    return [_example(module, *numbers) for numbers in EXAMPLES]


def _found(arrays: list[Any]) -> tuple[int, ...] | None:
    finders: tuple[Callable[[Any], set[int]], ...] = (_shapes, _strides, _dtypes, _memories)
    offsets = [_only(finder, arrays) for finder in finders]
    memories = [array.data for array in arrays]
    offsets += [_only(finder, memories) for finder in (_addresses, _devices)]
    certain = tuple(one for one in offsets if one is not None)
    return certain if len(certain) == len(offsets) else None


def by_attributes(array: Any) -> tuple[Any, ...]:
    """What C reads of an array, asked of the array itself."""
    axes = tuple(zip(array.shape, array.strides, strict=True))
    return axes, array.dtype, array.data.ptr, array.data.device_id


def _example(
    module: Any, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Any:
    """An array over memory of the host's, which it keeps."""
    memory = ctypes.create_string_buffer(SIZE)
    address = ctypes.addressof(memory)
    whole = module.cuda.UnownedMemory(address, SIZE, memory, DEVICE)
    pointer = module.cuda.MemoryPointer(whole, offset)
    return module.ndarray(shape, np.dtype(dtype), memptr=pointer, strides=strides)


def _only(finder: Callable[[Any], set[int]], objects: list[Any]) -> int | None:
    """The one offset at which all objects have what is looked for; None where there are none or several."""
    found = set.intersection(*map(finder, objects))
    return found.pop() if len(found) == 1 else None


def _words(value: Any) -> Iterator[tuple[int, int]]:
    """The words of an object's struct, with their offsets, behind its reference count and type."""
    size = type(value).__basicsize__ // WORD
    words = struct.unpack(f"{size}P", ctypes.string_at(id(value), size * WORD))
    return ((place * WORD, word) for place, word in enumerate(words) if place > 1)


def _shapes(array: Any) -> set[int]:
    return _vectors(array, array.shape)


def _strides(array: Any) -> set[int]:
    return _vectors(array, array.strides)


def _vectors(array: Any, numbers: tuple[int, ...]) -> set[int]:
    """Where three words are the begin, the end and the limit of a vector of these numbers."""
    words = dict(_words(array))
    wanted = struct.pack(f"{len(numbers)}n", *numbers)
    return {
        offset
        for offset, begin in words.items()
        if begin > SIZE
        and words.get(offset - WORD) != begin  # the limit of another vector, behind its end
        and words.get(offset + WORD) == begin + len(wanted)
        and words.get(offset + 2 * WORD, 0) >= begin + len(wanted)
        and ctypes.string_at(begin, len(wanted)) == wanted
    }


def _dtypes(array: Any) -> set[int]:
    return {offset for offset, word in _words(array) if word == id(array.dtype)}


def _memories(array: Any) -> set[int]:
    return {offset for offset, word in _words(array) if word == id(array.data)}


def _addresses(memory: Any) -> set[int]:
    return {offset for offset, word in _words(memory) if word == memory.ptr}


def _devices(memory: Any) -> set[int]:
    return {offset for offset, word in _words(memory) if word & 0xFFFFFFFF == DEVICE}
