"""The stack effects that handlers declare are CPython's, and the handlers keep to them."""

from __future__ import annotations

import copy
import dis
from contextlib import suppress
from typing import Any

import pytest

from tests.support.frames.pieces import in_pieces
from tests.whole.corpus import effects, objects
from ufuse.frame_hook.code.instructions import (
    ENDS,
    HAS_ARGUMENT,
    OPCODES,
    Instruction,
    effect,
)
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.handlers import HANDLERS, counter
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Returned, Yielded

# Of this Python; behind those that end a frame there is no stack, and CPython's tables differ about it.
HANDLED = sorted(name for name in HANDLERS if dis.opmap.get(name, OPCODES) < OPCODES)
# Arguments that the opcode may have, where that is not every number.
ARGUMENTS = {"BUILD_SLICE": (2, 3)}
NOWHERE = (None, None, None, None)


def instruction(name: str, arg: int | None) -> Instruction:
    """An instruction on its own."""
    return Instruction(0, name, arg, None, NOWHERE, 1)


@pytest.mark.parametrize("name", sorted(set(HANDLED) - ENDS))
def test_declared_effect_is_cpythons(name: str) -> None:
    """What a handler takes and leaves changes the depth of the stack as CPython says, for every argument."""
    taken, left = map(counter, HANDLERS[name].effect.split("--"))
    for arg in ARGUMENTS.get(name, range(33)) if dis.opmap[name] in HAS_ARGUMENT else [None]:
        wanted = effect(instruction(name, arg), jump=False)
        assert left(arg or 0) - taken(arg or 0) == wanted, arg


def test_handlers_keep_to_their_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every instruction that is traced leaves the stack as deep as CPython says, where it jumps, too."""
    seen, wrong, step = set(), [], Interpreter.step

    def checked(self: Interpreter, frame: Frame, now: Instruction) -> Any:
        before = len(frame.stack)
        outcome = step(self, frame, now)
        if not isinstance(outcome, Returned):
            jumps = frame.position != now.position + now.size
            waits = isinstance(outcome, Yielded)  # what is sent to it is pushed when it goes on
            if len(frame.stack) + waits - before != effect(now, jumps):
                wrong.append(now)
        seen.add(now.opname)
        return outcome

    monkeypatch.setattr(Interpreter, "step", checked)
    for case in (*effects.CORPUS.cases, *objects.CORPUS.cases):
        call = copy.deepcopy(case.call)
        with suppress(Exception):  # an error is a result, too
            in_pieces(case.function, 1000, 0, "reference")(*call.args, **call.kwargs)
    assert not wrong
    assert len(seen) > len(HANDLED) / 2, sorted(set(HANDLED) - seen)
