# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs that change what outlives them: attributes, items, cells, globals, in every way that objects are shared."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import types
import warnings
import weakref
from typing import Any

import numpy as np

from tests.support.comparing.registering import Programs, x

LOG = []


def state() -> Any:
    """What outlives a call: globals of this and another module, a mutable default, attributes of functions and classes."""
    here = {name: globals().get(name, "absent") for name in ("G", "H", "NEW")}
    return LOG, SEEN, here, other.V, default.__defaults__[0], fattr.__dict__, Counter.total


def reset() -> None:
    """Put all that back."""
    LOG.clear()
    SEEN.clear()
    globals().update(G=0, H=10)
    globals().pop("NEW", None)
    other.V = 1
    default.__defaults__[0].clear()
    fattr.__dict__.clear()
    Counter.total = 0


PROGRAMS = Programs(state=state, reset=reset)


G = 0
H = 10


class C:
    def __init__(self, n=0):
        self.n = n


class Del:
    def __init__(self, tag, a=None):
        self.tag = tag
        self.a = a

    def __del__(self):
        LOG.append((self.tag, None if self.a is None else float(self.a.sum()), G))


flip = [0]


def alternating():
    flip[0] += 1
    a = C()
    return (x(), a, a) if (flip[0] - 1) // 2 % 2 else (x(), a, C())


@PROGRAMS.whole(alternating)
def a_two_objects(x, a, b):
    a.n = 1
    b.n += 5
    return x + a.n, a.n


def alternating_lists():
    flip[0] += 1
    a = [1]
    return (x(), a, a) if (flip[0] - 1) // 2 % 2 else (x(), a, [1])


@PROGRAMS.either(alternating_lists)
def a_two_lists(x, a, b):
    a.append(2)
    n = len(b)
    b.append(3)
    return x + n


@PROGRAMS.either(lambda: (x(), [[1], [2]]))
def a_nested(x, l):
    l[0].append(5)
    l[1][0] = l[0]
    l.append(l[0])
    l[2].append(7)
    return x + len(l[1][0]), l[0][-1]


def shared():
    a = [1]
    return x(), [a, a], {"a": a}


@PROGRAMS.either(shared)
def a_paths(x, l, d):
    l[0].append(2)
    return x + len(l[1]) + len(d["a"])


@PROGRAMS.whole(lambda: (x(), {"k": C()}))
def a_dictobj(x, d):
    c = d["k"]
    c.n += 1
    d["k"].n += 1
    d["m"] = c
    return x + d["m"].n


def closure():
    n = 0
    arr = x()

    def inc():
        nonlocal n
        n += 1
        return n

    def get():
        return n

    return x(), inc, get


@PROGRAMS.whole(closure)
def a_closures(x, inc, get):
    inc()
    a = get()
    inc()
    return x + a, get()


def reads_g():
    return G


@PROGRAMS.whole()
def a_global(x):
    global G
    G += 1
    y = x + reads_g()
    G += 1
    return y, reads_g()


@PROGRAMS.raising()
def a_global_new(x):
    global NEW
    NEW = 3
    y = x + NEW
    del NEW
    try:
        NEW
    except NameError:
        y = y * 2
    return y


@PROGRAMS.whole()
def a_global_del_out(x):
    global H
    y = x + H
    del H
    return y


@PROGRAMS.whole()
def a_global_builtin(x):
    global len
    y = x + len([1, 2])
    len = lambda s: 50
    try:
        y = y + len([1])
    finally:
        del len
    return y + len([1, 2])


other = types.ModuleType("other_mod")
exec(
    "V = 1\ndef bump():\n    global V\n    V += 1\n    return V\ndef read(): return V",
    other.__dict__,
)
sys.modules["other_mod"] = other


@PROGRAMS.whole()
def a_other_module(x):
    a = other.bump()
    b = other.V
    other.bump()
    c = other.read()
    return x + a, b, c, other.V


@PROGRAMS.either()
def a_module_attr(x):
    other.V = 7
    return x + other.read()


@PROGRAMS.whole()
def a_cells(x):
    def f():
        try:
            return z
        except NameError:
            return -1

    a = f()
    z = x
    b = f()
    del z
    return a, b, f()


@PROGRAMS.whole(lambda: (x(), C()))
def o_write_order(x, c):
    c.n = 1
    x[0] = 5
    c.m = x
    x[1] = 6
    c.s = x.sum()
    return c.m


@PROGRAMS.whole(lambda: (np.array([1.0, 0.0]), C()))
def o_warn_between(x, c):
    c.n = 1
    y = 1 / x
    c.n = 2
    return y


@PROGRAMS.whole(lambda: (np.array([1.0, 0.0]), C()))
def o_warn_after_write(x, c):
    c.n = 1
    x[0] = 3
    y = 1 / x
    c.n = 2
    return y


def showing():
    return np.array([1.0, 0.0]), C()


SEEN = []
CUR = [None]


def with_show(f):
    @functools.wraps(f)
    def g(x, c):
        CUR[0] = c
        old = warnings.showwarning
        return f(x, c)

    return g


def seterr_obs(x, c):
    pass


