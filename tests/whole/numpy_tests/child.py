"""Runs one of NumPy's test modules, plain or compiled, each test twice, and writes what happened as JSON.

A script of its own: plain runs import nothing of ufuse. `python child.py _core.einsum plain|compiled|measured RESULT.json`
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections import Counter
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3]))
from tests.support.comparing.outcomes import Failures, Outcomes, write_outcomes

sys.path.pop()

TIMES = 2  # the first call of a compiled function is traced, the second runs what came of it


class Compiled:
    """Compiles functions, and knows what came of it."""

    def __init__(self, *, measures: bool) -> None:
        os.environ["UFUSE_MEASURE"] = str(int(measures))
        import ufuse  # noqa: PLC0415  plain runs must not import it

        self.compile = ufuse.compile
        self.made: list[Any] = []
        self.failures = Failures()
        self.counts: Counter[str] = Counter()

    def __call__(self, function: FunctionType) -> Any:
        """The function, compiled."""
        self.made.append(self.compile(function))
        return self.made[-1]

    def count(self) -> None:
        """Count graphs, and let go of what was compiled."""
        for each in self.made:
            self.counts.update(graphs=len(each.graphs), breaks=len(each.breaks))
        self.made.clear()

    def summary(self) -> dict[str, Any]:
        """What was counted."""
        return {**self.counts, "failures": self.failures.found}


class RepeatedOutcomes(Outcomes):
    """Outcomes of tests each of which is called twice, and what these calls took."""

    def __init__(self, module: str, compiled: Compiled | None) -> None:
        super().__init__(module)
        self.compiled = compiled
        self.seconds = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Call a test; anything but a plain function is left to pytest. Time is that on processors."""
        bound = pyfuncitem.obj.__self__ if isinstance(pyfuncitem.obj, MethodType) else None
        function = pyfuncitem.obj if bound is None else pyfuncitem.obj.__func__
        if not isinstance(function, FunctionType):
            return None
        first = () if bound is None else (bound,)
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        started = time.process_time()
        try:
            test = function if self.compiled is None else self.compiled(function)
            for _ in range(TIMES):
                test(*first, **arguments)
        finally:
            self.seconds += time.process_time() - started
            if self.compiled is not None:
                self.compiled.count()
        return True


def run(module: str, how: str) -> dict[str, Any]:
    """The outcomes of a module. `compiled`: all that can be captured is; `measured`: what pays, as users have it."""
    folder, _, name = module.partition(".")
    found = importlib.util.find_spec("numpy")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    file = root / folder / "tests" / f"test_{name}.py"
    answer: dict[str, Any] = {"missing": "", "seconds": 0.0, "counts": None}
    if not file.exists():
        return answer | {"missing": f"this NumPy has no {file.relative_to(root)}"}
    compiled = None if how == "plain" else Compiled(measures=how == "measured")
    outcomes = RepeatedOutcomes(module, compiled)
    answer |= outcomes.of_file(file, root.parent, "not slow")
    counts = compiled.summary() if compiled else None
    return answer | {"counts": counts, "seconds": outcomes.seconds}


if __name__ == "__main__":
    write_outcomes(run)
