"""Programs that use Python's text, numbers, types, calls and errors around arrays."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import operator
import sys
from typing import Any

import numpy as np

from tests.support.comparing.registering import Programs

PROGRAMS = Programs()


# Text ------------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def texts(x):
    text = "Hello World"
    return (
        text.upper(), text.split(), text.replace("l", "L", 1), text.find("o"), text.startswith(("He", "x")),
        text.partition(" "), text[::-1], text.center(20, "*"), "a,b".split(","), " q ".strip(), text.encode(),
        "-".join(["a", "b"]), "".join(c for c in text if c.isupper()), b"ab".hex(), "ab" * 3, "l" in text, x,
    )  # fmt: skip


@PROGRAMS.whole()
def formats(x):
    n, name = 3, "a"
    return (
        f"{n:03d} {name!r:>5} {1.5:.2f} {x.ndim}/{x.shape} {x.dtype}", "{} {k:>4}".format(n, k=name), "%d %s %r" % (n, name, [1]),
        "%5.1f" % 2.25, "%(a)s" % {"a": 1}, format(255, "x"), str([1, "a", (2,)]), repr({"k": 1.5}), ascii("é"),
        str(None), str(1.0), str(), chr(65), ord("a"), hex(255), bin(5), oct(8), f"{n=}", x,
    )  # fmt: skip


# Numbers ---------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def numbers(x):
    return (
        abs(-3), abs(-2.5), round(2.5), round(2.567, 2), divmod(7, 3), divmod(-7.5, 2), pow(2, 5), pow(2, 5, 7), int("12"),
        int(3.9), int("ff", 16), float("1.5"), complex(1, 2), bool([]), bool("a"), hash(3), (5).bit_length(), (2.5).is_integer(),
        (3 + 4j).real, max(1, 2.5), min([3, 1]), max("b", "a"), min([], default=7), max([1, -5], key=abs), math.sqrt(2.0),
        math.floor(2.5), math.gcd(12, 18), math.prod([1, 2, 3]), math.hypot(3, 4), math.isclose(1.0, 1.0 + 1e-12), math.inf, x,
    )  # fmt: skip


@PROGRAMS.whole()
def numbers_of_arrays(x, f):
    n = len(x)
    return (
        divmod(n, 2),
        round(n),
        max(n, 2),
        min(n, 100),
        abs(n - 10),
        n in (1, 3),
        int(n),
        float(n),
        x * divmod(f, 1.0)[0],
    )


@PROGRAMS.whole()
def sums(x):
    return (
        sum([1, 2, 3]), sum([x, x + 1]), sum((x * i for i in range(3)), x), sum([0.1, 0.2]), sum([1, 2], 10), sum([[1], [2]], []),
        sum(v for v in x), any([0, "", 3]), all([]), any(v is None for v in [1, None]), all(len(q) for q in ["a", [1]]),
    )  # fmt: skip


@PROGRAMS.whole()
def sums_of_constants(x):
    return (
        sum([0.1] * 10),
        sum([0.1, 1, 0.2, 5]),
        sum([0.1, 0.2, 0.3], 0.4),
        sum([1e16, 1.0, -1e16]),
        x + 1,
    )


@PROGRAMS.whole()
def sum_and_the_generator_take_turns(x):
    def changing():
        y = x + 0
        yield y
        y += 1
        yield y

    return sum(changing()), math.prod(changing()), functools.reduce(operator.add, changing())


# Types and attributes --------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def types_and_attributes(x, l, d):
    return (
        isinstance(x, np.ndarray), isinstance(l, (tuple, list)), isinstance(1, int | str), issubclass(bool, int), type(l) is list, type(x).__name__,
        callable(len), callable(3), hasattr(x, "shape"), hasattr(l, "append"), hasattr(l, "nothing"), getattr(x, "ndim"), getattr(d, "q", 5),
        isinstance(d, dict), isinstance(x.sum(), float), type(1.5), len(l), isinstance(True, int), type(None) is None, x + 1,
    )  # fmt: skip


@PROGRAMS.whole()
def getters(x):
    rows = [("b", 2, x), ("a", 1, x + 1)]
    by = operator.itemgetter(0)
    return (
        [by(r) for r in rows], operator.itemgetter(1, 0)(rows[0]), operator.attrgetter("ndim")(x), operator.attrgetter("T.shape")(x),
        operator.methodcaller("upper")("a"), operator.methodcaller("sum", axis=0)(x), operator.add(x, 1), operator.mul(2, 3), operator.neg(x),
        operator.getitem([1, 2], 0), operator.contains("abc", "b"), operator.lt(1, 2), operator.truth([]), operator.not_(1), operator.concat([1], [2]) if False else 0,
    )  # fmt: skip


FIRST = operator.itemgetter(0)


@PROGRAMS.whole()
def getter_of_the_module(x):
    return sorted([(2, "a"), (1, "b")], key=FIRST), x + 1


@PROGRAMS.whole()
def partials(x):
    scaled = functools.partial(operator.mul, 3)
    shifted = functools.partial(np.add, x)
    named = functools.partial(dict, a=1)
    nested = functools.partial(functools.partial(pow, 2), 3)
    return (
        scaled(x),
        shifted(1),
        named(b=2),
        nested(),
        scaled.args,
        functools.reduce(operator.add, [x, 1, 2]),
        functools.reduce(max, [3, 5], 0),
    )


@PROGRAMS.whole()
def partial_is_handed_on(x):
    return functools.partial(operator.mul, 3).args, functools.partial(dict, a=[1]).keywords, x + 1


@PROGRAMS.whole()
def copies(x):
    made = {"a": [1, x], "b": (1, 2)}
    shallow, deep = copy.copy(made), copy.deepcopy(made)
    deep["a"].append(3)
    return (
        shallow,
        deep,
        made,
        shallow["a"] is made["a"],
        deep["b"] is made["b"],
        copy.copy([1]),
        copy.copy(x),
    )


# Calls, unpacking, comprehensions --------------------------------------------------------------------------------


def taking(a, *rest, k=1, **named):
    """Gives back what it got."""
    return a, rest, k, named


@PROGRAMS.whole()
def stars(x, l, d):
    return (
        taking(*l),
        taking(x, *(1, 2), k=3, **{"b": 2}),
        taking(*[x], *"ab", **{"q": 1}),
        taking(*range(2), **{"c": 1, "k": 4}),
        taking(**d),
        taking(*(i for i in l)),
    )


@PROGRAMS.whole()
def unpacking(x, t):
    a, b, c = t
    first, *middle, last = [x, 1, 2, 3]
    (p, q), r = [1, 2], x
    u, v = "ab"
    (*every,) = range(3)
    one, two = {"k": 1, "j": 2}
    (w,) = {5}
    return a, b, c, first, middle, last, p, q, r, u, v, every, one, two, w


@PROGRAMS.whole()
def conditions(x, n):
    y = n if 0 < n <= 4 < 10 else 0
    if (m := len(x)) > 2:
        y += m
    assert x.ndim == 1, f"bad {x.ndim}"
    z = "a" if not x.ndim else "b" or "c"
    return y, z, x * m, n if n and x.size else None


@PROGRAMS.whole()
def comprehensions(x):
    k = 2
    nested = [[i * j * k for j in range(i)] for i in range(4) if i % 2]
    flat = [v for row in nested for v in row if v]
    functions = [lambda i=i: i * k for i in range(3)]
    late = [lambda: i for i in range(3)]
    return (
        nested,
        flat,
        [f() for f in functions],
        [f() for f in late],
        {i: x * i for i in range(2)},
        [y := 1, y + 1],
        {a + b for a, b in zip("ab", "cd")},
    )


# Errors ----------------------------------------------------------------------------------------------------------


def text_of(action):
    """What is raised, in words."""
    try:
        action()
    except Exception as error:
        return type(error).__name__, str(error), error.args
    return None


@PROGRAMS.whole()
def errors_of_containers(x):
    made, named = [1], {"a": 1}
    return (
        text_of(lambda: made[3]), text_of(lambda: named["b"]), text_of(lambda: made.remove(9)), text_of(lambda: [].pop()), text_of(lambda: made.pop(5)),
        text_of(lambda: made.index(7)), text_of(lambda: (1,).index(7)), text_of(lambda: named.pop("q")), text_of(lambda: {}.popitem()), text_of(lambda: set().pop()),
        text_of(lambda: {1}.remove(2)), text_of(lambda: (1, 2)[5]), text_of(lambda: "ab"[7]), text_of(lambda: range(3)[9]), text_of(lambda: made.nothing),
        text_of(lambda: operator.setitem(made, 5, 1)), text_of(lambda: operator.delitem(named, "z")), text_of(lambda: operator.setitem(made, slice(0, 4, 2), [])), x + 1,
    )  # fmt: skip


def unpack_two(value):
    a, b = value
    return a, b


def unpack_star(value):
    a, b, *_, c = value
    return a, b, c


@PROGRAMS.whole()
def errors_of_unpacking(x):
    return (
        text_of(lambda: unpack_two([1])), text_of(lambda: unpack_two((1, 2, 3))), text_of(lambda: unpack_two(iter([1, 2, 3]))), text_of(lambda: unpack_two("abc")),
        text_of(lambda: unpack_two(5)), text_of(lambda: unpack_two({"a": 1, "b": 2, "c": 3})), text_of(lambda: unpack_two({1})), text_of(lambda: unpack_two(range(4))),
        text_of(lambda: unpack_star([1, 2])), text_of(lambda: unpack_star("a")), text_of(lambda: unpack_two(None)), x + 1,
    )  # fmt: skip


@PROGRAMS.whole()
def errors_of_functions(x):
    text: Any = "a"
    return (
        text_of(lambda: int("q")), text_of(lambda: float("q")), text_of(lambda: max([])), text_of(lambda: min(())), text_of(lambda: next(iter([]))),
        text_of(lambda: list(zip([1], [], strict=True))), text_of(lambda: list(zip([], [], [1], strict=True))), text_of(lambda: list(zip([1, 2], [1, 2], [1], strict=True))),
        text_of(lambda: 1 // 0), text_of(lambda: 1 % 0), text_of(lambda: 1.0 / 0), text_of(lambda: divmod(1, 0)), text_of(lambda: math.sqrt(-1)), text_of(lambda: chr(-1)),
        text_of(lambda: sorted([1, "a"])), text_of(lambda: sum(["a"], "")), text_of(lambda: functools.reduce(max, [])), text_of(lambda: range(1, 2, 0)),
        text_of(lambda: "a".join([1])), text_of(lambda: "%d" % text), text_of(lambda: "abc".index("z")), text_of(lambda: ord("ab")), x + 1,
    )  # fmt: skip


@PROGRAMS.whole()
def errors_leave_what_was_done(x):
    made = [1]
    try:
        made.extend(10 // n for n in (5, 2, 0, 1))
    except ZeroDivisionError:
        made.append("stopped")
    named = {}
    try:
        named.update([("a", 1), ("b", 2, 3)])
    except ValueError as error:
        named["error"] = str(error)
    return made, named, x + 1


@PROGRAMS.cut()
def uncaught(x):
    y = x + 1
    return [y][3]


# Left to plain Python --------------------------------------------------------------------------------------------


@PROGRAMS.cut()
def prints(x):
    print("hello", len(x))
    return x + 1


@(
    PROGRAMS.whole() if sys.version_info < (3, 12) else PROGRAMS.cut()
)  # where sum() rounds as `+` does
def sums_of_unknown_floats(x, f):
    return sum([f, f, f]), x + 1


@PROGRAMS.cut()
def iterates_over_a_set_of_the_frame(x, s):
    return [n * 2 for n in s], x + 1


@PROGRAMS.cut()
def combines_a_set_of_the_frame(x, s):
    return s | {9, 10}, list(s - {1}), x + 1


@PROGRAMS.cut()
def bytes_that_change(x):
    made = bytearray(b"ab")
    made.append(1)
    return made, x + 1


@PROGRAMS.whole()
def holds_itself(x):
    made = [x + 1]
    made.append(made)
    return made


@PROGRAMS.cut()
def content_of_an_empty_cell(x):
    def inner():
        return later

    cell = inner.__closure__[0]
    try:
        found = cell.cell_contents
    except ValueError as error:
        found = str(error)
    later = x + 1
    return found, inner(), cell.cell_contents + 1


@PROGRAMS.whole()
def annotated_within(x, f):
    def scaled(y: np.ndarray, by: float = 2.0, *more: int, key: str = "a") -> np.ndarray:
        return y * by

    def bare(y: np.ndarray):
        return scaled(y, key="b") - f

    return bare(x) + scaled(x, f)


@PROGRAMS.whole()
def annotated_and_given(x, f):
    def scaled(y: np.ndarray, by: float = f) -> np.ndarray:
        return y * by

    return scaled, scaled(x)


@contextlib.contextmanager
def scaled(by, log):
    """A context manager that is written as a generator."""
    log.append("enter")
    try:
        yield by
    finally:
        log.append("exit")


@PROGRAMS.whole()
def contextmanager_of_a_generator(x, f):
    log = []
    with scaled(f, log) as by, scaled(2, log):
        x = x * by
    return x, log, scaled.__name__, scaled.__doc__


@PROGRAMS.cut()
def contextmanager_with_an_error(x, f):
    log = []
    try:
        with scaled(f, log) as by:
            x = x * by
            raise KeyError(by)
    except KeyError as error:
        log.append(error.args)
    return x, log


@PROGRAMS.cut()
def yields_inside_a_handler(x):
    def careful():
        try:
            yield int("q")
        except ValueError:
            yield x

    return list(careful())


# Numbers computed in the graph, which the program's course depends on ----------------------------------------------


@PROGRAMS.either()
def root_of_a_function(x, f):
    def g(y):
        return y * y * y - 2.0

    for _ in range(25):
        slope = (g(f + 1e-6) - g(f - 1e-6)) / 2e-6
        if abs(slope) < 1e-12:
            break
        f = f - g(f) / slope
    return x * f
