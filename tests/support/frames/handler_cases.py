"""Functions that handle errors in every way the language has, for tests of resuming.

`CASES` holds each with arguments. Each returns, or raises with, a log of what it saw; `see()` puts
the exception that is being handled into it, with everything that hangs on it.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs, disable-error-code="unreachable, misc"
# What a linter would mend here is what is tested.
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, B001, B007, B904, BLE001, D101, D102, D103, D107, E722
# ruff: noqa: B030, F821, F841, N818, PLE0704, RET503, PERF203, PLR0124, RUF100, S110, SIM105, SIM117, TRY002, TRY201, TRY203, TRY301

from __future__ import annotations

import contextlib
import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from tests.support.comparing.recording import position_of

if TYPE_CHECKING:
    from collections.abc import Callable

Case = tuple["Callable[..., Any]", tuple[Any, ...]]
CASES: list[Case] = []


def case(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, args))
        return function

    return add


def places(error):
    """Where an exception went through the functions here, as positions in the source."""
    trace, found = error.__traceback__, []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == __file__:
            position = position_of(trace)
            found.append((code.co_name, trace.tb_lineno, position))
        trace = trace.tb_next
    return found


def described(error, seen=()):
    """All that an exception says, and those that hang on it."""
    if error is None or any(error is other for other in seen):
        return None if error is None else "seen above"
    seen = (*seen, error)
    return [
        type(error).__name__,
        str(error),
        places(error),
        described(error.__cause__, seen),
        described(error.__context__, seen),
        error.__suppress_context__,
        getattr(error, "__notes__", None),
        [described(e, seen) for e in getattr(error, "exceptions", ())],
    ]


def see(log, *more):
    """Note what is being handled."""
    kind, value, trace = sys.exc_info()
    assert value is None or (kind is type(value) and trace is value.__traceback__)
    log.append((*map(repr, more), described(value)))


def fail(kind=ValueError, *args):
    raise kind(*args)


def again():
    raise


class Manager:
    def __init__(self, log, swallow=False, fails=False):
        self.log = log
        self.swallow = swallow
        self.fails = fails

    def __enter__(self):
        see(self.log, "enter")
        return self

    def __exit__(self, kind, value, trace):
        see(self.log, "exit", kind, value)
        assert trace is getattr(value, "__traceback__", None)
        if self.fails:
            raise LookupError("exit")
        return self.swallow


@case(0)
@case(1)
@case(2)
def plainly(x, log):
    try:
        see(log)
        if x:
            fail(ValueError if x == 1 else KeyError, x)
    except ValueError as error:
        see(log, error.args)
        x = error
    except (KeyError, TypeError):
        see(log)
    else:
        see(log, "else")
    see(log, x)
    return "end"


@case()
def not_caught(log):
    try:
        fail()
    except KeyError:
        log.append("never")
    except TypeError as error:
        log.append(error)


@case(0)
@case(1)
@case(2)
@case(3)
def nested(x, log):
    try:
        try:
            fail(ValueError, x)
        except ValueError as outer:
            see(log, 1)
            try:
                see(log, 2)
                if x:
                    fail(KeyError, outer)
            except KeyError as inner:
                see(log, 3)
                try:
                    if x > 1:
                        raise TypeError("third")
                except TypeError:
                    see(log, 4)
                    if x > 2:
                        raise
                    see(log, 5)
                finally:
                    see(log, 6)
                see(log, inner.args[0] is outer)
            else:
                see(log, 7)
            finally:
                see(log, 8)
            see(log, 9)
        finally:
            see(log, 10)
    except TypeError:
        see(log, 11)
        raise
    see(log, 12)


@case(0)
@case(1)
@case(2)
@case(3)
@case(4)
def raising_again(x, log):
    try:
        try:
            fail(ValueError, "first")
        except ValueError as error:
            see(log)
            if x == 0:
                raise
            if x == 1:
                raise error
            if x == 2:
                raise KeyError("second") from error
            if x == 3:
                raise KeyError("second") from None
            again()
    except Exception as error:
        see(log, "outer")
        error.add_note("noted")
        raise RuntimeError("last") from error


@case()
def raising_after_inner_handler(log):
    try:
        fail(ValueError)
    except ValueError:
        try:
            fail(KeyError)
        except KeyError:
            see(log)
        see(log)
        raise


@case()
def nothing_to_raise(log):
    try:
        raise
    except RuntimeError as error:
        see(log)
        return str(error)


FINALLY = """
@case(0)
@case(1)
@case(2)
def finally_leaves(x, log):
    for i in range(4):
        try:
            see(log, i)
            if i == x:
                fail(KeyError, i)
            if i > 2:
                raise TypeError
        finally:
            see(log, "finally")
            if i == 0:
                continue
            if i == 1:
                break
            if i == 3:
                return "swallowed"
    return "end"


