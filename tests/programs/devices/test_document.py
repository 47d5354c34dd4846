"""The examples of docs/gpu.md, which are not run where CuPy is not."""

from __future__ import annotations

import linecache
import re
from typing import Any

from tests.support.cupy_host import Host
from tests.support.sources import ROOT

BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_document_runs(host: Host) -> None:
    """Its blocks run on the test device, one after another."""
    path = ROOT / "docs" / "gpu.md"
    source = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "gpu"}
    linecache.checkcache(str(path))
    blocks = list(BLOCK.finditer(source))
    assert len(blocks) > 1
    for block in blocks:
        above = source[: block.start(1)].count("\n")
        exec(compile("\n" * above + block[1], str(path), "exec", dont_inherit=True), names)
    assert not names["damped"].breaks
    assert names["damped"].graphs[0].source("cupy").count("__global__") == 1
    assert host.device.counts["launch"]
