"""Runs one of CPython's test modules, plain or traced, and writes what happened as JSON.

A script of its own: plain runs import nothing of ufuse. `python child.py MODULE plain|traced RESULT.json`
"""

from __future__ import annotations

import faulthandler
import fnmatch
import importlib
import json
import os
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path
from typing import Any


class Outcomes(unittest.TestResult):
    """What became of every test: its worst outcome, subtests included."""

    ORDER = ("ok", "skipped", "expected failure", "unexpected success", "failed", "error")

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}
        self._names: Counter[str] = Counter()
        self._current = ""

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802  unittest's name
        """Begin a test; tests with one name are numbered."""
        super().startTest(test)
        name = test.id()
        self._names[name] += 1
        count = self._names[name]
        self._current = name if count == 1 else f"{name} ({count})"
        if os.environ.get("CPYTHON_TESTS_VERBOSE"):
            sys.__stderr__.write(f"{self._current}\n")
            sys.__stderr__.flush()

    def _note(self, test: Any, outcome: str, error: Any = None) -> None:
        # setUpClass and setUpModule come without a startTest.
        name = self._current if isinstance(test, unittest.TestCase) else test.id()
        before = self.outcomes.get(name, "ok")
        self.outcomes[name] = max(before, outcome, key=self.ORDER.index)
        if error is not None:
            self.details[name] = self._exc_info_to_string(error, test)[-3000:]

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        """Note a success."""
        self._note(test, "ok")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        """Note an error."""
        self._note(test, "error", err)

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """Note a failure."""
        self._note(test, "failed", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        """Note that a test was skipped."""
        self._note(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """Note a failure that the test expects."""
        self._note(test, "expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        """Note a success where a failure is expected."""
        self._note(test, "unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        """Note a failed subtest."""
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            self._note(test, "failed" if failed else "error", err)


def run_suite(suite: unittest.TestSuite, result: unittest.TestResult) -> None:
    """Run the tests; the frame of this function is the one that opens the region."""
    suite.run(result)


def traced_run(suite: unittest.TestSuite, result: unittest.TestResult) -> dict[str, Any]:
    """Run the tests with every frame sent through the tracer; what the tracer counted."""
    sys.path.append(str(Path(__file__).resolve().parents[3]))
    from tests.whole.cpython.tracing import traced_call  # noqa: PLC0415  plain runs must not import it

    return traced_call(run_suite, suite, result)


def without(suite: unittest.TestSuite, names: frozenset[str]) -> unittest.TestSuite:
    """A suite without the tests of these names, in which `*` stands for anything."""
    kept = type(suite)()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without(test, names))
        elif not any(fnmatch.fnmatchcase(test.id(), name) for name in names):
            kept.addTest(test)
    return kept


def loaded(name: str) -> unittest.TestSuite:
    """The tests of a module, doctests included where it has some."""
    module = importlib.import_module(f"test.test_{name}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    return without(suite, frozenset(os.environ.get("TESTS_SKIPPED", "").split(",")))


def main() -> None:
    """Run a module as the command line says."""
    name, how, where = sys.argv[1:]
    faulthandler.enable()
    target = Path(where).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result = Outcomes()
        answer: dict[str, Any] = {"missing": "", "seconds": 0.0, "counts": None}
        try:
            suite = loaded(name)
        except (ImportError, unittest.SkipTest) as error:
            answer["missing"] = f"{type(error).__name__}: {error}"
        else:
            started = time.perf_counter()
            if how == "traced":
                answer["counts"] = traced_run(suite, result)
            else:
                run_suite(suite, result)
            answer["seconds"] = time.perf_counter() - started
        answer["outcomes"], answer["details"] = result.outcomes, result.details
        target.write_text(json.dumps(answer))
        os.chdir("/")


if __name__ == "__main__":
    main()
