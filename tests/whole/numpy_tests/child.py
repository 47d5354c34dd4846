"""Runs one of NumPy's test modules, plain or compiled, each test twice, and writes what happened as JSON.

A script of its own: plain runs import nothing of ufuse. `python child.py _core.einsum plain|compiled RESULT.json`
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))
from tests.support.outcomes import Failures, Outcomes, write_outcomes

sys.path.pop()

TIMES = 2  # the first call of a compiled function is traced, the second runs what came of it


class RepeatedOutcomes(Outcomes):
    """Outcomes of tests each of which is called twice as `through` makes it."""

    def __init__(self, module: str, through: Callable[[FunctionType], Any]) -> None:
        super().__init__(module)
        self.through = through

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


class Compiled:
    """Compiles functions, and knows what came of it."""

    def __init__(self) -> None:
        # Everything that can be is compiled, whether it pays or not; UFUSE_MEASURE=1: as users have it.
        os.environ.setdefault("UFUSE_MEASURE", "0")
        import ufuse  # noqa: PLC0415  plain runs must not import it

        self.compile = ufuse.compile
        self.made: list[Any] = []
        self.failures = Failures()
        self.counts: Counter[str] = Counter()

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
        return {**self.counts, "failures": self.failures.found}


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
    outcomes = RepeatedOutcomes(module, compiled or as_it_is)
    started = time.perf_counter()
    answer |= outcomes.of_file(file, root.parent, "not slow")
    answer["seconds"] = time.perf_counter() - started
    answer["counts"] = compiled.summary() if compiled else None
    return answer


if __name__ == "__main__":
    write_outcomes(run)
