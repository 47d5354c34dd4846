"""Small programs with subclasses of built-in types, `isinstance`, cycles, and effects on objects of the frame."""

from __future__ import annotations

import functools
import types
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tests.programs.object_operators import ByIndex, Sized, Steps
from tests.support.comparing.registering import Programs, x

LOG: list[Any] = []


def state() -> Any:
    """What the programs change besides their arguments."""
    return list(LOG)


def reset() -> None:
    """Put back what the programs change besides their arguments."""
    LOG.clear()
    cached.cache_clear()


PROGRAMS = Programs(state=state, reset=reset)


# Subclasses of built-in types ------------------------------------------------------------------------------------


class Stack(list):
    def push(self, item):
        self.append(item)
        return self

    @property
    def top(self):
        return self[-1]


class Counted(list):
    def __init__(self, *items):
        super().__init__(items)
        self.reads = 0

    def __getitem__(self, i):
        self.reads += 1
        return super().__getitem__(i)

    def __len__(self):
        return super().__len__() + 100


class Params(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class Doubling(dict):
    def __missing__(self, key):
        return (key, 2)


class Shape(tuple):
    __slots__ = ()

    @property
    def rank(self):
        return len(self)


class Metres(float):
    def __add__(self, other):
        return Metres(float(self) + other)


class Name(str):
    def shout(self):
        return self.upper() + "!"


class Index(int):
    pass


@PROGRAMS.either()
def list_subclass_made(x):
    s = Stack()
    s.push(x).push(x * 2)
    return s, s.top, len(s), list(s), s[0], [*s], s + [1], s == [1], bool(Stack())


@PROGRAMS.either(lambda: (x(), Stack([1.0, 2.0])))
def list_subclass_given(x, s):
    y = x * s[0] + s.top
    s.push(y)
    s[0] = x
    return y


@PROGRAMS.either(lambda: (x(), Counted(1.0, 2.0)))
def list_subclass_overriding(x, c):
    return c[0] * x, len(c), c.reads, list(c), Counted(x, 2)


@PROGRAMS.whole()
def dict_subclass_made(x):
    p = Params(a=x)
    p.b = p.a * 2
    return p.b, p, "a" in p, len(p), p.get("c", 3), list(p), [k for k in p.items()]


@PROGRAMS.whole(lambda: (Params(a=x(), b=2.0),))
def dict_subclass_given(p):
    p.c = p.a * p.b
    p["d"] = p["c"] + 1
    return p.d


@PROGRAMS.whole(lambda: (Params(a=x(), b=2.0),))
def dict_subclass_missing_attribute(p):
    return p.a, hasattr(p, "zz"), getattr(p, "zz", 4)


@PROGRAMS.whole(lambda: (x(), Doubling(a=1)))
def dict_subclass_missing(x, d):
    return d["b"], d["a"], d[3], x, Doubling()[2], d.get("q")


@PROGRAMS.either(lambda: (x(), Shape((1, 2))))
def tuple_subclass(x, s):
    return s.rank, s[0] * x, Shape([x, 2]), Shape((1,)) + s, s == (1, 2), Shape(s)


@PROGRAMS.either(lambda: (x(), Metres(2.5), Name("a"), Index(2)))
def number_subclasses(x, m, n, i):
    return x * m, m + 1, n.shout(), x[i], i + 1, Metres(3.0) + 1, Name("b").shout(), Name("c")


class Wrapper:
    def __init__(self):
        self.k = 1

    def __radd__(self, other):
        return type(other), other

    def __rmul__(self, other):
        return type(other), other

    def __eq__(self, other):
        return type(other) is Stack

    __hash__ = None


@PROGRAMS.either(lambda: (x(), Stack([1.0]), Wrapper()))
def subclass_meets_an_object(x, s, w):
    return s + w, Shape((1,)) + w, Metres(2.0) * w, s == w, w == s, x + 1, [1] + w, 2 * w


@PROGRAMS.either()
def methods_of_built_in_types(x):
    items = []
    list.append(items, x)
    return (
        items, float.__eq__(1.0, 1), int.__eq__(1, 1.0), tuple.__eq__((1,), [1]), str.upper("a"), dict.get({"a": x}, "a"),
        list.__len__(items), tuple.__getitem__((1, 2), 1), set.__eq__({1}, frozenset({1})), object.__eq__(items, items),
    )  # fmt: skip


@PROGRAMS.either()
def defaultdict_made(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["a"].append(x * 2)
    total = defaultdict(float)
    for k in "aab":
        total[k] += 1
    return d, total, len(d["b"])


@PROGRAMS.whole(lambda: (x(), defaultdict(list, a=[1])))
def defaultdict_given(x, d):
    d["b"].append(x * 2)
    return len(d["a"]), d["b"]


@PROGRAMS.either(lambda: (x(), OrderedDict(b=1.0, a=2.0)))
def ordered_dict(x, d):
    d["c"] = x * d["b"]
    made = OrderedDict(q=x)
    made["r"] = 2
    return [k for k in d], list(d.items()), made, list(made)


@PROGRAMS.either(lambda: (x(), Tally("aab")))
def counter(x, t):
    return x * t["a"], t["zz"], Tally("abc"), t.most_common(1)


@PROGRAMS.either(lambda: (x(), deque([1.0, 2.0])))
def deques(x, d):
    d.append(x * 2)
    return d[0] * x, len(d), deque([x])


@PROGRAMS.either(lambda: (x(), ChainMap({"a": 1.0}, {"b": 2.0}), UserDict(a=x())))
def mappings_in_python(x, c, u):
    u["b"] = u["a"] * c["b"]
    return x * c["a"], u["b"], "a" in c


@PROGRAMS.whole(lambda: (x(), types.SimpleNamespace(a=2.0)))
def namespaces(x, n):
    n.b = x * n.a
    made = types.SimpleNamespace(p=x, q=1)
    made.q += 1
    return n.b, made, made.p * made.q


@PROGRAMS.either(lambda: (x(), functools.partial(np.add, 1.0)))
def partials(x, p):
    def f(a, b, c=0.0):
        return a * b + c

    return p(x), functools.partial(f, 2.0, c=1.0)(x), p.func, p.args


@functools.lru_cache
def cached(n):
    LOG.append(n)
    return n * 2.0


@functools.singledispatch
def dispatched(value):
    return "any", value


@dispatched.register
def _(value: float):
    return "float", value * 2


def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) * 2

    wrapper.calls = 0
    return wrapper


@traced
def doubled(x):
    return x + 1


@PROGRAMS.either()
def wrapped_functions(x):
    return x * cached(3), dispatched(2.0), dispatched("q"), doubled(x), doubled.__name__


# isinstance ------------------------------------------------------------------------------------------------------


@runtime_checkable
class HasStep(Protocol):
    def step(self): ...


class Stepping:
    def step(self):
        return 1


@PROGRAMS.either(lambda: (x(), Stepping(), Stack()))
def isinstance_of_protocols(x, s, stack):
    return isinstance(s, HasStep), isinstance(stack, HasStep), isinstance(x, HasStep), x + 1


@PROGRAMS.whole(lambda: (x(), Stack(), ByIndex(), Steps(1)))
def isinstance_of_abstract(x, stack, by_index, steps):
    return (
        isinstance(stack, Sequence), isinstance(by_index, Sequence), isinstance(steps, Iterable),
        isinstance(by_index, Iterable), isinstance([], Sequence), isinstance(x, Sequence), x + 1,
    )  # fmt: skip


@PROGRAMS.whole(lambda: (x(), Stack(), Sized(1)))
def isinstance_of_several(x, stack, sized):
    return (
        isinstance(stack, (tuple, list)),
        isinstance(sized, int | Sized),
        issubclass(Stack, list),
        x + 1,
    )


class Lying:
    @property
    def __class__(self):
        return Sized


@PROGRAMS.either(lambda: (x(), Lying()))
def isinstance_of_a_liar(x, liar):
    return isinstance(liar, Sized), isinstance(liar, Lying), liar.__class__, type(liar), x + 1


# Cycles, sharing, identity ---------------------------------------------------------------------------------------


class Node:
    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)


