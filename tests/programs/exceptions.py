# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs that raise and catch, in functions, loops and generators."""

from __future__ import annotations

import warnings

from tests.support.comparing.registering import Programs

PROGRAMS = Programs()


class MyError(ValueError):
    def __init__(self, code, extra=None):
        super().__init__(code)
        self.code = code
        self.extra = extra


class Plain(Exception):
    pass


class Sub(MyError):
    pass


def fails(v):
    if v > 1:
        raise ValueError("too much", v)
    return v


def deep(v):
    return fails(v) + 1


@PROGRAMS.whole()
def t_else_finally(x):
    log = []
    for i in range(4):
        try:
            y = deep(i)
        except ValueError as e:
            log.append(e.args)
            y = -1
        else:
            log.append("else")
        finally:
            log.append("finally")
        x = x + y
    return x, log


@PROGRAMS.whole()
def t_str(x):
    try:
        raise ValueError("a", 1)
    except ValueError as e:
        s = str(e)
    try:
        raise KeyError("a")
    except KeyError as e:
        s += str(e)
    try:
        raise ValueError("b")
    except ValueError as e:
        s += str(e) + repr(e)
    try:
        raise ValueError
    except ValueError as e:
        s += str(e) + repr(e)
    return x + 1, s


@PROGRAMS.whole()
def t_user(x):
    try:
        raise MyError(3, extra=x)
    except MyError as e:
        y = e.extra * e.code
        a = e.args
        s = str(e)
    return y, a, s


@PROGRAMS.whole()
def t_from(x):
    try:
        try:
            {}["k"]
        except KeyError as k:
            raise ValueError("v") from k
    except ValueError as v:
        y = x + 1
    return y


@PROGRAMS.either()
def t_from_out(x):
    y = x + 1
    try:
        {}["k"]
    except KeyError as k:
        raise ValueError("v") from k
    return y


@PROGRAMS.either()
def t_ctx_out(x):
    y = x + 1
    try:
        {}["k"]
    except KeyError as k:
        raise ValueError("v")
    return y


@PROGRAMS.either()
def t_from_none(x):
    try:
        [][1]
    except IndexError:
        raise Plain("p") from None


@PROGRAMS.whole()
def t_bare(x):
    try:
        try:
            raise Plain("p")
        except Plain:
            raise
    except Plain:
        return x * 2


@PROGRAMS.either()
def t_bare_out(x):
    y = x + 1
    try:
        raise Plain("p")
    except Plain:
        raise


@PROGRAMS.whole()
def t_reraise_var(x):
    try:
        try:
            raise Plain("p")
        except Plain as e:
            raise e
    except Plain:
        return x * 2


@PROGRAMS.either()
def t_store(x):
    try:
        raise Plain("p")
    except Plain as e:
        err = e
    return x * 2, err


@PROGRAMS.either()
def t_store_ctx(x):
    try:
        try:
            raise Plain("p")
        except Plain as e:
            raise MyError(1) from e
    except MyError as m:
        err = m
    return x * 2, err


@PROGRAMS.whole()
def t_return_in_handler(x):
    try:
        raise Plain
    except Plain:
        return x + 1
    finally:
        x = x + 2


@PROGRAMS.whole()
def t_while(x):
    n = 0
    while True:
        try:
            n += 1
            if n > 3:
                break
            if n == 2:
                raise KeyError(n)
        except KeyError as k:
            x = x * k.args[0]
            continue
        finally:
            x = x + 1
    return x, n


@PROGRAMS.whole()
def g_gen_exc(x):
    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("done")

    log = []
    for v in g():
        x = x + v
    return x, log


@PROGRAMS.whole()
def g_gen_raises(x):
    def g():
        yield 1
        raise Plain("g")

    try:
        for v in g():
            x = x + v
    except Plain as e:
        x = x * len(e.args)
    return x


@PROGRAMS.either()
def g_gen_throw(x):
    def g():
        while True:
            try:
                v = yield x
            except Plain:
                yield "caught"

    it = g()
    next(it)
    r = it.throw(Plain())
    return r, x + 1


@PROGRAMS.either()
def g_stopvalue(x):
    def g():
        yield 1
        return x + 1

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as s:
        return s.value


@PROGRAMS.whole()
def g_comp(x):
    def f(v):
        if v == 2:
            raise Plain
        return v

    try:
        return [f(v) for v in range(4)]
    except Plain:
        return x + 1


@PROGRAMS.either()
def g_unpack_gen(x):
    def g():
        yield 1
        log.append(2)
        yield 2
        log.append(3)
        yield 3
        log.append(4)
        yield 4

    log = []
    it = g()
    try:
        a, b = it
    except ValueError as e:
        s = str(e)
    return x, log, s, next(it)


# From 3.14 Python warns of code that leaves a `finally` block.
LEAVES_FINALLY = """
def t_return_finally(x):
    try:
        raise Plain
    finally:
        return x + 1

def t_break_finally(x):
    n = 0
    for i in range(5):
        try:
            if i == 3:
                raise Plain
            n += 1
        except Plain:
            continue
        finally:
            if i == 4:
                break
            x = x + i
    return x, n
"""
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    exec(compile(LEAVES_FINALLY, __file__, "exec"))
PROGRAMS.whole()(t_return_finally)
PROGRAMS.whole()(t_break_finally)
