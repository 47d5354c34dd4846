# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs that match patterns."""

from __future__ import annotations

import collections
import dataclasses
import enum
import typing

import numpy as np

from tests.support.comparing.registering import Programs, x

PROGRAMS = Programs()


def subjects(*made):
    """Arguments: an array, and a list of what is matched."""
    return lambda: (x(), [one() if callable(one) else one for one in made])


@dataclasses.dataclass
class Pt:
    x: object
    y: object = 0


class Named(typing.NamedTuple):
    a: int
    b: int


class Old:
    __match_args__ = ("p", "q")

    def __init__(self, p, q):
        self.p = p
        self.q = q


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Empty:
    pass


CONST = 7


class Ns:
    V = "vv"


@PROGRAMS.either(subjects(1, "a", None, True, 2.5, "zz", CONST, -1))
def literal(x, ss):
    out = []
    for s in ss:
        match s:
            case 1:
                out.append("one")
            case "a":
                out.append("a")
            case None:
                out.append("none")
            case True:
                out.append("true")
            case -1:
                out.append("neg")
            case 2.5:
                out.append("f")
            case Ns.V:
                out.append("vv")
            case _:
                out.append("other")
    return x + len(out), out


@PROGRAMS.whole(
    subjects(
        (1, 2),
        [1, 2, 3],
        (),
        [5],
        "ab",
        b"ab",
        lambda: {"a": 1},
        lambda: np.arange(2.0),
        range(3),
        lambda: {1, 2},
    )
)
def sequence(x, ss):
    out = []
    for s in ss:
        match s:
            case []:
                out.append("empty")
            case [a]:
                out.append(("one", a))
            case (a, b):
                out.append(("two", a + b))
            case [a, *rest]:
                out.append(("star", a, rest))
            case _:
                out.append("no")
    return x + len(out), out


@PROGRAMS.either(subjects((1, 2, 3, 4), [1, [2, 3]], (1,), [(1, 2), [3, 4, 5]]))
def nested(x, ss):
    out = []
    for s in ss:
        match s:
            case [a, *mid, z] if len(mid) > 1:
                out.append((a, mid, z))
            case [1, [b, c]]:
                out.append((b, c))
            case [(a, b), [c, *d]] as whole:
                out.append((a, b, c, d, whole is s))
            case _:
                out.append(None)
    return x + len(out), out


@PROGRAMS.either(
    subjects(
        lambda: {"k": 1},
        lambda: {"k": 2, "z": np.ones(3)},
        lambda: {},
        lambda: {"a": {"b": 3}},
        [1],
        lambda: collections.OrderedDict(k=5),
        lambda: collections.defaultdict(int, k=4),
    )
)
def mapping(x, ss):
    out = []
    for s in ss:
        match s:
            case {"k": 1}:
                out.append("k1")
            case {"k": v, **rest}:
                out.append((v, sorted(rest)))
            case {"a": {"b": b}}:
                out.append(b)
            case {}:
                out.append("any")
            case _:
                out.append("no")
    return x + len(out), out


@PROGRAMS.either(
    subjects(
        lambda: Pt(1, 2),
        lambda: Pt(0, 5),
        lambda: Named(1, 2),
        lambda: Old(3, 4),
        Color.RED,
        3,
        "st",
        2.5,
        lambda: Empty(),
        [1],
        lambda: np.arange(2.0),
        None,
    )
)
def classes(x, ss):
    out = []
    for s in ss:
        match s:
            case Pt(0, y):
                out.append(("p0", y))
            case Pt(x=a, y=b):
                out.append(("p", a, b))
            case Old(p, q=q):
                out.append(("o", p, q))
            case Named(a, b):
                out.append(("n", a, b))
            case Color.RED:
                out.append("red")
            case int(n) | float(n):
                out.append(("num", n))
            case str() as t:
                out.append(t)
            case list([v]):
                out.append(v)
            case np.ndarray(ndim=1, shape=(n,)):
                out.append(("arr", n))
            case Empty():
                out.append("empty")
            case _:
                out.append("other")
    return x + len(out), out


@PROGRAMS.whole(subjects(lambda: Pt(1, 2), lambda: Empty()))
def missing_attr(x, ss):
    out = []
    for s in ss:
        match s:
            case Empty(foo=f):
                out.append(f)
            case Pt(z=1):
                out.append("z")
            case object(y=y):
                out.append(y)
            case _:
                out.append("none")
    return x + 1, out


@PROGRAMS.whole(subjects(lambda: Pt(np.ones(3), 2)))
def array_attr(x, ss):
    match ss[0]:
        case Pt(a, 2 | 3 as k) if k == 2:
            return x * a + k
        case Pt():
            return x


@PROGRAMS.whole(subjects((1, 2, 3), (4, 5), "q"))
def ors(x, ss):
    t = x
    for s in ss:
        match s:
            case (1, a, _) | (4, a):
                t = t + a
            case "p" | "q":
                t = t * 2
    return t


@PROGRAMS.raising(subjects(lambda: Pt(1)))
def too_many(x, ss):
    y = x + 1
    match ss[0]:
        case Pt(a, b, c):
            return 1


@PROGRAMS.either(subjects(lambda: Pt(1)))
def twice(x, ss):
    try:
        match ss[0]:
            case Pt(a, x=b):
                return 1
    except TypeError as e:
        return x + 1, str(e)


class MyMap(collections.abc.Mapping):
    def __init__(self, d):
        self.d = d

    def __getitem__(self, k):
        return self.d[k]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


class MySeq(collections.abc.Sequence):
    def __init__(self, d):
        self.d = d

    def __getitem__(self, k):
        return self.d[k]

    def __len__(self):
        return len(self.d)


class ListSub(list):
    pass


class DictSub(dict):
    def get(self, k, d=None):
        return 99


@PROGRAMS.either(
    subjects(
        lambda: MyMap({"a": 1}),
        lambda: MySeq([1, 2]),
        lambda: ListSub([3, 4]),
        lambda: DictSub(a=5),
    )
)
def user_kinds(x, ss):
    out = []
    for s in ss:
        match s:
            case {"a": a, **r}:
                out.append(("m", a, r))
            case [a, b]:
                out.append(("s", a, b))
    return x + len(out), out
