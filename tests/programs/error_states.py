# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs that enter `np.errstate` where they compute."""

from __future__ import annotations

import contextlib

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(
    lambda: {
        "x": np.array([0.0, -1.0, 2.5, 1e300, 1e-300, np.nan, np.inf, -0.0]),
        "y": np.array([0.0, 1.0, -2.5, 1e300, 1e300, 1.0, -np.inf, 0.0]),
        "i": np.array([3, 0, -7, 5], "i2"),
        "n": np.float64(0.0),
        "m": np.float64(-3.0),
        "c": np.array([1e300 + 1e300j, 0j, 1j]),
        "out": np.ones(8),
        "s": "ignore",
    },
    backends=("numpy", "reference"),
    modes=MODES,
    every_mode=True,
)


@PROGRAMS.whole()
def safe_division(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(y != 0, x / y, 0.0)
    return r * 2


@PROGRAMS.either()
def chosen_by_a_constant(x, i):
    """What is not chosen overflows all the same."""
    z = np.where(False, x[:4], i), np.where(True, np.ones(3, "f4"), 1e150)
    return z, np.where(True, i, np.int8(3)), np.where(False, 1e150, np.ones(2, "f2"))


@PROGRAMS.whole()
def everything_ignored(x, y):
    with np.errstate(all="ignore"):
        return np.log(x) / y, x * y, np.sqrt(x)


@PROGRAMS.whole()
def everything_warned_of(x, y):
    with np.errstate(all="warn"):
        z = x * y + x / y
    return z


@PROGRAMS.whole()
def the_same_inside_and_outside(x, y):
    a = x / y
    with np.errstate(divide="ignore"):
        b = x / y
    with np.errstate(invalid="ignore"):
        c = x / y
    return a, b, c, x / y


@PROGRAMS.whole()
def all_and_one(x, y):
    with np.errstate(all="ignore", invalid="warn", under=None):
        return x / y + x * y


@PROGRAMS.whole()
def nothing_said(x, y):
    with np.errstate():
        return x / y


@PROGRAMS.either()
def nested(x, y):
    with np.errstate(divide="ignore"):
        a = x / y
        with np.errstate(invalid="ignore"):
            b = x / y
            with np.errstate(divide="warn", over="ignore"):
                c = x / y + x * y
        d = x / y
    return a, b, c, d


@PROGRAMS.either()
def one_statement(x, y):
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        z = x / y
    return z + 1


@PROGRAMS.cut()
def raising(x, y):
    a = x + 1
    with np.errstate(divide="raise", invalid="raise"):
        try:
            a = x / y
        except FloatingPointError as error:
            a = str(error)
    return a, y + 1


@PROGRAMS.cut()
def calling(x, y):
    seen = []
    with np.errstate(all="call", call=lambda kind, _: seen.append(kind)):
        z = x / y
    return z, seen


@PROGRAMS.either()
def raising_around(x, y):
    try:
        with np.errstate(divide="ignore"):
            a = 1.0 / (y * 0 + y)
        b = x + a
    except FloatingPointError as error:
        b = str(error)
    return b


@PROGRAMS.whole()
def argument_written_inside(x, y, out):
    with np.errstate(divide="ignore", invalid="ignore"):
        out[:] = x / y
        out += 1.0 / y
    return out * 2


@PROGRAMS.whole()
def argument_written_before(x, y, out):
    out[:] = y
    out /= y
    with np.errstate(divide="ignore", invalid="ignore"):
        z = x / out
        out *= z
    out -= x / y
    return z


@PROGRAMS.either()
def argument_written_and_warned_of(x, y, out):
    out[0] = 1.0
    with np.errstate(invalid="warn", divide="warn", over="ignore"):
        z = x / y
        out[1:] = x[1:] * y[1:]
    return z, x * y


@PROGRAMS.whole()
def out_given(x, y, out):
    with np.errstate(all="ignore"):
        np.divide(x, y, out=out)
    np.multiply(x, out, out=out)
    return out


@PROGRAMS.whole()
def numbers(n, m):
    with np.errstate(divide="ignore", invalid="ignore"):
        a = m / n
        b = np.log(n)
        c = np.sqrt(m)
    d = m / n
    return a, b, c, d


@PROGRAMS.either()
def elements(x, out):
    out[0] = 3.0
    with np.errstate(divide="ignore"):
        out[1] = x[2] / x[0]
        out[2] = out[1] - out[1]
    out[3] = x[2] / x[0]
    return out[1] * 2


@PROGRAMS.whole()
def whole_numbers(i):
    with np.errstate(divide="ignore"):
        a = i // i[1]
        b = i % np.int16(0)
    return a, b, i // np.int16(0)


@PROGRAMS.either()
def an_overflow_of_whole_numbers():
    a = np.int8(100)
    with np.errstate(over="ignore"):
        b = a + a
    return b


@PROGRAMS.whole()
def reductions(x, y):
    with np.errstate(invalid="ignore", over="ignore"):
        a = x.sum(), (x * y).sum(), np.prod(y), x.max(), x.mean(), y.std()
    return a, (x * y).sum()


@PROGRAMS.whole()
def sums_of_few(x):
    z = x.reshape(4, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        a = (z * 1e300).sum(axis=1)
    return a, (z * 1e300).sum(axis=1)


@PROGRAMS.either()
def casts(x, i):
    with np.errstate(invalid="ignore"):
        a = x.astype(int)
        i[:] = x[:4]
    with np.errstate(over="ignore"):
        b = x.astype(np.float32)
    return a, b, x.astype("f4")


@PROGRAMS.whole()
def casts_on_the_way(x):
    z = np.empty_like(x, dtype=np.float32)
    with np.errstate(all="ignore"):
        z[:] = x
    z *= 2
    return z


@PROGRAMS.whole()
def full_of_nan():
    with np.errstate(invalid="ignore"):
        return np.full(3, np.float64(np.inf), np.float32)


@PROGRAMS.whole()
def powers(x, y):
    with np.errstate(all="ignore"):
        a = x**y
        b = np.where(x > 0, x**0.5, np.log1p(x))
    return a, b, np.clip(a, 0, 1)


@PROGRAMS.whole()
def complex_numbers(c):
    with np.errstate(all="ignore"):
        a = c * c / c
        b = abs(c)
    return a, b, c * c


@PROGRAMS.whole()
def numpys_own_calls(x, y):
    with np.errstate(all="ignore"):
        a = np.linalg.inv(np.outer(y, y)[:2, :2] + np.eye(2))
        b = np.median(x * y)
        c = np.percentile(x, 30)
        d = np.cumsum(x * 1e300)
        e = x @ y
    return a, b, c, d, e, x @ y


@PROGRAMS.either()
def numpys_own_calls_behind_a_write(x, y, out):
    out[0] = 2.0
    with np.errstate(invalid="ignore"):
        a = np.cumsum(x)
        b = x @ y
    c = np.cumsum(x * 1e300)
    return a, b, c


@PROGRAMS.either()
def a_singular_matrix(x):
    with np.errstate(all="ignore"):
        try:
            z = np.linalg.inv(np.zeros((2, 2)))
        except np.linalg.LinAlgError as error:
            z = str(error)
    return z, x + 1


@PROGRAMS.whole()
def statistics_with_missing(x):
    with np.errstate(all="ignore"):
        return np.nanmean(x), np.nansum(x * 1e300), np.isclose(x, x + 1e-9)


@PROGRAMS.whole()
def unrolled(x):
    for k in range(3):
        with np.errstate(divide="ignore"):
            x = (k + 1) / x
        x = x - 1
    return x


@PROGRAMS.either()
def unrolled_inside(x, y):
    with np.errstate(divide="ignore", over="ignore"):
        for k in range(4):
            y = y / x + k
    return y


@PROGRAMS.either()
def a_loop_inside(x, out):
    with np.errstate(divide="ignore"):
        for k in range(len(x)):
            out[k] = k / x[k]
    return out


@PROGRAMS.either()
def long_loops(x):
    total = 0.0
    with np.errstate(all="ignore"):
        for k in range(700):
            total += k / x[k % len(x)]
    for k in range(700):
        with np.errstate(all="ignore"):
            total += k / x[k % len(x)]
    return total


@PROGRAMS.either()
def a_while_loop(x):
    error, z = 1.0, x.copy()
    with np.errstate(all="ignore"):
        while error > 1e-3:
            z = z / x
            error = error / 2
    return z


@PROGRAMS.cut()
def printed_inside(x, y):
    a = x + 1
    with np.errstate(divide="ignore"):
        b = a / y
        print(len(b))
        c = b / y
    return c / y


@PROGRAMS.cut()
def printed_first(x, y):
    with np.errstate(divide="ignore"):
        print(len(x))
        c = x / y
    return c / y


@PROGRAMS.cut()
def printed_behind(x, y):
    with np.errstate(divide="ignore"):
        c = x / y
    print(len(c))
    return c / y


@PROGRAMS.either()
def a_branch_inside(x, y):
    with np.errstate(all="ignore"):
        z = x / y
        if z[2] > 0:
            z = z / y
        else:
            z = z * y
    return z / y


@PROGRAMS.either()
def a_branch_that_returns(x, y):
    with np.errstate(divide="ignore"):
        z = x / y
        if z[2] > 0:
            return z / y
        return z * y


@PROGRAMS.either()
def a_side_that_enters(x, y):
    z = x + 1
    if z[2] > 0:
        with np.errstate(divide="ignore"):
            z = z / y
    else:
        z = z / y
    return z / y


@PROGRAMS.either()
def a_side_behind_a_write(x, y, out):
    out[0] = 1.0
    with np.errstate(invalid="ignore"):
        if x[2] > y[2]:
            z = x / y
        else:
            z = x * y
    return z, x / y


@PROGRAMS.whole()
def an_assertion(x, y):
    with np.errstate(all="ignore"):
        z = x / y
        assert not np.isfinite(z).all()
    return z / y


@PROGRAMS.whole()
def caught_inside(x, y):
    with np.errstate(divide="ignore"):
        try:
            raise KeyError("k")
        except KeyError:
            z = x / y
    return z / y


@PROGRAMS.whole()
def caught_outside(x, y):
    z = None
    try:
        with np.errstate(divide="ignore"):
            z = x / y
            raise KeyError("k")
    except KeyError:
        w = x / y
    return z, w


@PROGRAMS.whole()
def suppressed(x, y):
    with contextlib.suppress(ValueError), np.errstate(divide="ignore"):
        z = x / y
        raise ValueError
    return z, x / y


@PROGRAMS.cut()
def raised(x, y):
    with np.errstate(divide="ignore"):
        z = x / y
        raise ValueError(len(z))


def _divided(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        return x / y


@PROGRAMS.whole()
def in_a_function(x, y):
    return _divided(x, y) + x / y


@np.errstate(divide="ignore")
def _decorated(x, y):
    return x / y


@PROGRAMS.whole()
def decorated(x, y):
    return _decorated(x, y) + 1.0 / y


@np.errstate(invalid="ignore")
def _decorated_twice(x, y):
    return _decorated(x, y) * x


@PROGRAMS.whole()
def decorated_twice(x, y):
    return _decorated_twice(x, y) / y


def _pieces(x, y):
    yield x / y
    with np.errstate(divide="ignore"):
        yield 1.0 / y
    yield x / y


@PROGRAMS.either()
def a_generator_that_enters(x, y):
    return [piece + 1 for piece in _pieces(x, y)]


@PROGRAMS.either()
def a_generator_that_stays_inside(x, y):
    pieces = _pieces(x, y)
    next(pieces)
    a = next(pieces)
    b = 1.0 / y
    pieces.close()
    return a, b, 1.0 / y


@PROGRAMS.either()
def a_generator_left_inside(x, y):
    pieces = _pieces(x, y)
    next(pieces)
    a = next(pieces)
    return a, 1.0 / y


@PROGRAMS.either()
def entered_by_hand(x, y):
    state = np.errstate(divide="ignore")
    state.__enter__()
    z = 1.0 / y
    state.__exit__(None, None, None)
    return z, 1.0 / y


@PROGRAMS.either()
def never_left(x, y):
    np.errstate(divide="ignore").__enter__()
    return 1.0 / y


@PROGRAMS.either()
def left_in_another_order(x, y):
    one, other = np.errstate(divide="ignore"), np.errstate(invalid="ignore")
    one.__enter__()
    other.__enter__()
    a = x / y
    one.__exit__(None, None, None)
    b = x / y
    other.__exit__(None, None, None)
    return a, b, x / y


@PROGRAMS.either()
def entered_twice(x, y):
    state = np.errstate(divide="ignore")
    with state:
        z = x / y
    try:
        with state:
            z = z / y
    except TypeError as error:
        z = str(error)
    return z


@PROGRAMS.either()
def kept(x, y):
    state = np.errstate(divide="ignore")
    with state:
        z = 1.0 / y
    return z, type(state).__name__


@PROGRAMS.either()
def asked_inside(x, y):
    with np.errstate(divide="ignore"):
        state = np.geterr()
        z = 1.0 / y
    return z, state


@PROGRAMS.either()
def set_inside(x, y):
    with np.errstate(divide="ignore"):
        before = np.seterr(invalid="ignore")
        z = x / y
    return z, before, x / y


@PROGRAMS.either()
def an_unknown_mode(x):
    try:
        with np.errstate(divide="silent"):
            x = x / 0
    except ValueError as error:
        return str(error)
    return x


@PROGRAMS.whole()
def a_mode_that_is_given(x, y, s):
    with np.errstate(divide=s):
        return 1.0 / y


@PROGRAMS.whole()
def masks(x, y, out):
    with np.errstate(all="ignore"):
        ratio = x / y
        good = np.isfinite(ratio)
        out[good] = ratio[good]
        out[~good] = 0.0
    return out.sum()
