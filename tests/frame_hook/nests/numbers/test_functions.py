"""Functions of numbers in native loops: NumPy's and Python's bits, for odd numbers too."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000
TINY = np.finfo(float).tiny
ODD = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    3.5,
    -2.5,
    TINY,
    5e-324,
    1e-300,
    -1e-310,
    0.1,
    1e16,
    2.0**52 + 1,
]
HARMLESS = ODD + list(np.linspace(-20, 20, N))
POSITIVE = [abs(one) + 1e-3 for one in ODD] + list(np.linspace(0.1, 30, N))
BELOW_ONE = list(np.linspace(-0.99, 0.99, N))

UNARY = {
    **dict.fromkeys(("exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"), BELOW_ONE),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), BELOW_ONE),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "arccosh", "reciprocal"), POSITIVE),
    **dict.fromkeys(
        (
            "arctan", "arcsinh", "cbrt", "square", "rint", "floor", "ceil", "trunc", "sign", "absolute", "fabs",
            "negative", "deg2rad", "rad2deg", "degrees", "radians",
        ),
        HARMLESS,
    ),
}  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin", "hypot", "arctan2", "copysign", "heaviside",
    "logaddexp", "logaddexp2",
)  # fmt: skip
POSITIVE_BINARY = ("divide", "power", "float_power", "remainder", "fmod", "floor_divide")


def made(text: str) -> Any:
    """The function of a text."""
    space: dict[str, Any] = {"np": np, "math": math}
    exec(text, space)
    return space["loop"]


def of_one(expression: str) -> Any:
    """A loop that keeps what an expression of one element gives."""
    return made(
        "def loop(x, out):\n"
        "    for i in range(len(x)):\n"
        f"        out[i] = {expression}\n"
        "    return out\n"
    )


def of_two(expression: str) -> Any:
    """The same, of two elements."""
    return made(
        "def loop(x, y, out):\n"
        "    for i in range(len(x)):\n"
        f"        out[i] = {expression}\n"
        "    return out\n"
    )


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_numpy_of_one_number(name) -> None:
    """Of floats of NumPy and of Python."""
    x = np.array(UNARY[name])
    if name == "arccosh":
        x = x + 1.0
    for expression in (f"np.{name}(x[i])", f"np.{name}(float(x[i]))"):
        assert native_turns(of_one(expression), lambda: (x.copy(), np.zeros(len(x)))) > N


@pytest.mark.parametrize("name", BINARY + POSITIVE_BINARY)
def test_functions_of_numpy_of_two_numbers(name) -> None:
    """Zeros and small numbers too."""
    x = np.array(HARMLESS)
    y = np.array(HARMLESS)[::-1].copy()
    if name in POSITIVE_BINARY:
        x, y = np.array(POSITIVE), np.array(POSITIVE)[::-1] / 7
    assert native_turns(of_two(f"np.{name}(x[i], y[i])"), lambda: (x, y, np.zeros(len(x)))) > N
    assert native_turns(of_two(f"np.{name}(x[i], 2.5)"), lambda: (x, y, np.zeros(len(x)))) > N


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_one_single(name) -> None:
    """A float32, by itself and in arithmetic: the result is one, too."""
    with np.errstate(all="ignore"):
        x = np.array(UNARY[name]).astype("f")
    if name == "arccosh":
        x = x + np.float32(1.0)
    for expression in (f"np.{name}(x[i])", f"np.{name}(x[i] * 0.5 + x[i] * 0.5) * 3"):
        native_turns(of_one(expression), lambda: (x.copy(), np.zeros(len(x), "f")))
    near = x[(abs(x) > 1e-3) & (abs(x) < 1e3)]
    assert native_turns(of_one(expression), lambda: (near.copy(), np.zeros(len(near)))) > N // 2


@pytest.mark.parametrize("name", BINARY + POSITIVE_BINARY)
def test_functions_of_two_numbers_of_which_one_is_single(name) -> None:
    """NumPy computes in float32, or in float64 where another number is one."""
    x = np.linspace(0.25, 9.0, N).astype("f")
    y = x[::-1].copy()
    calls = [
        "x[i], y[i]",
        "x[i], 2.5",
        "3, x[i]",
        "x[i], np.float64(y[i])",
        "x[i], np.int64(i % 5 + 1)",
    ]
    for call in calls[: 1 if name == "float_power" else None]:
        turns = native_turns(of_two(f"np.{name}({call})"), lambda: (x, y, np.zeros(len(x))))
        assert (turns > N // 2) == (name != "float_power")


@pytest.mark.parametrize(
    "call", ["np.exp(x[i])", "np.hypot(x[i], 1e300)", "np.maximum(x[i], x[i - 3])", "np.log(x[i])"]
)
def test_singles_that_are_odd_or_overflow(call) -> None:
    """What warns, plain Python does."""
    x = np.array([math.nan, math.inf, -math.inf, -math.nan, 90.0, -0.0, 0.0, 1.5] * (N // 8), "f")
    native_turns(of_one(call), lambda: (x.copy(), np.zeros(len(x), "f")))


@pytest.mark.parametrize(
    "name", ["exp", "sqrt", "maximum", "minimum", "sign", "floor", "fmin", "log"]
)
def test_nan_and_infinity(name) -> None:
    """What warns, plain Python does."""
    x = np.array([math.nan, math.inf, -math.inf, -math.nan, 800.0, -800.0, 0.0, -0.0] * (N // 8))
    count = getattr(np, name).nin
    call = f"np.{name}(x[i])" if count == 1 else f"np.{name}(x[i], x[i - 3])"
    native_turns(of_one(call), lambda: (x.copy(), np.zeros(len(x))))


@pytest.mark.parametrize("call", ["gamma(x[i])", "lgamma(x[i])", "hypot(x[i], 1e308 * i)"])
def test_functions_that_python_computes_and_that_raise(call) -> None:
    """At poles, and where the result is too large: the error is eager's."""
    x = np.array([0.5, 1.5, 170.0, -2.5, 30.0] * 300 + [math.nan, math.inf, -3.0, 180.0])
    native_turns(of_one(f"math.{call}"), lambda: (x.copy(), np.zeros(len(x))))


