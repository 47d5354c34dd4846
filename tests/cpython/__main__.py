"""`python -m tests.cpython`: CPython's own tests, plain against traced; prints what differs and what was traced."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cpython.compare import MODULES, Comparison, compared, exceptions, summed

AT_ONCE = 2


def table(found: list[Comparison]) -> str:
    """A row for each module: its tests, differences, times, and what became of its frames."""
    head = (
        "module", "tests", "differ", "plain s", "traced s",
        "whole", "mixed", "eager", "% eager", "generators", "bodies", "left", "codes whole", "mixed", "eager",
    )  # fmt: skip
    rows = [head]
    for one in [*found, summed(found)]:
        if one.skipped:
            rows.append((one.module, one.skipped[:60], *[""] * (len(head) - 2)))
            continue
        frames, codes = Counter(one.counts.get("frames", {})), Counter(one.counts.get("codes", {}))
        offered = frames["whole"] + frames["mixed"] + frames["eager"]
        share = 100 * frames["eager"] / offered if offered else 0.0
        rows.append((
            one.module, str(one.tests), str(len(one.differences)), f"{one.plain:.2f}", f"{one.traced:.2f}",
            *(str(frames[kind]) for kind in ("whole", "mixed", "eager")), f"{share:.1f}",
            *(str(frames[kind]) for kind in ("generator", "body", "left")),
            *(str(codes[kind]) for kind in ("whole", "mixed", "eager")),
        ))  # fmt: skip
    widths = [max(len(row[i]) for row in rows if row[2]) for i in range(len(head))]
    lines = []
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        lines.append("  ".join((row[0].ljust(widths[0]), *cells)).rstrip())
    return "\n".join(lines)


def reasons(total: Comparison, most: int) -> str:
    """Why frames were left eager, and why graphs ended, most frequent first."""
    lines = ["frames left eager, by reason:"]
    eager = Counter(total.counts.get("eager", {}))
    lines += [f"{count:9}  {reason}" for reason, count in eager.most_common()] or ["        none"]
    breaks = Counter(total.counts.get("breaks", {}))
    lines.append(f"graph breaks, by reason ({sum(breaks.values())} places):")
    lines += [f"{count:9}  {reason}" for reason, count in breaks.most_common(most)]
    seconds, instructions = total.counts.get("tracing", 0.0), total.counts.get("instructions", 0)
    if seconds:
        lines.append(
            f"{total.counts['traces']} traces read {instructions} instructions in {seconds:.1f} s: "
            f"{instructions / seconds:.0f} a second"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what the command line asks for; exit 1 where something differs that no exception names."""
    parser = argparse.ArgumentParser(prog="python -m tests.cpython", description=__doc__)
    parser.add_argument(
        "--modules", default="", help="names after test_, with commas; all of them if empty"
    )
    parser.add_argument(
        "--timeout", type=float, default=600.0, help="seconds for one module, traced"
    )
    parser.add_argument(
        "--reasons", type=int, default=40, help="how many reasons for breaks to print"
    )
    options = parser.parse_args()
    modules = options.modules.split(",") if options.modules else MODULES
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        found = []
        for one in pool.map(lambda m: compared(m, Path(folder), options.timeout), modules):
            found.append(one)
            for line in one.report():
                print(line, flush=True)
    total = summed(found)
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"\nCPython {version}, {time.perf_counter() - started:.0f} s\n{table(found)}\n")
    print(reasons(total, options.reasons))
    unused = (
        exceptions().keys() - {k for one in found for k in one.excepted}
        if not options.modules
        else set()
    )
    for test in sorted(unused):
        print(f"tests/cpython/exceptions.txt names {test}, which no longer differs")
    failed = len(total.differences) + len(unused)
    print(f"{total.tests} tests, {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
