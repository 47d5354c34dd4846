"""Runs one module of a package's own tests, plain or with functions compiled, and writes what happened as JSON.

A script of its own: plain runs import nothing of ufuse. `python child.py scipy.signal.tests.test_windows plain|compiled RESULT.json`
"""

from __future__ import annotations

import importlib
import importlib.util
import operator
import sys
import time
from collections.abc import Generator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))
from tests.support.comparing.outcomes import Failures, Outcomes, write_outcomes

sys.path.pop()


class TimedOutcomes(Outcomes):
    """Outcomes, and what the tests themselves took."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.seconds = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Generator[None, Any, Any]:
        """Add the time that a test takes on processors: others may use the machine."""
        started = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds += time.process_time() - started


class Compiled:
    """Puts compiled functions in the place of a module's own, wherever its package keeps them."""

    def __init__(self) -> None:
        import ufuse  # noqa: PLC0415  plain runs must not import it

        self.compile = ufuse.compile
        self.made: list[Any] = []
        self.failures = Failures()

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
            "failures": self.failures.found,
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
    outcomes = TimedOutcomes(module)
    answer |= outcomes.of_file(file, root.parent, "not slow and not xslow")
    counts = compiled.summary() if compiled else {}
    counts["passed"] = sum(outcome == "passed" for outcome in outcomes.outcomes.values())
    return answer | {"counts": counts, "seconds": outcomes.seconds}


if __name__ == "__main__":
    write_outcomes(run)
