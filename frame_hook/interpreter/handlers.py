"""The table of opcode handlers: the function that does an instruction on symbols, and its stack effect.

A stack effect is written as `"left right -- result"`: what the instruction takes from the stack and what it leaves
there, the topmost value last. A word stands for one value, and with a mark for as many as the argument says:
`items*` for the argument itself, `items*2` for twice that, `null?1` for one value where the argument has bit 1.

The interpreter takes what is on the left, hands it to the function behind the interpreter and the argument (0 where
there is none), and pushes what that returns: one symbol, a tuple of several, or None for none. `JUMP` takes the
instruction's jump, a `Choice` leaves it to what the graph computes. What a handler only looks at, below what it takes,
it finds in `interpreter.frame.stack`. `code/instructions.py` asks CPython for stack effects, before anything runs; a
test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from ufuse.frame_hook.interpreter.outcomes import Choice, Jump, Returned, Yielded
from ufuse.frame_hook.interpreter.tables import Table
from ufuse.frame_hook.trace.symbols import Symbol
from ufuse.graph.records import record

Result = Symbol | tuple[Symbol, ...] | Jump | Choice | Returned | Yielded | None
Run = TypeVar("Run", bound=Callable[..., Result])
WORD = re.compile(r"[a-z_]+(?:(?P<times>\*\d*)|\?(?P<bit>\d+))?")


@record
class Handler:
    """`run(interpreter, argument, *taken)` does the opcode, and takes `fixed` values or as many as `varying` counts."""

    run: Callable[..., Result]
    effect: str
    fixed: int
    varying: Callable[[int], int] | None


HANDLERS: Table[str, Handler] = Table()


def handles(names: str, effect: str) -> Callable[[Run], Run]:
    """Register the handler of one or more opcodes with this stack effect."""
    taken = effect.partition("--")[0]
    fixed = None if "*" in taken or "?" in taken else len(taken.split())

    def register(run: Run) -> Run:
        for name in names.split():
            HANDLERS[name] = Handler(
                run, effect, fixed or 0, None if fixed is not None else counter(taken)
            )
        return run

    return register


def counter(words: str) -> Callable[[int], int]:
    """The function from an argument to the number of values that one side of a stack effect stands for."""
    always, times, bits = 0, 0, []
    for word in words.split():
        match = WORD.fullmatch(word)
        assert match is not None, word
        if match["times"]:
            times += int(match["times"][1:] or 1)
        elif match["bit"]:
            bits.append(int(match["bit"]))
        else:
            always += 1
    return lambda argument: always + times * argument + sum(1 for bit in bits if argument & bit)