@PROGRAMS.whole()
def cycle_of_instances(x):
    root = Node(x)
    left, right = Node(x * 2, root), Node(x * 3, root)
    left.peer, right.peer = right, left
    return root, root.children[0].parent is root, left


@PROGRAMS.whole()
def cycle_of_containers(x):
    items = [x]
    items.append(items)
    table = {"x": x}
    table["self"] = table
    pair = (x, [])
    pair[1].append(pair)
    return items, table, pair


@PROGRAMS.whole(lambda: (Node(x()),))
def cycle_into_the_frame(root):
    child = Node(root.value * 2, root)
    child.items = [child]
    return child


@PROGRAMS.whole(lambda: (Node(x()),))
def linked_list(root):
    node = root
    for i in range(60):
        node = Node(float(i), node)
    return node.value


@PROGRAMS.whole()
def shared_instances(x):
    a = Node(x)
    b = [a, a, (a,)]
    return a, b, {"k": b, "l": b[2]}


@PROGRAMS.whole()
def cycle_through_closure(x):
    def f(n):
        return g(n) + x

    def g(n):
        return x * n if n else f(n)

    return f, f(2)


@PROGRAMS.either()
def iterators_over_made(x):
    s = Stack([1, 2, 3])
    it = iter(s)
    first = next(it)
    return it, s, first * x


