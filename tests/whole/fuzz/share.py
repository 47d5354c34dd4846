"""`python -m tests.whole.fuzz.share`: how many loops of random programs are native code, and why the others are not."""

from __future__ import annotations

import argparse
import contextlib
import re
import warnings
from collections import Counter

import numpy as np

import ufuse
from tests.support.nests.native_loops import loops_of
from tests.whole.fuzz.kinds import KINDS, Kind


def loops_that_ran(kind: Kind, seed: int) -> list[str]:
    """For each loop of a program whose header was visited: empty where it has turns in native code, or why not."""
    program = kind.generated(seed)
    world = kind.world(program.source)
    try:
        compiled = ufuse.compile(world.function)
        for given in (*program.sets, *program.sets):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                with contextlib.suppress(Exception):  # programs may raise
                    compiled(*world.made(given))
        return [
            "" if one.turns else one.why_not or "it ran in doubts, or inside another one"
            for one in loops_of(compiled)
        ]
    finally:
        world.forget()


def main() -> None:
    """Print the share, and the reasons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="sweeps", choices=["loops", "sweeps"])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = [
        loops_that_ran(KINDS[given.kind], seed)
        for seed in range(given.seed, given.seed + given.count)
    ]
    loops = [why for whys in found for why in whys]
    some = sum("" in whys for whys in found)
    print(
        f"{len(found)} programs, {some} with native loops; {loops.count('')} of {len(loops)} loops"
    )
    reasons = Counter(re.sub(r"`[^`]*`|\d+", "…", why) for why in loops if why)
    for reason, count in reasons.most_common(40):
        print(f"{count:6} {reason}")


if __name__ == "__main__":
    main()
