"""The command: `python -m tests.whole.corpus [NAMES…]` breaks every function of the corpus everywhere, and says what it did."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time

from tests.support.frames.pieces import LENGTHS
from tests.whole.corpus.check import Tally, broken_everywhere
from tests.whole.corpus.everything import CASES


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.whole.corpus", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only functions with this in their names"
    )
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="of traces")
    parser.add_argument("--seed", type=int, default=0, help="of the drawn lengths")
    parser.add_argument("--backend", default="numpy")
    parser.add_argument("--verbose", action="store_true", help="name each function before it runs")
    return parser.parse_args()


def main() -> int:
    """Run what was asked for; give 1 where anything differs."""
    chosen = options()
    lengths = [int(text) if text.isdecimal() else text for text in chosen.lengths.split(",")]
    cases = [
        case for case in CASES if not chosen.names or any(n in case.name for n in chosen.names)
    ]
    tally = Tally()
    started = time.perf_counter()
    for number, case in enumerate(cases, start=1):
        begun = time.perf_counter()
        if chosen.verbose:
            print(case.name, flush=True)
        for length in lengths:
            faulthandler.dump_traceback_later(120, exit=True)  # nothing here takes as long
            if found := broken_everywhere(
                case, length, tally, seed=chosen.seed, backend=chosen.backend
            ):
                tally.differences.append(found)
                print(f"DIFFERENT {found}", flush=True)
        tally.functions += 1
        if (seconds := time.perf_counter() - begun) > 10:
            print(f"{case.name} took {seconds:.0f} s", flush=True)
        if number % 25 == 0:
            print(f"{number} of {len(cases)}: {tally.text()}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    seconds = time.perf_counter() - started
    print(f"{tally.text()}, {len(tally.differences)} differences, in {seconds:.0f} s")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