# Effects on objects of the frame ---------------------------------------------------------------------------------


class Box:
    limit = 10

    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)


@PROGRAMS.whole(lambda: (Box(b=x(), a=1),))
def attributes_in_order(box):
    del box.b
    box.c = 2
    box.b = 3
    box.d = box.c + box.b
    del box.a
    box.a = 4


def one_box() -> tuple[Any, ...]:
    box = Box(v=x())
    return box, box


@PROGRAMS.whole(one_box)
def two_names_of_one(a, b):
    a.v = a.v * 2
    b.v = b.v + 1
    return a is b, a.v


@PROGRAMS.whole(lambda: (Box(v=x()), Box(v=x())))
def two_objects(a, b):
    a.v = b.v * 2
    b.v = a.v + 1
    return a is b, a.v


def holding_each_other() -> tuple[Any, ...]:
    a, b = Box(v=x()), Box(v=x() * 2)
    a.other, b.other = b, a
    return a, b


@PROGRAMS.whole(holding_each_other)
def objects_hold_each_other(a, b):
    a.other.v = a.v + 1
    b.other.v = b.v * 2
    return a.other.other is a, a.v, b.v


@PROGRAMS.either(lambda: (Box(v=x(), items=[1]),))
def mutated_then_printed(box):
    box.v = box.v * 2
    print(box.v, box.items)
    box.v = box.v + 1
    box.items = [box.v]
    print(len(box.items))
    return box.v


@PROGRAMS.raising(lambda: (Box(v=x()),))
def write_then_error(box):
    box.v = box.v * 2
    box.w = 3
    raise ValueError(str(box.w))


@PROGRAMS.either(lambda: (Box(v=x()),))
def write_then_error_in_numpy(box):
    box.v = box.v * 2
    return box.v + np.ones(7)


@PROGRAMS.whole(lambda: (Box(v=x()),))
def instance_hides_class(box):
    before = box.limit
    box.limit = 20
    between = box.limit
    del box.limit
    return before, between, box.limit, Box.limit


@PROGRAMS.whole(lambda: (Box(v=x(), nested=Box(v=1.0)),))
def nested_objects(box):
    box.nested.v = box.v * 2
    box.nested.extra = box
    return box.nested.v + 1


@PROGRAMS.whole(lambda: (Box(items=[x()], table={}),))
def containers_in_objects(box):
    box.items.append(box.items[0] * 2)
    box.table["k"] = box.items
    return len(box.items), box.table["k"] is box.items


@PROGRAMS.whole()
def deleted_and_made_again(x):
    box = Box(a=x, b=1)
    del box.a
    box.a = x * 2
    try:
        del box.nothing
    except AttributeError:
        box.c = 1
    return box


@PROGRAMS.either(lambda: (Box(v=x()),))
def dict_of_object(box):
    box.__dict__["w"] = box.v * 2
    vars(box).update(z=1)
    return box.w, sorted(vars(box))


@PROGRAMS.either(lambda: (Box(v=x()),))
def class_of_object_changed(box):
    box.__class__ = Node
    return type(box), isinstance(box, Node), box.v + 1
