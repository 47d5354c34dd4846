"""Runs one of NumPy's test modules, plain or compiled, each test twice, and writes what happened as JSON.

A script of its own: plain runs import nothing of ufuse. `python child.py _core.einsum plain|compiled RESULT.json`
"""

from __future__ import annotations

import faulthandler
import fnmatch
import importlib.util
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest

TIMES = 2  # the first call of a compiled function is traced, the second runs what came of it
ORDER = ("passed", "skipped", "xfailed", "xpassed", "failed")


class Outcomes:
    """A plugin of pytest: calls every test twice as `through` makes it, and keeps how it ended."""

    def __init__(self, module: str, through: Callable[[FunctionType], Any]) -> None:
        self.module = module
        self.through = through
        self.skipped = os.environ.get("TESTS_SKIPPED", "").split(",")
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}

    def name_of(self, node: str) -> str:
        """How the exceptions name a test."""
        return f"{self.module}.{node.partition('::')[2].replace('::', '.')}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what breaks the process."""
        items[:] = [
            item
            for item in items
            if not any(
                fnmatch.fnmatchcase(self.name_of(item.nodeid), name) for name in self.skipped
            )
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Call a test; anything but a plain function is left to pytest."""
        bound = pyfuncitem.obj.__self__ if isinstance(pyfuncitem.obj, MethodType) else None
        function = pyfuncitem.obj if bound is None else pyfuncitem.obj.__func__
        if not isinstance(function, FunctionType):
            return None
        test = self.through(function)
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        for _ in range(TIMES):
            if bound is None:
                test(**arguments)
            else:
                test(bound, **arguments)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the worst that happened to a test."""
        name = self.name_of(report.nodeid)
        outcome: str = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        self.outcomes[name] = max(self.outcomes.get(name, "passed"), outcome, key=ORDER.index)
        if report.failed:
            self.details[name] = report.longreprtext[-3000:]


class Compiled:
    """Compiles functions, and knows what came of it."""

    def __init__(self) -> None:
        # Everything that can be is compiled, whether it pays or not; UFUSE_MEASURE=1: as users have it.
        os.environ.setdefault("UFUSE_MEASURE", "0")
        import ufuse  # noqa: PLC0415  plain runs must not import it

        self.compile = ufuse.compile
        self.made: list[Any] = []
        self.failures: list[str] = []
        self.counts: Counter[str] = Counter()
        handler = logging.Handler(logging.ERROR)
        handler.emit = self.note  # type: ignore[method-assign]
        logging.getLogger("ufuse").addHandler(handler)

    def note(self, record: logging.LogRecord) -> None:
        """Keep what ufuse says of a failure inside it, once."""
        text = record.getMessage()[-3000:]
        if text not in self.failures:
            self.failures.append(text)

    def __call__(self, function: FunctionType) -> Any:
        """The function, compiled; what the one before it came to is counted."""
        self.count()
        self.made.append(self.compile(function))
        return self.made[-1]

    def count(self) -> None:
        """Count graphs, and let go of what was compiled."""
        for each in self.made:
            self.counts.update(graphs=len(each.graphs), breaks=len(each.breaks))
        self.made.clear()

    def summary(self) -> dict[str, Any]:
        """What was counted."""
        self.count()
        return {**self.counts, "failures": self.failures}


def as_it_is(function: FunctionType) -> FunctionType:
    """The plain function."""
    return function


def run(module: str, how: str) -> dict[str, Any]:
    """The outcomes of a module."""
    folder, _, name = module.partition(".")
    found = importlib.util.find_spec("numpy")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    file = root / folder / "tests" / f"test_{name}.py"
    answer: dict[str, Any] = {"missing": "", "seconds": 0.0, "counts": None}
    if not file.exists():
        return answer | {"missing": f"this NumPy has no {file.relative_to(root)}"}
    compiled = Compiled() if how == "compiled" else None
    outcomes = Outcomes(module, compiled or as_it_is)
    started = time.perf_counter()
    status = pytest.main(
        [
            str(file), "-q", "-c", os.devnull, "--rootdir", str(root.parent), "-m", "not slow",
            "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist",
            "-W", "ignore::pytest.PytestUnknownMarkWarning",
        ],
        plugins=[outcomes],
    )  # fmt: skip
    answer["seconds"] = time.perf_counter() - started
    answer["counts"] = compiled.summary() if compiled else None
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        answer["missing"] = f"pytest ends with {status!s}"
    return answer | {"outcomes": outcomes.outcomes, "details": outcomes.details}


def main() -> None:
    """Run a module as the command line says."""
    module, how, where = sys.argv[1:]
    faulthandler.enable()
    target = Path(where).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        target.write_text(json.dumps(run(module, how)))
        os.chdir("/")


if __name__ == "__main__":
    main()
