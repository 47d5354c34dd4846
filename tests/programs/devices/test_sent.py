"""The programs of NumPy's code, with `backend="cupy"`: what they give is near to what NumPy gives, errors are NumPy's."""

from __future__ import annotations

import importlib
import pkgutil
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests import programs
from tests.support.cupy_host import Host
from tests.support.devices.near import unlike
from tests.support.devices.sent import is_sent
from tests.support.frames.pieces import failures_heard
from tests.support.comparing.registering import Program

MODULES = [
    name
    for _, name, is_package in pkgutil.iter_modules(programs.__path__)
    if name != "test_programs" and not is_package
]
# Of warnings and of infinite complex numbers, which are the device's own: docs/gpu.md.
OTHERWISE = {
    "error_states": ("raising", "calling", "complex_numbers"),
    "views": ("smaller_elements_otherwise",),  # booleans of bytes that are neither 0 nor 1
    "whole_calls": ("the_largest_but_nan",),
}
CASES = [
    pytest.param(program, id=f"{module}-{program.function.__name__}")
    for module in MODULES
    for program in importlib.import_module(f"tests.programs.{module}").PROGRAMS.rows
    if program.function.__name__ not in OTHERWISE.get(module, ())
]
# On one of several versions of Python, or where all are asked for, as they need half a minute.
MARKED = [
    pytest.param(*case.values, id=case.id, marks=[pytest.mark.left_out] if place % 3 else [])
    for place, case in enumerate(CASES)
]


def done(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[str, Any]:
    """What a call gives, or raises."""
    try:
        result = function(*arguments)
        return "gives", list(result) if hasattr(result, "__next__") else result
    except Exception as error:  # noqa: BLE001  whatever plain Python raises
        return "raises", type(error).__name__


@pytest.mark.parametrize("program", MARKED)
def test_programs_are_near(host: Host, program: Program) -> None:
    """Three calls give what plain Python gives, write what it writes and raise what it raises."""
    subject, results = program.among, []
    compiled = ufuse.compile(program.function, backend="cupy")
    with failures_heard() as said, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(3):
            results.clear()
            for function in (compiled, program.function):
                if subject.reset:
                    subject.reset()
                np.random.seed(seed)
                random.seed(seed)
                arguments = program.make_args()
                results.append((done(function, arguments), list(arguments)))
            assert unlike(*results) is None
    assert not said


def test_most_programs_are_sent(host: Host) -> None:
    """Of the programs whose graphs are whole, a GPU runs more than half."""
    there = whole = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES[::4]:
            program: Any = case.values[0]
            compiled = ufuse.compile(program.function, backend="cupy")
            for _ in range(2):  # arguments may alternate, and are to begin anew for others' tests
                done(compiled, program.make_args())
            if len(compiled.graphs) == 1 and not compiled.breaks:
                whole += 1
                there += is_sent(compiled)
    assert there > whole / 2 > 20
