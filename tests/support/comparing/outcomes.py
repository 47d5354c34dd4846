"""What a process that runs somebody else's tests with pytest notes of them; the other side of `suites.py`.

Imports nothing of ufuse, as plain runs must not.
"""

from __future__ import annotations

import faulthandler
import fnmatch
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ORDER = ("passed", "skipped", "xfailed", "xpassed", "failed")


class Outcomes:
    """A plugin of pytest: leaves out what is to be skipped, and keeps how every other test ended."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.skipped = os.environ.get("TESTS_SKIPPED", "").split(",")
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}

    def name_of(self, node: str) -> str:
        """How the exceptions name a test."""
        return f"{self.module}.{node.partition('::')[2].replace('::', '.')}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what breaks the process."""
        items[:] = [item for item in items if not self.is_skipped(self.name_of(item.nodeid))]

    def is_skipped(self, name: str) -> bool:
        """Whether a test is not to be run."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.skipped)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the worst that happened to a test."""
        name = self.name_of(report.nodeid)
        outcome: str = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        self.outcomes[name] = max(self.outcomes.get(name, "passed"), outcome, key=ORDER.index)
        if report.failed:
            self.details[name] = report.longreprtext[-3000:]

    def of_file(self, file: Path, root: Path, marked: str) -> dict[str, Any]:
        """Run the tests of a file with these marks; their part of the answer."""
        status = pytest.main(
            [
                str(file), "-q", "-c", os.devnull, "--rootdir", str(root), "-m", marked,
                "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist",
                "-W", "ignore::pytest.PytestUnknownMarkWarning",
            ],
            plugins=[self],
        )  # fmt: skip
        ended = status in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        missing = "" if ended else f"pytest ends with {status!s}"
        return {"missing": missing, "outcomes": self.outcomes, "details": self.details}


class Failures(logging.Handler):
    """Keeps what ufuse says of failures inside it, each once."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []
        logging.getLogger("ufuse").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        text = record.getMessage()[-3000:]
        if text not in self.found:
            self.found.append(text)


def write_outcomes(run: Callable[[str, str], dict[str, Any]]) -> None:
    """Run a module as the command line says, in an empty folder: `MODULE HOW RESULT.json`."""
    module, how, where = sys.argv[1:]
    faulthandler.enable()
    target = Path(where).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        target.write_text(json.dumps(run(module, how)))
        os.chdir("/")
