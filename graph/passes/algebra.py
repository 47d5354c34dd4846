"""Algebra that keeps every bit.

Laws above the rules: shape and dtype stay; each rule lowers the cost, so rewriting ends; order changes
nothing. A rule that gives an older array where eager makes a fresh one gives a copy of it wherever
somebody could tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.passes.patterns import Apply, Pattern, Variable, matches, named
from ufuse.graph.passes.rewrite import Builder, Observed, observed, rewritten
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, NumberType, Span, Type, c_order
from ufuse.graph.typing.infer import CannotInfer

BITS = "bits"  # every bit of the result, NaN and signed zero included
COST = {"input": 0, "const": 0, "size": 0, "item": 0, "view": 1, "create": 2, "copy": 3}
DEAREST = 4  # what reads, computes and writes


def cost(node: Node) -> int:
    """What running the node costs, roughly."""
    return COST.get(node.op.name, COST.get(node.op.kind.value, DEAREST))


@record
class Zeros:
    """The result that is all zeros."""


@record
class Rule:
    """A name, a pattern, and a smaller result of the same type."""

    name: str
    pattern: Apply
    result: Pattern | Zeros
    keeps: str
    when: Callable[[Node], bool]


def rule(
    name: str,
    pattern: Apply,
    result: Pattern | Zeros,
    *,
    keeps: str,
    when: Callable[[Node], bool] | None = None,
) -> Rule:
    """A row of the table."""
    return Rule(name, pattern, result, keeps, when if when is not None else lambda _: True)


def _kind(kinds: str) -> Callable[[Node], bool]:
    def holds(node: Node) -> bool:
        return isinstance(node.type, ArrayType) and node.type.dtype.kind in kinds

    return holds


is_integer, is_bool, is_real, is_signed = _kind("iu"), _kind("b"), _kind("iuf"), _kind("if")
x, c = Variable("x"), Variable("c")
negative, conjugate, absolute, logical_not, where = map(
    named, "negative conjugate absolute logical_not where".split()
)
ZEROS = Zeros()

# fmt: off
# Integers only, where floats differ: -0.0 + 0 is 0.0, inf - inf and inf * 0 are nan.
RULES: tuple[Rule, ...] = (
    rule("negate twice",         negative(negative(x)),      x,            keeps=BITS),
    rule("invert twice",         ~~x,                       x,            keeps=BITS),
    rule("not twice",            logical_not(logical_not(x)), x,           keeps=BITS, when=is_bool),
    rule("conjugate twice",      conjugate(conjugate(x)),    x,            keeps=BITS),
    rule("plus",                 +x,                         x,            keeps=BITS),
    rule("magnitude twice",      absolute(absolute(x)),      absolute(x),  keeps=BITS, when=is_real),
    rule("magnitude of minus",   absolute(-x),               absolute(x),  keeps=BITS, when=is_signed),
    rule("add nothing",          x + 0,                      x,            keeps=BITS, when=is_integer),
    rule("add to nothing",       0 + x,                      x,            keeps=BITS, when=is_integer),
    rule("subtract nothing",     x - 0,                      x,            keeps=BITS, when=is_integer),
    rule("multiply by one",      x * 1,                      x,            keeps=BITS, when=is_integer),
    rule("one times",            1 * x,                      x,            keeps=BITS, when=is_integer),
    rule("multiply by zero",     x * 0,                      ZEROS,        keeps=BITS, when=is_integer),
    rule("zero times",           0 * x,                      ZEROS,        keeps=BITS, when=is_integer),
    rule("subtract from itself", x - x,                      ZEROS,        keeps=BITS, when=is_integer),
    rule("differ from itself",   x ^ x,                      ZEROS,        keeps=BITS, when=is_integer),
    rule("or nothing",           x | 0,                      x,            keeps=BITS, when=is_integer),
    rule("differ from nothing",  x ^ 0,                      x,            keeps=BITS, when=is_integer),
    rule("shift left by none",   x << 0,                     x,            keeps=BITS, when=is_integer),
    rule("shift right by none",  x >> 0,                     x,            keeps=BITS, when=is_integer),
    rule("no choice",            where(c, x, x),             x,            keeps=BITS),
)
# fmt: on

RULES_OF: dict[str, tuple[Rule, ...]] = {
    name: tuple(row for row in RULES if row.pattern.name == name)
    for name in {row.pattern.name for row in RULES}
}


def simplified(graph: Graph) -> Graph:
    """The graph after one round of the rules."""
    seen = observed(graph)

    def visit(node: Node, builder: Builder) -> Node | None:
        for one in STRUCTURAL.get(node.op.name) or STRUCTURAL.get(node.op.kind.value, ()):
            found = one(node, seen, builder)
            if found is not None:
                return found
        for row in RULES_OF.get(node.op.name, ()):
            variables: dict[str, Node] = {}
            is_match = matches(row.pattern, node, variables) and row.when(node)
            if is_match and all(
                _is_as_read(one, node, seen, builder) for one in variables.values()
            ):
                found = _result(row, node, variables, seen, builder)
                if found is not None:
                    return found
        return None

    return rewritten(graph, visit)


def _result(
    row: Rule, node: Node, variables: dict[str, Node], seen: Observed, builder: Builder
) -> Node | None:
    match row.result:
        case Zeros():
            return _zeros(node, builder)
        case Variable(name=name):
            return _instead(node, variables[name], seen, builder)
        case Apply(name=name, inputs=(Variable(name=inner),)):
            return _emit_same(node, ops.OPS[name], (variables[inner],), {}, builder)
    raise TypeError(f"not a result: {row.result!r}")


def _instead(node: Node, value: Node, seen: Observed, builder: Builder) -> Node | None:
    """An older value for a fresh one of the same type: itself where nobody can tell, else a copy."""
    if not _fits(value.type, node.type):
        return None
    assert isinstance(node.type, ArrayType)
    if value.type == node.type and seen.may_share(node, value, builder):
        return value
    if node.op is ops.COPY or node.type.scalar:
        return None
    return _emit_same(node, ops.COPY, (value,), {"order": "K"}, builder)


def _is_as_read(value: Node, node: Node, seen: Observed, builder: Builder) -> bool:
    """Whether memory that an inner node read is the same where the outer node stands: nobody may write it between."""
    return (
        value in node.inputs
        or not is_array(value)
        or builder.sharing(value).isdisjoint(seen.written)
    )


def _fits(value: Type, wanted: Type) -> bool:
    if not isinstance(value, ArrayType) or not isinstance(wanted, ArrayType):
        return False
    return (value.dtype, value.shape, value.scalar) == (wanted.dtype, wanted.shape, wanted.scalar)


def _emit_same(
    node: Node, op: ops.Op, inputs: tuple[Node, ...], attributes: dict[str, Any], builder: Builder
) -> Node | None:
    """A new node in the place of another, or None where its type would differ."""
    before = len(builder.nodes)
    try:
        made = builder.emit(op, inputs, attributes, node.location)
    except CannotInfer:
        return None
    if made.type != node.type or cost(made) > cost(node):
        del builder.nodes[before:]
        return None
    return made


def _zeros(node: Node, builder: Builder) -> Node | None:
    assert isinstance(node.type, ArrayType)
    is_in_order = node.type.order in (None, c_order(node.type.ndim))
    if node.type.scalar or (not is_in_order and 1 in node.type.shape):
        return None  # NumPy's loops give an axis of length 1 another stride than a new array has
    attributes = {"shape": node.type.shape, "dtype": node.type.dtype, "order": node.type.order}
    return _emit_same(node, ops.ZEROS, (), attributes, builder)


# Rules about attributes, which patterns do not show


def _same_view(node: Node, seen: Observed, builder: Builder) -> Node | None:
    """A view of everything is the array; but an array that leaves the graph must be a view if eager's is."""
    if node.op.kind is not ops.Kind.VIEW or builder.original(node) in seen.outputs:
        return None
    (array,) = node.inputs
    type_ = array.type
    if node.type != type_ or not isinstance(type_, ArrayType):
        return None
    changes = {
        "index": node.attributes.get("index") != tuple(Span(0, length) for length in type_.shape),
        "transpose": tuple(node.attributes.get("axes", ())) != c_order(type_.ndim),
        "reshape": False,
        "part": True,
        "diagonal": True,
        "windows": True,
        "retype": False,
        "broadcast": False,
    }
    return None if changes[node.op.name] else array


