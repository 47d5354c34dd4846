"""Programs that use Python's built-in functions, containers and iterators around arrays: what `test_python_values` runs.

Each takes what its parameters name: x an array, l a list, d a dict, s a set, t a tuple.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

WHOLE: list[Callable[..., Any]] = []  # one graph each, no break
CUT: list[Callable[..., Any]] = []  # the same result, with a break somewhere


def whole(program: Callable[..., Any]) -> Callable[..., Any]:
    """Register a program that is one graph."""
    WHOLE.append(program)
    return program


def cut(program: Callable[..., Any]) -> Callable[..., Any]:
    """Register a program in which a graph ends."""
    CUT.append(program)
    return program


def given(program: Callable[..., Any]) -> tuple[Any, ...]:
    """Arguments for a program."""
    made = {
        "x": np.arange(1.0, 4.0),
        "l": [1, 2, 3],
        "d": {"a": 1, "b": 2.5},
        "s": {3, 1, 2},
        "t": (1, 2.0, "c"),
        "n": 4,
        "f": 2.5,
    }
    names = program.__code__.co_varnames[: program.__code__.co_argcount]
    return tuple(made[name] for name in names)


# Lists -----------------------------------------------------------------------------------------------------------


@whole
def list_methods(x):
    made = [1, x]
    made.append(2)
    made.extend([3, x])
    made.extend(range(2))
    made.insert(1, "a")
    made.insert(-100, "first")
    made.remove("a")
    taken = made.pop(), made.pop(0), made.pop(-2)
    made.reverse()
    other = made.copy()
    made.clear()
    return made, other, taken, x * len(other)


@whole
def list_of_frame_changes(x, l):
    l.insert(0, x + 1)
    taken = l.pop()
    l.extend([4, 5])
    l.reverse()
    l.remove(4)
    l += (7, 8)
    del l[0]
    return x * taken, l


@whole
def list_of_frame_slices(x, l):
    l[1:2] = [x, 7, 8]
    l[::2] = [0] * len(l[::2])
    del l[1:2]
    first = l[:2]
    l *= 2
    l[0] = "z"
    return x + 1, first, l[-1:]


@whole
def list_of_frame_is_cleared(x, l):
    l.clear()
    l.append(x)
    return x - 1


@whole
def list_of_frame_is_sorted(x, l):
    l.sort(reverse=True)
    return x * l[0]


@whole
def snapshot_is_taken(x, l):
    more = [x]
    l.extend(more)
    more.append(2)
    l[0:0] = more
    more.append(3)
    return more


@whole
def list_searches(x):
    made = [1, "a", None, 2.0, x]
    return (
        made.index("a"),
        made.index(2, 2),
        [1, True, 2].count(1),
        "a" in made,
        x in made[3:][1:],
        x + (None in made),
    )


@whole
def list_arithmetic(x):
    made = [x] + [1]
    made += [2]
    made += (3,)
    made += "ab"
    made *= 2
    return (
        made,
        [0] * 3,
        2 * [x],
        [1, (2, None)] == [1.0, (2, None)],
        [x] == [x],
        [1, 2] < [1, 3],
        (1, 2) >= (1, 2, 0),
        [1] != (1,),
    )


@whole
def list_in_place_is_itself(x):
    first = second = [x]
    first += [2]
    first *= 2
    return first is second, second


@whole
def sorting(x):
    made = [3, 1, 2]
    made.sort()
    other = sorted(["b", "C", "a"], key=str.lower)
    pairs = sorted([(2, "b"), (1, "z"), (2, "a")])
    rows = sorted([(x, 2), (x + 1, 1)], key=lambda row: row[1])
    by_item = sorted([(1, "b"), (2, "a")], key=operator.itemgetter(1), reverse=True)
    return (
        made,
        other,
        pairs,
        rows,
        by_item,
        sorted({5, 3, 4}),
        sorted("hello"),
        sorted({"b": 1, "a": 2}),
    )


@whole
def sorting_is_stable(x):
    rows = [(1, "a"), (0, "b"), (1, "c"), (0, "d")]
    return sorted(rows, key=lambda r: r[0]), sorted(rows, key=lambda r: r[0], reverse=True), x + 1


class Ranked:
    """Compared by its rank; remembers how often it was asked."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.asked = 0

    def __lt__(self, other: Ranked) -> bool:
        self.asked += 1
        return self.rank < other.rank


