"""Instructions that are read twice: for a number of Python's, and for one of NumPy's."""

from __future__ import annotations

from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.numbers.either import is_either, settled
from ufuse.frame_hook.nests.reading.reader import Reader


def is_tested(reader: Reader) -> bool:
    """Whether what the instruction gives is only tested for its truth."""
    following = reader.frame.function.table[reader.next].opname
    return following.startswith(("POP_JUMP", "TO_BOOL", "UNARY_NOT"))


def split(reader: Reader, stack: list[Item]) -> None:
    """End the block: the instruction is read for Python's number and for NumPy's, with the stack that it found."""
    found = [one for item in stack for one in _numbers(item) if is_either(one)]
    if not found:
        raise NotNativeError("it computes with a number that may be Python's or NumPy's")
    one = found[-1]
    assert one.tag is not None
    labels = []
    for numpy in (True, False):
        known_one = settled(one, numpy=numpy)
        reader.stack = [_replaced(item, one, known_one) for item in stack]
        labels.append(reader.target(reader.at.position))
    reader.out.end("branch", *labels, condition=one.tag)


def _numbers(item: Item) -> list[Number]:
    """The numbers that an item is made of."""
    if isinstance(item, Items | Listed):
        return [number for one in item.items for number in _numbers(one)]
    return [item] if isinstance(item, Number) else []


def _replaced(item: Item, old: Number, new: Number) -> Item:
    if isinstance(item, Items | Listed):
        items = tuple(_replaced(one, old, new) for one in item.items)
        return Items(items) if isinstance(item, Items) else Listed(items, item.site)
    return new if item == old else item
