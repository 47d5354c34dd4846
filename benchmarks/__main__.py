"""The command: `python -m benchmarks [NAMES…] [--quick] [--peers numba,jax]`."""

from __future__ import annotations

import argparse
import sys

import ufuse
from benchmarks import peers as rivals
from benchmarks.cases import CASES
from benchmarks.harness import compared
from benchmarks.report import heading, line, save


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, short runs")
    parser.add_argument("--seconds", type=float, help="how long to time each pair")
    parser.add_argument(
        "--peers",
        help=f"of {', '.join(rivals.PEERS)}, with commas: installed where they are not yet, each "
        "in an environment of its own; `none` for none; default: those installed before",
    )
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results as it is")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(CASES):
        parser.error(
            f"no program is called {', '.join(sorted(unknown))}; there are {', '.join(CASES)}"
        )
    if chosen.peers is None:
        chosen.peers = rivals.installed()
    else:
        chosen.peers = [name for name in chosen.peers.split(",") if name and name != "none"]
    if unknown := set(chosen.peers) - set(rivals.PEERS):
        parser.error(
            f"no peer is called {', '.join(sorted(unknown))}; there are {', '.join(rivals.PEERS)}"
        )
    chosen.seconds = chosen.seconds or (0.3 if chosen.quick else 2.0)
    return chosen


def main() -> int:
    """Run what was asked for; give 1 where any result differs from eager."""
    chosen = options()
    usable = []
    for name in chosen.peers:
        if reason := rivals.install(name):
            print(reason, file=sys.stderr)
        else:
            usable.append(name)
    for name in usable:
        print(f"{name}: {rivals.PEERS[name].given} (~ where the bits are not eager's)")
    print(heading(usable), flush=True)
    differing = 0
    for name in chosen.names or CASES:
        case = CASES[name]
        rows = []
        for size in case.quick if chosen.quick else case.sizes:
            compiled = ufuse.compile(case.function)
            row = compared(case, size, compiled, chosen.seconds)
            others = {
                peer: rivals.result_of(peer, case, size, chosen.seconds / 2) for peer in usable
            }
            print(line(name, row, others), flush=True)
            rows.append(row.as_json() | {"peers": others})
            differing += bool(row.difference)
        if not chosen.no_save and not chosen.quick:
            save(name, rows)
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
