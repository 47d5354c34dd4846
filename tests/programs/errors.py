# The programs are written as users write them.
# mypy: ignore-errors
"""Small programs about exceptions themselves: what raises them, what they tell, what was done before."""

from __future__ import annotations

import contextlib
import logging
import sys

import numpy as np

from tests.programs.exceptions import MyError, Plain, Sub, deep
from tests.support.comparing.registering import Programs, x

PROGRAMS = Programs()


@PROGRAMS.either()
def e_star(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as e:
        x = x + 1
    except* KeyError:
        x = x * 2
    return x


@PROGRAMS.whole()
def e_notes(x):
    try:
        raise Plain("n")
    except Plain as e:
        e.add_note("note")
        n = e.__notes__
    return x, n


@PROGRAMS.either()
def e_notes_out(x):
    y = x + 1
    try:
        raise Plain("n")
    except Plain as e:
        e.add_note("note")
        raise


@PROGRAMS.either()
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


@PROGRAMS.either(lambda: (x(), D(), O()))
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


@PROGRAMS.whole()
def e_assert(x):
    try:
        assert x.ndim == 2, "bad"
    except AssertionError as e:
        s = str(e)
    assert x.ndim == 1
    return x + 1, s


@PROGRAMS.raising()
def e_assert_out(x):
    y = x + 1
    assert x.ndim == 2, "bad"


@PROGRAMS.whole()
def e_loopvar(x):
    out = []
    for k in ("a", "b", "c"):
        try:
            out.append({"a": 1, "b": 2}[k])
        except KeyError:
            out.append(None)
    return x, out


@PROGRAMS.whole()
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


@PROGRAMS.either()
def e_logged(x):
    y = x + 1
    try:
        raise Plain("p")
    except Plain:
        logging.getLogger("nowhere").debug("x", exc_info=True)
    return y


@PROGRAMS.either()
def e_exc_info(x):
    y = x + 1
    try:
        raise Plain("p")
    except Plain:
        k = sys.exc_info()[0]
    return y, k, sys.exc_info()


@PROGRAMS.either()
def e_traceback(x):
    y = x + 1
    try:
        deep(3)
    except ValueError as e:
        t = e.__traceback__.tb_lineno, e.__context__, e.__cause__, e.__suppress_context__
    return y, t


@PROGRAMS.whole()
def e_isinstance(x):
    try:
        raise Sub(2)
    except (KeyError, ValueError) as e:
        if isinstance(e, MyError) and type(e) is Sub and e.code == 2:
            x = x + 1
    return x


@PROGRAMS.either()
def e_nested_tuple(x):
    try:
        try:
            raise Plain
        except (KeyError, (Plain,)):
            x = x + 1
    except TypeError:
        x = x - 1
    return x


@PROGRAMS.either()
def e_not_class(x):
    y = x + 1
    try:
        raise Plain
    except "abc":
        pass


@PROGRAMS.either()
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


@PROGRAMS.raising(lambda: (x(), Cnt()))
def e_effects_stop(x, c):
    c.n += 1
    c.l.append(x + 1)
    deep(5)
    c.n += 100


@PROGRAMS.raising(lambda: (x(), Cnt()))
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


@PROGRAMS.raising(lambda: (x(), Cnt()))
def e_effects_array(x, c):
    c.n += 1
    x[0] = 5
    c.n += 1
    raise Plain("x")


@PROGRAMS.either()
def e_array_error(x):
    try:
        y = x + np.zeros(4)
    except ValueError as e:
        y = x * 2
        s = str(e)
    return y, s


@PROGRAMS.either()
def e_array_index(x):
    try:
        y = x[7]
    except IndexError as e:
        y = x * 2
        s = str(e)
    return y, s


@PROGRAMS.whole()
def e_warn_error(x):
    try:
        y = x / 0
    except (RuntimeWarning, FloatingPointError):
        y = x * 5
    return y


@PROGRAMS.whole()
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


@PROGRAMS.whole()
def e_finally_raise_replaces(x):
    try:
        try:
            raise Plain
        finally:
            raise MyError(1)
    except MyError as e:
        return x + e.code


@PROGRAMS.either()
def e_gen_stopiter(x):
    def g():
        yield 1
        raise StopIteration(3)

    try:
        list(g())
    except RuntimeError as e:
        return x + 1, str(e), str(e.__cause__)


@PROGRAMS.either()
def e_next_default(x):
    it = iter([1])
    next(it)
    try:
        next(it)
    except StopIteration as s:
        return x + 1, s.value, s.args


@PROGRAMS.either()
def e_getattr_default(x):
    return getattr(x, "nothing", 3), hasattr(x, "nope"), x + 1


@PROGRAMS.whole()
def e_keyboard(x):
    try:
        raise KeyboardInterrupt
    except BaseException as e:
        return x + 1, type(e)


@PROGRAMS.either()
def e_systemexit(x):
    try:
        raise SystemExit(3)
    except SystemExit as e:
        return x + 1, e.code


@PROGRAMS.either()
def e_oserror(x):
    try:
        raise OSError(2, "no", "file")
    except FileNotFoundError as e:
        return x + 1, e.errno, e.filename, str(e)


@PROGRAMS.either()
def e_import(x):
    try:
        import nosuchmodule_xyz
    except ImportError as e:
        return x + 1, e.name


@PROGRAMS.either()
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


@PROGRAMS.either()
def e_str_user(x):
    try:
        raise Bad(1)
    except Bad as e:
        return x + 1, str(e), repr(e), f"{e}", "%s" % e


class Slotted(Exception):
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


@PROGRAMS.whole()
def e_slots(x):
    try:
        raise Slotted(x)
    except Slotted as e:
        return e.v + 1


@PROGRAMS.either()
def e_args_set(x):
    try:
        raise Plain(1)
    except Plain as e:
        e.args = (2, 3)
        return x + 1, e.args


@PROGRAMS.whole()
def e_with_traceback(x):
    try:
        raise Plain(1).with_traceback(None)
    except Plain as e:
        return x + 1


@PROGRAMS.whole()
def e_made_not_raised(x):
    e = Plain("a", x + 1)
    return e


@PROGRAMS.raising()
def e_made_then_out(x):
    e = Plain("a")
    y = x + 1
    raise e


@PROGRAMS.either()
def e_cause_attr(x):
    e = Plain("a")
    e.__cause__ = KeyError(1)
    try:
        raise e
    except Plain as f:
        return x, f.__cause__ is e.__cause__


@PROGRAMS.whole()
def e_suppressed(x):
    with contextlib.suppress(Exception) as s:
        y = x + 1
        raise Plain(y)
    return y, s


@PROGRAMS.whole()
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
