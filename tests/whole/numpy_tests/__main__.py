"""`python -m tests.whole.numpy_tests`: NumPy's own tests, plain against compiled; prints what differs."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.support.comparing.suites import (
    Comparison,
    aligned,
    arguments,
    ended,
    headline,
    row_of_skipped,
    summed,
)
from tests.whole.numpy_tests.modules import MODULES, SUITE

SLOWER = 3.0  # compiled by plain, of all tests together, where what does not pay is given back


def table(found: Sequence[Comparison]) -> str:
    """A row for each module: its tests, differences, times, and the graphs that were made."""
    rows: list[tuple[str, ...]] = [
        ("module", "tests", "differ", "plain s", "compiled s", "ratio", "graphs", "breaks")
    ]
    for one in [*found, summed(found)]:
        if one.skipped:
            rows.append(row_of_skipped(one, len(rows[0])))
            continue
        rows.append((
            one.module, str(one.tests), str(len(one.differences)), f"{one.plain:.2f}", f"{one.ours:.2f}", f"{one.ratio:.2f}",
            *(str(one.counts.get(kind, 0)) for kind in ("graphs", "breaks")),
        ))  # fmt: skip
    return aligned(rows)


def main() -> None:
    """Run what the command line asks for; exit 1 where something differs that no exception names."""
    parser = arguments("python -m tests.whole.numpy_tests", __doc__, "names like _core.einsum")
    parser.add_argument(
        "--measured",
        action="store_true",
        help="as users have it: what does not pay is given back; exit 1 where tests take more than "
        f"{SLOWER} x plain",
    )
    options = parser.parse_args()
    started = time.perf_counter()
    modules = options.modules.split(",") if options.modules else MODULES
    suite = replace(SUITE, how="measured") if options.measured else SUITE
    found = suite.compared_all(modules, options.timeout)
    version = ".".join(map(str, sys.version_info[:3]))
    of = f"NumPy {np.__version__} on CPython {version}"
    print(f"{headline(of, started)}\n{table(found)}\n")
    status = ended(found)
    ratio = summed(found).ratio
    if options.measured and ratio > SLOWER:
        print(f"the tests take {ratio:.2f} x plain, more than {SLOWER}")
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