@pytest.mark.parametrize(
    "expression",
    [
        "divmod(x[i], 0.75)[0] + divmod(x[i], 0.75)[1] + divmod(x[i], 3)[1] + divmod(np.int64(i), 2.5)[0]",
        "divmod(float(x[i]), -0.75)[0] - divmod(float(x[i]), -0.75)[1]",
        "divmod(i, 7)[0] * 10 + divmod(-i, 7)[1]",
        "pow(x[i], 2) + pow(float(x[i]), 3)",
        "x[i] % 3 + x[i] // 7 + (i + 1) % (abs(x[i]) + 0.5) + np.int64(i) // 2.5 + np.int64(i) % -0.75 + i // 2.5",
        "round(x[i], 2)",
        "np.round(x[i], 3) + np.round(x[i])",
        "np.clip(x[i], -0.5, 0.5) + np.clip(x[i], 0, 1) + np.clip(float(x[i]), 0.1, 0.3)",
        "np.clip(i, 3, 2000) + np.maximum(i, 5) + np.minimum(i - 1000, 7) + np.sign(i - 50)",
        "np.maximum(x[i], 0) + np.minimum(0, x[i])",
        "np.exp(-i / 9) + np.sqrt(i) + np.log(i + 1)",
        "math.log(x[i] + 30, 3) + math.log1p(abs(x[i])) + math.exp2(x[i]) + math.cbrt(x[i])",
        "math.erf(x[i]) + math.erfc(x[i])",
        "math.hypot(x[i], 1 - x[i]) + math.gamma(abs(x[i]) + 0.5) + math.lgamma(abs(x[i]) * 3 + 1)",
        "math.degrees(x[i]) + math.radians(x[i]) + math.isqrt(i * i + i)",
        "math.gcd(i, 360) + math.gcd(-i, 0) - math.gcd(np.int64(i), -48) + math.lcm(i % 50, -12) + math.lcm(i, 0)",
        "math.factorial(i % 15) / 7 + math.comb(i % 30, i % 7) + math.comb(3, i) + math.perm(i % 12, i % 5)",
        "math.isinf(x[i]) + math.isnan(x[i]) + math.isfinite(x[i])",
        "1.0 if np.isinf(x[i]) or np.isnan(x[i]) or not np.isfinite(x[i]) else 2.0",
        "max((x[i], x[i - 1], 0.5)) + min((x[i], 0.25))",
        "x[i] if i in (3, 4) or x[i] in (0.5, 1.0) else -x[i]",
        "x[i] if i in {3, 4, 5.0} or x[i] not in {0.5, 1.0} else +x[i]",
        "x[i] + (x[i] > 0.5) + (x[i] < i) * 2.5 - (x[i] > 0) / 4 + (+i) + (i - (x[i] > 1))",
        "int((x[i] > 0.5) == True) + int((x[i] > 0.5) != (x[i] < 1)) + ((x[i] > 0.5) < 0.5) * 2 + ((i > 3) == 1)",
        "(x[i], x[i - 1])[i % 2] + (1.5, 2.5)[-1] + (1, 2, 3)[-(i % 3) - 1] + len((1, 2, 3))",
        "x[i] if isinstance(x[i], float) and not isinstance(i, (float, str)) else 0.0",
        "x[i] if x[i] < float('inf') else float('nan')",
    ],
)
def test_more_functions(expression) -> None:
    """Of Python, `math` and NumPy, of ints and floats."""
    x = np.array(HARMLESS)
    x = x[np.abs(x) < 100]
    assert native_turns(of_one(expression), lambda: (x.copy(), np.zeros(len(x)))) > N


