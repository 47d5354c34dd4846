"""Random numbers that random programs of loops draw: from a generator that is given, or NumPy's or Python's own."""

from __future__ import annotations

import random
from dataclasses import dataclass

GENERATORS = (
    "np.random.default_rng(7)", "np.random.default_rng(8)", "np.random.Generator(np.random.MT19937(3))", "np.random.Generator(np.random.Philox(1))",
)  # fmt: skip
# `G`: the generator; `F`, `I`: a float, an int.
REALS = (
    "G.random()", "G.random()", "G.random()", "G.standard_normal()", "G.normal()", "G.normal(F, 0.5)", "G.normal(0.0, abs(F))", "G.normal(scale=F)",
    "G.uniform(F, F)", "G.uniform(-1, 1)", "G.uniform(high=F)", "G.exponential(abs(F))", "G.exponential()", "G.standard_exponential()", "G.gamma(2.0)", "G.choice(a)", "G.choice((F, F))", "G.choice(a, size=3)[1]", "G.choice(a, len(a), replace=True).mean()",
)  # fmt: skip
INTEGERS = (
    "int(G.integers(6))", "G.integers(1, 7)", "int(G.integers(0, 1 + (I) % 9))", "G.integers(len(a))", "G.integers(I, I)", "G.integers(-3, high=4)", "G.choice([1, -1])", "G.choice(1 + (I) % 9)", "G.choice(5, size=2)[0]",
    "int(G.random() * 9)",
)  # fmt: skip
LEGACY_REALS = (
    "G.random()", "G.rand()", "G.uniform(F, F)", "G.uniform(-1.0, 1.0)", "G.random_sample()", "G.uniform()", "G.rand() * (F)", "G.standard_normal()", "G.normal()", "G.normal(F, 0.5)", "G.randn()", "G.normal(size=3)[1]", "G.randn(2)[0]",
    "G.exponential(abs(F))", "G.exponential()", "G.choice(a, size=2)[1]",
)  # fmt: skip
LEGACY_INTEGERS = (
    "G.randint(5)",
    "G.randint(1, 7)",
    "G.randint(0, 1 + (I) % 9)",
    "G.randint(I, I)",
    "G.choice([1, 2, 4])",
    "int(G.rand() * 9)",
)
PYTHON_REALS = (
    "G.random()", "G.random()", "G.uniform(F, F)", "G.uniform(-1, 2)", "G.gauss(0, 1)", "G.gauss(F, 0.5)", "G.gauss()", "G.normalvariate(0, 1)",
    "G.expovariate(2.0)", "G.choice([0.5, 1.5])", "G.choice((F, F))", "G.triangular(0, 1)", "G.betavariate(1, 2)",
)  # fmt: skip
PYTHON_INTEGERS = (
    "G.randint(1, 6)", "G.randrange(5)", "G.randrange(-3, 4)", "G.randrange(1 + (I) % 9)", "G.randint(I, I)", "G.choice([1, -1])", "G.choice((1, 2, 3))",
    "int(G.random() * 9)", "G.randrange(0, 9, 3)", "G.getrandbits(3)",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Draws:
    """What a program draws."""

    reals: tuple[str, ...]
    integers: tuple[str, ...]
    arguments: tuple[str, ...]  # texts of the generator; none where it is NumPy's or Python's own


def drawn(rng: random.Random) -> Draws:
    """The draws of a program."""
    which = rng.choice(("rng", "rng", "rng", "RandomState", "np.random", "random", "Random"))
    if which in ("random", "Random"):
        own = "random" if which == "random" else "rng"
        arguments = () if which == "random" else ("random.Random(5)", "random.Random(6)")
        return Draws(of(own, PYTHON_REALS), of(own, PYTHON_INTEGERS), arguments)
    if which == "rng":
        return Draws(of("rng", REALS), of("rng", INTEGERS), GENERATORS)
    name, arguments = (
        ("np.random", ()) if which == "np.random" else ("rng", ("np.random.RandomState(4)",))
    )
    return Draws(of(name, LEGACY_REALS), of(name, LEGACY_INTEGERS), arguments)


def of(name: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts for a generator of this name."""
    return tuple(text.replace("G.", f"{name}.") for text in texts)
