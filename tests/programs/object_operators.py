"""Small programs with special methods of operators, of containers and of calls."""

from __future__ import annotations

import functools
from typing import Any

from tests.support.comparing.registering import Programs, x

LOG: list[Any] = []


def state() -> Any:
    """What the programs change besides their arguments."""
    return list(LOG)


def reset() -> None:
    """Put back what the programs change besides their arguments."""
    LOG.clear()


PROGRAMS = Programs(state=state, reset=reset)


class Vec:
    """Every operator, with NotImplemented for what it does not know."""

    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        LOG.append("add")
        if isinstance(other, Vec):
            return Vec(self.v + other.v)
        if isinstance(other, (int, float)):
            return Vec(self.v + other)
        return NotImplemented

    def __radd__(self, other):
        LOG.append("radd")
        return Vec(other + self.v)

    def __iadd__(self, other):
        LOG.append("iadd")
        if isinstance(other, Vec):
            self.v = self.v + other.v
            return self
        return NotImplemented

    def __mul__(self, other):
        return Vec(self.v * other)

    __rmul__ = __mul__

    def __matmul__(self, other):
        return self.v @ other.v

    def __neg__(self):
        return Vec(-self.v)

    def __pos__(self):
        return self

    def __abs__(self):
        return Vec(abs(self.v))

    def __invert__(self):
        return "inverted"

    def __eq__(self, other):
        return isinstance(other, Vec) and len(self.v) == len(other.v)

    def __lt__(self, other):
        return NotImplemented if not isinstance(other, Vec) else len(self.v) < len(other.v)

    def __len__(self):
        return len(self.v)

    def __getitem__(self, key):
        return self.v[key]

    def __setitem__(self, key, value):
        self.v[key] = value

    def __contains__(self, item):
        return item == 3

    def __hash__(self):
        return 7

    def __call__(self, y, *, scale=1.0):
        return self.v * y * scale


class SubVec(Vec):
    def __radd__(self, other):
        LOG.append("sub radd")
        return SubVec(self.v + (other.v if isinstance(other, Vec) else other))


class PlainSubVec(Vec):
    pass


@PROGRAMS.whole()
def operators_made(x):
    a, b = Vec(x), Vec(x * 2)
    return (
        (a + b).v,
        (a + 1).v,
        (1 + a).v,
        (2.0 * a).v,
        (a * 3).v,
        (-a).v,
        +a is a,
        abs(a).v,
        ~a,
        a @ b,
    )


@PROGRAMS.whole(lambda: (Vec(x()), Vec(x() * 2)))
def operators_given(a, b):
    return (
        (a + b).v,
        (a + 1.5).v,
        a == b,
        a != b,
        a < b,
        a > b,
        len(a),
        a[1],
        a[::2],
        3 in a,
        4 not in a,
    )


@PROGRAMS.whole()
def operators_subclass_first(x):
    a, s, p = Vec(x), SubVec(x), PlainSubVec(x)
    return type(a + s), type(s + a), type(a + p), type(p + a), type(s + s)


@PROGRAMS.whole(lambda: (Vec(x()), SubVec(x())))
def operators_subclass_first_given(a, s):
    return type(a + s), type(s + a), (a + s).v


@PROGRAMS.whole(lambda: (Vec(x()), Vec(x())))
def operators_in_place(a, b):
    c = a
    a += b
    return a is c, a.v


@PROGRAMS.whole(lambda: (Vec(x()),))
def operators_in_place_falls_back(a):
    c = a
    a += 1
    return a is c, a.v, c.v


@PROGRAMS.raising(lambda: (Vec(x()),))
def operators_refuse(a):
    return a.v + 1, a + "text"


@PROGRAMS.raising(lambda: (Vec(x()),))
def operators_refuse_order(a):
    y = a.v + 1
    return y, a <= a


@PROGRAMS.either(lambda: (Vec(x()), x()))
def operators_with_arrays(a, y):
    return (a * y).v, a(y, scale=2.0)


