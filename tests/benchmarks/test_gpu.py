"""The programs of `make gpu-bench`, small, on the test device."""

from __future__ import annotations

import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.gpu import ROWS, arrays, measured, why_wrong
from tests.support.cupy_host import Host
from tests.support.sources import ROOT


@pytest.mark.parametrize("name", ROWS)
def test_rows_equal_eager(host: Host, name: str) -> None:
    """Each is one graph, and has eager CuPy's bits."""
    row = ROWS[name]
    assert why_wrong(host.cupy, row, arrays(host.cupy, row, 33)) is None


def test_rows_are_timed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row has the times of what is compiled, of eager CuPy and of its rivals, or why one has none."""
    from benchmarks import gpu  # noqa: PLC0415  its settings are changed

    monkeypatch.setattr(gpu, "SECONDS", 0.0)
    monkeypatch.setattr(gpu, "BATCHES", 1)
    small = gpu.Row(gpu.chain11, ((50,), (50,)))
    monkeypatch.setitem(gpu.ROWS, "chain11", small)
    found = measured(host.cupy, ["chain11"])["chain11"]
    assert found["wrong"] is None
    assert {"ufuse", "eager", "cupy.fuse"} <= set(found["microseconds"])
    assert found["microseconds"]["ufuse"] > 0


def test_the_commands_say_why_they_run_nothing() -> None:
    """Where there is no GPU, or no CuPy, both end with the reason, and not with success."""
    for what in ("check", "bench"):
        run = subprocess.run(
            [sys.executable, "-P", str(ROOT / ".ci" / "gpu.py"), what, "--help"],
            check=False,
            capture_output=True,
            text=True,
        )
        is_there = run.returncode == 0
        assert is_there or (run.returncode in (2, 3) and f"gpu-{what}: " in run.stdout)


REPORTS = """#!/bin/sh
echo "$@, no pool: $UFUSE_NO_POOL" >>"$REPORTS"
case "$*" in *racecheck*) exit 9;; esac
"""


def test_kernels_run_under_the_sanitizer_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a tool of it reports is an error; without it, or without time, its absence is said."""
    sanitized = runpy.run_path(str(ROOT / ".ci" / "gpu.py"))["sanitized"]
    monkeypatch.setenv("CUDA_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    later = time.monotonic() + 300
    assert sanitized({}, later) == 0
    assert capfd.readouterr().out.count("it is not installed") == 2

    program, log = tmp_path / "bin" / "compute-sanitizer", tmp_path / "log"
    program.parent.mkdir()
    program.write_text(REPORTS)
    program.chmod(0o755)
    assert sanitized({"REPORTS": str(log)}, later) == 9
    first, second = log.read_text().splitlines()
    assert first.startswith("--tool memcheck ")
    assert second.startswith("--tool racecheck ")
    assert "test_kinds.py" in first
    assert first.endswith("no pool: 1")
    capfd.readouterr()

    assert sanitized({"REPORTS": str(log)}, time.monotonic()) == 0
    assert capfd.readouterr().out.count("the time is over") == 2
