"""The command: `python -m benchmarks [NAMES…] [--quick] [--peers numba,jax]`; `programs` and `loops` name groups."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console

import ufuse
from benchmarks import apart, targets
from benchmarks import peers as rivals
from benchmarks.cases import CASES
from benchmarks.cases.loops import GROUP as LOOP_GROUP
from benchmarks.cases.loops import LOOPS
from benchmarks.harness import compared
from benchmarks.programs import GROUP, PROGRAMS
from benchmarks.report import heading, line, save, summary, update_group
from benchmarks.totals import totals

GROUPS = {GROUP: PROGRAMS, LOOP_GROUP: LOOPS}
GROUP_PEERS = {LOOP_GROUP: ("numba",)}  # the others compile no loops


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = {**CASES, **PROGRAMS, **LOOPS, **dict.fromkeys(GROUPS)}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, short runs")
    parser.add_argument("--seconds", type=float, help="how long to time each pair")
    parser.add_argument(
        "--peers",
        help=f"of {', '.join(rivals.PEERS)}, with commas: installed where they are not yet, each "
        "in an environment of its own; `none` for none; default: those installed before",
    )
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results as it is")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - set(known):
        parser.error(
            f"no program is called {', '.join(sorted(unknown))}; there are {', '.join(known)}"
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
    cases = [name for name in chosen.names or CASES if name in CASES]
    differing = run_cases(cases, chosen) if cases else 0
    for group, programs in GROUPS.items():
        names = [name for name in chosen.names if name in programs]
        if group in chosen.names or not chosen.names:
            names = list(programs)
        differing += run_programs(group, names, chosen) if names else 0
    if not chosen.names and not chosen.quick:
        targets.report(saves=not chosen.no_save)
    return min(differing, 1)


def ready(names: list[str]) -> list[str]:
    """Install rivals where they are not yet, and say what each is given; those that can be had."""
    usable = []
    for name in names:
        if reason := rivals.install(name):
            print(reason, file=sys.stderr)
        else:
            usable.append(name)
    for name in usable:
        print(f"{name}: {rivals.PEERS[name].given} (~ where the bits are not eager's)")
    return usable


def run_cases(names: list[str], chosen: argparse.Namespace) -> int:
    """Time programs beside rivals, and save each; how many results differ from eager's."""
    usable = ready(chosen.peers)
    print(heading(usable), flush=True)
    differing = 0
    for name in names:
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
    return differing


def run_programs(group: str, names: list[str], chosen: argparse.Namespace) -> int:
    """Time programs in processes of their own, and save their rows of a group; how many results differ from eager's."""
    usable = ready([name for name in chosen.peers if name in GROUP_PEERS.get(group, ())])
    print(heading(usable), flush=True)
    rows: list[dict[str, Any]] = []
    for name in names:
        program = GROUPS[group][name]
        for size in program.quick if chosen.quick else program.sizes:
            row = apart.row_of(name, size, chosen.seconds)
            others = {
                peer: rivals.result_of(peer, program, size, chosen.seconds / 2) for peer in usable
            }
            print("\n    ".join([line(name, row, others), *row.loops]), flush=True)
            rows.append({"program": name} | row.as_json() | {"peers": others})
    print(summary(rows))
    Console().print(totals(group, rows))
    if not chosen.no_save and not chosen.quick:
        update_group(group, rows, list(GROUPS[group]))
    return sum(bool(row["difference"]) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
