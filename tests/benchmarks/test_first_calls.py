"""`python -m benchmarks.first_calls`: a program in three processes over one folder."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import first_calls
from benchmarks.apart import ROOT


def test_unknown_names_are_refused() -> None:
    """By name."""
    command = [sys.executable, "-m", "benchmarks.first_calls", "loops.kalman", "nothing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no program is called nothing" in done.stderr


def test_warm_calls_compile_nothing() -> None:
    """What the second process has kept the third one takes."""
    found = first_calls.cold_and_warm("kalman")
    assert found["eager"] > 0
    assert found["warm"] < found["cold"]
