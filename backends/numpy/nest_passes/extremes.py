"""Least and greatest of several integers, in better code: what the turn before has just computed comes last.

Each turn of `t[i, j] = min(t[i - 1, j] + 1, t[i, j - 1] + 1, t[i - 1, j - 1] + cost)` waits for the one before, and
what it does with that number decides how long turns take: one comparison and choice is enough, where Python's order may
take one for each number. Integers that are equal are the same, so no order changes what is chosen. LLVM compares with
constants last; so these are numbers that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ufuse.backends.numpy.nest_passes.versions import is_copy
from ufuse.graph.nest import Block, Instruction, Nest
from ufuse.graph.nest_types import I1, INTEGERS, Value

LESS = {"ilt": True, "ile": True, "igt": False, "ige": False}
FEWEST = 3  # of fewer there is one order alone
MOST_FOLLOWED = 40  # instructions that an operand is followed through
Makers = dict[Value, Instruction]


def with_short_chains(nest: Nest) -> Nest:
    """The same nest, in whose copies of loops numbers that come late are compared last."""
    blocks = tuple(_shortened(block) if is_copy(block) else block for block in nest.blocks)
    return replace(nest, blocks=blocks)


def _shortened(block: Block) -> Block:
    makers: Makers = {one.result: one for one in block.instructions if one.result is not None}
    inner: set[Value] = set()  # what another extreme is made of
    for one in block.instructions:
        found = _extreme(makers, one)
        if found is not None:
            inner |= {each for each in found[1] if _is_of_kind(makers, each, is_least=found[0])}
    made: list[Instruction] = []
    number = max((one.number for one in makers), default=0)
    for one in block.instructions:
        chain = None if one.result in inner else _late_last(block, makers, one)
        if chain is None or one.result is None:
            made.append(one)
            continue
        is_least, operands = chain
        constants = [each for each in operands if makers[each].op == "const"]
        opaque: dict[Value, Value] = {}
        for each in constants:
            number += 1
            opaque[each] = Value(number, each.type)
            made.append(Instruction("opaque", (), opaque[each], makers[each].attributes))
        operands = [opaque.get(each, each) for each in operands]
        best = operands[0]
        for operand in operands[1:]:
            is_better, number = Value(number + 1, I1), number + 2
            following = one.result if operand == operands[-1] else Value(number, best.type)
            made += [
                Instruction("ilt" if is_least else "igt", (operand, best), is_better),
                Instruction("select", (is_better, operand, best), following),
            ]
            best = following
    return replace(block, instructions=tuple(made))


def _late_last(block: Block, makers: Makers, one: Instruction) -> tuple[bool, list[Value]] | None:
    """The numbers of which an instruction chooses one, with what comes late last, where LLVM has it elsewhere."""
    found = _extreme(makers, one)
    if found is None:
        return None
    is_least, _ = found
    leaves = [*_leaves(makers, one, is_least=is_least)]
    if len(leaves) < FEWEST or _is_asked(block, makers, one, is_least=is_least):
        return None
    late = [leaf for leaf in leaves if _is_late(block, makers, leaf, one)]
    early = [leaf for leaf in leaves if leaf not in late]
    is_one = len(set(leaves)) == len(leaves) and len(late) == 1
    is_last = leaves[-1:] == late and not any(makers[each].op == "const" for each in leaves)
    return (is_least, [*early, *late]) if is_one and not is_last else None


def _is_asked(block: Block, makers: Makers, one: Instruction, *, is_least: bool) -> bool:
    """Whether something else than the choices asks what they depend on, as whose number it is: that keeps its order."""
    own = [*_choices(makers, one, is_least=is_least)]
    tests = {each.inputs[0] for each in own}
    tests |= {value for test in tests for value in makers[test].inputs if value.type == I1}
    results = {each.result for each in own[1:]}
    others = [each for each in block.instructions if each not in own and each.result not in tests]
    return any(value in tests or value in results for each in others for value in each.inputs)


def _choices(makers: Makers, one: Instruction, *, is_least: bool) -> Iterator[Instruction]:
    """The choices that an extreme is made of."""
    yield one
    found = _extreme(makers, one)
    for operand in found[1] if found is not None else ():
        if _is_of_kind(makers, operand, is_least=is_least):
            yield from _choices(makers, makers[operand], is_least=is_least)


def _leaves(makers: Makers, one: Instruction, *, is_least: bool) -> Iterator[Value]:
    """The numbers that an extreme is of, in the order in which they are compared."""
    found = _extreme(makers, one)
    for operand in found[1] if found is not None else ():
        maker = makers[operand]
        if _is_of_kind(makers, operand, is_least=is_least):
            yield from _leaves(makers, maker, is_least=is_least)
        else:
            yield operand


def _is_of_kind(makers: Makers, value: Value, *, is_least: bool) -> bool:
    found = _extreme(makers, makers[value])
    return found is not None and found[0] == is_least


def _extreme(makers: Makers, one: Instruction) -> tuple[bool, tuple[Value, Value]] | None:
    """Whether an instruction gives the lesser of two integers, or the greater one, and these; None for all else."""
    if one.op != "select" or one.result is None or one.result.type not in INTEGERS:
        return None
    condition, first, other = one.inputs
    test, is_turned = makers[condition], False
    if test.op == "not":
        test, is_turned = makers[test.inputs[0]], True
    if test.op not in LESS or {*test.inputs} != {first, other} or first == other:
        return None
    is_least = LESS[test.op] == (test.inputs[0] == first)
    operands = (other, first) if _is_chain(makers, first) else (first, other)
    if _is_chain(makers, operands[1]):
        operands = operands[::-1]
    return is_least != is_turned, operands


def _is_chain(makers: Makers, value: Value) -> bool:
    return makers[value].op == "select"


def _is_late(block: Block, makers: Makers, leaf: Value, extreme: Instruction) -> bool:
    """Whether a number is computed from what the turn before gives: a variable, or what lies beside what is stored."""
    result = extreme.result
    kept = {
        one.attributes[0]
        for one in block.instructions
        if one.op == "set" and one.inputs[0] == result
    }
    stores = [one for one in block.instructions if one.op == "store" and one.inputs[-1] == result]
    waiting, seen = [leaf], 0
    while waiting and seen < MOST_FOLLOWED:
        one = makers[waiting.pop()]
        seen += 1
        if one.op == "get" and one.attributes[0] in kept:
            return True
        if one.op == "load":
            if any(_are_next(makers, one, store) for store in stores):
                return True
        else:
            waiting += one.inputs
    return False


def _are_next(makers: Makers, load: Instruction, store: Instruction) -> bool:
    """Whether an element is on the same line as what is stored: its index is another along the last axis alone."""
    if load.attributes[0] != store.attributes[0]:
        return False
    *around, last = [
        _are_same(makers, one, other)
        for one, other in zip(load.inputs, store.inputs[:-1], strict=True)
    ]
    return all(around) and not last


def _are_same(makers: Makers, one: Value, other: Value) -> bool:
    """Whether two indices are the same for sure, as they are read or written in the same way."""
    if one == other:
        return True
    left, right = makers[one], makers[other]
    return left.op == right.op == "get" and left.attributes == right.attributes
