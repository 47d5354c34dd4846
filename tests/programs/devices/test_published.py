"""Programs as CuPy's users publish them: what is seen of them is eager CuPy's, and they end graphs only where it is said."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.support.cupy_host import Host
from tests.support.real_device import RealDevice
from tests.support.restated import check_program, import_late_modules, making
from tests.support.unlimited import lift_limits

from tests.programs.devices import published

# Why graphs of a program end, by the codes of the reasons. All others are one graph.
ENDING: dict[str, str] = {
    # a number or an array that the host has waited for decides, or NumPy computes with it
    "branch_on_sum": "data-branch",
    "cg": "data-branch operator",
    "gmm": "data-branch operator",
    "heat_jacobi_tol": "data-branch numpy-call",
    "kmeans": "data-branch operator",
    "kmeans_custom": "data-branch operator",
    "pagerank": "data-branch",
    "monte_carlo_pi_rng": "numpy-call",
    "to_cpu": "call numpy-call unfit",
    "xp_generic": "call numpy-call",
}
# On a GPU these add by atomics: the order, and so eager's own bits, differ from run to run.
UNORDERED = {"spmv_coo", "pagerank", "conv_im2col"}


@pytest.mark.parametrize("name", sorted(published.PROGRAMS))
def test_a_program(host: Host, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first call, the next ones, after a retrace, and with arrays in other memory."""
    if name in UNORDERED and isinstance(host, RealDevice):
        pytest.skip("eager CuPy itself adds in another order in each run")
    import_late_modules()
    for one, module in (
        ("ndi", "cupyx.scipy.ndimage"),
        ("special", "cupyx.scipy.special"),
    ):
        monkeypatch.setattr(published, one, import_module(module))
    monkeypatch.setattr(published, "cp", host.cupy)
    monkeypatch.setattr(published, "kernels", published.kernels_of(host.cupy))
    lift_limits(monkeypatch)
    function, given = published.PROGRAMS[name]
    made = making(host, function, given)
    assert check_program(host, function, made) == {*ENDING.get(name, "").split()}
