"""Small programs with special methods, subclasses of built-in types, cycles, and effects on objects of the frame."""

from __future__ import annotations

import functools
import types
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

Make = Callable[[], tuple[Any, ...]]
PROGRAMS: list[tuple[Callable[..., Any], Make, bool]] = []


def program(
    make_args: Make, *, breaks: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program, a function that makes its arguments, and whether its graph may break."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, make_args, breaks))
        return function

    return register


def reset() -> None:
    """Put back what the programs change besides their arguments."""
    LOG.clear()
    cached.cache_clear()


def state() -> Any:
    """What the programs change besides their arguments."""
    return list(LOG)


LOG: list[Any] = []


def x() -> np.ndarray[Any, Any]:
    """Three numbers."""
    return np.arange(3.0) + 1


def just_x() -> tuple[Any, ...]:
    return (x(),)


# Operators -------------------------------------------------------------------------------------------------------


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


@program(just_x)
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


@program(lambda: (Vec(x()), Vec(x() * 2)))
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


@program(just_x)
def operators_subclass_first(x):
    a, s, p = Vec(x), SubVec(x), PlainSubVec(x)
    return type(a + s), type(s + a), type(a + p), type(p + a), type(s + s)


@program(lambda: (Vec(x()), SubVec(x())))
def operators_subclass_first_given(a, s):
    return type(a + s), type(s + a), (a + s).v


@program(lambda: (Vec(x()), Vec(x())))
def operators_in_place(a, b):
    c = a
    a += b
    return a is c, a.v


@program(lambda: (Vec(x()),))
def operators_in_place_falls_back(a):
    c = a
    a += 1
    return a is c, a.v, c.v


@program(lambda: (Vec(x()),))
def operators_refuse(a):
    return a.v + 1, a + "text"


@program(lambda: (Vec(x()),))
def operators_refuse_order(a):
    y = a.v + 1
    return y, a <= a


@program(lambda: (Vec(x()), x()), breaks=True)
def operators_with_arrays(a, y):
    return (a * y).v, a(y, scale=2.0)


@program(lambda: (Vec(x()),))
def operators_items(a):
    a[0] = 5.0
    a[1:] = a[1:] * 2
    return a.v.sum()


@program(lambda: (Vec(x()), (1, 2), [1]), breaks=True)
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


@program(lambda: (x(), Priority(2.0)))
def operators_deferred_by_arrays(x, p):
    return x * p, p * x, x - p, x.sum() * p, x == p, p == x


@program(lambda: (x(), Priority(2.0)), breaks=True)
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


@program(lambda: (x(), Truth(False, 3), Sized(0), Sized(2)))
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


@program(lambda: (x(), Number(2)))
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


@program(lambda: (x(), Number(2)))
def texts(x, n):
    return str(n), repr(n), f"{n} {n!r} {n!s} {n:>3}", format(n, "q"), x + 1


@program(lambda: (x(), Number(1)), breaks=True)
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


@program(just_x)
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


@program(lambda: (x(), Steps(3)))
def iterator_objects(x, steps):
    for i in steps:
        x = x + i
    return x, steps.i, list(Steps(2)), sum(Steps(3)), next(Steps(1)), next(steps, "none")


class ByIndex:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return i * 10


@program(just_x)
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


@program(just_x)
def total_ordering_used(x):
    a, b = Ranked(1), Ranked(2)
    return a <= b, a > b, a >= b, max(a, b).rank * x


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


@program(just_x, breaks=True)
def list_subclass_made(x):
    s = Stack()
    s.push(x).push(x * 2)
    return s, s.top, len(s), list(s), s[0], [*s], s + [1], s == [1], bool(Stack())


@program(lambda: (x(), Stack([1.0, 2.0])), breaks=True)
def list_subclass_given(x, s):
    y = x * s[0] + s.top
    s.push(y)
    s[0] = x
    return y


@program(lambda: (x(), Counted(1.0, 2.0)), breaks=True)
def list_subclass_overriding(x, c):
    return c[0] * x, len(c), c.reads, list(c), Counted(x, 2)


@program(just_x)
def dict_subclass_made(x):
    p = Params(a=x)
    p.b = p.a * 2
    return p.b, p, "a" in p, len(p), p.get("c", 3), list(p), [k for k in p.items()]


@program(lambda: (Params(a=x(), b=2.0),))
def dict_subclass_given(p):
    p.c = p.a * p.b
    p["d"] = p["c"] + 1
    return p.d


@program(lambda: (Params(a=x(), b=2.0),))
def dict_subclass_missing_attribute(p):
    return p.a, hasattr(p, "zz"), getattr(p, "zz", 4)


@program(lambda: (x(), Doubling(a=1)))
def dict_subclass_missing(x, d):
    return d["b"], d["a"], d[3], x, Doubling()[2], d.get("q")


@program(lambda: (x(), Shape((1, 2))), breaks=True)
def tuple_subclass(x, s):
    return s.rank, s[0] * x, Shape([x, 2]), Shape((1,)) + s, s == (1, 2), Shape(s)


@program(lambda: (x(), Metres(2.5), Name("a"), Index(2)), breaks=True)
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


@program(lambda: (x(), Stack([1.0]), Wrapper()), breaks=True)
def subclass_meets_an_object(x, s, w):
    return s + w, Shape((1,)) + w, Metres(2.0) * w, s == w, w == s, x + 1, [1] + w, 2 * w


@program(just_x, breaks=True)
def methods_of_built_in_types(x):
    items = []
    list.append(items, x)
    return (
        items, float.__eq__(1.0, 1), int.__eq__(1, 1.0), tuple.__eq__((1,), [1]), str.upper("a"), dict.get({"a": x}, "a"),
        list.__len__(items), tuple.__getitem__((1, 2), 1), set.__eq__({1}, frozenset({1})), object.__eq__(items, items),
    )  # fmt: skip


@program(just_x, breaks=True)
def defaultdict_made(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["a"].append(x * 2)
    total = defaultdict(float)
    for k in "aab":
        total[k] += 1
    return d, total, len(d["b"])


@program(lambda: (x(), defaultdict(list, a=[1])))
def defaultdict_given(x, d):
    d["b"].append(x * 2)
    return len(d["a"]), d["b"]


@program(lambda: (x(), OrderedDict(b=1.0, a=2.0)), breaks=True)
def ordered_dict(x, d):
    d["c"] = x * d["b"]
    made = OrderedDict(q=x)
    made["r"] = 2
    return [k for k in d], list(d.items()), made, list(made)


@program(lambda: (x(), Tally("aab")), breaks=True)
def counter(x, t):
    return x * t["a"], t["zz"], Tally("abc"), t.most_common(1)


@program(lambda: (x(), deque([1.0, 2.0])), breaks=True)
def deques(x, d):
    d.append(x * 2)
    return d[0] * x, len(d), deque([x])


@program(lambda: (x(), ChainMap({"a": 1.0}, {"b": 2.0}), UserDict(a=x())), breaks=True)
def mappings_in_python(x, c, u):
    u["b"] = u["a"] * c["b"]
    return x * c["a"], u["b"], "a" in c


@program(lambda: (x(), types.SimpleNamespace(a=2.0)))
def namespaces(x, n):
    n.b = x * n.a
    made = types.SimpleNamespace(p=x, q=1)
    made.q += 1
    return n.b, made, made.p * made.q


@program(lambda: (x(), functools.partial(np.add, 1.0)), breaks=True)
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


@program(just_x, breaks=True)
def wrapped_functions(x):
    return x * cached(3), dispatched(2.0), dispatched("q"), doubled(x), doubled.__name__


# isinstance ------------------------------------------------------------------------------------------------------


@runtime_checkable
class HasStep(Protocol):
    def step(self): ...


class Stepping:
    def step(self):
        return 1


@program(lambda: (x(), Stepping(), Stack()), breaks=True)
def isinstance_of_protocols(x, s, stack):
    return isinstance(s, HasStep), isinstance(stack, HasStep), isinstance(x, HasStep), x + 1


@program(lambda: (x(), Stack(), ByIndex(), Steps(1)))
def isinstance_of_abstract(x, stack, by_index, steps):
    return (
        isinstance(stack, Sequence), isinstance(by_index, Sequence), isinstance(steps, Iterable),
        isinstance(by_index, Iterable), isinstance([], Sequence), isinstance(x, Sequence), x + 1,
    )  # fmt: skip


@program(lambda: (x(), Stack(), Sized(1)))
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


@program(lambda: (x(), Lying()), breaks=True)
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


@program(just_x)
def cycle_of_instances(x):
    root = Node(x)
    left, right = Node(x * 2, root), Node(x * 3, root)
    left.peer, right.peer = right, left
    return root, root.children[0].parent is root, left


@program(just_x)
def cycle_of_containers(x):
    items = [x]
    items.append(items)
    table = {"x": x}
    table["self"] = table
    pair = (x, [])
    pair[1].append(pair)
    return items, table, pair


@program(lambda: (Node(x()),))
def cycle_into_the_frame(root):
    child = Node(root.value * 2, root)
    child.items = [child]
    return child


@program(lambda: (Node(x()),))
def linked_list(root):
    node = root
    for i in range(60):
        node = Node(float(i), node)
    return node.value


@program(just_x)
def shared_instances(x):
    a = Node(x)
    b = [a, a, (a,)]
    return a, b, {"k": b, "l": b[2]}


@program(just_x)
def cycle_through_closure(x):
    def f(n):
        return g(n) + x

    def g(n):
        return x * n if n else f(n)

    return f, f(2)


@program(just_x, breaks=True)
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


@program(lambda: (Box(b=x(), a=1),))
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


@program(one_box)
def two_names_of_one(a, b):
    a.v = a.v * 2
    b.v = b.v + 1
    return a is b, a.v


@program(lambda: (Box(v=x()), Box(v=x())))
def two_objects(a, b):
    a.v = b.v * 2
    b.v = a.v + 1
    return a is b, a.v


def holding_each_other() -> tuple[Any, ...]:
    a, b = Box(v=x()), Box(v=x() * 2)
    a.other, b.other = b, a
    return a, b


@program(holding_each_other)
def objects_hold_each_other(a, b):
    a.other.v = a.v + 1
    b.other.v = b.v * 2
    return a.other.other is a, a.v, b.v


@program(lambda: (Box(v=x(), items=[1]),), breaks=True)
def mutated_then_printed(box):
    box.v = box.v * 2
    print(box.v, box.items)
    box.v = box.v + 1
    box.items = [box.v]
    print(len(box.items))
    return box.v


@program(lambda: (Box(v=x()),))
def write_then_error(box):
    box.v = box.v * 2
    box.w = 3
    raise ValueError(str(box.w))


@program(lambda: (Box(v=x()),), breaks=True)
def write_then_error_in_numpy(box):
    box.v = box.v * 2
    return box.v + np.ones(7)


@program(lambda: (Box(v=x()),))
def instance_hides_class(box):
    before = box.limit
    box.limit = 20
    between = box.limit
    del box.limit
    return before, between, box.limit, Box.limit


@program(lambda: (Box(v=x(), nested=Box(v=1.0)),))
def nested_objects(box):
    box.nested.v = box.v * 2
    box.nested.extra = box
    return box.nested.v + 1


@program(lambda: (Box(items=[x()], table={}),))
def containers_in_objects(box):
    box.items.append(box.items[0] * 2)
    box.table["k"] = box.items
    return len(box.items), box.table["k"] is box.items


@program(just_x)
def deleted_and_made_again(x):
    box = Box(a=x, b=1)
    del box.a
    box.a = x * 2
    try:
        del box.nothing
    except AttributeError:
        box.c = 1
    return box


@program(lambda: (Box(v=x()),), breaks=True)
def dict_of_object(box):
    box.__dict__["w"] = box.v * 2
    vars(box).update(z=1)
    return box.w, sorted(vars(box))


@program(lambda: (Box(v=x()),), breaks=True)
def class_of_object_changed(box):
    box.__class__ = Node
    return type(box), isinstance(box, Node), box.v + 1
