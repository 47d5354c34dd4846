"""Somebody else's tests, a module at a time: run plain and with ufuse in processes of their own, and what differs."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
AT_ONCE = 2


@dataclass(slots=True)
class Comparison:
    """What became of a module."""

    module: str
    skipped: str = ""
    tests: int = 0
    passed: int = 0  # of them, when plain
    plain: float = 0.0
    ours: float = 0.0
    differences: dict[str, str] = field(default_factory=dict)  # test -> what differs, with its text
    excepted: dict[str, str] = field(default_factory=dict)  # test -> why it may differ
    counts: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The time with ufuse by the plain one; 0 where nothing ran."""
        return self.ours / self.plain if self.plain else 0.0

    def report(self) -> Iterator[str]:
        """Lines about what differs."""
        for test, text in self.differences.items():
            yield f"--- {test}: {text}"


@dataclass(frozen=True, slots=True)
class Suite:
    """A folder with `child.py`, which runs one module, and `exceptions.txt`.

    `python child.py MODULE HOW RESULT.json` runs a module plain, or as `how` says, and writes its outcomes.
    """

    folder: Path
    how: str

    def exceptions(self) -> dict[str, str]:
        """The tests of this version that may differ, and why; `*` in a test is anything, a version may be `*`.

        A reason that begins with `skip:` is for a test that breaks the process it runs in: it is not run.
        """
        found = {}
        for line in (self.folder / "exceptions.txt").read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                versions, tests, reason = line.split(maxsplit=2)
                if versions == "*" or VERSION in versions.split(","):
                    found.update(dict.fromkeys(tests.split(","), reason))
        return found

    def why_excepted(self, test: str) -> str | None:
        """Why a test may differ, if it may."""
        found = self.exceptions().items()
        return next((reason for name, reason in found if fnmatch.fnmatchcase(test, name)), None)

    def run_module(
        self, module: str, how: str, folder: Path, timeout: float
    ) -> dict[str, Any] | str:
        """What the child wrote, or how it ended without writing."""
        result = folder / f"{module}.{how}.json"
        command = [sys.executable, "-P", str(self.folder / "child.py"), module, how, str(result)]
        skipped = [test for test, reason in self.exceptions().items() if reason.startswith("skip:")]
        environment = os.environ | {
            "OPENBLAS_NUM_THREADS": "1",  # threads that wait for others take time on processors, too
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONWARNINGS": "default",
            "TESTS_SKIPPED": ",".join(skipped),
        }
        try:
            ended = subprocess.run(
                command, env=environment, capture_output=True, timeout=timeout, check=False, text=True, errors="replace"
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"it took more than {timeout:.0f} s"
        if not result.exists():
            return f"exit status {ended.returncode}\n{ended.stderr[-3000:]}"
        answer: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
        return answer

    def compared(self, module: str, folder: Path, timeout: float) -> Comparison:
        """Run a module plain, then with ufuse."""
        found = Comparison(module)
        plain = self.run_module(module, "plain", folder, timeout)
        if isinstance(plain, str) or plain["missing"]:
            found.skipped = plain if isinstance(plain, str) else plain["missing"]
            return found
        ours = self.run_module(module, self.how, folder, timeout)
        found.tests, found.plain = len(plain["outcomes"]), plain["seconds"]
        found.passed = sum(each in {"passed", "ok"} for each in plain["outcomes"].values())
        if isinstance(ours, str):
            found.differences[module] = ours
            return found
        found.ours, found.counts = ours["seconds"], ours["counts"]
        for test in sorted(plain["outcomes"].keys() | ours["outcomes"].keys()):
            before, after = (each["outcomes"].get(test, "not run") for each in (plain, ours))
            if before == after:
                continue
            reason = self.why_excepted(test)
            if reason is not None:
                found.excepted[test] = reason
                continue
            text = ours["details"].get(test, "")
            found.differences[test] = f"{before}, {self.how} {after}\n{text}"
        for number, failure in enumerate(ours["counts"]["failures"]):
            found.differences[f"{module}, inside {number}"] = failure
        return found

    def compared_all(self, modules: Sequence[str], timeout: float) -> list[Comparison]:
        """Every module, a few at a time; what differs is printed as it is found."""
        found = []
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
            for one in pool.map(lambda m: self.compared(m, Path(folder), timeout), modules):
                found.append(one)
                for line in one.report():
                    print(line, flush=True)
        return found


def summed(found: Sequence[Comparison]) -> Comparison:
    """All modules as one."""
    total = Comparison("all")
    for one in found:
        total.tests += one.tests
        total.passed += one.passed
        total.plain += one.plain
        total.ours += one.ours
        total.differences |= one.differences
        for name, value in one.counts.items():
            if isinstance(value, dict):
                total.counts[name] = Counter(total.counts.get(name, {})) + Counter(value)
            elif isinstance(value, (int, float)):
                total.counts[name] = total.counts.get(name, 0) + value
    return total


def row_of_skipped(one: Comparison, width: int) -> tuple[str, ...]:
    """The row of a module that could not be run, `width` cells wide."""
    return (one.module, one.skipped[:60], *[""] * (width - 2))


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows as lines with columns; what stands alone in its row may be wide."""
    widths = [max(len(row[i]) for row in rows if row[2]) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join((row[0].ljust(widths[0]), *cells)).rstrip())
    return "\n".join(lines)


def arguments(program: str, description: str | None, names: str) -> argparse.ArgumentParser:
    """What the command lines of all suites understand; `names` says how modules are named."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--modules", default="", help=f"{names}, with commas; all of them if empty")
    parser.add_argument(
        "--timeout", type=float, default=600.0, help="seconds for one run of one module"
    )
    return parser


def ended(found: Sequence[Comparison]) -> int:
    """Print what differs as expected, and how many do not; the exit status."""
    total = summed(found)
    for one in found:
        for test, reason in one.excepted.items():
            print(f"as expected, {test} differs: {reason}")
    failed = len(total.differences)
    print(f"{total.tests} tests, {failed} differ")
    return int(failed > 0)


def headline(of: str, started: float) -> str:
    """What was run, and how long it took since `started`."""
    return f"\n{of}, {time.perf_counter() - started:.0f} s"
