"""Nests of the executor whose machine code is Python behind a C function, and numbers' flags."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.graph.nest_types import MAP_AXES


class Own(ctypes.Structure):
    """Memory of a nest's own, as C has it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("capacity", ctypes.c_int64),
        ("length", ctypes.c_int64 * MAP_AXES),
    )


NATIVE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(Own))  # fmt: skip
HELPERS = _tiles.nest_helpers()
GROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.POINTER(Own), ctypes.c_int64)(HELPERS["grow"])
MATH = ctypes.CDLL(ctypes.util.find_library("m"))
# Flags as feraiseexcept() takes them on x86-64, by NumPy's names.
FLAGS = {"invalid": 1, "divide": 4, "over": 8, "under": 16}
TYPES = {"d": "<f8", "f": "<f4", "l": "<i8", "i": "<i4", "?": "|b1"}


class DoubtError(Exception):
    """What a turn raises that machine code cannot do."""


@dataclass
class State:
    """What the machine code has: arrays, and for each number its value and whether it is NumPy's."""

    arrays: list[Any] = field(default_factory=list)
    numbers: list[list[Any]] = field(default_factory=list)
    rebound: list[int] = field(default_factory=list)  # numbers of arrays
    memory: Any = None
    flags: int = 0


@dataclass
class Memory:
    """An array at an address, for NumPy to look at."""

    __array_interface__: dict[str, Any]


def array_at(words: Any, at: int, character: str, axes: int) -> Any:
    """The array that the words from `at` on describe."""
    shape = tuple(words[at + 1 + axis] for axis in range(axes))
    strides = tuple(words[at + 1 + axes + axis] for axis in range(axes))
    return np.asarray(Memory({"data": (words[at], False), "shape": shape, "strides": strides, "typestr": TYPES[character], "version": 3}))  # fmt: skip


def float_of(bits: int) -> float:
    """The float of these bits."""
    return float(np.int64(bits).view(np.float64))


def bits_of(value: float) -> int:
    """The bits of a float."""
    return int(np.float64(value).view(np.int64))


def state_of(slots: tuple[Any, ...], words: Any, cells: Any) -> tuple[State, int]:
    """Read words and cells; also where the range's cells begin."""
    state, at, cell, range_cell = State(), 0, 0, -1
    for kind, *rest in slots:
        if kind == "array":
            state.arrays.append(array_at(words, at, rest[0], rest[1]))
            at += 1 + 2 * rest[1]
            if any(rest[3:]):
                state.rebound.append(cells[cell])
                cell += 1
        elif kind == "range":
            range_cell = cell
            cell += 3
        else:
            value = float_of(cells[cell]) if kind == "float" else cells[cell]
            state.numbers.append([value, cells[cell + 1]])
            cell += 2
    return state, range_cell


def store(slots: tuple[Any, ...], state: State, cells: Any) -> None:
    """Write the numbers into the cells."""
    cell, numbers, rebound = 0, iter(state.numbers), iter(state.rebound)
    for kind, *rest in slots:
        if kind == "array":
            if any(rest[3:]):
                cells[cell] = next(rebound)
                cell += 1
            continue
        if kind == "range":
            cell += 3
            continue
        value, is_numpy = next(numbers)
        cells[cell] = bits_of(value) if kind == "float" else int(value)
        cells[cell + 1] = is_numpy
        cell += 2


def nest(
    slots: tuple[Any, ...],
    turn: Callable[[State, int], None],
    calls: list[int] | None = None,
    temporaries: tuple[tuple[str, int], ...] = (),
    scratches: int = 0,
) -> Any:
    """A nest that does `turn` with its state and the number of the range; `calls`: how many turns it was to do."""
    return native_nest(native(slots, turn, calls), slots, temporaries, scratches)


def native(
    slots: tuple[Any, ...], turn: Callable[[State, int], None], calls: list[int] | None = None
) -> Any:
    """The C function of `nest`."""
    last = sum({"array": any(slot[4:]), "range": 3}.get(slot[0], 2) for slot in slots)

    @NATIVE  # type: ignore[untyped-decorator]
    def function(words: Any, cells: Any, memory: Any) -> int:
        state, at = state_of(slots, words, cells)
        state.memory = memory
        following, step, left, turns = cells[at], cells[at + 1], cells[at + 2], cells[last]
        if calls is not None:
            calls.append(turns)
        verdict = 0
        try:
            while turns > 0 and left > 0:
                number, following = following, following + step
                turns, left = turns - 1, left - 1
                turn(state, number)
        except DoubtError:
            verdict = 1
        if verdict == 0:
            store(slots, state, cells)
            cells[at], cells[at + 2] = following, left
        cells[last] = turns
        MATH.feraiseexcept(state.flags)
        return verdict

    return function


def address_of(function: Any) -> int:
    """Where a C function begins."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def native_nest(
    function: Any,
    slots: tuple[Any, ...],
    temporaries: tuple[tuple[str, int], ...] = (),
    scratches: int = 0,
) -> Any:
    """The nest of a C function."""
    made = _tiles.Nest(address_of(function), function, slots, temporaries, scratches)
    made.budget = 1e6  # Python is slow, and a busy machine slower
    return made


def own_array(memory: Any, number: int, character: str, *lengths: int) -> Any:
    """Memory of a nest's own as an array of these lengths, which it is grown for."""
    one = memory[number]
    assert GROW(ctypes.byref(one), np.dtype(TYPES[character]).itemsize * int(np.prod(lengths))) == 0
    one.length[: len(lengths)] = lengths
    interface = {"data": (one.data or 1, False), "shape": lengths, "typestr": TYPES[character]}
    return np.asarray(Memory({**interface, "version": 3}))
