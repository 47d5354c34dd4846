"""`python -m benchmarks.third_party`: the list of functions, and one of NumPy's measured as they are."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from benchmarks import third_party
from benchmarks.apart import ROOT
from benchmarks.cases.third_party import CASES, Case, rosenbrock, rosenbrock_arrays


def test_unknown_names_are_refused() -> None:
    """With the names that there are."""
    command = [sys.executable, "-m", "benchmarks.third_party", "nothing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no function is called nothing" in done.stderr
    assert "denoise_tv_chambolle" in done.stderr


def test_a_function_is_compared_and_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments by name are given on both sides; graphs and breaks are counted."""
    case = Case("benchmarks.cases.third_party.heat", lambda: (np.ones(1),), {"y": np.ones(12)})
    monkeypatch.setitem(CASES, "heat", case)
    monkeypatch.setattr("benchmarks.apart.WARM_UP", 0.01)
    row: dict[str, Any] = third_party.measured("heat", 0.01)
    assert (row["difference"], row["size"]) == ("", 8)
    assert row["ratio"] > 0
    assert "graphs" in row["loops"][0]


def test_the_valley_is_the_same_either_way() -> None:
    """With a loop and with arrays."""
    x = np.linspace(0.5, 1.5, 9)
    assert np.isclose(rosenbrock(x), rosenbrock_arrays(x))
