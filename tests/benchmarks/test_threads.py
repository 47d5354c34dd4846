"""`python -m benchmarks.threads`: two processes that run a program in turns."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import threads
from benchmarks.apart import ROOT


def test_unknown_names_are_refused() -> None:
    """By name."""
    command = [sys.executable, "-m", "benchmarks.threads", "jacobi_2d", "nothing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no program is called nothing" in done.stderr


def test_a_worker_gives_seconds() -> None:
    """A call for each line that it is sent."""
    with threads.worker("heat_3d", 1) as call:
        assert 0 < call() < 60
        assert 0 < call() < 60
