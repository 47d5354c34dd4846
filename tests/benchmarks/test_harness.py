"""The benchmark harness: what it times, and when it refuses a ratio."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks import apart, report
from benchmarks.cases import CASES, Case
from benchmarks.harness import Row, Timing, compared, same_bits
from benchmarks.programs import PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 0.0  # the fewest samples that make a median


def double(x: Any) -> Any:
    return x + x


def case_of_double() -> Case:
    return Case("double", double, lambda size: (np.ones(size),), (8,), (8,))


def test_same_results_give_a_ratio() -> None:
    """Two ways to the same bits are timed in turns and compared by medians."""
    row = compared(case_of_double(), 8, lambda x: x * 2.0, SECONDS)
    assert row.difference == ""
    assert row.eager.samples == row.other.samples
    assert row.ratio == row.paired > 0
    assert 0 < row.other.least <= row.other.median
    assert row.first_call > 0
    assert f"{row.ratio:.2f}x" in report.line("double", row, {})


def test_different_results_give_none() -> None:
    """One bit more, and there is no ratio, in the table or in the file."""
    row = compared(case_of_double(), 8, lambda x: np.nextafter(x + x, 9), SECONDS)
    with pytest.raises(ValueError, match="no ratio: call 1"):
        _ = row.ratio
    assert "DIFFERS" in report.line("double", row, {})
    assert "result[0]: plain np.float64(2.0)" in report.line("double", row, {})
    assert "ratio" not in row.as_json()


def test_rivals_may_be_inexact_but_are_marked() -> None:
    """A rival's speed is shown, and so is that its bits differ."""
    row = compared(case_of_double(), 8, double, SECONDS)
    fast = {"exact": False, "speed": 2.0}
    text = report.line(
        "double", row, {"a": fast, "b": fast | {"exact": True}, "c": {"failed": "no"}}
    )
    assert "~2.00x" in text
    assert " 2.00x" in text
    assert "c: no" in text


def test_results_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file holds the figures, the versions and the machine, and names no host."""
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    row = compared(case_of_double(), 8, double, SECONDS)
    paths = report.save("double", [row.as_json() | {"peers": {}}])
    saved = json.loads(paths[0].read_text())
    assert saved["rows"][0]["ratio"] == row.ratio
    assert saved["machine"]["versions"]["numpy"] == np.__version__
    assert set(saved["machine"]) == {
        "processor",
        "python",
        "settings",
        "simd",
        "threads",
        "versions",
    }


def test_some_programs_of_a_group_are_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their rows take the place of those before, in the group's order; rows of another machine stay alone."""
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "plot_group", lambda *_: tmp_path)

    def saved() -> list[tuple[str, float]]:
        rows = json.loads((tmp_path / "group.json").read_text())["rows"]
        return [(row["program"], row["ratio"]) for row in rows]

    names = ["one", "two", "three"]
    report.update_group("group", [{"program": name, "ratio": 1.0} for name in names], names)
    report.update_group("group", [{"program": "two", "ratio": 2.0}], names)
    assert saved() == [("one", 1.0), ("two", 2.0), ("three", 1.0)]
    monkeypatch.setattr(report, "processor", lambda: "another")
    report.update_group("group", [{"program": "one", "ratio": 3.0}], names)
    assert saved() == [("one", 1.0), ("two", 2.0), ("three", 1.0)]
    assert "run all of group" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*CASES, *PROGRAMS])
def test_programs_are_plain_and_repeatable(name: str) -> None:
    """Each program gives the same bits from the same arguments, and knows nothing of ufuse."""
    case = {**CASES, **PROGRAMS}[name]
    size = case.quick[0]
    first, second = case.make_args(size), case.make_args(size)
    assert same_bits(case.function(*first), case.function(*second))
    assert same_bits(first, second)
    assert "ufuse" not in case.function.__globals__


def test_bits_are_compared_not_values() -> None:
    """The sign of zero and the dtype count."""
    assert same_bits((np.zeros(2), 1.0), (np.zeros(2), np.float64(1.0)))
    assert not same_bits(np.zeros(2), -np.zeros(2))
    assert not same_bits(np.zeros(2), np.zeros(2, "f4"))
    assert not same_bits((np.zeros(2),), ())


def test_a_program_is_measured_in_a_process_of_its_own() -> None:
    """Its row comes back as it was measured there, without a difference."""
    row = apart.row_of("filled", 50, SECONDS)
    assert row.size == 50
    assert row.ratio > 0
    assert row.first_call > 0


def test_programs_that_lose_are_named() -> None:
    """Those that are slower than eager, and those whose first call takes long."""
    timing = Timing(1.0, 1.0, 7)
    slow = Row(8, timing, timing, 1.0, paired=0.5)
    late = Row(9, timing, timing, 1.5, paired=1.5)
    text = report.summary([{"program": "one"} | row.as_json() for row in (slow, late)])
    assert text == (
        "geometric mean of 2: 0.87 x eager\n1 of 2 below 0.95 x eager's speed\n    one of 8\n"
        "1 of 2 first calls above eager + 400 ms\n    one of 9"
    )