@whole
def sorting_asks_as_often(x):
    made = [Ranked(n) for n in (5, 2, 9, 1, 7, 3)]
    found = sorted(made)
    return [(one.rank, one.asked) for one in found], x + 1


@whole
def sorting_with_comparison(x):
    return sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), x * 2


@whole
def sorting_frame_set(x, s):
    return sorted(s), len(s), 2 in s, max(s - {3}), x + 1


# Dicts -----------------------------------------------------------------------------------------------------------


@whole
def dict_methods(x):
    made = {"a": 1}
    made["x"] = x
    got = (
        made.get("a"),
        made.get("q"),
        made.get("q", 3),
        made.setdefault("a", 9),
        made.setdefault("n", []),
    )
    made["n"].append(4)
    popped = made.pop("a"), made.pop("zz", None), made.popitem()
    made.update({"k": 1}, j=2)
    made.update([("p", 1), ("q", x)])
    made.update(zip("rs", (1, 2)))
    other = made.copy()
    made.clear()
    return got, popped, other, made, dict.fromkeys("abc", 0), dict.fromkeys([1, 2])


@whole
def dict_makers(x):
    return (
        dict(a=1, b=x),
        dict([("a", 1)], c=2),
        dict({"a": x}, a=3),
        dict(zip("ab", (1, 2))),
        {**{"q": 1}, "r": x},
    )


@whole
def dict_operators(x):
    one, other = {"a": 1, "b": 2}, {"b": 3, "c": x}
    both = one | other
    one |= other
    one |= [("z", 1)]
    return both, one, {"a": 1} == {"a": 1.0}, {"a": 1} != {"b": 1}, "c" in both, len(both)


@whole
def dict_views(x):
    made = {"a": 1, "b": 2}
    keys, values, items = made.keys(), made.values(), made.items()
    made["c"] = x
    listed = list(keys), list(values), [k for k, _ in items], len(items), "c" in keys, 2 in values
    return (
        listed,
        keys & {"a", "q"},
        keys | ["z"],
        keys - {"a"},
        {"b"} ^ keys,
        keys == {"a", "b", "c"},
    )


@whole
def dict_backwards(x):
    made = {"a": 1, "b": x}
    return list(reversed(made)), [v for v in reversed(made.values())], list(reversed(made.items()))


@whole
def dict_of_frame_changes(x, d):
    d["new"] = x * 2
    d.setdefault("a", 5)
    d.setdefault("other", 6)
    got = d.pop("b")
    d.update(q=got, a=x)
    del d["new"]
    d |= {"w": 1}
    return d.popitem(), x + 1


@whole
def dict_of_frame_is_cleared(x, d):
    d.clear()
    d[1] = x
    return len(d)


@whole
def dict_with_numbers_as_keys(x):
    made = {1: "a"}
    made[True] = "b"
    made[1.0] = "c"
    made[x.ndim] = "d"
    made[(1, "q")] = x
    made[None] = 2
    return made, made[(1, "q")]


# Sets ------------------------------------------------------------------------------------------------------------


@whole
def set_methods(x):
    made = {3, 1, "a"}
    made.add(7)
    made.add("b")
    made.discard("zz")
    made.remove(1)
    made.update([4, 5], (6,))
    other = made.copy()
    other.difference_update({4})
    other |= {"q", "r"}
    other -= {7}
    other &= {3, 5, "q", "a", 6}
    other ^= {3, 100}
    return list(made), list(other), made, other, x * len(made)


@whole
def set_operators(x):
    one, other = set("abcdef"), set("defghi")
    results = one | other, one & other, one - other, one ^ other
    named = (
        one.union("xyz", [1]),
        one.intersection("ab"),
        one.difference("a"),
        one.symmetric_difference("az"),
    )
    return (
        [list(r) for r in results],
        [list(n) for n in named],
        results,
        one <= other,
        one.issubset("abcdefg"),
        x,
    )


@whole
def set_is_taken_apart(x):
    made = {n * 7 for n in range(20)}
    popped = [made.pop(), made.pop(), made.pop()]
    made.add(1000)
    return popped, list(made), made, x + 1