def _transposed_twice(node: Node, seen: Observed, builder: Builder) -> Node | None:
    if node.op is not ops.TRANSPOSE or node.inputs[0].op is not ops.TRANSPOSE:
        return None
    (inner,) = node.inputs
    axes = tuple(inner.attributes["axes"][axis] for axis in node.attributes["axes"])
    return _emit_same(node, ops.TRANSPOSE, inner.inputs, {"axes": axes}, builder)


def _needless_copy(node: Node, seen: Observed, builder: Builder) -> Node | None:
    """A copy, or a cast to the same dtype, of what nobody writes."""
    if node.op is ops.COPY or (node.op is ops.CAST and _fits(node.inputs[0].type, node.type)):
        return _instead(node, node.inputs[0], seen, builder)
    return None


def _wide_and_back(node: Node, seen: Observed, builder: Builder) -> Node | None:
    """Whole numbers cast to a wider dtype and back."""
    if node.op is not ops.CAST or node.inputs[0].op is not ops.CAST:
        return None
    (middle,) = node.inputs
    (first,) = middle.inputs
    assert isinstance(first.type, ArrayType)
    assert isinstance(middle.type, ArrayType)
    kinds = first.type.dtype.kind + middle.type.dtype.kind
    if not _is_as_read(first, node, seen, builder):
        return None
    if set(kinds) <= set("iub") and np.can_cast(first.type.dtype, middle.type.dtype, "safe"):
        return _instead(node, first, seen, builder)
    return None


