"""What native loops are held to: figures beside targets, and the changes of code that tell what exactness costs."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

pytest.importorskip("llvmlite", reason="there is no native code without it")

import ufuse
from benchmarks import targets
from benchmarks.cases.loops import LOOPS
from ufuse.backends.numpy.nest_code import nests


def texts_of(name: str) -> list[str]:
    """The text of each nest that a program gets."""
    found: list[str] = []

    def kept(own: Any, *given: Any, **named: Any) -> str:
        found.append(own(*given, **named))
        return found[-1]

    program = LOOPS[f"loops.{name}"]
    with targets.replaced(nests, "nest_text", kept):
        targets.run(program, program.sizes[0], ufuse.compile)
    return found


def test_a_figure_says_whether_it_holds() -> None:
    """A target is the most or the least that a figure may be."""
    assert targets.Figure("time", 4.0, "ms", 5.0).holds
    late = targets.Figure("speed", 39.0, "x", 40.0, is_least=True)
    assert not late.holds
    assert str(late).endswith("39 x   >= 40   MISSED")


def test_code_is_changed_to_tell_what_exactness_costs() -> None:
    """No constrained arithmetic is left in plain code, and no doubt but that of `patience` behind unchecked branches."""
    texts = texts_of("cholesky")
    assert any("constrained.fmul" in text for text in texts)
    for text in texts:
        plain = targets.rewritten(targets.PLAIN, text)
        assert not [
            line for line in plain.splitlines() if "call" in line and "constrained.f" in line
        ]
        unchecked = targets.rewritten(targets.UNCHECKED, text)
        assert text.count("%doubt") > 5
        assert "label %doubt" not in unchecked.replace("br label %doubt", "")


def test_machine_code_that_notes_its_time_runs() -> None:
    """Functions in the place of machine code are called with its arguments, and their time is kept."""

    @targets.FUNCTION
    def code(*words: int) -> int:
        return int(words == (1, 2, 3))

    seconds: list[float] = []
    found = targets.noted(seconds, (ctypes.cast(code, ctypes.c_void_p).value or 0, None))
    assert found is not None
    assert targets.FUNCTION(found[0])(1, 2, 3) == 1
    assert len(seconds) == 1


def test_a_program_is_compiled_anew_each_time() -> None:
    """What a program got before is not measured again in its place."""
    assert texts_of("cholesky")
    assert texts_of("cholesky")


def test_a_share_needs_machine_code_that_was_entered() -> None:
    """Where nothing was measured there is no figure."""
    assert targets.share_outside([1.0, 2.0], 4.0) == 25.0
    with pytest.raises(RuntimeError):
        targets.share_outside([], 4.0)
