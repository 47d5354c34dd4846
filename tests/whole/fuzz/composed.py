"""Array statements of random programs that came to native loops last: composed functions, computed steps, draws."""

from __future__ import annotations

import random

FEATURES = ("composed", "composed", "strided", "draws")
# `P`: a part of a vector, `E`: an expression as long, `S`: a number; `@`: a loop's index.
FOLDS = (
    "np.linalg.norm(P)", "np.linalg.norm(E)", "np.var(P)", "P.var()", "np.std(P)", "P.std()", "P.var(ddof=1)", "np.ptp(P)", "P.mean()", "np.mean(E)",
)  # fmt: skip
ARRAYS = (
    "np.roll(P, 1)", "np.roll(P, -1)", "np.roll(P, @)", "np.roll(P, k)", "np.round(E, 2)", "np.around(P)", "np.clip(E, -1.0, 1.0)", "np.clip(P, S, 2)",
    "np.concatenate((P[1:], P[:1]))", "np.concatenate([P, P])[:len(P)]", "np.concatenate((P[@:], P[:@]))", "np.outer(P, P)[0]", "np.outer(P, P)[:, -1]",
    "np.diff(P)", "np.diff(E)", "P.astype(float)", "P.astype(np.float32)", "np.ones_like(P) * S", "np.full(len(P), S)", "P - np.roll(P, 1)",
    "np.clip(P, S, S)", "np.zeros(len(P)) + P", "np.array(P)", "np.clip(P, None, 1.0)", "np.cumsum(P)",
)  # fmt: skip
STEPS = ("@", "@", "k", "m", "1 + @ % 3", "@ - 1", "-@", "2", "np.int64(k)")
STRIDED = (
    "@::#", "::#", "@ * @::#", "@:n - 1:#", "1:@:#", "-@::#", ":-1:#", "2 * @::#", "-1::#",
)  # fmt: skip
DRAWS = (
    "rng.random()",
    "rng.random()",
    "rng.normal()",
    "rng.uniform(-1.0, 1.0)",
    "rng.integers(1, 7)",
)
GENERATORS = ("np.random.default_rng(7)", "np.random.Generator(np.random.MT19937(3))")


def strided(rng: random.Random, kind: str, parts: list[str], number: str) -> str:
    """A statement of parts with one key: arrays of floats, ints or bools."""
    target, one, other = parts
    if kind == "?":
        return rng.choice((f"{target} = False", f"{target} = True", f"{target} = ~{one}"))
    if kind == "l":
        return rng.choice((f"{target} = 0", f"{target} += 1", f"{target} = {one} + {other} % 5"))
    return rng.choice(
        (
            f"{target} = {number}",
            f"{target} += {number}",
            f"{target} *= 0.5",
            f"{target} = {one} * 0.5",
            f"{target} = 0.25 * ({one} + {other})",
            f"{target} = np.abs({one})",
        )
    )