@whole
def frozen_sets(x):
    one = frozenset([3, 1, 2])
    return (
        one,
        one | {9},
        {9} | one,
        list(one),
        3 in one,
        one.union([5]),
        {one: 1}[one],
        x * len(one),
    )


@whole
def set_of_frame_changes(x, s):
    s.discard(1)
    s.add(10)
    s.update([4, 5])
    s |= {6}
    s -= {2}
    return x * len(s)


# Tuples, ranges, slices ------------------------------------------------------------------------------------------


@whole
def tuples(x, t):
    return (
        t + (x,),
        t[1:],
        t.index("c"),
        t.count(1),
        len(t),
        t * 2,
        tuple("ab"),
        tuple([x]),
        tuple(t) is t,
        t[-1] == "c",
    )


@whole
def ranges(x):
    made = range(2, 20, 3)
    parts = (
        made.start,
        made.stop,
        made.step,
        len(made),
        5 in made,
        6 in made,
        made[1],
        made[-1],
        made[1:3],
    )
    return (
        parts,
        made == range(2, 18, 3),
        made.index(5),
        made.count(5),
        list(made),
        list(reversed(made)),
        sum(made) * x,
    )


@whole
def ranges_over_lengths(x):
    made = range(len(x))
    return (
        [x[i] * 2 for i in made],
        list(range(x.shape[0], 0, -1)),
        len(made),
        (len(x) - 1) in made,
        made[-1],
    )


@whole
def slices(x):
    made = slice(None, None, 2)
    return (
        made.indices(7),
        slice(1, 3) == slice(1, 3) if False else made.step,
        x[made],
        [1, 2, 3][made],
        "abcd"[made],
    )


# Text ------------------------------------------------------------------------------------------------------------


@whole
def texts(x):
    text = "Hello World"
    return (
        text.upper(), text.split(), text.replace("l", "L", 1), text.find("o"), text.startswith(("He", "x")),
        text.partition(" "), text[::-1], text.center(20, "*"), "a,b".split(","), " q ".strip(), text.encode(),
        "-".join(["a", "b"]), "".join(c for c in text if c.isupper()), b"ab".hex(), "ab" * 3, "l" in text, x,
    )  # fmt: skip


@whole
def formats(x):
    n, name = 3, "a"
    return (
        f"{n:03d} {name!r:>5} {1.5:.2f} {x.ndim}/{x.shape} {x.dtype}", "{} {k:>4}".format(n, k=name), "%d %s %r" % (n, name, [1]),
        "%5.1f" % 2.25, "%(a)s" % {"a": 1}, format(255, "x"), str([1, "a", (2,)]), repr({"k": 1.5}), ascii("é"),
        str(None), str(1.0), str(), chr(65), ord("a"), hex(255), bin(5), oct(8), f"{n=}", x,
    )  # fmt: skip


# Numbers ---------------------------------------------------------------------------------------------------------


@whole
def numbers(x):
    return (
        abs(-3), abs(-2.5), round(2.5), round(2.567, 2), divmod(7, 3), divmod(-7.5, 2), pow(2, 5), pow(2, 5, 7), int("12"),
        int(3.9), int("ff", 16), float("1.5"), complex(1, 2), bool([]), bool("a"), hash(3), (5).bit_length(), (2.5).is_integer(),
        (3 + 4j).real, max(1, 2.5), min([3, 1]), max("b", "a"), min([], default=7), max([1, -5], key=abs), math.sqrt(2.0),
        math.floor(2.5), math.gcd(12, 18), math.prod([1, 2, 3]), math.hypot(3, 4), math.isclose(1.0, 1.0 + 1e-12), math.inf, x,
    )  # fmt: skip


@whole
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


@whole
def sums(x):
    return (
        sum([1, 2, 3]), sum([x, x + 1]), sum((x * i for i in range(3)), x), sum([0.1, 0.2]), sum([1, 2], 10), sum([[1], [2]], []),
        sum(v for v in x), any([0, "", 3]), all([]), any(v is None for v in [1, None]), all(len(q) for q in ["a", [1]]),
    )  # fmt: skip


@whole
def sums_of_constants(x):
    return (
        sum([0.1] * 10),
        sum([0.1, 1, 0.2, 5]),
        sum([0.1, 0.2, 0.3], 0.4),
        sum([1e16, 1.0, -1e16]),
        x + 1,
    )


