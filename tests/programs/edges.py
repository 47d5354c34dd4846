"""Small programs at the edges of Python's containers, iterators and errors."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import types

import numpy as np

from tests.support.comparing.registering import Programs, x

PROGRAMS = Programs()


def one_list_twice():
    """Both parameters are one list."""
    shared = [1]
    return (x(), shared, shared)


def one_dict_twice():
    """Both parameters are one dict."""
    shared = {"a": 1}
    return (x(), shared, shared)


@PROGRAMS.whole(lambda: (x(), [1], [1]))
def alias_lists(x, a, b):
    a.append(x)
    b.append(2)
    return a is b, len(b)


@PROGRAMS.whole(one_list_twice)
def alias_same(x, a, b):
    a.append(x)
    b.append(2)
    return x + 1


@PROGRAMS.whole(one_list_twice)
def alias_same_read(x, a, b):
    a.append(5)
    return x + len(b)


@PROGRAMS.whole(one_dict_twice)
def alias_dict(x, a, b):
    a["k"] = x
    return b["k"] + 1, "k" in b


@PROGRAMS.whole(one_dict_twice)
def alias_dict2(x, a, b):
    if "a" in a:
        b["a"] = 7
    return a["a"], x + 1


@PROGRAMS.whole(lambda: (x(), {"a": 1}))
def store_then_iterate(x, d):
    d["z"] = x
    return [k for k in d], list(d.values())


@PROGRAMS.whole(lambda: (x(), {"a": 1}))
def dict_missing(x, d):
    try:
        return d["q"]
    except KeyError as e:
        return e.args, x + 1


@PROGRAMS.whole(lambda: (x(), {"a": 1}))
def dict_del_then(x, d):
    d["q"] = 1
    del d["a"]
    return d, x + 1, "a" in d


@PROGRAMS.whole(lambda: (x(), {"a": 1}, 5))
def dict_int_key(x, d, n):
    d[n] = x
    d[n + 1] = 2
    return d[n] + 1


@PROGRAMS.either(lambda: (x(), {1: 1}, 1.0))
def dict_float_key(x, d, f):
    d[f] = x
    return x + 1


@PROGRAMS.whole(lambda: (x(), {"a": 1}))
def blind_keeps_order(x, d):
    d["b"] = 1
    d["c"] = x
    d.update({"a": 2}, e=3)
    d["b"] = 2
    return x


@PROGRAMS.whole(lambda: (x(), [3, 1, 2]))
def sort_frame(x, l):
    l.append(0)
    l.sort(key=lambda v: -v)
    return x, l[0]


@PROGRAMS.whole(lambda: (x(), [3.0, 1.0, 2.5]))
def sort_floats(x, l):
    return sorted(l), max(l), min(l), sum(l[:2]), x + 1


@PROGRAMS.whole(lambda: (x(), [1, 2, 3]))
def iter_while_append(x, l):
    n = 0
    for v in l:
        if n < 2:
            l.append(v * 10)
        n += 1
    return n, x + 1


@PROGRAMS.whole(lambda: (x(), [1, 2, 3]))
def iter_while_remove(x, l):
    for v in l:
        l.remove(v)
    return l, x + 1


@PROGRAMS.whole(lambda: (x(), {"a": 1, "b": 2}))
def iter_dict_del(x, d):
    try:
        for k in d:
            del d[k]
    except RuntimeError as e:
        return str(e), d, x + 1


@PROGRAMS.either(lambda: (x(), {"a": 1, "b": 2}))
def iter_dict_swap(x, d):
    seen = []
    for k in d:
        seen.append(k)
        if len(seen) > 4:
            break
        del d[k]
        d[k + "z"] = 1
    return seen, d, x + 1


@PROGRAMS.whole(lambda: (x(), {"a": 1, "b": 2}))
def iter_dict_setval(x, d):
    for k in d:
        d[k] = d[k] * 2
    return x + 1


@PROGRAMS.whole()
def gens_nested(x):
    def a():
        try:
            yield 1
            yield 2
        finally:
            log.append("a")

    log = []

    def b():
        yield from a()
        log.append("b")
        return 5

    def c():
        r = yield from b()
        yield r

    return list(c()), log, x + 1


@PROGRAMS.either()
def gen_return_value(x):
    def g():
        yield 1
        return x * 2

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as e:
        return e.value, e.args


@PROGRAMS.whole()
def gen_expr_closure(x):
    k = 2
    g = (v * k for v in [1, 2])
    k = 3
    return list(g), x


@PROGRAMS.whole()
def half_zip(x):
    a = iter([1, 2, 3])
    b = iter("ab")
    z = zip(a, b)
    next(z)
    return z, a, b, x


@PROGRAMS.whole()
def half_map(x):
    it = iter([1, 2, 3])
    m = map(lambda v: v * 2, it)
    next(m)
    return list(m), x


@PROGRAMS.whole()
def set_hand(x):
    s = {c for c in "hello world"}
    s.discard("h")
    s2 = s | {"z"}
    s3 = frozenset(s2) - {"o"}
    return s, s2, s3, list(s), list(s2), list(s3), x


@PROGRAMS.whole(lambda: (x(), {3, 1, 2}))
def frame_set(x, s):
    return (
        len(s),
        2 in s,
        s == {1, 2, 3},
        s <= {1, 2, 3, 4},
        s.isdisjoint({9}),
        sum(s),
        sorted(s, reverse=True),
        x + 1,
    )


@PROGRAMS.whole(lambda: (x(), {3, 1, 2}))
def frame_set2(x, s):
    q = s | {9}
    return len(q), x + 1


@PROGRAMS.whole(lambda: (x(), (1, 2.5, "a")))
def tup(x, t):
    a, *b = t
    return b, t + (1,), t * 0, t < (1, 3), t == (1, 2.5, "a"), x + 1, hash(t[:1])


@PROGRAMS.whole()
def cmp_mixed(x):
    return (
        [1, 2] == (1, 2),
        None == 0,
        "a" == b"a",
        (1, "a") == (1.0, "a"),
        {} == {},
        [] < [1],
        {1} == {True},
        range(0) == range(5, 5),
        (x,) == (x,),
        x,
    )


@PROGRAMS.whole(lambda: (x(), 4))
def fstr(x, n):
    return f"{n}", str(n), "%d" % n, x + n


@PROGRAMS.whole(lambda: (x(), 2.5))
def fstrf(x, f):
    return f"{f:.1f}", x + f


@PROGRAMS.whole()
def minmax(x):
    a = [3, 1, 2]
    return (
        max(a, key=lambda v: -v),
        min("b", "a", key=ord),
        max({"a": 1, "b": 0}, key={"a": 1, "b": 0}.get),
        max(x.shape),
        x,
    )


@PROGRAMS.whole()
def str_misc(x):
    return (
        "a-b".split("-"),
        "abc"[::-1],
        "a".join("xyz"),
        "x".zfill(3),
        "ab".translate({97: "q"}),
        str.upper("a"),
        list(map(str.strip, [" a "])),
        "a,b".partition(","),
        "é".encode("utf8"),
        b"a".decode(),
        "abc".isalpha(),
        "A".casefold(),
        "a\tb".expandtabs(2),
        "ab".count("a"),
        "ab".rjust(4, "."),
        "x=%(x)s" % {"x": 2},
        "{:>{w}}".format("a", w=4),
        "{0[0]}".format([5]),
        x,
    )


@PROGRAMS.whole()
def reduce_acc(x):
    return functools.reduce(lambda a, b: a + b, [x, x, x]), list(itertools.accumulate([x, x])), x


@PROGRAMS.whole()
def deepc(x):
    a = [1]
    b = [a, a]
    c = copy.deepcopy(b)
    return c, c[0] is c[1], copy.deepcopy((1, 2)), copy.copy({1: 2}), x


@PROGRAMS.whole()
def slices_err(x):
    l = [1, 2, 3]
    try:
        l[0:4:2] = [1]
    except ValueError as e:
        m = str(e)
    try:
        l[::0]
    except ValueError as e:
        m2 = str(e)
    return m, m2, x


@PROGRAMS.whole()
def walrus(x):
    if (n := len(x)) > 2 and (m := n * 2):
        return n, m, [y for v in range(3) if (y := v % 2)], x


@PROGRAMS.whole(lambda: (x(), [[1, 2], [3]]))
def nested(x, l):
    return (
        [v for r in l for v in r],
        [[c * 2 for c in r] for r in l],
        {k: v for k, v in enumerate(l)},
        x,
    )


@PROGRAMS.whole(lambda: (x(), [1, 2]))
def delitems(x, l):
    l.append(3)
    del l[0]
    del l[-1]
    return l, x


@PROGRAMS.whole()
def iter_sentinel(x):
    l = [1, 2, 3, 0, 4]
    it = iter(l.pop, 0)
    return list(it), l, x


@PROGRAMS.either()
def gen_throw_types(x):
    def g():
        while True:
            try:
                yield 1
            except ValueError:
                yield 2
            except KeyError:
                return

    it = g()
    next(it)
    a = it.throw(ValueError)
    b = next(it)
    try:
        it.throw(KeyError())
    except StopIteration:
        return a, b, x + 1


@PROGRAMS.whole()
def gen_close_value(x):
    def g():
        try:
            yield 1
        except GeneratorExit:
            return 9

    it = g()
    next(it)
    return it.close(), x


@PROGRAMS.whole()
def counter_misc(x):
    c = itertools.count()
    return [next(c) for _ in range(3)], next(zip(c, "a")), x


@PROGRAMS.whole()
def sum_start(x):
    return (
        sum([x, x], start=x),
        sum([], 5),
        sum(([1], [2]), []),
        sum({1: 2, 3: 4}),
        sum(range(5)),
        x,
    )


@PROGRAMS.either()
def errs(x):
    out = []
    for f in (
        lambda: [1].index(5),
        lambda: (1) + "a",
        lambda: {}["q"],
        lambda: int("z", 5),
        lambda: "a" + 1,
        lambda: [1] + (2,),
        lambda: len(5),
        lambda: {[]: 1},
        lambda: sum([1, "a"]),
        lambda: max(1, "a"),
        lambda: iter(5),
        lambda: next([]),
        lambda: [][0],
        lambda: "abc".foo,
        lambda: None.x,
        lambda: (lambda a: a)(),
        lambda: range("a"),
        lambda: {1: 2}.pop(),
        lambda: chr(-1),
        lambda: ord("ab"),
        lambda: list(5),
        lambda: tuple(None),
        lambda: dict([1]),
        lambda: set([[]]),
        lambda: zip(5),
        lambda: enumerate(5),
        lambda: sorted(5),
        lambda: isinstance(1, 5),
        lambda: hash([]),
        lambda: round("a"),
        lambda: abs("a"),
        lambda: divmod(1, 0),
        lambda: pow(2, 3, 0),
        lambda: float("x"),
        lambda: "a" * "b",
        lambda: -"a",
        lambda: [1] < "a",
        lambda: getattr(5, "q"),
        lambda: "a".join([1]),
    ):
        try:
            f()
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out, x + 1


@PROGRAMS.whole()
def deque_made(x):
    q = collections.deque([1, 2], maxlen=3)
    q.append(x)
    q.appendleft(5)
    return list(q), x


@PROGRAMS.whole()
def counter_made(x):
    c = collections.Counter("aab")
    return c["a"], x


@PROGRAMS.whole()
def defd(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    return d["a"], x


@PROGRAMS.whole()
def star_mid(x):
    def f(a, b=2, *c, d, e=5, **k):
        return a, b, c, d, e, k

    return f(1, *[2, 3], d=4, **{"z": x}), f(*(1,), **{"d": 1}), x


@PROGRAMS.whole()
def is_things(x):
    a = []
    b = a
    return a is b, a is not [], None is None, (x,)[0] is x, x


@PROGRAMS.whole(lambda: (x(), [1, 2, 3], {"k": [4]}))
def handing(x, l, d):
    m = {"l": l, "d": d, "k": d["k"]}
    d["k"].append(x)
    return m, l is m["l"]


@PROGRAMS.whole(lambda: (x(), [1]))
def extend_self(x, l):
    l.extend(l)
    l += l
    l[1:1] = l
    return l, x


@PROGRAMS.whole(lambda: (x(), {"a": 1}))
def update_self(x, d):
    d.update(d)
    d.update([("z", x)])
    d.update(zip("pq", (1, 2)), r=3)
    return x


@PROGRAMS.either()
def gen_in_place(x):
    y = x + 0

    def g():
        yield y
        y.__iadd__(1)
        yield y

    a = [v.sum() for v in g()]
    return a, y


@PROGRAMS.whole()
def groupby_interleave(x):
    g = itertools.groupby([1, 1, 2, 2, 2, 3])
    k1, a = next(g)
    v = next(a)
    k2, b = next(g)
    return k1, v, list(a), k2, next(b), [(k, list(q)) for k, q in g], x


@PROGRAMS.whole()
def tee_mixed(x):
    a, b = itertools.tee(iter([1, 2, x]))
    return next(a), next(a), next(b), list(a), list(b)


@PROGRAMS.either()
def dict_same_keys_elsewhere(x):
    d = {0: 0}
    try:
        for _ in d:
            del d[0]
            d[0] = 0
    except RuntimeError as error:
        return str(error), x + 1
    return "went through", x + 1


@PROGRAMS.either(lambda: (x(), [1]))
def list_emptied_by_comparing(x, a):
    class Emptying:
        def __init__(self, other):
            self.other = other

        def __eq__(self, _):
            self.other.clear()
            return NotImplemented

        __hash__ = None

    one, two = [], []
    one.append(Emptying(two))
    two.append(Emptying(one))
    return one == two, len(one), len(two), x + len(a)


@PROGRAMS.either(lambda: (x(), 500))
def str_by_keyword(x, n):
    return str(object=n), x + 1


@PROGRAMS.either()
def set_subclass_by_keyword(x):
    class Kind(set):
        pass

    try:
        return Kind(sequence=()), x
    except TypeError as error:
        return str(error), x


@PROGRAMS.either(lambda: (x(), range(10)))
def range_matched_by_position(x, numbers):
    try:
        match numbers:
            case range(10):
                return x
    except TypeError as error:
        return str(error), x + 1
    return x + 2


@PROGRAMS.either()
def classmethod_of_a_descriptor(x):
    class Bound:
        def __init__(self, function):
            self.function = function

        def __get__(self, _, owner):
            return functools.partial(self.function, owner)

    class Kind:
        made = classmethod(Bound(lambda owner, y: (owner.__name__, y + 1)))

    try:
        return Kind.made(x)
    except TypeError as error:  # from 3.13 on
        return type(error), x


@PROGRAMS.either()
def batched_by_nothing(x):
    batched = getattr(itertools, "batched", None)
    try:
        return list(batched("abc", None)), x
    except TypeError as error:
        return type(error), x


@PROGRAMS.either()
def group_key_of_itself(x):
    try:
        return list(itertools.repeat(x, "n"))
    except TypeError as error:
        return str(error), x


@PROGRAMS.whole()
def method_object_is_kept(x):
    kept = [x.copy().sum, collections.Counter("aab").most_common]
    found = kept[1]
    return found(1), found is kept[1], found.__self__ is kept[1].__self__


@PROGRAMS.either()
def bound_method_of_the_frame(x):
    def same(method):
        return method(), method

    class Kind:
        def value(self):
            return x + 1

    one = Kind().value
    value, other = same(one)
    return value, other is one


@PROGRAMS.either()
def class_that_lies(x):
    class Lying:
        asked = 0

        @property
        def __class__(self):
            type(self).asked += 1
            return dict

    one = Lying()
    found = [one, {one: 1}]
    return len(found), len(found[1]), Lying.asked, x + 1


@PROGRAMS.either()
def hash_of_nan(x):
    nan = float("nan")
    return hash(nan) == object.__hash__(nan), hash((1, nan)) == hash((1, nan)), x


@PROGRAMS.whole()
def overflow_at_some_values(x):
    def power(value, exponent):
        try:
            return value**exponent
        except OverflowError:
            return "overflow"

    values = [1e200, 2.0, 1e300, 3.0, complex(5e100, 12e100)]
    return [[str(power(v, n)) for n in (-2, 3, 0, 2.0, 0.0)] for v in values], x


@PROGRAMS.either(lambda: (x(), [1], (2,), collections.deque([3]), -(2**70)))
def repeated_more_often_than_fits(x, items, pair, queue, times):
    said = []
    for sequence in (items, pair, queue, []):
        try:
            said.append(len(sequence * times))
        except OverflowError as error:
            said.append(str(error))
    return x + 1, said


class ClassWithANameThatIsLongerThanTheOneHundredCharactersThatErrorsOfAttributesShowInAnyVersionOfPythonThatWeKnow:
    pass


@PROGRAMS.whole()
def missing_attributes(x):
    said = []
    long = ClassWithANameThatIsLongerThanTheOneHundredCharactersThatErrorsOfAttributesShowInAnyVersionOfPythonThatWeKnow
    things = (collections.deque(), types.SimpleNamespace(), functools.partial(len), itertools.count(), iter([]), [],
              collections.OrderedDict(), np.float64, collections.deque, int, long, long(), {}.keys(), zip())  # fmt: skip
    for thing in things:
        try:
            thing.nothing
        except AttributeError as error:
            said.append(str(error))
    return x + 1, said


@PROGRAMS.either(lambda: (x(), 700))
def numbers_of_many_steps(x, n):
    left = right = n
    for _ in "a" * 60:
        left = 2 * left % 1009
        right = 1009 // (right + 1)
    return x * left, right
