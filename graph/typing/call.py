"""A call of a NumPy function as the rules of its shape see it, and what a row of the table of calls says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ufuse.graph.records import record
from ufuse.graph.size import Size, symbol
from ufuse.graph.types import ArrayType, NumberType, Type
from ufuse.graph.typing.sample import CannotInfer, Constant, Facts, Operand
from ufuse.graph.typing.shapes import Shape, same


@record
class Sequenced:
    """An argument that is a tuple or list of operands."""

    kind: str
    items: tuple[Argument, ...]


Argument = Operand | Sequenced
BY_NAME = 1 << 16  # the place of an argument that has only a name


@record
class Call:
    """A call's arguments, matched to the operands."""

    name: str
    arguments: tuple[Argument, ...]
    keywords: Mapping[str, Argument]
    facts: Facts
    sizes: tuple[str, ...] = ()  # symbols of the call's own
    asked: set[str] = field(default_factory=set)  # what the rule of the shape has looked at

    def argument(self, place: int, name: str) -> Argument | None:
        """The argument at a place or of a name, or None."""
        self.asked.add(name)
        if place < len(self.arguments):
            return self.arguments[place]
        return self.keywords.get(name)

    def constant(self, place: int, name: str, default: Any = None) -> Any:
        """The value of an argument that must be known while tracing.

        Raises:
            CannotInfer: it is not.

        """
        found = self.argument(place, name)
        if found is None:
            return default
        if not isinstance(found, Constant):
            raise CannotInfer(f"{name} of {self.name} is not known while tracing")
        return found.value

    def shape(self, place: int, name: str) -> Shape:
        """The shape of an argument that is an array or a number, or that NumPy makes an array of.

        Raises:
            CannotInfer: it is none of these.

        """
        found = self.argument(place, name)
        if found is None:
            raise CannotInfer(f"{name} of {self.name} is not given")
        return nested_shape(found, f"{name} of {self.name}", self.facts)

    def shapes(self, place: int, name: str) -> list[Shape]:
        """The shapes of an argument that is a tuple or list of what NumPy makes arrays of.

        Raises:
            CannotInfer: it is none.

        """
        found = self.argument(place, name)
        given: Sequence[Argument] = ()
        if isinstance(found, Sequenced):
            given = found.items
        elif isinstance(found, Constant) and isinstance(found.value, tuple | list):
            given = [Constant(one) for one in found.value]
        if not given:
            raise CannotInfer(f"{self.name} takes a tuple or list of arrays")
        return [nested_shape(one, self.name, self.facts) for one in given]

    def size(self, place: int, name: str) -> Size:
        """An integer argument, as a constant or an expression.

        Raises:
            CannotInfer: it is neither.

        """
        return self._whole(self.argument(place, name), name)

    def whole_numbers(self, given: Argument | None, name: str) -> list[Size]:
        """An integer, or the integers of a tuple or list, as constants or expressions.

        Raises:
            CannotInfer: it is something else.

        """
        if isinstance(given, Sequenced):
            return [self._whole(one, name) for one in given.items]
        if isinstance(given, Constant) and isinstance(given.value, tuple | list):
            return [self._whole(Constant(one), name) for one in given.value]
        return [self._whole(given, name)]

    def _whole(self, given: Argument | None, name: str) -> Size:
        if isinstance(given, NumberType) and given.kind == "int" and given.value is not None:
            return given.value
        if not isinstance(given, Constant):
            raise CannotInfer(f"{name} of {self.name} is not known while tracing")
        if not is_whole(given):
            raise CannotInfer(f"{name} of {self.name} is not a whole number")
        return int(given.value)

    def made(self) -> Size:
        """The length that values decide.

        Raises:
            CannotInfer: the call has no symbol for it.

        """
        if not self.sizes:
            raise CannotInfer("the size of its result depends on values")
        return symbol(self.sizes[0])


Shapes = Shape | list[Shape]  # a list: one for each of several results
ShapeRule = Callable[[Call], Shapes]


@record
class Rule:
    """A row: how the shape follows, and what the samples of the arguments are filled with."""

    shape: ShapeRule
    fill: tuple[str, ...] = ()
    writes: bool = False  # changes its first argument and returns None
    counts: tuple[int, int] = (
        0,
        0,
    )  # arguments that say how much memory it takes: never tried at their value
    counted: int = 1  # what stands for these in a sample
    keys: tuple[int, ...] = ()  # arguments in which 0 stands for a known place
    fails: bool = True  # it may raise, for some values or sizes that the types allow
    makes: bool = False  # a length of its result follows from values
    asks: bool = True  # NumPy is asked about samples
    is_size: bool = False  # its result is such a number itself
    warns: bool = False  # its Python code may warn, in place of which it is made to raise
    # The type of the result, where NumPy is not asked.
    gives: Callable[[Call, Shapes], Type] | None = None
    # Arguments, by place or name, in whose place a list is to NumPy the array that it makes of it.
    lists: tuple[int | str, ...] = ()
    items: bool = False  # and so is each item of the first argument


def is_whole(given: Argument) -> bool:
    """Whether it is an integer, known or not."""
    if isinstance(given, NumberType):
        return given.kind == "int"
    if not isinstance(given, Constant) or isinstance(given.value, bool):
        return False
    return isinstance(given.value, int | np.integer)


def nested_shape(given: Argument, name: str, facts: Facts) -> Shape:
    """The shape of an array, of a number, or of what NumPy makes of nested lists of these.

    Raises:
        CannotInfer: it is neither, or the lists have different lengths.

    """
    if isinstance(given, Sequenced):
        if any(map(_may_be_large, given.items)):
            raise CannotInfer("a whole number may be too large for 64 bits")
        shapes = [nested_shape(item, name, facts) for item in given.items]
        for shape in shapes[1:]:
            if len(shape) != len(shapes[0]) or not all(
                same(a, b, facts) for a, b in zip(shapes[0], shape, strict=True)
            ):
                raise CannotInfer("ValueError: lists of different lengths")
        return (len(shapes), *shapes[0])
    if isinstance(given, Constant) and isinstance(given.value, tuple | list | range):
        try:
            return tuple(map(int, np.shape(given.value)))
        except ValueError as error:  # lists of different lengths, or too many in one another
            raise CannotInfer(f"ValueError: {error}") from None
    return shape_of(given, name)


def _may_be_large(given: Argument) -> bool:
    """Whether it is a Python int of which nothing is known."""
    return isinstance(given, NumberType) and given.kind == "int" and given.value is None


def shape_of(operand: Operand, name: str = "an operand") -> Shape:
    """The shape of an array, or () of a number.

    Raises:
        CannotInfer: it is neither.

    """
    type_ = operand.type if isinstance(operand, Constant) else operand
    if isinstance(type_, ArrayType):
        return type_.shape
    if isinstance(type_, NumberType):
        return ()
    raise CannotInfer(f"{name} is neither an array nor a number")
