"""Programs of a copy of NPBench: found, given new arguments for each call, compared and timed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import npbench
from benchmarks.apart import ROOT
from benchmarks.harness import difference_between

INFO = {
    "relative_path": "kind/sums",
    "module_name": "sums",
    "func_name": "sums",
    "parameters": {"S": {"N": 200}},
    "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["x"]},
    "input_args": ["N", "x"],
}
INITIALIZE = "import numpy as np\n\ndef initialize(N):\n    return np.random.rand(N)\n"
SUMS = """
def sums(N, x):
    for i in range(1, N):
        x[i] += x[i - 1]
    return x[-1]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy with one program."""
    folder = tmp_path / "npbench" / "benchmarks" / "kind" / "sums"
    folder.mkdir(parents=True)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "sums.json").write_text(json.dumps({"benchmark": INFO}))
    (folder / "sums.py").write_text(INITIALIZE)
    (folder / "sums_numpy.py").write_text(SUMS)
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.npbench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_each_program_is_compared_and_timed(checkout: Path) -> None:
    """A row with the bytes of its arguments, and a summary."""
    done = run(str(checkout), "--seconds", "0.05", "--no-save")
    assert done.returncode == 0, done.stderr
    assert re.search(r"sums +1600", done.stdout)
    assert "geometric mean of 1" in done.stdout


def test_arguments_are_new_for_each_call(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call writes is not in the arguments of the next."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    function, make_args = npbench.program(checkout, "sums", "S")
    before, (size, x) = make_args(), make_args()
    function(size, x)
    assert not np.array_equal(x, before[1])
    assert np.array_equal(make_args()[1], before[1])


def test_a_difference_is_told() -> None:
    """A row with another result has no ratio, but says what differs."""
    found = difference_between(lambda x: x + 1, lambda x: x + 2, lambda: (np.ones(3),))
    assert "2." in found


@pytest.mark.parametrize(
    ("names", "why"), [((), "is no copy of NPBench"), (("none",), "called none")]
)
def test_what_is_not_there_is_named(checkout: Path, names: tuple[str, ...], why: str) -> None:
    """A folder without programs, or a name of none, ends the command with a sentence."""
    done = run(str(checkout if names else checkout / "npbench"), *names)
    assert done.returncode == 2
    assert why in done.stderr
