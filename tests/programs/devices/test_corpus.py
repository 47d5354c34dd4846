"""The everyday programs of `tests/programs`, restated with CuPy: whatever can be observed is what eager CuPy does."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest

from tests.support.cupy_host import Host
from tests.support.real_device import RealDevice
from tests.support.restated import check_restated, compile_at_once, restated, sending

MODULES = (
    "arrays changing conversions dying edges effects gathering indexes masks object_everyday python transforms"
    " whole_calls"
).split()
DRAWN = (
    "numbers",
)  # functions of the modules that draw random numbers, which the test device has not
# In the first eager CuPy reads outside of memory; arguments of the second have no end; the third is long for nothing new.
NOT_CUPYS = {"quantiles_that_change_or_fail", "array_of_a_list_in_itself", "e_loop_long"}
# CuPy raises behind a wait; plain Python, which is left to say so, waits again.
WAITS_AGAIN = {
    "statistics_that_warn_or_fail",
    "several_places",
    "several_places_otherwise",
    "array_of_a_nan_as_an_integer",
}
# CuPy's `histogram` with weights adds by atomics: on a GPU the order, and so eager's own bits, differ from run to run.
UNORDERED = {"statistics"}
NOT_TRACED = {"e_vars"}  # it asks for its own frame
CASES = [
    pytest.param(module, place, id=f"{module}-{row.function.__name__}")
    for module in MODULES
    for place, row in enumerate(importlib.import_module(f"tests.programs.{module}").PROGRAMS.rows)
    if row.function.__name__ not in NOT_CUPYS
]


@functools.cache
def programs_of(name: str, cupy: Any) -> Any:
    """The programs of a module, with CuPy for NumPy."""
    module = importlib.import_module(f"tests.programs.{name}")
    return restated(module, cupy, tuple(one for one in DRAWN if hasattr(module, one))).PROGRAMS


@pytest.mark.parametrize(("module", "place"), CASES)
def test_a_program_restated(host: Host, module: str, place: int) -> None:
    """At the first call, the second, after a retrace, and as at first."""
    programs = programs_of(module, host.cupy)
    row = programs.rows[place]
    if row.function.__name__ in UNORDERED and isinstance(host, RealDevice):
        pytest.skip("eager CuPy itself adds in another order in each run")
    make = sending(row.make_args, host.cupy)
    compile_at_once(host, row.function, make, programs.reset)
    again = row.function.__name__ in WAITS_AGAIN
    compiled = check_restated(
        host, row.function, make, again, state=programs.state, reset=programs.reset
    )
    assert compiled.stats.traces or row.function.__name__ in NOT_TRACED