def _decided(node: Node, seen: Observed, builder: Builder) -> Node | None:
    """A choice by a constant, where nobody hears of what is not chosen."""
    if node.op is not ops.WHERE or node.inputs[0].op is not ops.CONST:
        return None
    condition = node.inputs[0].attributes["value"]
    if getattr(condition, "shape", ()) != ():
        return None
    chosen, other = node.inputs[1:] if condition else reversed(node.inputs[1:])
    return _instead(node, chosen, seen, builder) if _becomes_quietly(other, node) else None


def _becomes_quietly(value: Node, node: Node) -> bool:
    """Whether no element can overflow, or raise a flag, when it is cast to another node's dtype."""
    assert isinstance(node.type, ArrayType)
    if not isinstance(value.type, ArrayType):
        kind = value.type.kind if isinstance(value.type, NumberType) else ""
        return kind == "bool" or (kind == "float" and node.type.dtype in ("f8", "c16"))
    dtype, wanted = value.type.dtype, node.type.dtype
    return dtype == wanted or (dtype.kind in "iub" and np.can_cast(dtype, wanted, "safe"))


def _not_repeated(node: Node, seen: Observed, builder: Builder) -> Node | None:
    """An operation that repeats elements itself, as the view does that it takes: NumPy walks both alike."""
    for place, one in enumerate(node.inputs):
        source = one.inputs[0] if one.op is ops.BROADCAST else one
        if source is one or not isinstance(source.type, ArrayType) or not source.type.ndim:
            continue
        inputs = (*node.inputs[:place], source, *node.inputs[place + 1 :])
        made = _emit_same(node, node.op, inputs, dict(node.attributes), builder)
        if made is not None:
            return made
    return None


# fmt: off
STRUCTURAL: dict[str, tuple[Callable[[Node, Observed, Builder], Node | None], ...]] = {  # by name, else by kind
    "map":       (_not_repeated,),
    "view":      (_same_view,),
    "transpose": (_same_view, _transposed_twice),
    "copy":      (_needless_copy,),
    "cast":      (_needless_copy, _wide_and_back),
    "where":     (_decided, _not_repeated),
}
# fmt: on