@whole
def sum_and_the_generator_take_turns(x):
    def changing():
        y = x + 0
        yield y
        y += 1
        yield y

    return sum(changing()), math.prod(changing()), functools.reduce(operator.add, changing())


# Iterators -------------------------------------------------------------------------------------------------------


@whole
def iterator_tools(x):
    return (
        list(zip([1, 2], "ab", (x, x))), list(enumerate("ab", 5)), list(map(lambda a, b: a * b, [1, 2], (x, x))), list(filter(None, [0, 1, x.ndim])),
        list(filter(lambda v: v > 1, [1, 2, 3])), list(reversed([1, x])), list(zip()), dict(enumerate("ab")), [*map(str, (1, 2))],
        list(iter([1, 2].pop, 1)), next(iter([x])), next(iter([]), "none"),
    )  # fmt: skip


@whole
def itertools_tools(x):
    take = itertools.islice
    return (
        list(take(itertools.count(3, 2), 3)), list(take(itertools.cycle("ab"), 5)), list(itertools.repeat(x, 2)),
        list(itertools.chain([1], "ab", (x,))), list(itertools.chain.from_iterable([[1], [2, 3]])), list(take(range(20), 2, 15, 4)),
        list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])),
        list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([x, x], operator.mul)), list(itertools.accumulate([1, 2], initial=5)),
        list(itertools.product("ab", [1, 2])), list(itertools.product([0, 1], repeat=2)), list(itertools.permutations("abc", 2)),
        list(itertools.combinations([1, x, 3], 2)), list(itertools.combinations_with_replacement("ab", 2)),
        [(k, list(g)) for k, g in itertools.groupby("aabbba")], [(k, list(g)) for k, g in itertools.groupby([1, 3, 2], lambda v: v % 2)],
        list(itertools.starmap(pow, [(2, 3), (3, 2)])), list(itertools.zip_longest("abc", [1], fillvalue=0)),
        list(itertools.pairwise([1, 2, 3])), list(itertools.compress("abcd", [1, 0, 1])), list(itertools.filterfalse(None, [0, 1, ""])),
        [list(c) for c in itertools.tee(iter([1, 2]), 2)],
    )  # fmt: skip


@whole
def groups_left_unread(x):
    found = []
    for key, group in itertools.groupby([1, 1, 2, 2, 3, 1]):
        if key != 2:
            found.append((key, next(group)))
    kept = list(itertools.groupby("aab"))
    return found, [list(g) for _, g in kept], x + 1


@whole
def consumed_in_order(x):
    source = iter(range(10))
    pairs = list(zip(source, [1, 2], source))
    return pairs, list(source), x * 2


@whole
def zip_loses_an_item(x):
    first, second = iter([1, 2, 3, 4]), iter("ab")
    pairs = list(zip(first, second))
    return pairs, list(first), x + 1


@whole
def ended_iterators_are_asked_again(x):
    first, second = iter([1, 2, 3, 4]), iter("a")
    both = zip(first, second)
    return next(both), next(both, None), next(both, None), list(first), x + 1


@whole
def handed_on_half_consumed(x):
    made = iter([1, 2, x])
    pairs = enumerate("abc", 3)
    sliced = itertools.islice(range(10), 2, 9, 2)
    counted = itertools.count(5)
    next(made), next(pairs), next(sliced), next(counted)
    backwards = reversed([1, 2, 3])
    next(backwards)
    over = iter({"a": 1, "b": x})
    next(over)
    return (
        made,
        pairs,
        sliced,
        next(counted),
        backwards,
        iter(range(3)),
        zip([1], made),
        map(str, [1, 2]),
        over,
        iter("ab"),
        iter((1, 2)),
    )


@whole
def types_of_iterators(x):
    done = iter([1])
    list(done)
    return iter([1]), iter((1,)), iter(range(2)), iter({}), iter({1: 2}.values()), done, x + 1


@cut
def handed_on_where_it_cannot_be_made_again(x):
    made = itertools.chain([1, 2], [x])
    next(made)
    turning = itertools.cycle([1, 2])
    next(turning)
    return made, x + 1, [next(turning), next(turning)]


@whole
def list_grows_meanwhile(x):
    made = [1, 2]
    seen = []
    for item in made:
        seen.append(item)
        if len(made) < 5:
            made.append(item * 10)
    for item in made:
        made.remove(item)
    return seen, made, x * len(seen)


