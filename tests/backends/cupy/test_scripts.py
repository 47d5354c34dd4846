"""Programs around CuPy's modules: what is seen of them is eager CuPy's, and they end graphs only where it is said."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.restated import check_restated, compile_at_once, import_late_modules
from tests.support.unlimited import lift_limits

from . import scripts

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

    def made() -> tuple[Any, ...]:
        values = (given[one] for one in inspect.signature(function).parameters)
        return tuple(
            host.cupy.asarray(one) if isinstance(one, np.ndarray) else one for one in values
        )

    compile_at_once(host, function, made)
    check_restated(host, function, made)
    compiled = ufuse.compile(function)
    compiled.reset()
    for _ in range(3):
        compiled(*made())
    codes = {one.code for one in compiled.breaks if one.file == scripts.__file__}
    assert codes == {*ENDING.get(name, "").split()}
    assert compiled.stats.hits
    assert cupys_stream_is_the_first(host)


def cupys_stream_is_the_first(host: Host) -> bool:
    """Whether the program has left the stream current that was current before."""
    return host.cupy.cuda.get_current_stream() is host.cupy.cuda.Stream.null
