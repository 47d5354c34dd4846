"""`python -m tests.whole.packages`: functions of other people's packages, plain against compiled; prints what differs and times."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from tests.whole.packages import figures, suite
from tests.whole.packages.calls import PACKAGES, Line, chosen
from tests.whole.packages.measure import Row, Wanted
from tests.whole.packages.running import rows_of

DISTRIBUTIONS = {"skimage": "scikit-image", "sklearn": "scikit-learn"}
SLICE = 20  # of the calls, one in so many
AGAIN = 2  # times that calls are measured again that seem to lose
LATE = 5.0  # seconds of calls before that: where many parts are timed one after another, the whole is decided late


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.whole.packages", description=__doc__)
    parser.add_argument(
        "--packages", default=",".join(PACKAGES), help="with commas; default: %(default)s"
    )
    parser.add_argument(
        "--functions",
        default="*",
        metavar="PATTERN",
        help="only functions whose dotted names match, or contain it",
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one call in so many")
    parser.add_argument(
        "--first", type=int, default=0, metavar="N", help="with --every: where each package begins"
    )
    parser.add_argument(
        "--slice",
        action="store_true",
        help="about a minute: a few calls, short timings, one module of tests",
    )
    parser.add_argument(
        "--suites",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="the packages' own tests; default: not where --functions is given",
    )
    parser.add_argument(
        "--calls", action=argparse.BooleanOptionalAction, default=True, help="the calls"
    )
    parser.add_argument("--timings", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.4,
        help="how long to time each pair; longer where it is close",
    )
    parser.add_argument(
        "--processor",
        action="store_true",
        help="time on processors instead of time that passes: where others use the machine",
    )
    parser.add_argument(
        "--modes",
        type=int,
        default=3,
        help="under how many treatments of warnings to compare: always, default, error",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        help="seconds for one call or, times 10, one module of tests",
    )
    parser.add_argument(
        "--limits", action="store_true", help="exit 1 where times are above the limits"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="save every row")
    given = parser.parse_args()
    given.packages = given.packages.split(",")
    if unknown := set(given.packages) - set(PACKAGES):
        parser.error(
            f"no package is called {', '.join(sorted(unknown))}; there are {', '.join(PACKAGES)}"
        )
    if given.suites is None:
        given.suites = given.functions == "*" and given.every == 1
    if given.slice:
        given.every, given.seconds, given.modes = SLICE, 0.1, 1
    return given  # fmt: skip


def installed(packages: Sequence[str]) -> list[str]:
    """The packages that are here; says which are not."""
    found = []
    for name in packages:
        if name == "programs":
            found.append(name)
        elif importlib.util.find_spec(name) is None:
            print(f"skipped: {DISTRIBUTIONS.get(name, name)} is not installed for this Python")
        else:
            found.append(name)
            print(f"{name} {version(DISTRIBUTIONS.get(name, name))}")
    return found


def rows_for(lines: Sequence[Line], given: argparse.Namespace) -> list[Row]:
    """Every call, told as it comes; what may differ is told and forgotten."""
    wanted = Wanted(given.timings, given.seconds, given.modes, processor=given.processor)
    rows = []
    for row in rows_of(lines, wanted, given.timeout):
        rows.append(row)
        print(figures.line_of(row), flush=True)
        if row.difference and (reason := suite.SUITE.why_excepted(row.path)):
            print(f"    as expected: {reason}")
            row.difference = ""
    return rows


def look_again(lines: Sequence[Line], rows: Sequence[Row], given: argparse.Namespace) -> None:
    """Measure what seems to lose in other processes: the medians count, as a machine that others use is noisy."""
    doubtful = figures.doubtful(rows)
    by_text = {(line.text, line.strict): line for line in lines}
    chosen_again = [by_text[row.text, row.strict] for row in doubtful]
    wanted = Wanted(seconds=given.seconds, modes=1, warm=LATE, processor=given.processor)
    if doubtful:
        print(f"{len(doubtful)} calls that seem to lose are measured again:")
    others: list[list[Row]] = [[] for _ in doubtful]
    for _ in range(AGAIN):
        for place, row in enumerate(rows_of(chosen_again, wanted, given.timeout)):
            others[place].append(row)
    for row, found in zip(doubtful, others, strict=True):
        before = row.ratio
        figures.settle(row, found)
        print(f"{before:7.3f} -> {figures.line_of(row)}", flush=True)


def main() -> int:
    """Run what was asked for; 1 where anything differs, or is slower than the limits that are asked for."""
    given = options()
    started = time.perf_counter()
    packages = installed(given.packages)
    lines = list(chosen(packages, given.functions, given.every, given.first)) if given.calls else []
    rows = rows_for(lines, given)
    look_again(lines, rows, given)
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if rows:
        figures.printed(rows)
    broken = figures.broken_limits(rows)
    differing = [row for row in rows if row.difference]
    failed = bool(differing)
    if given.suites:
        modules = [m for m in suite.MODULES if m.partition(".")[0] in packages]
        tests_differ, slow = suite.run(modules[:1] if given.slice else modules, given.timeout * 10)
        failed |= tests_differ
        broken += slow
    for row in differing:
        print(f"DIFFERS: {row.text}")
    for text in broken:
        print(f"above the limits: {text}")
    print(f"{len(rows)} calls, {len(differing)} differ, {time.perf_counter() - started:.0f} s")
    return int(failed or (given.limits and bool(broken)))


if __name__ == "__main__":
    sys.exit(main())
