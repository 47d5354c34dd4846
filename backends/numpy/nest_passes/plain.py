"""Floating point in better code: plain operations in copies of loops, which LLVM may move and make vectors of.

LLVM may drop or fold a plain operation, and its flags with it; and it may choose another NaN. So

1. every result that no plain operation of the same block takes is compared with a number that LLVM does not know,
   infinity: what the comparison says depends on the exact result, and is looked at where the loop is left; of
   variables that each turn computes with plain operations from what they were before (`carried`), only the last;
2. that comparison holds for NaN: then the loop is in doubt, late;
3. constants are numbers that LLVM does not know.

Flags may be raised too often, by what is done before it is known that it is needed: the nest's own code decides then.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.backends.numpy.nest_passes.buffers import Batch
from ufuse.graph.nest import Block, Instruction
from ufuse.graph.nest_types import KNOWN_POWERS, REALS, Value

ROUNDING = {
    "add",
    "sub",
    "mul",
    "div",
    "sqrt",
    "to_f64",
    "to_f32",
}  # of reals: they may raise flags
SIGNS = {"neg", "abs"}
ARITHMETIC = {"add", "sub", "mul", "div"}


def is_plain(one: Instruction) -> bool:
    """Whether an instruction may raise a flag, and is a plain operation in a copy."""
    return one.op in ROUNDING and one.inputs[0].type in REALS


def _is_growing_power(one: Instruction) -> bool:
    """Whether it is in doubt at once where its operand is not finite."""
    if one.op not in {"call", "batch_put"}:
        return False
    what = one.attributes[0]
    return KNOWN_POWERS.get(what.name if isinstance(what, Batch) else what, -1.0) > 0


def consumed(block: Block) -> set[Value]:
    """The results that plain operations of the block take, or of the next turn: law 1."""
    found = {one.inputs[0] for one in block.instructions if one.op == "set" and one.is_sure}
    for one in reversed(block.instructions):
        if (
            is_plain(one)
            or one.op == "to_i64"
            or _is_growing_power(one)
            or (one.op in SIGNS and one.result in found)
        ):
            found.update(one.inputs)
    return found


def stored(block: Block) -> set[Value]:
    """The results that are stored in the block, and may be NaN for all that LLVM knows.

    They are computed however they are asked whether they are NaN, as LLVM would have to know that they are not.
    """
    unknown: set[Value] = set()
    found: set[Value] = set()
    for one in block.instructions:
        if one.op == "store":
            found.add(one.inputs[-1])
        elif one.result is not None and one.result.type in REALS:
            if one.op == "load" or (one.op in ARITHMETIC and unknown & {*one.inputs}):
                unknown.add(one.result)
    return found & unknown


def carried(blocks: Sequence[Block]) -> set[str]:
    """The variables of a loop that each turn computes from what they were in the turn before, or leaves as they were.

    Every block that sets one takes what it was, and sets it once.
    """
    found: set[str] = set()
    refused: set[str] = set()
    for block in blocks:
        taken = consumed(block)
        read: set[str] = set()
        makers = {one.result: one for one in block.instructions}
        for one in block.instructions:
            if one.op == "get" and one.result in taken:
                read.add(one.attributes[0])
            elif one.op == "set":
                (name,) = one.attributes
                is_carried = name in read and is_plain(makers[one.inputs[0]])
                (found if is_carried else refused).add(name)
                read.discard(name)
    return found - refused


def plain_text(name: str, result: str, operands: list[tuple[str, str]]) -> str:
    """The plain form of a constrained operation, which is named for example `fadd.f64` or `fptrunc.f32.f64`."""
    word = name.partition(".")[0]
    (type_, first), *rest = operands
    if word == "sqrt":
        return f"call {type_} @llvm.sqrt.{name.partition('.')[2]}({type_} {first})"
    if rest:
        return f"{word} {type_} {first}, {rest[0][1]}"
    return f"{word} {type_} {first} to {result}"


def hidden(name: str, type_: str, bits: int) -> list[str]:
    """Lines that give a name to a real of these bits, which LLVM does not see through."""
    whole = "i64" if type_ == "double" else "i32"
    return [
        f'{name}.bits = call {whole} asm "", "=r,0"({whole} {bits}) #1',
        f"{name} = bitcast {whole} {name}.bits to {type_}",
    ]
