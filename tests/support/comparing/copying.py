"""Deep copies that keep what `copy.deepcopy` loses of arrays: shared memory, strides and flags."""

from __future__ import annotations

import copy
import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Memo = dict[int, Any]

    AnyArray = NDArray[Any]


ATOMS = {int, float, complex, str, bytes, bool, type(None)}  # which deepcopy gives back as they are


def independent_copy(value: object) -> Any:
    """Copy `value` so that nothing mutable is shared with it, and all sharing within it is kept.

    Views of one array stay views of one copied array, at the same offsets and strides; dtypes,
    memory order and the writeable flag stay. Functions, classes and modules are not copied.
    """
    memo: Memo = {}
    read_only: list[AnyArray] = []
    with array_rule(read_only):
        copied = copy.deepcopy(value, memo)
    for array in read_only:
        array.flags.writeable = False
    return copied


@contextmanager
def array_rule(read_only: list[AnyArray]) -> Iterator[None]:
    """Make `copy.deepcopy` copy arrays by `copied_array`, and leave modules alone, for a while."""

    def rule(array: AnyArray, memo: Memo) -> AnyArray:
        return copied_array(array, memo, read_only)

    dispatch: dict[type, Callable[..., Any]] = copy._deepcopy_dispatch  # type: ignore[attr-defined]
    own = {list: dispatch[list], tuple: dispatch[tuple]}

    def list_rule(items: list[Any], memo: Memo) -> list[Any]:
        if not ATOMS.issuperset(map(type, items)):
            return own[list](items, memo)  # type: ignore[no-any-return]
        new = memo[id(items)] = items.copy()
        return new

    def tuple_rule(items: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
        return items if ATOMS.issuperset(map(type, items)) else own[tuple](items, memo)

    dispatch |= {list: list_rule, tuple: tuple_rule}
    dispatch[np.ndarray] = rule
    dispatch[types.ModuleType] = lambda module, _memo: module
    dispatch[memoryview] = lambda face, memo: memoryview(copy.deepcopy(face.obj, memo))
    try:
        yield
    finally:
        dispatch |= own
        del dispatch[np.ndarray], dispatch[types.ModuleType], dispatch[memoryview]


def copied_array(array: AnyArray, memo: Memo, read_only: list[AnyArray]) -> AnyArray:
    """Copy a plain array, or make it again as a view of its copied base."""
    if array.dtype.hasobject:
        new = np.empty_like(array, subok=False)
        memo[id(array)] = new
        for index in np.ndindex(array.shape):
            new[index] = copy.deepcopy(array[index], memo)
    elif array.base is None:
        new = owned_copy(array)
    else:
        new = view_of_copy(array, memo)
    memo[id(array)] = new
    memo.setdefault(id(memo), []).append(array)  # as deepcopy does: its id must stay taken
    if not array.flags.writeable:
        read_only.append(new)
    return new


def owned_copy(array: AnyArray) -> AnyArray:
    """Copy an array that owns its memory, strides included."""
    for order in ("K", "C", "F"):
        new = array.copy(order=order)
        if new.strides == array.strides:
            return new
    message = f"no copy of an array of shape {array.shape} gets its strides {array.strides}"
    raise ValueError(message)


def view_of_copy(array: AnyArray, memo: Memo) -> AnyArray:
    """Make the view `array` again, of the copy of what it is a view of."""
    base: Any = array.base
    if not isinstance(base, np.ndarray) and isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base  # as_strided puts an object between the view and the array
    new_memory: Any
    if isinstance(base, np.ndarray):
        old_memory, new_memory = flat_bytes(base), flat_bytes(copy.deepcopy(base, memo))
    else:
        # bytes is copied by hand: deepcopy shares what is immutable, but memory must not be shared.
        new_memory = bytes(bytearray(base)) if type(base) is bytes else copy.deepcopy(base, memo)
        new_memory = memo.setdefault(id(base), new_memory)
        old_memory = np.frombuffer(base, "u1")
        if type(base) is memoryview and array.ndim == 1 and array.flags.c_contiguous:
            start = address(array) - address(old_memory)
            return np.frombuffer(new_memory.obj, array.dtype, array.size, start)  # its own way
    offset = address(array) - address(old_memory)
    try:
        return np.ndarray(
            array.shape, array.dtype, buffer=new_memory, offset=offset, strides=array.strides
        )
    except ValueError:  # strides of 0 over less memory than a dense array of this shape would take
        first = new_memory[offset : offset + array.itemsize].view(array.dtype)
        return np.lib.stride_tricks.as_strided(first, array.shape, array.strides)


def flat_bytes(array: AnyArray) -> AnyArray:
    """All memory of a dense array as bytes, in the order of the addresses."""
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    flips = tuple(slice(None, None, -1 if step < 0 else 1) for step in array.strides)
    dense = array[flips].transpose(axes)
    if not dense.flags.c_contiguous:
        message = f"the base of a view has gaps: shape {array.shape}, strides {array.strides}"
        raise ValueError(message)
    return dense.reshape(-1).view("u1")


def address(array: AnyArray) -> int:
    """Where the first element lies."""
    return int(array.__array_interface__["data"][0])