@whole
def dict_changes_size_meanwhile(x):
    made = {"a": 1, "b": 2}
    try:
        for key in made:
            made[key + "!"] = x
    except RuntimeError as error:
        text = str(error)
    return text, made


@whole
def set_changes_size_meanwhile(x):
    made = {1}
    try:
        for member in made:
            made.add(member + 1)
    except RuntimeError:
        return made, x + 1
    return None


# Generators ------------------------------------------------------------------------------------------------------


def echo(first):
    """Yields what it is sent, doubled."""
    got = yield first
    while got is not None:
        got = yield got * 2
    return "done"


@whole
def generator_is_sent_to(x):
    made = echo(x)
    first = next(made)
    second = made.send(x + 1)
    try:
        made.send(None)
    except StopIteration:
        return first, second
    return None


def guarded(log):
    """Says what happens to it."""
    try:
        yield 1
        yield 2
    except ValueError:
        log.append("caught")
    finally:
        log.append("left")
    yield 3


@whole
def generator_is_thrown_into(x):
    log = []
    made = guarded(log)
    next(made)
    got = made.throw(ValueError("no"))
    rest = list(made)
    return got, rest, log, x + 1


@whole
def generator_is_closed(x):
    log = []
    made = guarded(log)
    next(made)
    made.close()
    made.close()
    other = echo(x)
    other.close()
    return log, list(made), list(other), x + 1


@whole
def generator_delegates(x):
    log = []

    def outer():
        got = yield from guarded(log)
        yield got

    made = outer()
    next(made)
    thrown = made.throw(ValueError("no"))
    made.close()
    return thrown, log, x + 1


@cut
def generator_is_dropped_in_a_try(x):
    log = []
    for item in guarded(log):
        if item == 1:
            break
    log.append("after")
    return log, x + 1


@whole
def generator_is_dropped_harmlessly(x):
    def counting():
        n = 0
        while True:
            yield n
            n += 1

    for item in counting():
        if item == 3:
            break
    return x * item, next(counting())


@whole
def generators_everywhere(x):
    made = (x * i for i in range(3))
    return (
        sum(made),
        list(made),
        tuple(i for i in "ab"),
        {i for i in range(3)},
        {k: v for k, v in zip("ab", (1, x))},
        max(i for i in (1, 5, 2)),
    )


# Types and attributes --------------------------------------------------------------------------------------------


@whole
def types_and_attributes(x, l, d):
    return (
        isinstance(x, np.ndarray), isinstance(l, (tuple, list)), isinstance(1, int | str), issubclass(bool, int), type(l) is list, type(x).__name__,
        callable(len), callable(3), hasattr(x, "shape"), hasattr(l, "append"), hasattr(l, "nothing"), getattr(x, "ndim"), getattr(d, "q", 5),
        isinstance(d, dict), isinstance(x.sum(), float), type(1.5), len(l), isinstance(True, int), type(None) is None, x + 1,
    )  # fmt: skip


@whole
def getters(x):
    rows = [("b", 2, x), ("a", 1, x + 1)]
    by = operator.itemgetter(0)
    return (
        [by(r) for r in rows], operator.itemgetter(1, 0)(rows[0]), operator.attrgetter("ndim")(x), operator.attrgetter("T.shape")(x),
        operator.methodcaller("upper")("a"), operator.methodcaller("sum", axis=0)(x), operator.add(x, 1), operator.mul(2, 3), operator.neg(x),
        operator.getitem([1, 2], 0), operator.contains("abc", "b"), operator.lt(1, 2), operator.truth([]), operator.not_(1), operator.concat([1], [2]) if False else 0,
    )  # fmt: skip


FIRST = operator.itemgetter(0)


@whole
def getter_of_the_module(x):
    return sorted([(2, "a"), (1, "b")], key=FIRST), x + 1


@whole
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


@whole
def partial_is_handed_on(x):
    return functools.partial(operator.mul, 3).args, functools.partial(dict, a=[1]).keywords, x + 1


@whole
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


@whole
def stars(x, l, d):
    return (
        taking(*l),
        taking(x, *(1, 2), k=3, **{"b": 2}),
        taking(*[x], *"ab", **{"q": 1}),
        taking(*range(2), **{"c": 1, "k": 4}),
        taking(**d),
        taking(*(i for i in l)),
    )


