"""Everyday code of CuPy's users is one graph, but for what the host reads and a few functions that are named here."""

from __future__ import annotations

import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.real_device import RealDevice
from tests.support.restated import check_restated, compile_at_once, making
from tests.support.unlimited import lift_limits

from tests.programs.devices import everyday

WAITING = frozenset(
    "until_small if_any conjugate_gradient_tested".split()
)  # they end where Python branches
ENDING = frozenset(
    """choose as_strided sliding fortran order_f arange_float zeros_order number_type sum_out lexsort
    group_means""".split()
)
# CuPy's `bincount` with weights adds by atomics: on a GPU the order, and so eager's own bits, differ from run to run.
UNORDERED = frozenset({"bincount_minlength", "group_means"})


@pytest.mark.parametrize("name", sorted(everyday.FUNCTIONS))
def test_everyday_code(host: Host, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As eager CuPy: first and second call, after a retrace, with arrays in other memory."""
    if name in UNORDERED and isinstance(host, RealDevice):
        pytest.skip("eager CuPy itself adds in another order in each run")
    monkeypatch.setattr(everyday, "cp", host.cupy)
    lift_limits(monkeypatch)
    function = everyday.FUNCTIONS[name]
    made = making(host, function, everyday.GIVEN)
    compile_at_once(host, function, made)
    compiled = ufuse.compile(function)
    for _ in range(3):
        compiled(*made())
    if name not in WAITING | ENDING:
        assert [one.reason for one in compiled.breaks] == []
        assert compiled.stats.hits
    else:
        assert compiled.breaks
    check_restated(host, function, made)
