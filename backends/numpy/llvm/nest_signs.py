"""Which integers of a nest are never negative: an index among them needs no wrap."""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.graph.nest import I64, Instruction, Nest, Value

_KEEP_SIGN = {"add", "mul", "floordiv", "or", "xor", "shl"}


def is_never_negative(one: Instruction, are: Sequence[bool], variables: set[str]) -> bool:
    """Whether an instruction's integer is zero or more, given which inputs and variables are.

    What overflows ends in a doubt.
    """
    if one.result is None or one.result.type != I64:
        return False
    match one.op:
        case "const":
            return bool(one.attributes[0] >= 0)
        case "get":
            return one.attributes[0] in variables
        case "abs" | "dim" | "widen":
            return True
        case "and":
            return any(are)
        case "mod":
            return are[1]
        case "shr":
            return are[0]
        case "select":
            return all(are[1:])
    return one.op in _KEEP_SIGN and all(are)


def never_negative(nest: Nest) -> set[str]:
    """The variables that never hold a negative integer, whatever the nest is given."""
    variables = {variable.name for variable in nest.others if variable.type == I64}
    while True:
        wrong: set[str] = set()
        for block in nest.blocks:
            small: set[Value] = set()
            for one in block.instructions:
                if one.op == "set" and one.inputs[0] not in small:
                    wrong.add(one.attributes[0])
                are = [value in small for value in one.inputs]
                if one.result is not None and is_never_negative(one, are, variables):
                    small.add(one.result)
        if not wrong & variables:
            return variables
        variables -= wrong
