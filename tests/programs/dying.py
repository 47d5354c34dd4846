# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs in which something dies whose end is noticed: by a finalizer, or a weak reference's callback."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from tests.support.comparing.registering import Programs, x

LOG: list[Any] = []
PROGRAMS = Programs()


class C:
    def __init__(self, n=0):
        self.n = n


class Del:
    def __init__(self, tag, a=None):
        self.tag = tag
        self.a = a

    def __del__(self):
        LOG.append((self.tag, None if self.a is None else float(self.a.sum())))


class Own:
    def __init__(self, tag="old"):
        self.d = Del(tag)
        self.n = 0


@PROGRAMS.either(lambda: (x(), Own()))
def overwrite(x, o):
    LOG.append("before")
    o.d = None
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), Own()))
def overwrite_unread(x, o):
    LOG.append("before")
    o.n = 5
    o.d = None
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), Own()))
def overwrite_array(x, o):
    o.d.a = x
    o.d = None
    x[:] = 7
    return x + 1


@PROGRAMS.either(lambda: (x(), [Del("item")]))
def list_set(x, l):
    LOG.append("before")
    l[0] = 1
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), [Del("item")]))
def list_del(x, l):
    LOG.append("before")
    del l[0]
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), {"k": Del("item")}))
def dict_del(x, l):
    LOG.append("before")
    del l["k"]
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), {"k": Del("item")}))
def dict_set(x, l):
    LOG.append("before")
    l["k"] = 3
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), [Own()]))
def deep(x, l):
    LOG.append("before")
    l[0] = 1
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), Del("arg")))
def del_arg(x, d):
    LOG.append("before")
    del d
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), Del("arg")))
def reassign_arg(x, d):
    LOG.append("before")
    d = x
    LOG.append("after")
    return x + d


@PROGRAMS.either(lambda: (x(), Del("arg")))
def read_del_arg(x, d):
    t = d.tag
    LOG.append("before")
    del d
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), [Del("a")]))
def pop(x, l):
    LOG.append("before")
    l.pop()
    LOG.append("after")
    return x + 1


def weak():
    a = np.arange(4.0)
    c = C()
    c.a = a
    weakref.finalize(a, LOG.append, "dead")
    return x(), c


@PROGRAMS.either(weak)
def weak_attr(x, c):
    LOG.append("before")
    c.a = None
    LOG.append("after")
    return x + 1


@PROGRAMS.either(weak)
def weak_local(x, c):
    a = c.a
    c.a = None
    LOG.append("before")
    a = None
    LOG.append("after")
    return x + 1


@PROGRAMS.either(weak)
def weak_computed(x, c):
    c.a = c.a + 1
    LOG.append("after")
    return x + 1


def weak_arg_():
    a = np.arange(3.0)
    weakref.finalize(a, LOG.append, "dead")
    return (a,)


@PROGRAMS.either(weak_arg_)
def weak_arg(x):
    x = x + 1
    LOG.append("after")
    return x


@PROGRAMS.either()
def made(x):
    d = Del("made", x)
    LOG.append("before")
    del d
    LOG.append("after")
    x[:] = 4
    return x + 1


def inner(o):
    LOG.append("in")
    o.d = None
    LOG.append("out")


@PROGRAMS.either(lambda: (x(), Own()))
def inlined(x, o):
    inner(o)
    LOG.append("after")
    return x + 1


def inner2():
    o = Del("inner")
    LOG.append("in")


@PROGRAMS.either()
def local_in_callee(x):
    inner2()
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), Own()))
def attr_chain(x, o):
    o.d = Del("new")
    LOG.append("mid")
    o.d = None
    LOG.append("after")
    return x


@PROGRAMS.either(lambda: (x(), Own()))
def delattr_(x, o):
    LOG.append("before")
    del o.d
    LOG.append("after")
    return x + 1


@PROGRAMS.either(lambda: (x(), Del("l")))
def loopvar(x, d):
    for d in (1, 2):
        LOG.append(d)
    return x + d


@PROGRAMS.either(lambda: (x(), [Del("a"), Del("b")]))
def listiter(x, l):
    for v in l:
        LOG.append("turn")
    l.clear()
    LOG.append("cleared")
    v = 0
    LOG.append("after")
    return x


class Cb:
    def __init__(self):
        self.n = 0
        self.h = Del2(self)


class Del2:
    def __init__(self, o):
        self.o = weakref.ref(o)

    def __del__(self):
        LOG.append(("n", self.o() and self.o().n))


@PROGRAMS.either(lambda: (x(), Cb()))
def seen_state(x, c):
    c.n = 1
    c.h = None
    c.n = 2
    return x


@PROGRAMS.either()
def locals_in_the_order_of_their_names(x):
    first = Del(1)
    second = Del(2)
    return x + len(first.tag * [0]) + second.tag


@PROGRAMS.either()
def locals_that_were_replaced_and_swapped(x):
    a, b, c = Del(1), Del(2), [Del(3), Del(4)]
    LOG.append("swap")
    a, b = b, a
    del c
    c = Del(5)
    a = Del(6)
    y = x + b.tag
    LOG.append("end")
    return y


@PROGRAMS.either()
def the_last_one_is_made_last(x):
    y = x * 2
    one = Del(1)
    for i in range(2):
        other = Del(i + 2)
    last = Del(9, x)
    return y


# `a, b = …` is one instruction from 3.13 on, which drops two values, one behind the other.


def two():
    a = np.arange(3.0)
    return a, [Del("first", a), Del("second", a)]


@PROGRAMS.either(two)
def two_replaced(x, l):
    a = l.pop(0)
    b = l.pop(0)
    x += 1
    a, b = x * 2, x * 3
    LOG.append("after")
    x += 1
    return a + b


@PROGRAMS.either(two)
def second_replaced(x, l):
    a = None
    b = l.pop()
    y = x + 1
    a, b = y, 1
    LOG.append("after")
    return a + b


@PROGRAMS.either(two)
def first_replaced_by_second(x, l):
    a = l.pop(0)
    b = l.pop(0)
    x *= 2
    a, b = b, x + 1
    LOG.append(a.tag)
    return b


@PROGRAMS.either(two)
def swapped(x, l):
    a = l.pop(0)
    b = l.pop(0)
    a, b = b, a
    LOG.append(a.tag)
    x -= 1
    a, b = 0, 0
    return x


@PROGRAMS.either(lambda: (*two(), [(1, 2), (3, 4)]))
def replaced_by_parts(x, l, pairs):
    a = l.pop(0)
    b = l.pop(0)
    for pair in pairs:
        x = x + 1
        a, b = pair
        LOG.append(a)
    return x * b


@PROGRAMS.either(two)
def replaced_twice(x, l):
    a, b = l.pop(), x
    a, b = x + 1, l.pop()
    a, b = a, x
    LOG.append("after")
    return a + b


@PROGRAMS.either(two)
def same_slot_twice(x, l):
    a = l.pop()
    x += 1
    a, a = l.pop(), x
    LOG.append("after")
    return a * 2