@case(0)
@case(1)
@case(2)
def finally_returns(x, log):
    try:
        try:
            if x == 1:
                return "try"
            fail()
        except ValueError:
            if x == 2:
                return see(log, 1)
            raise KeyError from None
        finally:
            see(log, 2)
            if x:
                return "inner"
    finally:
        see(log, 3)
        if x == 1:
            return "outer"


@case()
def finally_in_finally(log):
    try:
        fail(ValueError, 1)
    finally:
        try:
            see(log, 1)
            fail(KeyError, 2)
        except KeyError:
            see(log, 2)
        finally:
            see(log, 3)
            try:
                fail(TypeError)
            except:
                see(log, 4)
        see(log, 5)
"""
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # from 3.14 the compiler warns of it
    exec(compile(FINALLY, __file__, "exec"))


@case(True, False)
@case(False, False)
@case(False, True)
@case(True, True)
def managers(swallow, fails, log):
    with Manager(log):
        with Manager(log, swallow, fails) as first, Manager(log):
            see(log, first.swallow)
            fail()
            log.append("never")
        see(log, "swallowed")
    see(log, "after")


@case(0)
@case(1)
@case(2)
def managers_in_handlers(x, log):
    for i in range(3):
        try:
            fail(ValueError, i)
        except ValueError:
            with Manager(log, swallow=i == 1):
                see(log, "body")
                if i == x:
                    raise KeyError(i)
                if i == 2:
                    continue
            see(log, "behind")
        finally:
            with Manager(log):
                see(log, "finally")
        see(log, "turn")
    return x


@case()
def suppressing(log):
    with contextlib.suppress(KeyError):
        see(log)
        {}[1]
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager(log))
        stack.enter_context(Manager(log, swallow=True))
        stack.callback(see, log, "callback")
        fail()
    try:
        with contextlib.closing(Manager(log)):
            fail()
    except AttributeError:
        see(log)


@contextlib.contextmanager
def managing(log, *kinds):
    see(log, "before")
    try:
        yield log
    except kinds:
        see(log, "caught")
    finally:
        see(log, "cleaned")


@case(ValueError)
@case(KeyError)
def generator_managers(kind, log):
    try:
        fail(TypeError)
    except TypeError:
        with managing(log, ValueError):
            see(log)
            fail(kind)
        see(log)


@case(0)
@case(1)
@case(2)
@case(3)
@case(4)
def groups(x, log):
    try:
        try:
            see(log)
            kinds = [
                ValueError(1),
                TypeError(2),
                KeyError(3),
                ExceptionGroup("in", [ValueError(4)]),
            ]
            raise ExceptionGroup("g", kinds[: x + 1])
        except* ValueError as group:
            see(log, group.exceptions)
            if x == 2:
                raise LookupError("in a handler")
        except* TypeError:
            see(log)
            if x == 3:
                raise
        see(log, "behind")
        try:
            fail(KeyError)
        except* KeyError as group:
            see(log, group.message)
            try:
                fail()
            except ValueError:
                see(log)
            see(log)
    finally:
        see(log, "finally")


@case(0)
@case(1)
@case(2)
def loops(x, log):
    total = 0
    for i in range(4):
        try:
            total += 1 // (i - x)
        except ZeroDivisionError:
            for j in (i, 2):
                see(log, j)
                if j == 2:
                    break
                try:
                    [][j]
                except IndexError:
                    see(log)
                    continue
            else:
                see(log, "else")
            if x == 2:
                continue
            if x == 1:
                break
        while total > 100:
            total -= 1
        see(log, total)
    return total


@case(0)
@case(1)
@case(2)
def comprehensions(x, log):
    try:
        fail()
    except ValueError as error:
        names = [see(log, i, error) for i in range(2)]
        try:
            nested = [[see(log, 1 // (i - x)) for i in range(2)] for error in range(2)]
        except ZeroDivisionError:
            see(log, names)
            table = dict.fromkeys(range(x), error.args)
            see(log, sum(i for i in table))
        see(log, {i for i in range(2) if not see(log)})
        raise


@case()
def generators(log):
    def generate():
        see(log, "begun")
        try:
            fail(KeyError)
        except KeyError:
            see(log)
            got = yield 1
            see(log, got)
            try:
                yield 2
            except TypeError:
                see(log, "thrown")
                yield 3
        yield 4

    try:
        fail()
    except ValueError:
        generator = generate()
        see(log, next(generator))
        see(log, generator.send("sent"))
        see(log, generator.throw(TypeError("t")))
        see(log, list(generator))
    for value in generate():
        see(log, value)
        try:
            fail()
        except ValueError:
            see(log)
            if value == 2:
                break


@case(0)
@case(1)
@case(5)
def recursing(depth, log):
    try:
        if not depth:
            raise KeyError(depth)
        recursing(depth - 1, log)
    except LookupError as error:
        see(log, depth)
        if depth == 4:
            return
        raise IndexError(depth) from error
    finally:
        see(log, "finally")


@case()
def names_go(log):
    error = 1
    try:
        fail()
    except ValueError as error:
        see(log, error.args)
        del error
    try:
        error
    except UnboundLocalError as unbound:
        see(log, str(unbound))
        try:
            fail()
        except ValueError as unbound:
            see(log)
    return unbound


@case()
def cells(log):
    count = 0

    def inner():
        nonlocal count
        count += 1
        see(log, error.args)

    try:
        fail(ValueError, 3)
    except ValueError as error:
        inner()
        first = lambda x=error: (x, error)  # noqa: E731
        log.append(first()[0] is error)
    try:
        inner()
    except NameError:
        see(log, count)
    return count


class Lost(Exception):
    pass


@case()
def lifetimes(log):
    dead = []
    try:
        raise Lost
    except Lost as error:
        weakref.finalize(error, dead.append, 1)
        see(log, list(dead))
    see(log, list(dead))
    try:
        try:
            raise Lost
        except Lost:
            weakref.finalize(sys.exc_info()[1], dead.append, 2)
            see(log, list(dead))
            raise KeyError from None
    except KeyError as error:
        error.__context__ = None
        see(log, list(dead))
    see(log, list(dead))


class Reraised(Exception):
    pass


KEPT = Reraised("always the same")


@case(0)
@case(1)
def the_same_again(x, log):
    KEPT.__traceback__ = KEPT.__context__ = None
    for _ in range(3):
        try:
            try:
                raise KEPT
            except Reraised as error:
                log.append(error is KEPT)
                raise
            finally:
                see(log)
        except Reraised:
            see(log, sys.exc_info()[1] is KEPT)
            try:
                raise KEPT
            except Reraised:
                see(log)
    if x:
        raise KEPT


@case(1)
@case(0)
def values_on_the_stack(x, log):
    def attempt(kind):
        try:
            fail(kind)
        except ValueError:
            return see(log, "caught")

    return [x, (attempt(ValueError), see(log), 1 // x), attempt(ValueError), sys.exc_info()[:2]]


@case(1)
@case(2)
@case(3)
def matching(x, log):
    try:
        match x:
            case 1:
                fail()
            case 2:
                raise KeyError
            case _:
                return [1, 2][x]
    except (ValueError, IndexError) as error:
        match error:
            case ValueError():
                see(log, "value")
            case IndexError(args=(text,)):
                see(log, text)
    assert x != 2, "message"


class Base:
    def __init__(self, log):
        self.log = log

    def act(self, x):
        see(self.log, x)
        fail(KeyError, x)


class Derived(Base):
    def act(self, x):
        try:
            super().act(x)
        except KeyError:
            see(self.log)
            try:
                super().act(x + 1)
            except KeyError as error:
                see(self.log, error.args)
                raise

    def alias(self, x):
        assert __class__ is Derived
        for value in [x]:
            parent = PARENT()
            self = None  # noqa: PLW0642 - only the frame's first argument is asked
        return parent.act(value)


PARENT = super


@case()
def supers(log):
    try:
        Derived(log).act(1)
    except KeyError:
        see(log)


class Meta(type):
    def __instancecheck__(cls, other):
        return False

    def __subclasscheck__(cls, other):
        see(cls.log, "asked")
        fail(TypeError)


class Odd(Exception, metaclass=Meta):
    log: Any = None


@case(0)
@case(1)
def odd_kinds(x, log):
    Odd.log = log
    try:
        fail()
    except Odd:
        see(log, "not a subclass")
    except 1 if x else ValueError:
        see(log, "or an error")
