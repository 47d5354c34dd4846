"""Other people's functions with loops and branches: `python -m benchmarks.third_party [NAMES…]`.

Needs SciPy, scikit-image and scikit-learn: `make test-packages` makes an environment that has them, and
`make bench-packages` runs this in it. Each function runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import ufuse
from benchmarks.apart import measured_anew, printed_row
from benchmarks.cases.third_party import CASES
from benchmarks.report import heading, line, save_rows, summary
from tests.whole.packages.visible import visible


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.third_party", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all functions")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to time each")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results as it is")
    parser.add_argument("--apart", action="store_true", help="one, here; prints a line of JSON")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(CASES):
        parser.error(
            f"no function is called {', '.join(sorted(unknown))}; there are {', '.join(CASES)}"
        )
    chosen.names = chosen.names or list(CASES)
    return chosen


def main() -> int:
    """Run what was asked for; give 1 where any result differs from eager."""
    chosen = options()
    if chosen.apart:
        print(json.dumps(measured(chosen.names[0], chosen.seconds)))
        return 0
    print(heading([]), flush=True)
    rows = []
    for name in chosen.names:
        seconds = str(chosen.seconds)
        row = printed_row(name, ["benchmarks.third_party", name, "--seconds", seconds, "--apart"])
        print("\n    ".join([line(name, row, {}), *row.loops]), flush=True)
        rows.append({"program": name} | row.as_json())
    print(summary(rows))
    if not chosen.no_save:
        save_rows("third_party", rows)
    return int(any(row["difference"] for row in rows))


def measured(name: str, seconds: float) -> dict[str, Any]:
    """Time a function that nothing in this process has run before."""
    case = CASES[name]
    function = case.function()
    compiled = ufuse.compile(function)

    def plain(*args: Any) -> Any:
        return function(*args, **case.keywords)

    class Compiled:
        loops = property(lambda _: compiled.loops)

        def __call__(self, *args: Any) -> Any:
            return compiled(*args, **case.keywords)

    row = measured_anew(plain, Compiled(), case.make_args, seconds, visible)
    counts = f"{len(compiled.graphs)} graphs, {len(compiled.breaks)} breaks"
    found = row.as_json()
    return found | {"loops": [counts, *found["loops"]]}


if __name__ == "__main__":
    sys.exit(main())
