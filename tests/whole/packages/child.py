"""Runs one module of a package's own tests, plain or with functions compiled, and writes what happened as JSON.

A script of its own: plain runs import nothing of ufuse. `python child.py scipy.signal.tests.test_windows plain|compiled RESULT.json`
"""

from __future__ import annotations

import faulthandler
import fnmatch
import importlib
import importlib.util
import json
import logging
import operator
import os
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

ORDER = ("passed", "skipped", "xfailed", "xpassed", "failed")


class Outcomes:
    """A plugin of pytest: keeps how every test ended, and what the tests themselves took."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.skipped = os.environ.get("TESTS_SKIPPED", "").split(",")
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}
        self.seconds = 0.0

    def name_of(self, node: str) -> str:
        """How the exceptions name a test."""
        return f"{self.module}.{node.partition('::')[2].replace('::', '.')}"

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what breaks the process."""
        items[:] = [item for item in items if not self.is_skipped(self.name_of(item.nodeid))]

    def is_skipped(self, name: str) -> bool:
        """Whether a test is not to be run."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.skipped)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Generator[None, Any, Any]:
        """Add the time that a test takes on processors: others may use the machine."""
        started = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds += time.process_time() - started

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
    """Puts compiled functions in the place of a module's own, wherever its package keeps them."""

    def __init__(self) -> None:
        import ufuse  # noqa: PLC0415  plain runs must not import it

        self.compile = ufuse.compile
        self.made: list[Any] = []
        self.failures: list[str] = []
        handler = logging.Handler(logging.ERROR)
        handler.emit = self.note  # type: ignore[method-assign]
        logging.getLogger("ufuse").addHandler(handler)

    def note(self, record: logging.LogRecord) -> None:
        """Keep what ufuse says of a failure inside it, once."""
        text = record.getMessage()[-3000:]
        if text not in self.failures:
            self.failures.append(text)

    def replace(self, name: str) -> None:
        """Compile every function of a module, public or not."""
        module = importlib.import_module(name)
        found = {f: self.compile(f) for f in vars(module).values() if is_own(f, module)}
        self.made += found.values()
        package = name.partition(".")[0]
        for holder in [m for n, m in sys.modules.items() if n.partition(".")[0] == package]:
            for attribute, value in list(vars(holder).items()):
                if not attribute.startswith("__") and (new := exchanged(value, found)) is not value:
                    setattr(holder, attribute, new)

    def summary(self) -> dict[str, Any]:
        """What was made."""
        return {
            "functions": len(self.made),
            "graphs": sum(len(each.graphs) for each in self.made),
            "breaks": sum(len(each.breaks) for each in self.made),
            "failures": self.failures,
        }


def is_own(value: object, module: ModuleType) -> bool:
    """Whether a function was written in a module, not imported into it."""
    return type(value) is FunctionType and value.__module__ == module.__name__


def exchanged(value: Any, found: dict[Any, Any], depth: int = 3) -> Any:
    """A value with functions exchanged: itself, in what a table maps to or from, and in what a list or tuple holds."""
    if type(value) is FunctionType:
        return found.get(value, value)
    if depth and type(value) is dict:
        for key, item in list(value.items()):
            value[key] = exchanged(item, found, depth - 1)
            if type(key) is FunctionType and key in found:
                value[found[key]] = value[key]
    elif depth and type(value) is list:
        value[:] = [exchanged(item, found, depth - 1) for item in value]
    elif depth and type(value) is tuple:
        new = tuple(exchanged(item, found, depth - 1) for item in value)
        return value if all(map(operator.is_, new, value)) else new
    return value


def targets_of(module: str) -> list[str]:
    """The modules that `suites.txt` names behind a module of tests."""
    text = (Path(__file__).resolve().parent / "suites.txt").read_text(encoding="utf-8")
    return next(
        (words[1:] for words in map(str.split, text.splitlines()) if words[:1] == [module]), []
    )


def run(module: str, how: str) -> dict[str, Any]:
    """The outcomes of a module."""
    answer: dict[str, Any] = {"missing": "", "seconds": 0.0, "counts": None}
    package, _, rest = module.partition(".")
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return answer | {"missing": f"{package} is not installed"}
    root = Path(found.origin).parent
    file = root / f"{rest.replace('.', '/')}.py"
    if not file.exists():
        return answer | {"missing": f"this {package} has no {file.relative_to(root)}"}
    compiled = Compiled() if how == "compiled" else None
    for target in targets_of(module):
        if importlib.util.find_spec(target) is None:
            return answer | {"missing": f"this {package} has no {target}"}
        if compiled:
            compiled.replace(target)
    outcomes = Outcomes(module)
    status = pytest.main(
        [
            str(file), "-q", "-c", os.devnull, "--rootdir", str(root.parent), "-m", "not slow and not xslow",
            "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist",
            "-W", "ignore::pytest.PytestUnknownMarkWarning",
        ],
        plugins=[outcomes],
    )  # fmt: skip
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        answer["missing"] = f"pytest ends with {status!s}"
    counts = compiled.summary() if compiled else {}
    counts["passed"] = sum(outcome == "passed" for outcome in outcomes.outcomes.values())
    answer |= {"outcomes": outcomes.outcomes, "details": outcomes.details, "counts": counts}
    return answer | {"seconds": outcomes.seconds}


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
