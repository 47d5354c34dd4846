"""`python -m tests.whole.numpy_tests`: NumPy's own tests, plain against compiled; prints what differs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from tests.support.suites import (
    Comparison,
    aligned,
    arguments,
    ended,
    headline,
    row_of_skipped,
    summed,
)
from tests.whole.numpy_tests.modules import MODULES, SUITE


def table(found: Sequence[Comparison]) -> str:
    """A row for each module: its tests, differences, times, and the graphs that were made."""
    rows: list[tuple[str, ...]] = [
        ("module", "tests", "differ", "plain s", "compiled s", "graphs", "breaks")
    ]
    for one in [*found, summed(found)]:
        if one.skipped:
            rows.append(row_of_skipped(one, len(rows[0])))
            continue
        rows.append((
            one.module, str(one.tests), str(len(one.differences)), f"{one.plain:.2f}", f"{one.ours:.2f}",
            *(str(one.counts.get(kind, 0)) for kind in ("graphs", "breaks")),
        ))  # fmt: skip
    return aligned(rows)


def main() -> None:
    """Run what the command line asks for; exit 1 where something differs that no exception names."""
    options = arguments("python -m tests.whole.numpy_tests", __doc__, "names like _core.einsum").parse_args()  # fmt: skip
    started = time.perf_counter()
    modules = options.modules.split(",") if options.modules else MODULES
    found = SUITE.compared_all(modules, options.timeout)
    version = ".".join(map(str, sys.version_info[:3]))
    of = f"NumPy {np.__version__} on CPython {version}"
    print(f"{headline(of, started)}\n{table(found)}\n")
    sys.exit(ended(found))


if __name__ == "__main__":
    main()
