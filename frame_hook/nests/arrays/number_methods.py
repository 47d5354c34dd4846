"""Attributes and methods of NumPy's numbers: their copies, parts and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ufuse.frame_hook.nests.arrays import making
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    FLOAT,
    INT,
    NP_BOOL,
    NP_FLOAT,
    TYPES,
    NotNativeError,
    kind_of,
)
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Method
from ufuse.frame_hook.nests.numbers import complexes, conversions
from ufuse.frame_hook.nests.reading.operations import ATTRIBUTE, METHOD
from ufuse.frame_hook.nests.reading.reader import Reader

SAME = {"copy", "conj", "conjugate"}  # methods that give the number again
METHODS = {"astype", "item", *SAME}
SHAPE: dict[str, Item] = {"ndim": Known(0), "size": Known(1), "shape": Items(())}


@ATTRIBUTE.of(Number)
def attribute(_: Reader, owner: Number, name: str) -> Item:
    """`owner.name`; a number of Python has other attributes, which are not read."""
    if owner.type.numpy and name in METHODS:
        return Method(owner, name)
    if owner.type.numpy and name in SHAPE:
        return SHAPE[name]
    if owner.type.numpy and name == "real":
        return owner
    raise NotNativeError(f"the attribute {name} of a number is not compiled yet")


@METHOD.of(Number)
def called_method(
    reader: Reader,
    owner: Number,
    name: str,
    arguments: Sequence[Item],
    keywords: Mapping[str, Item],
) -> Number:
    """The result of a method of METHODS."""
    wanted = [*arguments, *(one for key, one in keywords.items() if key == "dtype")]
    if len(wanted) != (name == "astype") or set(keywords) - {"dtype"}:
        raise NotNativeError(f"the method {name} of a number with these arguments")
    if name == "astype":
        dtype = making.dtype_of(wanted[0], NP_FLOAT.dtype)
        kind = kind_of(dtype.type(0))
        if kind is None or kind.kind not in TYPES:
            raise NotNativeError(f"a number as {dtype} is not compiled yet")
        return conversions.made(kind, reader.out, owner)
    return _plain(reader.out, owner) if name == "item" else owner


def _plain(code: Code, owner: Number) -> Number:
    """The number as Python's."""
    if owner.type == NP_BOOL:
        return Number(BOOL, owner.value)
    kind = FLOAT if owner.type.is_real else INT
    return Number(kind, conversions.converted(code, owner, kind))


@ATTRIBUTE.of(Complex)
def _of_complex(_: Reader, owner: Complex, name: str) -> Item:
    return complexes.attribute(owner, name)


@METHOD.of(Complex)
def _called_of_complex(
    reader: Reader, owner: Complex, _: str, arguments: list[Item], keywords: dict[str, Item]
) -> Item:
    return complexes.called_method(reader.out, owner, arguments, keywords)
