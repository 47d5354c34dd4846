"""Programs around exception groups and `except*`."""

from __future__ import annotations

import ufuse
from tests.support.comparing.registering import Programs

PROGRAMS = Programs()


@PROGRAMS.cut()
def raised_and_caught(x):
    try:
        raise ExceptionGroup("several", [ValueError(1), TypeError(2)])
    except ExceptionGroup as error:
        kinds = [type(one).__name__ for one in error.exceptions]
        return error.message, kinds, error.args[0], str(error), x + 1


@PROGRAMS.cut()
def each_handled(x):
    said = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), ValueError(3)])
    except* ValueError as error:
        said.append([one.args for one in error.exceptions])
        said.append(error.message)
        x = x + 1
    except* (TypeError, KeyError) as error:
        said.append(len(error.exceptions))
        x = x * 2
    except* OSError:
        said.append("never")
    return x, said


@PROGRAMS.cut()
def naked(x):
    said = []
    try:
        raise ValueError("plain")
    except* KeyError:
        said.append("never")
    except* ValueError as error:
        said.append((type(error).__name__, error.message, error.exceptions[0].args))
    return x * 2, said


@PROGRAMS.cut()
def what_is_left_goes_on(x):
    try:
        try:
            raise ExceptionGroup(
                "g", [ValueError(1), ExceptionGroup("h", [TypeError(2), KeyError(3)])]
            )
        except* (ValueError, KeyError):
            x = x + 1
    except ExceptionGroup as error:
        inner = error.exceptions[0]
        return x, error.message, len(error.exceptions), inner.message, inner.exceptions[0].args
    return None


@PROGRAMS.cut()
def naked_and_not_handled(x):
    try:
        try:
            raise ValueError("q")
        except* KeyError:
            x = x + 1
    except ValueError as error:
        return x, error.args


@PROGRAMS.whole()
def nothing_raised(x):
    try:
        y = x + 1
    except* ValueError:
        y = x
    else:
        y = y * 2
    finally:
        x = x + 3
    return x, y


@PROGRAMS.cut()
def taken_apart(x):
    group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError(2), TypeError(3)])])
    found, rest = group.split(KeyError)
    none = group.subgroup(OSError), group.split((Exception,))[1], found.exceptions[0].message
    return x + 1, rest.exceptions[1].exceptions[0].args, none, group.split(Exception)[0] is group


@PROGRAMS.cut()
def returned(x):
    errors = (ValueError(1), KeyError("k"))
    group = ExceptionGroup("g", errors)
    return group.message, group.exceptions is errors, str(group), x + 1


@PROGRAMS.cut()
def in_a_call(x):
    def several(count):
        errors = [ValueError(n) for n in range(count)]
        if errors:
            raise ExceptionGroup(f"{count} errors", errors)
        return x * 2

    try:
        return several(0), several(2)
    except* ValueError as group:
        first = group.exceptions[0].args
    return x, first


@PROGRAMS.cut()
def raised_in_a_handler(x):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise KeyError("new")
    except ExceptionGroup as error:
        return x + 1, [type(one).__name__ for one in error.exceptions]


@PROGRAMS.cut()
def raised_again_in_a_handler(x):
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise
    except ExceptionGroup as error:
        return x + 1, [type(one).__name__ for one in error.exceptions]


@PROGRAMS.cut()
def handled_behind_a_break(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as error:
        ufuse.graph_break()
        x = x + len(error.exceptions)
    except* TypeError:
        x = x * 2
    return x


@PROGRAMS.cut()
def of_nothing(x):
    try:
        ExceptionGroup("g", [])
    except ValueError as error:
        return x + 1, str(error)


@PROGRAMS.cut()
def not_only_exceptions(x):
    group = BaseExceptionGroup("g", [KeyboardInterrupt(), ValueError(1)])
    return x + 1, type(group).__name__, len(group.exceptions)


@PROGRAMS.cut()
def what_is_left_leaves(x):
    said = []
    try:
        raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [TypeError(2), KeyError(3)])])
    except* ValueError as error:
        said.append(error.exceptions)
        x *= 2


@PROGRAMS.cut()
def raised_while_handled(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        x *= 2
        raise RuntimeError("from inside") from None


@PROGRAMS.cut()
def all_handled_and_raised(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), ValueError(2)])
    except* ValueError:
        x *= 2
        raise


@PROGRAMS.cut()
def naked_and_left(x):
    try:
        raise ValueError(1)
    except* TypeError:
        x *= 2
