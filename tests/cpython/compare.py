"""One of CPython's test modules, run plain and traced in processes of their own, and what differs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
MODULES = tuple(
    "grammar generators exceptions raise with scope dict list tuple set slice class descr super call extcall "
    "keywordonlyarg positional_only_arg unpack unpack_ex fstring iter itertools functools contextlib dataclasses enum "
    "patma compare bool int float complex range enumerate listcomps genexps setcomps dictcomps decorators "
    "named_expressions operator string bytes collections property richcmp weakref traceback coroutines asyncgen".split()
)


@dataclass(slots=True)
class Comparison:
    """What became of a module."""

    module: str
    skipped: str = ""
    tests: int = 0
    plain: float = 0.0
    traced: float = 0.0
    differences: dict[str, str] = field(default_factory=dict)  # test -> what differs, with its text
    excepted: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)

    def report(self) -> Iterator[str]:
        """Lines about what differs."""
        for test, text in self.differences.items():
            yield f"--- {test}: {text}"


def exceptions() -> dict[str, str]:
    """The tests of this version that may differ, and why: lines `version test reason`; `*` is every version."""
    found = {}
    for line in (HERE / "exceptions.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            versions, test, reason = line.split(maxsplit=2)
            if versions == "*" or VERSION in versions.split(","):
                found[test] = reason
    return found


def run_module(module: str, how: str, folder: Path, timeout: float) -> dict[str, Any] | str:
    """What the child wrote, or how it ended without writing."""
    result = folder / f"{module}.{how}.json"
    command = [sys.executable, "-P", str(HERE / "child.py"), f"test_{module}", how, str(result)]
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "default"}
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


def compared(module: str, folder: Path, timeout: float) -> Comparison:
    """Run a module plain, then traced."""
    found = Comparison(module)
    plain = run_module(module, "plain", folder, timeout)
    if isinstance(plain, str) or plain["missing"]:
        found.skipped = plain if isinstance(plain, str) else plain["missing"]
        return found
    traced = run_module(module, "traced", folder, timeout)
    found.tests, found.plain = len(plain["outcomes"]), plain["seconds"]
    if isinstance(traced, str):
        found.differences[f"test.test_{module}"] = traced
        return found
    found.traced, found.counts = traced["seconds"], traced["counts"]
    allowed = exceptions()
    for test in sorted(plain["outcomes"].keys() | traced["outcomes"].keys()):
        before, after = (
            plain["outcomes"].get(test, "not run"),
            traced["outcomes"].get(test, "not run"),
        )
        if before != after:
            name = found.excepted if test in allowed else found.differences
            name[test] = f"{before}, traced {after}\n{traced['details'].get(test, '')}"
    for number, failure in enumerate(traced["counts"]["failures"]):
        found.differences[f"test.test_{module} inside {number}"] = failure
    return found


def summed(found: list[Comparison]) -> Comparison:
    """All modules as one."""
    total = Comparison("all")
    for one in found:
        total.tests += one.tests
        total.plain += one.plain
        total.traced += one.traced
        total.differences |= one.differences
        for name, value in one.counts.items():
            if isinstance(value, dict):
                total.counts[name] = Counter(total.counts.get(name, {})) + Counter(value)
            elif isinstance(value, (int, float)):
                total.counts[name] = total.counts.get(name, 0) + value
    return total
