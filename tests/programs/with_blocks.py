# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs that enter and leave `with` blocks."""

from __future__ import annotations

import contextlib
import decimal
import threading
import warnings

import numpy as np

from tests.programs.exceptions import MyError, Plain
from tests.support.comparing.registering import Programs, x

PROGRAMS = Programs()


class M:
    def __init__(self, swallow=False, fail=None):
        self.swallow = swallow
        self.fail = fail
        self.seen = []

    def __enter__(self):
        if self.fail == "enter":
            raise Plain("enter")
        return self

    def __exit__(self, k, e, t):
        self.seen.append(None if k is None else k.__name__)
        if self.fail == "exit":
            raise MyError("exit")
        return self.swallow


@PROGRAMS.whole(lambda: (x(), M(True)))
def w_swallow(x, m):
    with m:
        raise Plain
    return x + 1


@PROGRAMS.either(lambda: (x(), M(False)))
def w_noswallow(x, m):
    y = x + 1
    with m:
        raise Plain
    return x + 1


@PROGRAMS.whole(lambda: (x(), M(fail="exit")))
def w_exit_fails(x, m):
    try:
        with m:
            x = x + 1
    except MyError as e:
        x = x + len(e.args)
    return x


@PROGRAMS.whole(lambda: (x(), M(fail="exit")))
def w_exit_fails2(x, m):
    try:
        with m:
            raise Plain
    except MyError as e:
        x = x + len(e.args)
    return x


@PROGRAMS.either(lambda: (x(), M(fail="exit")))
def w_exit_fails_ctx(x, m):
    with m:
        raise Plain


@PROGRAMS.whole(lambda: (x(), M(fail="enter")))
def w_enter(x, m):
    try:
        with m:
            x = x + 1
    except Plain:
        x = x * 2
    return x


@PROGRAMS.either(lambda: (x(), M(True), M(False)))
def w_multi(x, a, b):
    with a as q, b as r:
        q.seen.append(1)
        r.seen.append(2)
        raise Plain
    return x + len(a.seen) + len(b.seen)


@PROGRAMS.whole(lambda: (x(), M(True)))
def w_loop(x, m):
    for i in range(4):
        with m:
            if i == 1:
                continue
            if i == 2:
                raise Plain
            if i == 3:
                break
            x = x + 1
    return x


@PROGRAMS.whole(lambda: (x(), M(True)))
def w_return(x, m):
    with m:
        return x + 1


class Keep:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.kept = a[1]
        return True


@PROGRAMS.either(lambda: (x(), Keep()))
def w_keeps_error(x, m):
    y = x + 1
    with m:
        raise Plain("kept")
    return y


@PROGRAMS.whole()
def w_suppress(x):
    with contextlib.suppress(KeyError, Plain):
        {}["a"]
    with contextlib.suppress(Plain):
        x = x + 1
        raise Plain
    with contextlib.suppress(Plain):
        x = x + 1
    return x


@PROGRAMS.either()
def w_suppress_not(x):
    y = x + 1
    with contextlib.suppress(KeyError):
        raise Plain("out")
    return x


@PROGRAMS.whole()
def w_nullcontext(x):
    with contextlib.nullcontext(x) as y:
        z = y + 1
    return z


@contextlib.contextmanager
def cm(log, fail=False):
    log.append("in")
    try:
        yield 5
    except Plain:
        log.append("caught")
        if fail:
            raise MyError(1)
    finally:
        log.append("out")


@PROGRAMS.either()
def w_cm(x):
    log = []
    with cm(log) as v:
        x = x * v
    return x, log


@PROGRAMS.either()
def w_cm_swallow(x):
    log = []
    with cm(log) as v:
        raise Plain
    return x, log


@PROGRAMS.either()
def w_cm_raise(x):
    log = []
    try:
        with cm(log, True) as v:
            raise Plain
    except MyError:
        log.append("my")
    return x + 1, log


@PROGRAMS.either()
def w_cm_through(x):
    log = []
    try:
        with cm(log) as v:
            raise KeyError(1)
    except KeyError:
        log.append("key")
    return x + 1, log


@PROGRAMS.either()
def w_cm_out(x):
    log = []
    y = x + 1
    with cm(log) as v:
        raise KeyError(1)


@PROGRAMS.either()
def w_exitstack(x):
    log = []
    with contextlib.ExitStack() as s:
        s.enter_context(cm(log))
        s.callback(log.append, "cb")
        x = x + 1
    return x, log


@PROGRAMS.either()
def w_closing(x):
    class C:
        n = 0

        def close(self):
            self.n += 1

    c = C()
    with contextlib.closing(c):
        x = x + 1
    return x, c.n


@PROGRAMS.either()
def w_errstate(x):
    with np.errstate(all="ignore"):
        y = x / 0
    return y + 1


@PROGRAMS.either()
def w_errstate_loop(x):
    for i in range(3):
        with np.errstate(divide="ignore"):
            x = x / 1
        x = x + 1
    return x


@PROGRAMS.either()
def w_catch(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x / 0
    return y + 1


L = threading.Lock()


@PROGRAMS.either()
def w_lock(x):
    with L:
        x = x + 1
    return x * 2


@PROGRAMS.either()
def w_decimal(x):
    with decimal.localcontext() as c:
        c.prec = 5
        d = decimal.Decimal(1) / 3
    return x + float(d)
