"""Random error states, as programs enter them."""

from __future__ import annotations

import random

MODES = ("ignore", "ignore", "ignore", "warn", "raise")


def error_state(rng: random.Random) -> str:
    """The text of an `np.errstate` that says something of one or two flags."""
    flags = rng.sample(("all", "divide", "invalid", "over", "under"), rng.choice((1, 1, 2)))
    return f"np.errstate({', '.join(f'{flag}={rng.choice(MODES)!r}' for flag in flags)})"
