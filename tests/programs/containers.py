"""Programs that use lists, dicts, sets, tuples, ranges and slices around arrays."""

from __future__ import annotations

import functools
import operator

from tests.support.comparing.registering import Programs

PROGRAMS = Programs()


# Lists -----------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def list_of_frame_changes(x, l):
    l.insert(0, x + 1)
    taken = l.pop()
    l.extend([4, 5])
    l.reverse()
    l.remove(4)
    l += (7, 8)
    del l[0]
    return x * taken, l


@PROGRAMS.whole()
def list_of_frame_slices(x, l):
    l[1:2] = [x, 7, 8]
    l[::2] = [0] * len(l[::2])
    del l[1:2]
    first = l[:2]
    l *= 2
    l[0] = "z"
    return x + 1, first, l[-1:]


@PROGRAMS.whole()
def list_of_frame_is_cleared(x, l):
    l.clear()
    l.append(x)
    return x - 1


@PROGRAMS.whole()
def list_of_frame_is_sorted(x, l):
    l.sort(reverse=True)
    return x * l[0]


@PROGRAMS.whole()
def snapshot_is_taken(x, l):
    more = [x]
    l.extend(more)
    more.append(2)
    l[0:0] = more
    more.append(3)
    return more


@PROGRAMS.whole()
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


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def list_in_place_is_itself(x):
    first = second = [x]
    first += [2]
    first *= 2
    return first is second, second


@PROGRAMS.whole()
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


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def sorting_asks_as_often(x):
    made = [Ranked(n) for n in (5, 2, 9, 1, 7, 3)]
    found = sorted(made)
    return [(one.rank, one.asked) for one in found], x + 1


@PROGRAMS.cut()
def sorting_with_comparison(x):
    return sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), x * 2


@PROGRAMS.whole()
def sorting_frame_set(x, s):
    return sorted(s), len(s), 2 in s, max(s - {3}), x + 1


# Dicts -----------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def dict_makers(x):
    return (
        dict(a=1, b=x),
        dict([("a", 1)], c=2),
        dict({"a": x}, a=3),
        dict(zip("ab", (1, 2))),
        {**{"q": 1}, "r": x},
    )


@PROGRAMS.whole()
def dict_operators(x):
    one, other = {"a": 1, "b": 2}, {"b": 3, "c": x}
    both = one | other
    one |= other
    one |= [("z", 1)]
    return both, one, {"a": 1} == {"a": 1.0}, {"a": 1} != {"b": 1}, "c" in both, len(both)


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def dict_backwards(x):
    made = {"a": 1, "b": x}
    return list(reversed(made)), [v for v in reversed(made.values())], list(reversed(made.items()))


@PROGRAMS.whole()
def dict_of_frame_changes(x, d):
    d["new"] = x * 2
    d.setdefault("a", 5)
    d.setdefault("other", 6)
    got = d.pop("b")
    d.update(q=got, a=x)
    del d["new"]
    d |= {"w": 1}
    return d.popitem(), x + 1


@PROGRAMS.whole()
def dict_of_frame_is_cleared(x, d):
    d.clear()
    d[1] = x
    return len(d)


@PROGRAMS.whole()
def dict_with_numbers_as_keys(x):
    made = {1: "a"}
    made[True] = "b"
    made[1.0] = "c"
    made[x.ndim] = "d"
    made[(1, "q")] = x
    made[None] = 2
    return made, made[(1, "q")]


# Sets ------------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
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


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def set_is_taken_apart(x):
    made = {n * 7 for n in range(20)}
    popped = [made.pop(), made.pop(), made.pop()]
    made.add(1000)
    return popped, list(made), made, x + 1


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def set_of_frame_changes(x, s):
    s.discard(1)
    s.add(10)
    s.update([4, 5])
    s |= {6}
    s -= {2}
    return x * len(s)


# Tuples, ranges, slices ------------------------------------------------------------------------------------------


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def names_of_dtypes(x):
    dtypes = [x.dtype, (x > 0).dtype]
    found = (
        x.dtype in ("float64", "f4"),
        "bool" in dtypes,
        dtypes.index("bool"),
        dtypes.count("float64"),
    )
    return (
        found,
        x.dtype in ("int8", None),
        x.dtype in {"float64"},
        x * 2 if "float64" in dtypes else x,
    )


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def ranges_over_lengths(x):
    made = range(len(x))
    return (
        [x[i] * 2 for i in made],
        list(range(x.shape[0], 0, -1)),
        len(made),
        (len(x) - 1) in made,
        made[-1],
    )


@PROGRAMS.whole()
def slices(x):
    made = slice(None, None, 2)
    return (
        made.indices(7),
        slice(1, 3) == slice(1, 3) if False else made.step,
        x[made],
        [1, 2, 3][made],
        "abcd"[made],
    )
