"""`python -m tests.whole.cpython`: CPython's own tests, plain against traced; prints what differs and what was traced."""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.support.comparing.suites import (
    Comparison,
    aligned,
    arguments,
    ended,
    headline,
    row_of_skipped,
    summed,
)
from tests.whole.cpython.compare import MODULES, SUITE


def table(found: list[Comparison]) -> str:
    """A row for each module: its tests, differences, times, and what became of its frames."""
    head = (
        "module", "tests", "differ", "plain s", "traced s",
        "whole", "mixed", "eager", "% eager", "generators", "bodies", "left", "codes whole", "mixed", "eager",
    )  # fmt: skip
    rows = [head]
    for one in [*found, summed(found)]:
        if one.skipped:
            rows.append(row_of_skipped(one, len(head)))
            continue
        frames, codes = Counter(one.counts.get("frames", {})), Counter(one.counts.get("codes", {}))
        offered = frames["whole"] + frames["mixed"] + frames["eager"]
        share = 100 * frames["eager"] / offered if offered else 0.0
        rows.append((
            one.module, str(one.tests), str(len(one.differences)), f"{one.plain:.2f}", f"{one.ours:.2f}",
            *(str(frames[kind]) for kind in ("whole", "mixed", "eager")), f"{share:.1f}",
            *(str(frames[kind]) for kind in ("generator", "body", "left")),
            *(str(codes[kind]) for kind in ("whole", "mixed", "eager")),
        ))  # fmt: skip
    return aligned(rows)


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
    parser = arguments("python -m tests.whole.cpython", __doc__, "names after test_")
    parser.add_argument(
        "--reasons", type=int, default=40, help="how many reasons for breaks to print"
    )
    options = parser.parse_args()
    started = time.perf_counter()
    modules = options.modules.split(",") if options.modules else MODULES
    found = SUITE.compared_all(modules, options.timeout)
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"{headline(f'CPython {version}', started)}\n{table(found)}\n")
    print(reasons(summed(found), options.reasons))
    sys.exit(ended(found))


if __name__ == "__main__":
    main()