def test_squares_are_those_of_the_c_library() -> None:
    """`x ** 2` is C's `pow`, which is not always the product; overflow, underflow and signs are eager's."""
    rng = np.random.default_rng(7)
    wide = rng.standard_normal(20_000) * 2.0 ** rng.integers(-500, 500, 20_000)
    odd = np.array([*ODD, 1e-170, -1e-154, 1.2e154, *np.ldexp(1.0 + rng.random(200), -537)])
    x = np.concatenate([rng.standard_normal(60_000), wide, odd])
    for expression in ("x[i] ** 2", "float(x[i]) ** 2.0", "(float(x[i]) * 1.5 - 0.25) ** 2 * 0.5"):
        assert native_turns(of_one(expression), lambda: (x, np.zeros(len(x)))) > len(x) // 2


@pytest.mark.parametrize(
    "call",
    [
        "math.factorial(i % 30)",
        "math.comb(i, i // 3)",
        "math.perm(i % 40, 30)",
        "math.lcm(2**62 - i, 3**39 + i)",
        "math.gcd(-2**63, i * 0)",
        "math.factorial(100 - i)",
        "math.comb(300 - i, 2)",
        "math.perm(300 - i, 2)",
        "math.gcd(i, x[i])",
        "math.gcd(i > 5, i)",
        "math.gcd(i, 12, 18)",
    ],
)
def test_whole_functions_that_plain_python_computes(call) -> None:
    """Results of more than 64 bits, negative numbers and other types: objects and errors are eager's."""
    x = np.arange(400.0)
    native_turns(of_one(f"float({call} % 1000003)"), lambda: (x.copy(), np.zeros(len(x))))


@pytest.mark.parametrize("number", [1e200, -math.inf, math.inf, math.nan, 1e-300])
def test_squares_that_do_not_fit(number) -> None:
    """Python raises where NumPy warns."""
    x = np.array([0.5, -3.25, 7.0] * 1000 + [number])
    for expression in ("x[i] ** 2", "float(x[i]) ** 2"):
        native_turns(of_one(expression), lambda: (x, np.zeros(len(x))))
