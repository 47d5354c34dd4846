"""Patterns for rewrite rules, written with Python's operators: `-(-x)`, `x + 0`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.records import record


class Pattern:
    """What a node may look like."""

    def __neg__(self) -> Apply:
        return apply("negative", self)

    def __invert__(self) -> Apply:
        return apply("invert", self)

    def __pos__(self) -> Apply:
        return apply("positive", self)

    def __add__(self, other: Pattern | int) -> Apply:
        return apply("add", self, other)

    def __radd__(self, other: int) -> Apply:
        return apply("add", other, self)

    def __sub__(self, other: Pattern | int) -> Apply:
        return apply("subtract", self, other)

    def __mul__(self, other: Pattern | int) -> Apply:
        return apply("multiply", self, other)

    def __rmul__(self, other: int) -> Apply:
        return apply("multiply", other, self)

    def __or__(self, other: Pattern | int) -> Apply:
        return apply("bitwise_or", self, other)

    def __xor__(self, other: Pattern | int) -> Apply:
        return apply("bitwise_xor", self, other)

    def __lshift__(self, other: Pattern | int) -> Apply:
        return apply("left_shift", self, other)

    def __rshift__(self, other: Pattern | int) -> Apply:
        return apply("right_shift", self, other)


@record
class Variable(Pattern):
    """Any node; the same node wherever it stands twice."""

    name: str


@record
class Number(Pattern):
    """A constant of this value, of any type."""

    value: Any


@record
class Apply(Pattern):
    """A node of this op."""

    name: str
    inputs: tuple[Pattern, ...]


def apply(name: str, *inputs: Pattern | int) -> Apply:
    """The pattern of an op; numbers stand for constants."""
    return Apply(name, tuple(one if isinstance(one, Pattern) else Number(one) for one in inputs))


def named(name: str) -> Callable[..., Apply]:
    """An op as a function of patterns."""
    return lambda *inputs: apply(name, *inputs)


def matches(pattern: Pattern, node: Node, found: dict[str, Node]) -> bool:
    """Whether the node matches; `found` gets what the variables stand for."""
    match pattern:
        case Variable(name=name):
            return found.setdefault(name, node) is node
        case Number(value=value):
            if node.op is not ops.CONST:
                return False
            constant = node.attributes["value"]
            return isinstance(constant, (bool, int, float, complex, np.generic)) and bool(
                constant == value
            )
        case Apply(name=name, inputs=inputs):
            return (
                node.op is ops.OPS[name]
                and len(inputs) == len(node.inputs)
                and all(matches(p, n, found) for p, n in zip(inputs, node.inputs, strict=True))
            )
    raise TypeError(f"not a pattern: {pattern!r}")
