"""Functions that take every way through a frame that plain code has, for tests of resuming.

`CASES` holds each with arguments. They are deterministic, may be called again and again, and look
as users write, or worse.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs, disable-error-code=redundant-expr
# What a linter would mend here is what is tested.
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, B007, C416, D101, D102, F401, F821, FURB110
# ruff: noqa: FURB171, N805, PIE800, PLC0415, PLC3002, PLR0133, PLW0120, PLW0603, PTH119, RUF021, TRY301

from __future__ import annotations

import contextlib
import itertools
import operator
import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Case = tuple["Callable[..., Any]", tuple[Any, ...], dict[str, Any]]
CASES: list[Case] = []


def case(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, args, kwargs))
        return function

    return add


@case(3)
@case(0)
def loops(n):
    total = 0
    for i in range(n):
        for j in [i, i + 1]:
            if j == 2:
                continue
            total += j * i
        else:
            total += 100
        if total > 1000:
            break
    else:
        total = -total
    while n:
        n -= 1
        if n == 7:
            break
    else:
        total -= 1
    while True:
        total += 1
        if total % 5 == 0:
            return total


@case(1, 2, 3, a=4, b=5)
@case(1, c=2)
def signature(first, /, second=7, *rest, a=1, **more):
    names = sorted(more)
    return first, second, rest, a, names, f"{first!r:>5}{second}", {**more, "x": [*rest, *names]}


@case(0)
@case(1)
@case("x")
def errors(x):
    log = []
    try:
        try:
            log.append(1 / x)
        except ZeroDivisionError as error:
            log.append(str(error))
            try:
                raise KeyError("inner") from error
            except KeyError as other:
                log.append(repr(other.__cause__))
            log.append("after")
        else:
            log.append("else")
        finally:
            log.append("finally")
            x = x * 2
        log.append(x)
    except TypeError as error:
        log.append(type(error).__name__)
        raise ValueError(log) from error
    return log


@case(0)
@case(1)
def error_in_loop(x):
    log = []
    for i in range(3):
        try:
            try:
                if i == x:
                    raise KeyError(i)
            finally:
                log.append(i)
                if i == 2:
                    log[9]
        except KeyError as error:
            log.append(error.args)
            continue
        except IndexError:
            log.append("index")
            break
        log.append("end")
    try:
        return log
    finally:
        log.append("last")


class Context:
    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(("exit", kind))
        return self.swallow


@case(True, 0)
@case(False, 0)
@case(True, 1)
@case(False, 2)
def contexts(swallow, x):
    log = []
    with Context(log), Context(log, swallow) as inner:
        log.append(inner.swallow)
        for i in range(2):
            with Context(log):
                if x == 2:
                    return log
                log.append(1 // x + i)
        log.append("body")
    log.append("after")
    return log


@case(2)
def groups(n):
    log = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError as group:
        log.append(len(group.exceptions))
    except* (TypeError, KeyError) as group:
        log.append(len(group.exceptions))
    return log * n


@case(4)
def comprehensions(n):
    x = 5
    squares = [x * y for y in range(n) if y != 2]
    nested = [[a + b for a in squares] for b in squares]
    table = {k: [v for v in range(k)] for k in range(n)}
    unique = {z % 2 for z in squares}
    lazy = sum(z for z in squares if z)
    return squares, nested, table, unique, lazy, x


@case(4)
def comprehension_error(n):
    try:
        return [n // (y - 2) for y in range(n)]
    except ZeroDivisionError:
        return [y for y in range(n)], n


def maker(a, b):
    count = 0

    @case(1)
    @case(2, step=3)
    def closure(x, step=1):
        nonlocal count
        count = 0
        y = x
        b.append(1)
        del b[:]

        def inner():
            nonlocal y
            y += step
            return a + y + x

        fs = [lambda i=i: i + y + count for i in range(3)]
        count += 1
        first = inner()
        inner()
        return first, [f() for f in fs], y, x, count, inner.__closure__[0].cell_contents is not None

    return closure


maker(10, [])


@case(1)
@case(0)
def unbound(x):
    if x:
        y = 1
        del x
    try:
        y += 1
    except UnboundLocalError as error:
        return str(error)
    z = y
    del y
    try:
        return x
    except NameError as error:
        return z, str(error)


@case()
def raises_unbound():
    for i in []:
        pass
    return i


@case(0)
def unbound_cell(x):
    def inner():
        return y

    try:
        inner()
    except NameError as error:
        text = str(error)
    y = 3
    total = inner()
    del y
    try:
        return y
    except NameError as error:
        return text, total, str(error)


@case([1, 2, 3])
@case({"a": 1, "b": (2, 3), "rest": 4})
@case((1, (2, 3)))
@case("s")
@case(complex(1, 2))
def matching(x):
    match x:
        case [a, b, *rest] if len(rest) == 1:
            return a, b, rest
        case {"a": a, "b": (b, c), **rest}:
            return a, b, c, rest
        case (1, (a, b)) | (a, [b]):
            return "nested", a, b
        case str() as text:
            return text
        case complex(real=r, imag=i):
            return r, i
    return None


@case(3)
def calls(n):
    double = operator.methodcaller("__mul__", 2)
    values = list(map(double, range(n)))
    values.sort(key=lambda v: -v, reverse=n > 5)
    text = "{}-{a}".format(*values[:1], a=max(values, default=0))
    pair = dict(zip("abc", values, strict=True), z=sorted(values, key=lambda v: v % 3))
    values.append(print.__name__ if n else None)
    return text, pair, values, (lambda *a, **k: (a, k))(*values, n, **pair, last=len(text))


@case(3)
def logic(n):
    a = n and n > 2 or None
    b = not a if a is not None else (a or n)
    c = 1 < n <= 3 != 4
    d = n in (1, 2, 3), n not in [3], a is b
    assert c, "message"
    x = y = z = n
    x, y = y, x
    (x, *y), z = [1, 2, 3], -z
    x += 1
    y[0] **= 2
    y[0:1] = [x, ~x]
    s = y[:2] + y[::-1]
    del y[0]
    return a, b, c, d, x, y, z, s, [x if x else y, n][0 if n > 3 else 1]


LEAVES_BY_FINALLY = """
def leaves_by_finally(x):
    for i in itertools.count():
        try:
            if i == x:
                return i
        finally:
            if i == 2:
                return "finally"
