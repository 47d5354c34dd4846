"""Programs around OrderedDict, defaultdict, Counter and heapq."""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import ufuse
from tests.support.comparing.registering import Programs


def reordered() -> OrderedDict[str, Any]:
    """An OrderedDict whose order is not that of the dict beneath."""
    made: OrderedDict[str, Any] = OrderedDict(a=1, b=2.5, c=3)
    made.move_to_end("a")
    return made


def arguments() -> dict[str, Any]:
    """What the caller brings: an OrderedDict that was reordered, a defaultdict, a Counter, a heap."""
    return {
        "o": reordered(),
        "m": defaultdict(int, a=1),
        "c": Counter("aabz"),
        "h": [1, 3, 2, 9],
    }


PROGRAMS = Programs(arguments)


# OrderedDict -----------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def order_of_the_frame(x, o):
    pairs = {**o}, dict(o), list(o), list(o.items()), list(reversed(o)), list(reversed(o.values()))
    return x, pairs, next(iter(o)), o["a"], "c" in o, len(o)


@PROGRAMS.whole()
def views_and_iterators(x, o):
    begun, backwards = iter(o.items()), reversed(o)
    next(begun)
    next(backwards)
    return begun, backwards, iter(o), type(o.items()).__name__, list(o.keys()), x + 1


@PROGRAMS.whole()
def stored_in_order(x, o):
    o["z"] = x
    o.setdefault("q", x * 2)
    o.setdefault("q", 1)
    o.update({"r": 1}, s=2)
    o.update([("t", 3)])
    gone = o.pop("r"), o.pop("none", 5)
    del o["s"]
    made = OrderedDict([("a", x), ("b", 2)], c=3)
    errors = []
    for fails in (lambda: made["q"], lambda: made.pop("p")):
        try:
            fails()
        except KeyError as error:
            errors.append(error.args)
    return o, gone, made, made.copy(), errors


@PROGRAMS.whole()
def stored_while_gone_through(x):
    said = []
    for change in (lambda o: o.update(q=1), lambda o: o.pop("c"), lambda o: o.update(a=5)):
        o = OrderedDict(a=1, b=2, c=3)
        try:
            for key in o:
                said.append(key)
                change(o)
        except RuntimeError as error:
            said.append(str(error))
    return x * 2, said


@PROGRAMS.cut()
def reordered_in_the_trace(x, o):
    o.move_to_end("b")
    o.move_to_end("a", last=False)
    o["z"] = x
    first, last = o.popitem(last=False), o.popitem()
    o.setdefault("q", x * 2)
    o.update({"r": 1}, s=2)
    o.update([("t", 3)])
    gone = o.pop("r"), o.pop("none", 5)
    o |= {"u": 6}
    return o, first, last, gone, o | {"v": 1}, {"w": 1} | o


@PROGRAMS.cut()
def made_in_the_trace(x):
    made = OrderedDict([("a", x), ("b", 2)], c=3)
    made.move_to_end("a")
    other = made.copy()
    made.clear()
    errors = []
    for fails in (made.popitem, lambda: made.move_to_end("q"), lambda: made.pop("p")):
        try:
            fails()
        except KeyError as error:
            errors.append(error.args)
    return made, other, OrderedDict.fromkeys("ab", x), OrderedDict.fromkeys("c"), errors


@PROGRAMS.whole()
def equality_with_order(x):
    a, b = OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)
    return x, a == b, a != b, a == dict(b), dict(a) == b, a == OrderedDict(a=1, b=2), a == [1]


@PROGRAMS.cut()
def changed_while_gone_through(x):
    said = []
    for change in (
        lambda o: o.update(q=1),
        lambda o: o.popitem(),
        lambda o: o.move_to_end("a"),
        lambda o: o.move_to_end("c"),
        lambda o: o.update(a=5),
        lambda o: o.clear(),
    ):
        o = OrderedDict(a=1, b=2, c=3)
        try:
            for key in o:
                said.append(key)
                change(o)
        except RuntimeError as error:
            said.append(str(error))
    return x * 2, said


