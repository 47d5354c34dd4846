"""Generators, effects on what outlives the call, containers and odd corners, with arrays."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, D101, D102, PLW0603
# ruff: noqa: TRY301

from __future__ import annotations

import functools
import itertools
import operator
from collections import OrderedDict, defaultdict, deque

import numpy as np

from tests.whole.corpus.arrays import numbers
from tests.whole.corpus.case import Corpus
from tests.whole.corpus.objects import Point

CORPUS = Corpus()
COUNTER = 0
LOG: list = []
TABLE: dict = {}


def effects():
    """What calls leave behind."""
    return COUNTER, list(LOG), dict(TABLE)


def put_back():
    """Undo what calls leave behind."""
    global COUNTER
    COUNTER = 0
    LOG.clear()
    TABLE.clear()


def affects(*args, **kwargs):
    """A case whose effects on globals are compared."""

    def register(function):
        CORPUS.add(function, *args, state=effects, reset=put_back, **kwargs)
        return function

    return register


@CORPUS.case(numbers(4))
def generators(x):
    def pieces(y):
        for i in range(len(y)):
            got = yield y[i:]
            if got:
                y = y * got

    steps = pieces(x)
    first = next(steps)
    second = steps.send(3.0)
    rest = list(steps)
    return first, second, rest, sum(v for v in x if v > 0), list(itertools.accumulate(x.tolist()))


@CORPUS.case(numbers(4))
def delegating(x):
    def inner(y):
        yield y + 1
        yield y + 2
        return y * 100

    def outer(y):
        result = yield from inner(y)
        yield result

    return list(outer(x)), next(outer(x)), [*zip(outer(x), range(2), strict=False)]


@CORPUS.case(numbers(4))
def closing_generators(x):
    log = []

    def careful():
        try:
            yield x.sum()
            yield x.mean()
        except GeneratorExit:
            log.append("closed")
            raise
        finally:
            log.append("finally")

    steps = careful()
    log.append(next(steps))
    steps.close()
    return log


@affects(numbers(3))
def global_effects(x):
    global COUNTER
    COUNTER += 1
    LOG.append(x.sum())
    TABLE["x"] = x
    x *= 2
    TABLE["sum"] = TABLE.get("sum", 0) + COUNTER
    return COUNTER


@affects(numbers(3))
def effects_before_an_error(x):
    LOG.append("before")
    x[0] = 9
    TABLE[len(LOG)] = x + 1
    x[9] = 1
    LOG.append("after")


@affects(numbers(3), [])
def effects_in_order(x, out):
    for i in range(3):
        print("turn", i)
        out.append(x * i)
        LOG.append(out[-1].sum())
        x += 1
    out.insert(0, "first")
    out.reverse()
    return out.pop()


@CORPUS.case({"a": numbers(2), "b": numbers(2, seed=1)})
def dictionaries(table):
    table["c"] = table["a"] + table.pop("b")
    table.setdefault("d", []).append(table["c"].sum())
    merged = table | {"e": 1}
    first, *_ = table.items()
    return (
        sorted(table),
        merged["e"],
        first,
        {v: k for k, v in {"x": 1}.items()},
        "a" in table,
        dict(table, z=0),
    )


@CORPUS.case([numbers(2), numbers(2, seed=1)])
def lists(items):
    items += [items[0] * 2]
    items[1:2] = [1, 2]
    copied = items[:]
    copied.sort(key=lambda item: float(np.sum(item)))
    del items[0]
    return items, copied, items.index(2), items * 2, len(items), [*items, *copied][-1]


@CORPUS.case(numbers(5))
def collections_of_arrays(x):
    groups = defaultdict(list)
    for i, value in enumerate(x):
        groups[value > 0].append(i)
    window = deque(maxlen=3)
    for value in x:
        window.append(value)
    ordered = OrderedDict(a=x, b=x * 2)
    ordered.move_to_end("a")
    return dict(groups), list(window), list(ordered), sum(window)


@CORPUS.case([numbers(2), numbers(2, seed=1)], [1.0, 2.0])
def iterating(arrays, weights):
    total = sum(w * a for w, a in zip(weights, arrays, strict=True))
    found = list(map(lambda a: a.max(), arrays))
    kept = list(filter(lambda a: a[0] > -10, arrays))
    pairs = [(i, a.sum()) for i, a in enumerate(reversed(arrays), start=1)]
    best = max(arrays, key=lambda a: a.sum())
    return total, found, kept, pairs, best, any(a[0] > 0 for a in arrays), all(weights)


@CORPUS.case(numbers(3))
def attributes(x):
    class Box:
        scale = 2.0

    box = Box()
    box.x = x
    box.x = box.x * box.scale
    box.scale = 3.0
    box.y = getattr(box, "missing", x)
    del box.x
    return hasattr(box, "x"), box.y * box.scale, Box.scale, vars(box)["scale"]


@CORPUS.case(numbers(3))
def descriptors(x):
    class Scaled:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner):
            return getattr(instance, self.name, 0) * 2

        def __set__(self, instance, value):
            setattr(instance, self.name, value)

    class Box:
        field = Scaled()

        def __getattr__(self, name):
            return f"no {name}"

    box = Box()
    box.field = x
    return box.field, box.other


@CORPUS.case(numbers(3))
def decorators(x):
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            result = function(*args, **kwargs)
            return function.__name__, result

        return wrapper

    @logged
    def double(y, *, plus=0):
        return y * 2 + plus

    partly = functools.partial(double, plus=1)
    return double(x), partly(x), operator.methodcaller("sum")(x), operator.itemgetter(1)(x)


@CORPUS.case(numbers(3))
def cached(x):
    @functools.cache
    def table(n):
        return x * n if n < 2 else table(n - 1) + table(n - 2)

    return table(5), table.cache_info().hits


@CORPUS.case(numbers(3))
def identities(x):
    same = x
    view = x[:]
    return (
        same is x,
        view is x,
        view.base is x,
        x[...] is x,
        np.asarray(x) is x,
        [x][0] is x,
        (x,) == (same,),
    )


@CORPUS.case({"kind": "scale", "by": 2.0}, numbers(3))
@CORPUS.case({"kind": "shift"}, numbers(3))
@CORPUS.case([1, 2, 3], numbers(3))
@CORPUS.case(Point(1, 2), numbers(3))
@CORPUS.case("other", numbers(3))
def matching(what, x):
    match what:
        case {"kind": "scale", "by": float(factor)}:
            return x * factor
        case {"kind": kind, **rest}:
            return x, kind, rest
        case Point(x=1, y=other):
            return x + other
        case [first, *_] if first == 1:
            return x - first
        case str() as text:
            return text, x
    return None


@CORPUS.case(numbers(3))
def walrus(x):
    out = []
    while (n := len(out)) < 3 and (y := x * n).sum() < 100:
        out.append(y)
    return out, n, [last := v for v in range(3)][-1], last


@CORPUS.case(numbers(3))
def lifetimes(x):
    import weakref

    class Holder:
        pass

    log = []
    holder = Holder()
    weakref.finalize(holder, log.append, "gone")
    holder.x = x * 2
    y = holder.x
    del holder
    log.append(y.sum())
    return log


@CORPUS.case(numbers(3))
def unbound_local(x):
    if x.size > 5:
        y = x
    return y


@CORPUS.case(numbers(3))
def missing_name(x):
    return x + no_such_global  # noqa: F821


@CORPUS.case(numbers(3), "x + n")
def evaluated(x, text):
    n = 2
    names = sorted(locals())
    return eval(text), eval(text, {"x": x, "n": 5}), names  # noqa: S307


@CORPUS.case(numbers(3))
def exception_groups(x):
    log = []
    try:
        raise ExceptionGroup("several", [ValueError(x.size), TypeError("t")])
    except* ValueError as group:
        log.append(group.exceptions[0].args)
    except* TypeError as group:
        log.append(len(group.exceptions))
    return log, x


@CORPUS.case(numbers(3))
def nested_handlers(x):
    log = []
    for step in range(3):
        try:
            try:
                if step == 1:
                    x[step + 5]
                log.append(step)
            except IndexError as error:
                log.append(str(error))
                if step == 1:
                    raise KeyError(step) from error
            finally:
                x = x * 2
        except KeyError as error:
            log.append(repr(error.__cause__))
    return log, x


@CORPUS.case(numbers(3))
def subclasses_of_arrays(x):
    class Tagged(np.ndarray):
        def __array_finalize__(self, other):
            self.tag = getattr(other, "tag", "new")

    y = x.view(Tagged)
    y.tag = "mine"
    z = y * 2
    return z.tag, np.asarray(z), type(z[1:]).__name__


@CORPUS.case(numbers(3))
def array_protocols(x):
    class Wrapped:
        def __init__(self, data):
            self.data = data

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.data, dtype)

    return np.add(Wrapped(x), 1), np.stack([Wrapped(x), x])


@CORPUS.case(numbers(3))
def override_of_ufuncs(x):
    class Lazy:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc.__name__, method, len(inputs), sorted(kwargs)

    lazy = Lazy()
    return x + lazy, np.multiply(lazy, x), np.subtract.reduce(lazy)


@CORPUS.case(3)
def async_by_hand(n):
    async def double(x):
        return x * 2

    async def main():
        total = np.zeros(2)
        for i in range(n):
            total = total + await double(np.full(2, i))
        return total

    task = main()
    try:
        task.send(None)
    except StopIteration as stop:
        return stop.value


@CORPUS.case(numbers(3))
def random_state(x):
    rng = np.random.default_rng(5)
    noise = rng.normal(size=3)
    np.random.seed(3)
    return x + noise, np.random.rand(2), rng.integers(0, 9, 3), rng.choice(x)


@CORPUS.case(numbers(4))
def dynamic_classes(x):
    def total(self):
        return self.x.sum()

    Made = type("Made", (), {"total": total, "__init__": lambda self, x: setattr(self, "x", x)})
    made = Made(x)
    return made.total(), Made.__name__, isinstance(made, Made), issubclass(Made, object)


@CORPUS.case(numbers(3))
def comprehension_scopes(x):
    scale = 2
    grid = [[i * j * scale for j in range(2)] for i in range(2)]
    lookup = {k: v.sum() for k, v in zip("ab", (x, x * scale), strict=True)}
    lazily = (scale * v for v in x)
    scale = 3
    return grid, lookup, list(lazily), {*range(2)} | {scale}
