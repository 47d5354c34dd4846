"""Programs around CuPy's modules: what is seen of them is eager CuPy's, and they end graphs only where it is said."""

from __future__ import annotations

import warnings
from importlib import import_module

import pytest

from tests.support.cupy_host import Host
from tests.support.restated import check_program, import_late_modules, making
from tests.support.unlimited import lift_limits

from tests.programs.devices import scripts

MODULES = {
    "cupyx": "cupyx", "ndi": "cupyx.scipy.ndimage", "signal": "cupyx.scipy.signal",
    "special": "cupyx.scipy.special", "profiler": "cupyx.profiler", "nvtx": "cupy.cuda.nvtx",
}  # fmt: skip
# Why graphs of a program end, by the codes of the reasons. All others are one graph.
ENDING: dict[str, str] = {
    "count_blobs": "numpy-call",  # a range as long as what was counted
    "pinned_transfer": "call finalizer numpy-call operator unfit",
    "polynomial": "attribute call",
    "pool_statistics": "call",
}


@pytest.mark.filterwarnings("ignore:.ndarray.scatter_", "ignore:Using the slower implementation")
@pytest.mark.parametrize("name", sorted(scripts.SCRIPTS))
def test_a_script(host: Host, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first call, the next ones, after a retrace, and with arrays in other memory."""
    import_late_modules()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `cupyx.jit` is experimental, it says
        for one, module in MODULES.items():
            monkeypatch.setattr(scripts, one, import_module(module))
    monkeypatch.setattr(scripts, "cp", host.cupy)
    monkeypatch.setattr(scripts, "made", scripts.made_once(host.cupy))
    lift_limits(monkeypatch)
    function, given = scripts.SCRIPTS[name]
    made = making(host, function, given)
    assert check_program(host, function, made) == {*ENDING.get(name, "").split()}
    assert cupys_stream_is_the_first(host)


def cupys_stream_is_the_first(host: Host) -> bool:
    """Whether the program has left the stream current that was current before."""
    return host.cupy.cuda.get_current_stream() is host.cupy.cuda.Stream.null
