"""Random numbers that CuPy's functions, and the methods of its RandomState and its Generator, draw.

Unlike those of NumPy's generators their state cannot be put back. Law: a draw counts as a visible write: what may fail
stands before the first of a graph, and a graph never gives up behind it.
"""

from __future__ import annotations

RANDOM = "cupy.random."  # what the names of all begin with
STATE, GENERATOR = "cupy.RandomState", "cupy.Generator"  # what the first input of a method is
CLASSES = {STATE: "RandomState", GENERATOR: "Generator"}  # of `cupy.random`
SEED = "seed"
# Parameters of the distributions, in order, without `size` and `dtype`, which follow.
DISTRIBUTIONS = {
    "random_sample": "", "standard_normal": "", "standard_exponential": "", "normal": "loc scale",
    "uniform": "low high", "lognormal": "mean sigma", "gumbel": "loc scale", "laplace": "loc scale",
    "logistic": "loc scale",
}  # fmt: skip
# The same of those whose parameters are to be positive.
POSITIVE = {
    "exponential": "scale", "gamma": "shape scale", "beta": "a b", "chisquare": "df", "standard_gamma": "shape",
    "standard_t": "df", "rayleigh": "scale", "weibull": "a", "pareto": "a", "power": "a",
}  # fmt: skip
COUNTS = {"poisson": "lam", "binomial": "n p", "geometric": "p"}  # of those that give whole numbers
DEFAULTED = frozenset(
    "loc scale low high mean sigma lam".split()
)  # parameters that may be left out
LENGTHS = {"rand": "random_sample", "randn": "normal"}  # of several lengths
OTHERS = ("randint", "permutation", "shuffle", "choice", SEED)
NAMES = (*DISTRIBUTIONS, *POSITIVE, *COUNTS, *LENGTHS, *OTHERS)
# Methods of a Generator, with their parameters in order.
GENERATED = {
    "random": "size dtype out", "standard_normal": "size dtype out", "standard_exponential": "size dtype method out",
    "exponential": "scale size", "uniform": "low high size dtype", "integers": "low high size dtype endpoint",
    "standard_gamma": "shape size dtype out", "gamma": "shape scale size", "beta": "a b size dtype",
    "chisquare": "df size", "power": "a size", "poisson": "lam size", "binomial": "n p size", "geometric": "p size",
}  # fmt: skip
# What a Generator draws its bits from, by class.
BIT_GENERATORS = ("XORWOW", "MRG32k3a", "Philox4x3210")
RULED = (
    *(RANDOM + name for name in NAMES),
    *(f"{RANDOM}{CLASSES[STATE]}.{name}" for name in NAMES),
    *(f"{RANDOM}{CLASSES[GENERATOR]}.{name}" for name in GENERATED),
)
