"""Smaller programs that still fail: statements, results and argument sets are left out one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.whole.fuzz.generate import Block, Program
from tests.whole.fuzz.values import Given, made

T = TypeVar("T")


def shrunk(
    program: T,
    fails: Callable[[T], bool],
    candidates: Callable[[T], Iterator[T]],
    can_be_made: Callable[[T], bool],
    seconds: float = 15,
) -> T:
    """The smallest failing program found in this time."""
    end = time.monotonic() + seconds
    tried = 0  # where the last round got to: what failed to fail before will mostly do so again
    while True:
        found = False
        for number, smaller in enumerate(candidates(program)):
            if time.monotonic() > end:
                return program
            if number >= tried and can_be_made(smaller) and fails(smaller):
                program, tried, found = smaller, number, True
                break
        if not found and not tried:
            return program
        if not found:
            tried = 0


def candidates(program: Program) -> Iterator[Program]:
    """Programs with one thing less, the largest cuts first."""
    half = len(program.blocks) // 2
    if half > 2:
        yield replace(program, blocks=program.blocks[:half])
        yield replace(program, blocks=program.blocks[half:])
    if len(program.sets) > 1:
        for place in range(1, len(program.sets)):
            yield replace(program, sets=program.sets[:place] + program.sets[place + 1 :])
    for blocks in reversed(list(without_one(program.blocks))):
        yield replace(program, blocks=blocks)
    if program.returned != ("0",):
        yield replace(program, returned=("0",))
    for place in range(len(program.returned)):
        if len(program.returned) > 1:
            yield replace(
                program, returned=program.returned[:place] + program.returned[place + 1 :]
            )
    for number, given in enumerate(program.sets):
        for simpler in simpler_arguments(given):
            yield replace(
                program, sets=(*program.sets[:number], simpler, *program.sets[number + 1 :])
            )


def can_be_made(program: Program) -> bool:
    """Whether the expressions of all arguments still fit one another."""
    try:
        for given in program.sets:
            made(given)
    except Exception:  # noqa: BLE001  whatever it is, the cut was too deep
        return False
    return True


def without_one(blocks: tuple[Block, ...]) -> Iterator[tuple[Block, ...]]:
    """The statements with one left out, or one replaced by what is inside it."""
    for place, block in enumerate(blocks):
        head, tail = blocks[:place], blocks[place + 1 :]
        yield (*head, *tail)
        if block.body:
            yield (*head, *block.body, *tail)
            for body in without_one(block.body):
                if body:
                    yield (*head, replace(block, body=body), *tail)


def simpler_arguments(given: tuple[Given, ...]) -> Iterator[tuple[Given, ...]]:
    """The arguments with one made plainer."""
    for place, argument in enumerate(given):
        if not argument.text.startswith("array("):
            continue
        dtype, shape, layout, seed, special = eval(argument.text.removeprefix("array"))  # noqa: S307  our own text
        plainer = [(dtype, shape, "C", seed, special), (dtype, shape, layout, seed, 0)]
        plainer += [(dtype, (3,), "C", seed, special), ("f8", shape, layout, seed, special)]
        plainer.append((dtype, tuple(min(n, 3) for n in shape), layout, seed, special))
        for other in plainer:
            text = "array({!r}, {}, {!r}, {}, {})".format(*other)
            if text != argument.text and len(text) <= len(argument.text):
                yield (*given[:place], Given(argument.name, text), *given[place + 1 :])
