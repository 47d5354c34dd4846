"""Opcodes that move what is on the stack, and in variables, in loops that are read as nests."""

from __future__ import annotations

import dis

from ufuse.frame_hook.code.instructions import COMMON_CONSTANTS, VERSION
from ufuse.frame_hook.nests.arrays import elementwise
from ufuse.frame_hook.nests.containers import (
    identity,
    object_lists,
)
from ufuse.frame_hook.nests.known.arrays import Lazy
from ufuse.frame_hook.nests.known.containers import CellOf
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Empty, Known
from ufuse.frame_hook.nests.known.values import Generated, Items, constant
from ufuse.frame_hook.nests.opcodes.handlers import reads
from ufuse.frame_hook.nests.reading.reader import Reader


@reads("NOP CACHE RESUME PRECALL NOT_TAKEN EXTENDED_ARG COPY_FREE_VARS MAKE_CELL")
def _nothing(_: Reader, __: int) -> None:
    return


@reads("POP_TOP POP_ITER")
def _pop(reader: Reader, _: int) -> None:
    item = reader.stack.pop()
    if isinstance(item, Lazy):
        elementwise.computed(reader, item)
    else:
        object_lists.doubt_dropped(reader, item)


@reads("PUSH_NULL")
def _push_null(reader: Reader, _: int) -> None:
    reader.stack.append(Empty())


@reads("COPY")
def _copy(reader: Reader, arg: int) -> None:
    if isinstance(reader.stack[-arg], Generated):
        raise NotNativeError("it keeps a generator")
    if isinstance(reader.stack[-arg], Lazy | Items):  # used twice, computed once
        elementwise.settle(reader)
    item = reader.stack[-arg]
    if not _is_key_of_augmented(reader):  # who reads an item does not keep its key
        reader.stack[-arg] = identity.shared(item)
    reader.stack.append(identity.shared(item))


def _is_key_of_augmented(reader: Reader) -> bool:
    """Whether a key is copied to read the item that an augmented assignment sets behind that."""
    rows = list(reader.frame.function.table.values())
    at = rows.index(reader.at)
    before, following = rows[at - 1], rows[at + 1]
    return (before.opname, before.arg) == ("COPY", 2) and (
        following.opname == "BINARY_SUBSCR"
        or (following.opname == "BINARY_OP" and dis._nb_ops[following.arg or 0][1] == "[]")  # type: ignore[attr-defined]
    )


@reads("SWAP")
def _swap(reader: Reader, arg: int) -> None:
    stack = reader.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@reads("LOAD_CONST")
def load_const(reader: Reader, arg: int) -> None:
    """Push a constant of the code."""
    reader.stack.append(constant(reader.code.co_consts[arg]))


@reads("LOAD_COMMON_CONSTANT")
def _load_common_constant(reader: Reader, which: int) -> None:
    """From 3.14 on."""
    reader.stack.append(Known(COMMON_CONSTANTS[which]))


@reads("LOAD_SMALL_INT")
def _load_small_int(reader: Reader, arg: int) -> None:
    reader.stack.append(Known(arg))


@reads("LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW")
def _load_fast(reader: Reader, slot: int) -> None:
    if slot in reader.frame.function.cells:  # from 3.13 on
        reader.stack.append(CellOf(slot))
    else:
        reader.load(slot)


@reads("LOAD_FAST_AND_CLEAR")
def _load_fast_and_clear(reader: Reader, slot: int) -> None:
    """What a comprehension hides: from 3.12 on."""
    if slot in reader.slots:
        reader.load(slot)
        del reader.slots[slot]
    else:
        reader.stack.append(Empty())


@reads("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_fast_load_fast(reader: Reader, arg: int) -> None:
    _load_fast(reader, arg >> 4)
    if reader.out.is_open:
        _load_fast(reader, arg & 15)


@reads("STORE_FAST")
def _store_fast(reader: Reader, slot: int) -> None:
    reader.store(slot)


@reads("STORE_FAST_LOAD_FAST")
def _store_fast_load_fast(reader: Reader, arg: int) -> None:
    reader.store(arg >> 4)
    _load_fast(reader, arg & 15)


@reads("STORE_FAST_STORE_FAST")
def _store_fast_store_fast(reader: Reader, arg: int) -> None:
    reader.store(arg >> 4)
    reader.store(arg & 15)


@reads("LOAD_GLOBAL")
def _load_global(reader: Reader, arg: int) -> None:
    value = reader.global_value(reader.code.co_names[arg >> 1])
    pair = [Empty(), value] if VERSION < (3, 13) else [value, Empty()]
    reader.stack += pair if arg & 1 else [value]


@reads("LOAD_DEREF")
def _load_deref(reader: Reader, slot: int) -> None:
    reader.load_around(slot)


@reads("STORE_DEREF")
def _store_deref(reader: Reader, slot: int) -> None:
    if slot not in reader.frame.function.own_cells:
        raise NotNativeError("assigning to a variable of the function around is not compiled yet")
    reader.store(slot)


@reads("LOAD_CLOSURE")
def _load_closure(reader: Reader, slot: int) -> None:
    reader.stack.append(CellOf(slot))