class Recent(OrderedDict[Any, Any]):
    """The last few that were asked for, as the documentation writes it."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        self.move_to_end(key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if len(self) > self.most:
            oldest = next(iter(self))
            del self[oldest]


@PROGRAMS.cut()
def least_recently_used(x):
    recent = Recent(2)
    for key in (1, 2, 1, 3):
        if key not in recent:
            recent[key] = x * key
        recent[key] += 1
    return list(recent), [recent[key] for key in (1, 3)]


class Noting(OrderedDict[Any, Any]):
    """Counts what is stored."""

    stored = 0

    def __setitem__(self, key: Any, value: Any) -> None:
        self.stored += 1
        super().__setitem__(key, value)


@PROGRAMS.whole()
def own_stores_are_called(x):
    made = Noting(a=1)
    made.update({"b": 2}, c=x)
    return made, made.stored


# defaultdict and Counter -----------------------------------------------------------------------------------------


@PROGRAMS.whole()
def made_by_default(x, m):
    m["new"] += 1
    made = defaultdict(list, a=[x])
    made["b"].append(2)
    return m, m.copy(), made, dict(made), made.default_factory


@PROGRAMS.cut()
def defaults(x, m):
    m["new"] += 1
    made = defaultdict(list, a=[x])
    made["b"].append(2)
    return m, m.copy(), made, made | {"c": 1}, dict(made), made.default_factory


@PROGRAMS.whole()
def nested_defaults(x):
    made = defaultdict(lambda: defaultdict(float))
    made[1][2] += 1.5
    return {key: dict(value) for key, value in made.items()}, x


@PROGRAMS.whole()
def counted(x, c):
    c.update("abb")
    c["q"] += 2
    made = Counter("abracadabra")
    made.subtract("aab")
    most = made.most_common(2), made.most_common(1), made.most_common()
    return c, most, made["zz"], made + c, made - c, made & c, made | c, made == c, x


@PROGRAMS.whole()
def counters_made(x):
    made = Counter([1, 2, 1, (1, 2)]), Counter({"a": 2}), Counter(a=1, b=0), Counter()
    return made, made[0].total(), list(made[0].elements()), +made[2], x


class Halved(Counter[Any]):
    """Stores half of what it is given."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value / 2)


@PROGRAMS.cut()
def counted_by_a_subclass(x):
    return Halved("aab"), x


# heapq -----------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def heap_made(x):
    heap = []
    for item in ((3, "c"), (1, "a"), (2, "b"), (1, "d")):
        heapq.heappush(heap, item)
    other = [5, 3, 8, 1, 9, 2]
    heapq.heapify(other)
    taken = heapq.heappop(heap), heapq.heapreplace(other, 4), heapq.heappushpop(other, 0)
    try:
        heapq.heappop([])
    except IndexError as error:
        return heap, other, taken, str(error), x
    return None


@PROGRAMS.whole()
def heap_of_the_frame(x, h):
    heapq.heappush(h, 0)
    heapq.heappush(h, 7)
    taken = heapq.heappop(h), heapq.heappop(h)
    return h, taken, heapq.nlargest(2, h), heapq.nsmallest(2, h, key=lambda one: -one), x


@PROGRAMS.either()  # its loop may become native code
def shortest_paths(x):
    graph = {0: {1: 4, 2: 1}, 1: {3: 1}, 2: {1: 2, 3: 5}, 3: {}}
    best, waiting = {0: 0}, [(0, 0)]
    while waiting:
        far, node = heapq.heappop(waiting)
        for following, step in graph[node].items():
            if far + step < best.get(following, 1e9):
                best[following] = far + step
                heapq.heappush(waiting, (far + step, following))
    return best, x * best[3]


@PROGRAMS.cut()
def heap_of_arrays(x):
    heap = [(1, x)]
    try:
        heapq.heappush(heap, (1, x + 1))
    except ValueError as error:
        return str(error), len(heap)
    return None


@PROGRAMS.cut()
def iterator_kept_over_a_break(x, o):
    walk = iter(o.items())
    first = next(walk)
    ufuse.graph_break()
    return first, list(walk), x + 1
