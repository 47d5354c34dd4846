"""Windows of a few elements in random programs of array statements: their bounds, and what is made of their elements."""

from __future__ import annotations

import random

# `@`: a loop's index, `#`: the length of the axis.
BOUNDS = (
    "@ - 1:@ + 2", "@ - 1:@ + 2", "@:@ + 3", "@:@ + 2", "@ - 2:@ + 3", "@ - k:@ + k + 1", "@:@ + m", "max(@ - 1, 0):@ + 2",
    "max(0, @ - 1):min(@ + 2, #)", "1:4", ":3", "2:-2", "2 * @:2 * @ + 2", "@ - 1:@ + 2:2", "@ + 1:@ - 2:-1", "-3:", ":",
)  # fmt: skip
# `W`, `V`: windows of one shape, `S`: a number.
FOLDS = (
    "W.sum()", "np.sum(W)", "W.mean()", "np.mean(W)", "W.max()", "np.min(W)", "np.median(W)", "W.std()", "np.var(W, ddof=1)", "(W > S).sum()",
    "np.sum(W * V)", "np.sum((W - V) ** 2)", "np.mean(np.abs(W - V))", "(W * 0.5 + V).max()", "(W == V).any()", "np.all(W < S)", "np.sum(W - S)", "(S * W).sum()",
)  # fmt: skip


def key(rng: random.Random, lengths: tuple[str, ...], indices: list[str]) -> str:
    """What is between the brackets of a window, or of a part of a row."""
    axes = [
        rng.choice(BOUNDS).replace("@", index or "1").replace("#", length)
        for length, index in zip(lengths, indices, strict=True)
    ]
    if len(axes) > 1 and rng.random() < 0.25:
        place = rng.randrange(len(axes))
        axes[place] = indices[place] or "0"
    return ", ".join(axes)


def fold(rng: random.Random, names: list[str], between: str, number: str) -> str:
    """What a window of one of some arrays of one shape comes to."""
    one, other = (rng.choice(names) for _ in range(2))
    text = rng.choice(FOLDS).replace("S", number)
    return text.replace("W", f"{one}[{between}]").replace("V", f"{other}[{between}]")