@PROGRAMS.either(lambda: (np.array([1.0, 0.0]), C()))
def o_callback(x, c):
    with np.errstate(all="call", call=lambda k, f: SEEN.append((k, c.n, float(x[0])))):
        return o_inner(x, c)


def o_inner(x, c):
    c.n = 1
    x[0] = 3
    y = 1 / x
    c.n = 2
    x[0] = 9
    return y


@PROGRAMS.either(lambda: (np.array([1.0, 0.0]), C()))
def o_showwarning(x, c):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *a, **k: SEEN.append((c.n, float(x[0])))
        return o_inner(x, c)


class Own:
    def __init__(self):
        self.d = Del("old")
        self.n = 0


def owner():
    o = Own()
    return x(), o


def weak():
    a = np.arange(4.0)
    c = C()
    c.a = a
    weakref.finalize(a, LOG.append, "dead")
    return x(), c


class Prop:
    def __init__(self):
        self._v = 1
        self.calls = 0

    @property
    def v(self):
        self.calls += 1
        return self._v

    @v.setter
    def v(self, new):
        self._v = new
        LOG.append(new)


@PROGRAMS.whole(lambda: (x(), Prop()))
def e_prop(x, q):
    q.v = q.v + 1
    q.v += 1
    return x + q.v


class Sa:
    def __setattr__(self, k, v):
        LOG.append(k)
        object.__setattr__(self, k, v)

    def __getattr__(self, k):
        LOG.append("?" + k)
        return 3


@PROGRAMS.whole(lambda: (x(), Sa()))
def e_setattr(x, s):
    s.a = 1
    s.b = s.c
    return x + s.b


@PROGRAMS.either(lambda: (x(), collections.OrderedDict(a=1)))
def e_odict(x, d):
    d["b"] = 2
    d["a"] = x
    d.move_to_end("a")
    return list(d), x + 1


@PROGRAMS.either(lambda: (x(), collections.defaultdict(list)))
def e_ddict(x, d):
    d["b"].append(x + 1)
    return len(d)


class MyDict(dict):
    def __setitem__(self, k, v):
        LOG.append(k)
        super().__setitem__(k, v)


@PROGRAMS.either(lambda: (x(), MyDict(a=1)))
def e_mydict(x, d):
    d["b"] = x
    return x + d["a"]


class MyList(list):
    def append(self, v):
        LOG.append(v)
        super().append(v)


@PROGRAMS.either(lambda: (x(), MyList([1])))
def e_mylist(x, l):
    l.append(2)
    return x + len(l)


class Key:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        LOG.append("eq")
        return self.v == o.v

    def __hash__(self):
        return hash(self.v)


K0 = Key(1)


@PROGRAMS.either(lambda: (x(), {K0: 2}))
def e_keys_global(x, d):
    d[K0] = 5
    return x + len(d)


@PROGRAMS.whole(lambda: (x(), {1: "a"}))
def e_intkeys(x, d):
    d[True] = "b"
    d[1.0] = "c"
    d[2] = "d"
    return d, x + 1


@PROGRAMS.whole(lambda: (x(), []))
def e_append_arrays(x, l):
    for i in range(3):
        l.append(x * i)
    return x


@PROGRAMS.either(
    lambda: (
        x(),
        [],
    )
)
def e_alias_out(x, l):
    y = x + 1
    l.append(y)
    l.append(y[1:])
    return y


@PROGRAMS.whole(lambda: (x(), C()))
def e_alias_attr(x, c):
    c.y = x + 1
    c.z = c.y
    c.y[0] = 9
    c.w = c.y.T
    return c.y is c.z


@PROGRAMS.whole(lambda: (x(), C()))
def e_made_obj(x, c):
    k = C(x + 1)
    c.child = k
    k.n[0] = 100
    k.parent = c
    return k


@PROGRAMS.whole(lambda: (x(), C()))
def e_cycle(x, c):
    k = C()
    k.me = k
    c.k = k
    return x + 1


@PROGRAMS.either(lambda: (x(), C()))
def e_class_assign(x, c):
    class_ = Other
    c.__class__ = class_
    return x + c.m()


class Other(C):
    def m(self):
        return 5


@PROGRAMS.either(lambda: (x(), C()))
def e_dict_attr(x, c):
    c.__dict__["q"] = 5
    c.n = 3
    return x + c.q, c.__dict__


@PROGRAMS.either(lambda: (x(), C()))
def e_vars(x, c):
    c.n = 5
    v = vars(c)
    c.n = 6
    return x + v["n"]


@PROGRAMS.either(lambda: (x(), C()))
def e_setattr_fn(x, c):
    setattr(c, "zz", 4)
    delattr(c, "zz")
    c.t = hasattr(c, "zz")
    return x + 1


@PROGRAMS.either(lambda: (x(), [3, 1, 2]))
def e_list_ops(x, l):
    l[1:2] = [7, 8]
    l += [9]
    l.sort()
    l.reverse()
    l.extend((1, 2))
    l.remove(9)
    v = l.pop(0)
    l.insert(1, 4)
    l *= 2
    return x + v, l.index(4), l.count(4)


