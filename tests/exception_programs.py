# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs that raise and catch, enter and leave `with` blocks, and match patterns."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import decimal
import enum
import logging
import sys
import threading
import typing
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Make = Callable[[], tuple[Any, ...]]
PROGRAMS: list[tuple[Callable[..., Any], Make, bool]] = []


def x() -> Any:
    """Three numbers."""
    return np.arange(3.0)


def program(
    make_args: Make = lambda: (x(),), *, breaks: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program, a function that makes its arguments, and whether its graph may break."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, make_args, breaks))
        return function

    return register


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


@program()
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


@program()
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


@program()
def t_user(x):
    try:
        raise MyError(3, extra=x)
    except MyError as e:
        y = e.extra * e.code
        a = e.args
        s = str(e)
    return y, a, s


@program()
def t_from(x):
    try:
        try:
            {}["k"]
        except KeyError as k:
            raise ValueError("v") from k
    except ValueError as v:
        y = x + 1
    return y


@program(breaks=True)
def t_from_out(x):
    y = x + 1
    try:
        {}["k"]
    except KeyError as k:
        raise ValueError("v") from k
    return y


@program(breaks=True)
def t_ctx_out(x):
    y = x + 1
    try:
        {}["k"]
    except KeyError as k:
        raise ValueError("v")
    return y


@program(breaks=True)
def t_from_none(x):
    try:
        [][1]
    except IndexError:
        raise Plain("p") from None


@program()
def t_bare(x):
    try:
        try:
            raise Plain("p")
        except Plain:
            raise
    except Plain:
        return x * 2


@program(breaks=True)
def t_bare_out(x):
    y = x + 1
    try:
        raise Plain("p")
    except Plain:
        raise


@program()
def t_reraise_var(x):
    try:
        try:
            raise Plain("p")
        except Plain as e:
            raise e
    except Plain:
        return x * 2


@program(breaks=True)
def t_store(x):
    try:
        raise Plain("p")
    except Plain as e:
        err = e
    return x * 2, err


@program(breaks=True)
def t_store_ctx(x):
    try:
        try:
            raise Plain("p")
        except Plain as e:
            raise MyError(1) from e
    except MyError as m:
        err = m
    return x * 2, err


@program()
def t_return_in_handler(x):
    try:
        raise Plain
    except Plain:
        return x + 1
    finally:
        x = x + 2


@program()
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


@program(lambda: (x(), M(True)))
def w_swallow(x, m):
    with m:
        raise Plain
    return x + 1


@program(lambda: (x(), M(False)), breaks=True)
def w_noswallow(x, m):
    y = x + 1
    with m:
        raise Plain
    return x + 1


@program(lambda: (x(), M(fail="exit")))
def w_exit_fails(x, m):
    try:
        with m:
            x = x + 1
    except MyError as e:
        x = x + len(e.args)
    return x


@program(lambda: (x(), M(fail="exit")))
def w_exit_fails2(x, m):
    try:
        with m:
            raise Plain
    except MyError as e:
        x = x + len(e.args)
    return x


@program(lambda: (x(), M(fail="exit")), breaks=True)
def w_exit_fails_ctx(x, m):
    with m:
        raise Plain


@program(lambda: (x(), M(fail="enter")))
def w_enter(x, m):
    try:
        with m:
            x = x + 1
    except Plain:
        x = x * 2
    return x


@program(lambda: (x(), M(True), M(False)), breaks=True)
def w_multi(x, a, b):
    with a as q, b as r:
        q.seen.append(1)
        r.seen.append(2)
        raise Plain
    return x + len(a.seen) + len(b.seen)


@program(lambda: (x(), M(True)))
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


@program(lambda: (x(), M(True)))
def w_return(x, m):
    with m:
        return x + 1


class Keep:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.kept = a[1]
        return True


@program(lambda: (x(), Keep()), breaks=True)
def w_keeps_error(x, m):
    y = x + 1
    with m:
        raise Plain("kept")
    return y


@program()
def w_suppress(x):
    with contextlib.suppress(KeyError, Plain):
        {}["a"]
    with contextlib.suppress(Plain):
        x = x + 1
        raise Plain
    with contextlib.suppress(Plain):
        x = x + 1
    return x


@program(breaks=True)
def w_suppress_not(x):
    y = x + 1
    with contextlib.suppress(KeyError):
        raise Plain("out")
    return x


@program()
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


@program(breaks=True)
def w_cm(x):
    log = []
    with cm(log) as v:
        x = x * v
    return x, log


@program(breaks=True)
def w_cm_swallow(x):
    log = []
    with cm(log) as v:
        raise Plain
    return x, log


@program(breaks=True)
def w_cm_raise(x):
    log = []
    try:
        with cm(log, True) as v:
            raise Plain
    except MyError:
        log.append("my")
    return x + 1, log


@program(breaks=True)
def w_cm_through(x):
    log = []
    try:
        with cm(log) as v:
            raise KeyError(1)
    except KeyError:
        log.append("key")
    return x + 1, log


@program(breaks=True)
def w_cm_out(x):
    log = []
    y = x + 1
    with cm(log) as v:
        raise KeyError(1)


@program(breaks=True)
def w_exitstack(x):
    log = []
    with contextlib.ExitStack() as s:
        s.enter_context(cm(log))
        s.callback(log.append, "cb")
        x = x + 1
    return x, log


@program(breaks=True)
def w_closing(x):
    class C:
        n = 0

        def close(self):
            self.n += 1

    c = C()
    with contextlib.closing(c):
        x = x + 1
    return x, c.n


@program(breaks=True)
def w_errstate(x):
    with np.errstate(all="ignore"):
        y = x / 0
    return y + 1


@program(breaks=True)
def w_errstate_loop(x):
    for i in range(3):
        with np.errstate(divide="ignore"):
            x = x / 1
        x = x + 1
    return x


@program(breaks=True)
def w_catch(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = x / 0
    return y + 1


L = threading.Lock()


@program(breaks=True)
def w_lock(x):
    with L:
        x = x + 1
    return x * 2


@program(breaks=True)
def w_decimal(x):
    with decimal.localcontext() as c:
        c.prec = 5
        d = decimal.Decimal(1) / 3
    return x + float(d)


@program()
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


@program()
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


@program(breaks=True)
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


@program(breaks=True)
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


@program()
def g_comp(x):
    def f(v):
        if v == 2:
            raise Plain
        return v

    try:
        return [f(v) for v in range(4)]
    except Plain:
        return x + 1


@program(breaks=True)
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


@program(breaks=True)
def e_star(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as e:
        x = x + 1
    except* KeyError:
        x = x * 2
    return x


@program()
def e_notes(x):
    try:
        raise Plain("n")
    except Plain as e:
        e.add_note("note")
        n = e.__notes__
    return x, n


@program(breaks=True)
def e_notes_out(x):
    y = x + 1
    try:
        raise Plain("n")
    except Plain as e:
        e.add_note("note")
        raise


@program(breaks=True)
def e_div(x):
    try:
        y = 1 / 0
    except ZeroDivisionError as e:
        s = str(e)
    try:
        int("a")
    except ValueError as e:
        s += str(e)
    try:
        "a" + 1
    except TypeError as e:
        s += str(e)
    try:
        x.ndim[0]
    except TypeError as e:
        s += str(e)
    try:
        None.foo
    except AttributeError as e:
        s += str(e)
    try:
        [1][4]
    except IndexError as e:
        s += str(e)
    try:
        undefined_name
    except NameError as e:
        s += str(e)
    try:
        del zzz
    except UnboundLocalError as e:
        s += str(e)
    zzz = 1
    try:
        a, b = 1, 2, 3
    except ValueError as e:
        s += str(e)
    try:
        a, b = [1]
    except ValueError as e:
        s += str(e)
    try:
        a, b, *c = [1]
    except ValueError as e:
        s += str(e)
    return x + 1, s


class O:
    __slots__ = ("s",)


class D:
    pass


@program(lambda: (x(), D(), O()), breaks=True)
def e_attr(x, d, o):
    s = ""
    try:
        d.foo
    except AttributeError as e:
        s += str(e) + str(e.name)
    try:
        del d.foo
    except AttributeError as e:
        s += str(e)
    try:
        o.foo
    except AttributeError as e:
        s += str(e)
    try:
        o.s
    except AttributeError as e:
        s += str(e)
    try:
        o.foo = 1
    except AttributeError as e:
        s += str(e)
    try:
        D.foo
    except AttributeError as e:
        s += str(e)
    return x + 1, s


@program()
def e_assert(x):
    try:
        assert x.ndim == 2, "bad"
    except AssertionError as e:
        s = str(e)
    assert x.ndim == 1
    return x + 1, s


@program()
def e_assert_out(x):
    y = x + 1
    assert x.ndim == 2, "bad"


@program()
def e_loopvar(x):
    out = []
    for k in ("a", "b", "c"):
        try:
            out.append({"a": 1, "b": 2}[k])
        except KeyError:
            out.append(None)
    return x, out


@program()
def e_unbound_after(x):
    try:
        raise Plain
    except Plain as e:
        pass
    try:
        e
    except UnboundLocalError:
        x = x + 1
    return x


@program(breaks=True)
def e_logged(x):
    y = x + 1
    try:
        raise Plain("p")
    except Plain:
        logging.getLogger("nowhere").debug("x", exc_info=True)
    return y


@program(breaks=True)
def e_exc_info(x):
    y = x + 1
    try:
        raise Plain("p")
    except Plain:
        k = sys.exc_info()[0]
    return y, k, sys.exc_info()


@program(breaks=True)
def e_traceback(x):
    y = x + 1
    try:
        deep(3)
    except ValueError as e:
        t = e.__traceback__.tb_lineno, e.__context__, e.__cause__, e.__suppress_context__
    return y, t


@program()
def e_isinstance(x):
    try:
        raise Sub(2)
    except (KeyError, ValueError) as e:
        if isinstance(e, MyError) and type(e) is Sub and e.code == 2:
            x = x + 1
    return x


@program(breaks=True)
def e_nested_tuple(x):
    try:
        try:
            raise Plain
        except (KeyError, (Plain,)):
            x = x + 1
    except TypeError:
        x = x - 1
    return x


@program(breaks=True)
def e_not_class(x):
    y = x + 1
    try:
        raise Plain
    except "abc":
        pass


@program(breaks=True)
def e_raise_nonexc(x):
    try:
        raise 5
    except TypeError as e:
        s = str(e)
    return x + 1, s


class Cnt:
    def __init__(self):
        self.n = 0
        self.l = []


@program(lambda: (x(), Cnt()))
def e_effects_stop(x, c):
    c.n += 1
    c.l.append(x + 1)
    deep(5)
    c.n += 100


@program(lambda: (x(), Cnt()))
def e_effects_inner(x, c):
    def f():
        c.n += 1
        raise Plain("in")

    c.n += 10
    try:
        f()
    except Plain:
        c.n += 1000
    f()


@program(lambda: (x(), Cnt()))
def e_effects_array(x, c):
    c.n += 1
    x[0] = 5
    c.n += 1
    raise Plain("x")


@program(breaks=True)
def e_array_error(x):
    try:
        y = x + np.zeros(4)
    except ValueError as e:
        y = x * 2
        s = str(e)
    return y, s


@program(breaks=True)
def e_array_index(x):
    try:
        y = x[7]
    except IndexError as e:
        y = x * 2
        s = str(e)
    return y, s


@program()
def e_warn_error(x):
    try:
        y = x / 0
    except (RuntimeWarning, FloatingPointError):
        y = x * 5
    return y


@program()
def e_exc_in_handler_then_outer(x):
    try:
        try:
            raise Plain
        except Plain:
            try:
                raise KeyError(1)
            except KeyError:
                x = x + 1
            raise
    except Plain:
        x = x * 3
    return x


@program()
def e_finally_raise_replaces(x):
    try:
        try:
            raise Plain
        finally:
            raise MyError(1)
    except MyError as e:
        return x + e.code


@program(breaks=True)
def e_gen_stopiter(x):
    def g():
        yield 1
        raise StopIteration(3)

    try:
        list(g())
    except RuntimeError as e:
        return x + 1, str(e), str(e.__cause__)


@program(breaks=True)
def e_next_default(x):
    it = iter([1])
    next(it)
    try:
        next(it)
    except StopIteration as s:
        return x + 1, s.value, s.args


@program(breaks=True)
def e_getattr_default(x):
    return getattr(x, "nothing", 3), hasattr(x, "nope"), x + 1


@program()
def e_keyboard(x):
    try:
        raise KeyboardInterrupt
    except BaseException as e:
        return x + 1, type(e)


@program(breaks=True)
def e_systemexit(x):
    try:
        raise SystemExit(3)
    except SystemExit as e:
        return x + 1, e.code


@program(breaks=True)
def e_oserror(x):
    try:
        raise OSError(2, "no", "file")
    except FileNotFoundError as e:
        return x + 1, e.errno, e.filename, str(e)


@program(breaks=True)
def e_import(x):
    try:
        import nosuchmodule_xyz
    except ImportError as e:
        return x + 1, e.name


@program(breaks=True)
def e_unicode(x):
    try:
        b"\xff".decode()
    except UnicodeDecodeError as e:
        return x + 1, e.start, e.reason


class Bad(Exception):
    def __str__(self):
        return "bad!"

    def __repr__(self):
        return "Bad()"


@program(breaks=True)
def e_str_user(x):
    try:
        raise Bad(1)
    except Bad as e:
        return x + 1, str(e), repr(e), f"{e}", "%s" % e


class Slotted(Exception):
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


@program()
def e_slots(x):
    try:
        raise Slotted(x)
    except Slotted as e:
        return e.v + 1


@program(breaks=True)
def e_args_set(x):
    try:
        raise Plain(1)
    except Plain as e:
        e.args = (2, 3)
        return x + 1, e.args


@program()
def e_with_traceback(x):
    try:
        raise Plain(1).with_traceback(None)
    except Plain as e:
        return x + 1


@program()
def e_made_not_raised(x):
    e = Plain("a", x + 1)
    return e


@program()
def e_made_then_out(x):
    e = Plain("a")
    y = x + 1
    raise e


@program(breaks=True)
def e_cause_attr(x):
    e = Plain("a")
    e.__cause__ = KeyError(1)
    try:
        raise e
    except Plain as f:
        return x, f.__cause__ is e.__cause__


@program()
def e_suppressed(x):
    with contextlib.suppress(Exception) as s:
        y = x + 1
        raise Plain(y)
    return y, s


@program()
def e_nested_fn_finally(x):
    log = []

    def a():
        try:
            b()
        finally:
            log.append("a")

    def b():
        try:
            raise Plain
        finally:
            log.append("b")

    try:
        a()
    except Plain:
        log.append("c")
    return x, log


# `match` ---------------------------------------------------------------------------------------------------------


def subjects(*made):
    """Arguments: an array, and a list of what is matched."""
    return lambda: (x(), [one() if callable(one) else one for one in made])


@dataclasses.dataclass
class Pt:
    x: object
    y: object = 0


class Named(typing.NamedTuple):
    a: int
    b: int


class Old:
    __match_args__ = ("p", "q")

    def __init__(self, p, q):
        self.p = p
        self.q = q


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Empty:
    pass


CONST = 7


class Ns:
    V = "vv"


@program(subjects(1, "a", None, True, 2.5, "zz", CONST, -1), breaks=True)
def literal(x, ss):
    out = []
    for s in ss:
        match s:
            case 1:
                out.append("one")
            case "a":
                out.append("a")
            case None:
                out.append("none")
            case True:
                out.append("true")
            case -1:
                out.append("neg")
            case 2.5:
                out.append("f")
            case Ns.V:
                out.append("vv")
            case _:
                out.append("other")
    return x + len(out), out


@program(
    subjects(
        (1, 2),
        [1, 2, 3],
        (),
        [5],
        "ab",
        b"ab",
        lambda: {"a": 1},
        lambda: np.arange(2.0),
        range(3),
        lambda: {1, 2},
    )
)
def sequence(x, ss):
    out = []
    for s in ss:
        match s:
            case []:
                out.append("empty")
            case [a]:
                out.append(("one", a))
            case (a, b):
                out.append(("two", a + b))
            case [a, *rest]:
                out.append(("star", a, rest))
            case _:
                out.append("no")
    return x + len(out), out


@program(subjects((1, 2, 3, 4), [1, [2, 3]], (1,), [(1, 2), [3, 4, 5]]), breaks=True)
def nested(x, ss):
    out = []
    for s in ss:
        match s:
            case [a, *mid, z] if len(mid) > 1:
                out.append((a, mid, z))
            case [1, [b, c]]:
                out.append((b, c))
            case [(a, b), [c, *d]] as whole:
                out.append((a, b, c, d, whole is s))
            case _:
                out.append(None)
    return x + len(out), out


@program(
    subjects(
        lambda: {"k": 1},
        lambda: {"k": 2, "z": np.ones(3)},
        lambda: {},
        lambda: {"a": {"b": 3}},
        [1],
        lambda: collections.OrderedDict(k=5),
        lambda: collections.defaultdict(int, k=4),
    ),
    breaks=True,
)
def mapping(x, ss):
    out = []
    for s in ss:
        match s:
            case {"k": 1}:
                out.append("k1")
            case {"k": v, **rest}:
                out.append((v, sorted(rest)))
            case {"a": {"b": b}}:
                out.append(b)
            case {}:
                out.append("any")
            case _:
                out.append("no")
    return x + len(out), out


@program(
    subjects(
        lambda: Pt(1, 2),
        lambda: Pt(0, 5),
        lambda: Named(1, 2),
        lambda: Old(3, 4),
        Color.RED,
        3,
        "st",
        2.5,
        lambda: Empty(),
        [1],
        lambda: np.arange(2.0),
        None,
    ),
    breaks=True,
)
def classes(x, ss):
    out = []
    for s in ss:
        match s:
            case Pt(0, y):
                out.append(("p0", y))
            case Pt(x=a, y=b):
                out.append(("p", a, b))
            case Old(p, q=q):
                out.append(("o", p, q))
            case Named(a, b):
                out.append(("n", a, b))
            case Color.RED:
                out.append("red")
            case int(n) | float(n):
                out.append(("num", n))
            case str() as t:
                out.append(t)
            case list([v]):
                out.append(v)
            case np.ndarray(ndim=1, shape=(n,)):
                out.append(("arr", n))
            case Empty():
                out.append("empty")
            case _:
                out.append("other")
    return x + len(out), out


@program(subjects(lambda: Pt(1, 2), lambda: Empty()))
def missing_attr(x, ss):
    out = []
    for s in ss:
        match s:
            case Empty(foo=f):
                out.append(f)
            case Pt(z=1):
                out.append("z")
            case object(y=y):
                out.append(y)
            case _:
                out.append("none")
    return x + 1, out


@program(subjects(lambda: Pt(np.ones(3), 2)))
def array_attr(x, ss):
    match ss[0]:
        case Pt(a, 2 | 3 as k) if k == 2:
            return x * a + k
        case Pt():
            return x


@program(subjects((1, 2, 3), (4, 5), "q"))
def ors(x, ss):
    t = x
    for s in ss:
        match s:
            case (1, a, _) | (4, a):
                t = t + a
            case "p" | "q":
                t = t * 2
    return t


@program(subjects(lambda: Pt(1)))
def too_many(x, ss):
    y = x + 1
    match ss[0]:
        case Pt(a, b, c):
            return 1


@program(subjects(lambda: Pt(1)), breaks=True)
def twice(x, ss):
    try:
        match ss[0]:
            case Pt(a, x=b):
                return 1
    except TypeError as e:
        return x + 1, str(e)


class MyMap(collections.abc.Mapping):
    def __init__(self, d):
        self.d = d

    def __getitem__(self, k):
        return self.d[k]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


class MySeq(collections.abc.Sequence):
    def __init__(self, d):
        self.d = d

    def __getitem__(self, k):
        return self.d[k]

    def __len__(self):
        return len(self.d)


class ListSub(list):
    pass


class DictSub(dict):
    def get(self, k, d=None):
        return 99


@program(
    subjects(
        lambda: MyMap({"a": 1}),
        lambda: MySeq([1, 2]),
        lambda: ListSub([3, 4]),
        lambda: DictSub(a=5),
    ),
    breaks=True,
)
def user_kinds(x, ss):
    out = []
    for s in ss:
        match s:
            case {"a": a, **r}:
                out.append(("m", a, r))
            case [a, b]:
                out.append(("s", a, b))
    return x + len(out), out


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
program()(t_return_finally)
program()(t_break_finally)