@whole
def unpacking(x, t):
    a, b, c = t
    first, *middle, last = [x, 1, 2, 3]
    (p, q), r = [1, 2], x
    u, v = "ab"
    (*every,) = range(3)
    one, two = {"k": 1, "j": 2}
    (w,) = {5}
    return a, b, c, first, middle, last, p, q, r, u, v, every, one, two, w


@whole
def conditions(x, n):
    y = n if 0 < n <= 4 < 10 else 0
    if (m := len(x)) > 2:
        y += m
    assert x.ndim == 1, f"bad {x.ndim}"
    z = "a" if not x.ndim else "b" or "c"
    return y, z, x * m, n if n and x.size else None


@whole
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


@whole
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


@whole
def errors_of_unpacking(x):
    return (
        text_of(lambda: unpack_two([1])), text_of(lambda: unpack_two((1, 2, 3))), text_of(lambda: unpack_two(iter([1, 2, 3]))), text_of(lambda: unpack_two("abc")),
        text_of(lambda: unpack_two(5)), text_of(lambda: unpack_two({"a": 1, "b": 2, "c": 3})), text_of(lambda: unpack_two({1})), text_of(lambda: unpack_two(range(4))),
        text_of(lambda: unpack_star([1, 2])), text_of(lambda: unpack_star("a")), text_of(lambda: unpack_two(None)), x + 1,
    )  # fmt: skip


@whole
def errors_of_functions(x):
    text: Any = "a"
    return (
        text_of(lambda: int("q")), text_of(lambda: float("q")), text_of(lambda: max([])), text_of(lambda: min(())), text_of(lambda: next(iter([]))),
        text_of(lambda: list(zip([1], [], strict=True))), text_of(lambda: list(zip([], [], [1], strict=True))), text_of(lambda: list(zip([1, 2], [1, 2], [1], strict=True))),
        text_of(lambda: 1 // 0), text_of(lambda: 1 % 0), text_of(lambda: 1.0 / 0), text_of(lambda: divmod(1, 0)), text_of(lambda: math.sqrt(-1)), text_of(lambda: chr(-1)),
        text_of(lambda: sorted([1, "a"])), text_of(lambda: sum(["a"], "")), text_of(lambda: functools.reduce(max, [])), text_of(lambda: range(1, 2, 0)),
        text_of(lambda: "a".join([1])), text_of(lambda: "%d" % text), text_of(lambda: "abc".index("z")), text_of(lambda: ord("ab")), x + 1,
    )  # fmt: skip


@whole
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


@cut
def uncaught(x):
    y = x + 1
    return [y][3]


# Left to plain Python --------------------------------------------------------------------------------------------


@cut
def prints(x):
    print("hello", len(x))
    return x + 1


@cut
def looks_at_its_frame(x):
    y = x + 1
    return sorted(locals()), y


@cut
def sums_of_unknown_floats(x, f):
    return sum([f, f, f]), x + 1


@cut
def iterates_over_a_set_of_the_frame(x, s):
    return [n * 2 for n in s], x + 1


@cut
def combines_a_set_of_the_frame(x, s):
    return s | {9, 10}, list(s - {1}), x + 1


@cut
def bytes_that_change(x):
    made = bytearray(b"ab")
    made.append(1)
    return made, x + 1


@whole
def holds_itself(x):
    made = [x + 1]
    made.append(made)
    return made


@cut
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


@contextlib.contextmanager
def scaled(by, log):
    """A context manager that is written as a generator."""
    log.append("enter")
    try:
        yield by
    finally:
        log.append("exit")


@whole
def contextmanager_of_a_generator(x, f):
    log = []
    with scaled(f, log) as by, scaled(2, log):
        x = x * by
    return x, log, scaled.__name__, scaled.__doc__


@cut
def contextmanager_with_an_error(x, f):
    log = []
    try:
        with scaled(f, log) as by:
            x = x * by
            raise KeyError(by)
    except KeyError as error:
        log.append(error.args)
    return x, log


@cut
def yields_inside_a_handler(x):
    def careful():
        try:
            yield int("q")
        except ValueError:
            yield x

    return list(careful())
