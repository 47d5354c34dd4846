"""The packages' own tests as a suite, and what their runs come to."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support.comparing.suites import Comparison, Suite, summed

HERE = Path(__file__).resolve().parent
SUITE = Suite(HERE, "compiled")
MODULES = tuple(
    line.split()[0]
    for line in (HERE / "suites.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
SLOWER = 2.0  # compiled by plain, of all tests together


def run(modules: Sequence[str], timeout: float) -> tuple[bool, list[str]]:
    """Whether a test differs, and which limit of time is broken, after running modules one by one."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            one = SUITE.compared(module, Path(folder), timeout)
            found.append(one)
            print(f"{module}: {told(one)}", flush=True)
            for line in one.report():
                print(line, flush=True)
    total = summed(found)
    Console(width=None if Console().is_terminal else 140).print(table(found, total))
    for one in found:
        for test, reason in one.excepted.items():
            print(f"as expected, {test} differs: {reason}")
    slow = total.ratio > SLOWER
    return bool(total.differences), [
        f"the tests take {total.ratio:.2f} x plain, more than {SLOWER}"
    ] * slow


def told(one: Comparison) -> str:
    """What became of a module, in a line."""
    if one.skipped:
        return f"skipped: {one.skipped}"
    return f"{one.tests} tests, {len(one.differences)} differ, {one.ratio:.2f} x plain"


def table(found: Sequence[Comparison], total: Comparison) -> Table:
    """A row for each module."""
    made = Table(title="the packages' own tests", title_justify="left")
    made.add_column("module")
    for head in (
        "tests",
        "passed plain",
        "passed compiled",
        "differ",
        "plain s",
        "compiled s",
        "ratio",
        "functions",
    ):
        made.add_column(head, justify="right")
    for one in [*found, total]:
        if one.skipped:
            made.add_row(one.module, "", "", "", one.skipped[:60])
            continue
        made.add_row(
            one.module, str(one.tests), str(one.passed), str(one.counts.get("passed", "")),
            str(len(one.differences)), f"{one.plain:.2f}", f"{one.ours:.2f}", f"{one.ratio:.2f}",
            str(one.counts.get("functions", "")),
        )  # fmt: skip
    return made