"""
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # from 3.14 the compiler warns of it
    exec(LEAVES_BY_FINALLY)
for _count in (0, 5):
    case(_count)(globals()["leaves_by_finally"])


@case(2)
def consumes_generators(n):
    def generate(k):
        for i in range(k):
            got = yield i
            if got:
                return got

    total = sum(generate(n))
    for value in generate(n):
        total += value
    g = generate(n)
    next(g)
    try:
        g.send(5)
    except StopIteration as stop:
        total += stop.value
    a, b = generate(2)
    return total, a, b, [*generate(3)], list(enumerate(generate(2)))


@case(2)
def imports(n):
    import math as m
    from os import path, sep

    return m.floor(n), path.basename("a/b"), sep


@case(2)
def makes_classes(n):
    class Base:
        size = n

        def value(self):
            return self.size

    class Derived(Base):
        def value(self):
            return super().value() + 1 + n

    return Derived().value(), Base.__name__


class Methods:
    shared: ClassVar = [1]

    def __init__(self, x):
        self.x = x

    @case(2)
    def fill(x):
        self = Methods(x)
        self.x += 1
        self.shared[0] = self.x
        del self.x
        try:
            return self.x
        except AttributeError as error:
            return str(error), self.shared


class Tracked:
    def __init__(self, name, log):
        self.name = name
        weakref.finalize(self, log.append, name)


@case()
def lifetimes():
    log = []
    a = Tracked("a", log)
    log.append(1)
    a = Tracked("b", log)
    log.append(2)
    Tracked("c", log)
    log.append(3)
    for a in [Tracked("d", log), Tracked("e", log)]:
        log.append(4)
    log.append((Tracked("f", log), 5)[1])
    del a
    log.append(6)
    return list(log)


def sees_locals(n):
    a = n
    b = [n for _ in range(2)]

    def inner():
        return a

    return sorted(locals()), inner(), b, sorted(k for k in vars() if k != "inner")


if sys.version_info >= (3, 13):  # before, a frame keeps the dict that `locals()` gives
    case(3)(sees_locals)


@case(4)
def global_state(n):
    global counter
    counter = 0
    for _ in range(n):
        counter += 1
    del counter
    return "counter" in globals()


@case(10)
def suppressed(n):
    with contextlib.suppress(ValueError, KeyError):
        for i in range(n):
            if i == 3:
                raise KeyError(i)
    return i


@case(5)
def walrus_and_stars(n):
    if (m := n * 2) > 5 and any((last := v) > 3 for v in range(m)):
        return m, last, [*range(n), *"ab"], {*range(2)}, (*[1], 2), {**{1: 2}}
    return None


def long_function(size: int) -> Any:
    """A function with more than 256 locals, names and constants, and with jumps of all lengths."""
    lines = ["def long(n):", " total = 0", " for i in range(n):", "  try:"]
    lines += [f"   v{k} = i * {k + 1000} + len('s{k}')" for k in range(size)]
    lines += [f"   if v{k} > {k * 1100 + 300}: total += v{k}" for k in range(0, size, 7)]
    lines += ["   if i == 1: continue", "   if i == 3: raise ValueError(total)"]
    lines += ["  except ValueError as error:", "   total = -total", "   break"]
    lines += [" while n:", "  n -= 1"]
    lines += [f"  if n == {k}: total ^= v{k}" for k in range(0, size, 5)]
    lines += [" return total, n"]
    space: dict[str, Any] = {"__name__": __name__}
    exec("\n".join(lines), space)
    return space["long"]