@PROGRAMS.either(lambda: (x(), {1, 2}))
def e_set_ops(x, s):
    s.add(4)
    s.discard(1)
    s |= {9}
    return x + len(s)


@PROGRAMS.whole(lambda: (x(), C()))
def e_loop(x, c):
    for i in range(50):
        c.n += 1
        if c.n % 10 == 0:
            c.last = x * i
    return x


@PROGRAMS.either(lambda: (np.arange(4000.0), C()))
def e_loop_long(x, c):
    for i in range(3000):
        c.n += 1
        x = x * 1.0 + c.n
    return x


@PROGRAMS.either(lambda: (x(), C()))
def e_break_between(x, c):
    for i in range(5):
        c.n += 1
        x = x + c.n
        print(c.n)
        c.n += 1
    return x


def rec(c, d, x):
    c.n += 1
    return x if d == 0 else rec(c, d - 1, x + c.n)


@PROGRAMS.whole(lambda: (x(), C()))
def e_recursion(x, c):
    return rec(c, 5, x), c.n


@PROGRAMS.either(lambda: (x(), C()))
def e_recursion_deep(x, c):
    return rec(c, 100, x), c.n


@PROGRAMS.either(lambda: (x(), [1, 2, 3]))
def e_iter_mutate(x, l):
    for v in l:
        x = x + v
        if v == 2:
            l.remove(1)
    return x


@PROGRAMS.whole(lambda: (x(), {"a": 1, "b": 2}))
def e_dict_mutate_iter(x, d):
    try:
        for k in d:
            d[k + "x"] = 1
    except RuntimeError as e:
        return x + 1


@PROGRAMS.whole(lambda: (x(), [1, 2, 3]))
def e_iter_keep(x, l):
    it = iter(l)
    a = next(it)
    l.append(9)
    rest = list(it)
    return x + a, rest


@PROGRAMS.either(lambda: (x(), iter([1, 2, 3])))
def e_frame_iter(x, it):
    a = next(it)
    b = next(it)
    return x + a + b


def framegen():
    def g():
        for i in range(5):
            LOG.append(i)
            yield i

    return x(), g()


@PROGRAMS.either(framegen)
def e_frame_gen(x, it):
    a = next(it)
    for b in it:
        if b == 2:
            break
    return x + a + b


class Meta(type):
    def __instancecheck__(cls, o):
        LOG.append("ic")
        return True


class Mc(metaclass=Meta):
    pass


@PROGRAMS.either(lambda: (x(), C()))
def e_instancecheck(x, c):
    return x + isinstance(c, Mc)


@PROGRAMS.whole(lambda: (x(), C(), C()))
def e_eq_effect(x, a, b):
    a.n = [1]
    b.n = a.n
    a.n.append(2)
    return x + len(b.n), a.n is b.n, a.n == b.n


@dataclasses.dataclass
class Pt:
    x: int
    l: list = dataclasses.field(default_factory=list)


@PROGRAMS.whole(lambda: (x(), Pt(1)))
def e_dc(x, q):
    q.l.append(x)
    q.x += 1
    r = dataclasses.replace(q, x=9)
    return r, q == r


def default(x, acc=[]):
    acc.append(len(acc))
    return x + len(acc)


def default_outer(x):
    return default(x), default(x)


@PROGRAMS.whole()
def e_mutable_default(x):
    return default(x), default(x)


def fattr(x):
    fattr.n = getattr(fattr, "n", 0) + 1
    return x + fattr.n


@PROGRAMS.either()
def e_fn_attr(x):
    return fattr(x), fattr(x)


class Counter:
    total = 0

    def inc(self):
        Counter.total += 1
        return self.total

    @classmethod
    def cinc(cls):
        cls.total += 1
        return cls.total


@PROGRAMS.whole(lambda: (x(), Counter()))
def e_class_attr(x, c):
    return x + c.inc() + c.inc() + c.cinc()


@PROGRAMS.whole(lambda: (x(), x()))
def e_inputs_swapped(x, y):
    x, y = y, x
    x += 1
    return x, y


@PROGRAMS.whole(lambda: (x(), C()))
def e_out_param(x, c):
    c.buf = np.empty_like(x)
    np.add(x, 1, out=c.buf)
    c.buf2 = c.buf[::-1]
    c.buf2 *= 2
    return c.buf


@PROGRAMS.either(lambda: (x(), [x()]))
def e_list_array(x, l):
    l[0] += x
    l[0][0] = 5
    x[:] = l[0]
    l[0] = l[0] * 2
    return l[0] is x


@PROGRAMS.either(lambda: (x(), C()))
def e_attr_delete_readd(x, c):
    del c.n
    c.z = 1
    c.n = 2
    return x + 1, list(c.__dict__)


@PROGRAMS.whole(lambda: (x(), C()))
def e_slots_order(x, c):
    c.b = 1
    c.a = 2
    del c.b
    c.b = 3
    return x


@PROGRAMS.either(lambda: (x(), types.SimpleNamespace(n=1)))
def e_ns(x, s):
    s.n += 1
    s.m = x
    return s.n