@PROGRAMS.whole(lambda: (Vec(x()),))
def operators_items(a):
    a[0] = 5.0
    a[1:] = a[1:] * 2
    return a.v.sum()


@PROGRAMS.either(lambda: (Vec(x()), (1, 2), [1]))
def operators_with_containers(a, t, items):
    return a == t, a != items, t == a, Vec(1) in [a], a in [a]


class Priority:
    """Arrays leave operators to it."""

    __array_ufunc__ = None

    def __init__(self, v):
        self.v = v

    def __rmul__(self, other):
        return other * self.v

    def __mul__(self, other):
        return ("mul", self.v * other)

    def __rsub__(self, other):
        return other - self.v

    def __eq__(self, other):
        return ("eq", other)

    __hash__ = None


@PROGRAMS.whole(lambda: (x(), Priority(2.0)))
def operators_deferred_by_arrays(x, p):
    return x * p, p * x, x - p, x.sum() * p, x == p, p == x


@PROGRAMS.either(lambda: (x(), Priority(2.0)))
def operators_deferred_in_place(x, p):
    y = x * 2
    y *= p
    return y


class Truth:
    def __init__(self, flag, size):
        self.flag = flag
        self.size = size

    def __bool__(self):
        return self.flag

    def __len__(self):
        return self.size


class Sized:
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


@PROGRAMS.whole(lambda: (x(), Truth(False, 3), Sized(0), Sized(2)))
def truth_of_objects(x, t, a, b):
    y = x if t else x * 2
    y = y + (1 if a else 2)
    return (y * 3 if not b else y * 4), bool(t), bool(b), not a


class Number:
    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n

    def __int__(self):
        return self.n + 10

    def __float__(self):
        return self.n + 0.5

    def __round__(self, digits=0):
        return ("round", digits)

    def __str__(self):
        return f"number {self.n}"

    def __repr__(self):
        return f"Number({self.n})"

    def __format__(self, spec):
        return f"<{self.n}:{spec}>"

    def __hash__(self):
        return self.n

    def __reversed__(self):
        return iter([3, 2, 1])

    def __iter__(self):
        yield self.n
        yield self.n + 1

    def __divmod__(self, other):
        return (self.n // other, self.n % other)

    def __eq__(self, other):
        return isinstance(other, Number) and other.n == self.n


@PROGRAMS.whole(lambda: (x(), Number(2)))
def conversions(x, n):
    return (
        x * float(n),
        int(n),
        round(n),
        round(n, 3),
        hash(n),
        list(reversed(n)),
        list(n),
        divmod(n, 2),
    )


@PROGRAMS.whole(lambda: (x(), Number(2)))
def texts(x, n):
    return str(n), repr(n), f"{n} {n!r} {n!s} {n:>3}", format(n, "q"), x + 1


@PROGRAMS.either(lambda: (x(), Number(1)))
def index_of_objects(x, n):
    return x[n], [1, 2, 3][n], x * 2


class Manager:
    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append("exit" if kind is None else kind.__name__)
        return True


@PROGRAMS.whole()
def with_object(x):
    m = Manager()
    with m as same:
        y = x * 2
        raise ValueError("stop")
    return y, m.log, same is m


class Steps:
    def __init__(self, n):
        self.n = n
        self.i = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i


@PROGRAMS.whole(lambda: (x(), Steps(3)))
def iterator_objects(x, steps):
    for i in steps:
        x = x + i
    return x, steps.i, list(Steps(2)), sum(Steps(3)), next(Steps(1)), next(steps, "none")


class ByIndex:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return i * 10


@PROGRAMS.whole()
def iteration_by_index(x):
    b = ByIndex()
    return list(b), x + sum(b), 20 in b, [*b]


@functools.total_ordering
class Ranked:
    def __init__(self, rank):
        self.rank = rank

    def __eq__(self, other):
        return self.rank == other.rank

    def __lt__(self, other):
        return self.rank < other.rank


@PROGRAMS.whole()
def total_ordering_used(x):
    a, b = Ranked(1), Ranked(2)
    return a <= b, a > b, a >= b, max(a, b).rank * x
