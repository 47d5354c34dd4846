"""Whether machine code for whole calls is faster than graphs: no rule says so, calls are timed with one and the other.

An operation of a graph takes 0.1 to 1 µs beside its loop over elements, one in a nest hardly anything: what works on
a few numbers, or unrolls short loops over small arrays, may take a tenth as a nest. What is done in one pass over many
elements is faster as a graph. A nest takes 5 to 50 ms to make: it is tried where calls have taken as long.
"""

from __future__ import annotations

from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.nests.calls import inlining
from ufuse.frame_hook.nests.entries import whole
from ufuse.frame_hook.nests.entries.screening import names_of
from ufuse.frame_hook.nests.known.frames import is_filled
from ufuse.graph.records import record

TRIED_AFTER = 30_000_000  # nanoseconds that calls have taken
LEAST = 150  # nanoseconds of a call in plain Python: machine code takes about as long to begin
LONGEST = 100_000  # nanoseconds of a call: what takes longer computes more than it manages
MOST_TRIED = 2  # times, as something else may have held up the first
MOST_LEVELS = 4  # of lists within one another
LEAST_GAIN = 0.9  # of what calls took before
# Types whose values are read without running code of the program's.
PLAIN = (
    np.ndarray, np.dtype, np.ufunc, int, float, complex, bool, str, bytes, range, slice, type(None), type(Ellipsis),
    ModuleType, BuiltinFunctionType, type(np.sum), type(_hook.NULL),
)  # fmt: skip


@record
class Before:
    """What calls of an order of magnitude took, by a trial, before they were tried as machine code."""

    nanoseconds: int
    trial: int
    magnitude: int


def decided(cache: Any, record: CodeRecord, way: str, nanoseconds: int, trial: int) -> bool:
    """A trial of calls has ended, by which they take so long; whether it is to be held again, with other code."""
    before = record.before_whole
    if before is None:
        return _begins(cache, record, way, nanoseconds, trial)
    if trial != before.trial:
        return False
    record.before_whole = None
    if cache.whole_call is None:
        return False
    if way == "compiled" and nanoseconds < LEAST_GAIN * before.nanoseconds:
        return False
    cache.whole_call_for &= ~(1 << before.magnitude)  # it stays: other calls may do more
    return True


def is_in_use(cache: Any) -> bool:
    """Whether machine code runs whole calls of the order of magnitude of the last."""
    return cache.whole_call is not None and bool(cache.whole_call_for & 1 << cache.magnitude)


def _begins(cache: Any, record: CodeRecord, way: str, nanoseconds: int, trial: int) -> bool:
    """Have calls of this order of magnitude run as machine code from now on, if there can be such and is none yet."""
    tried = record.whole_tried.get(cache.magnitude, 0)
    if tried == MOST_TRIED or cache.run_ns < TRIED_AFTER or is_in_use(cache):
        return False
    may_be = record.useful and not record.begins and nanoseconds <= LONGEST
    # What is around native loops, or stops at them, may cost more than they gain.
    is_lost = way == "plain" and LEAST <= nanoseconds <= LONGEST
    is_made = cache.whole_call is not None
    if way == "callees" or not (may_be or is_lost or is_made or record.needs_whole):
        return False  # calls of functions with native loops are read as a whole without a trial
    # By calls: plain ones are none.
    is_asked = cache.whole_call_after and not is_lost and not record.needs_whole
    if not is_made and (record.whole_tries or is_asked):
        return False
    record.whole_tried[cache.magnitude] = tried + 1
    if is_made:
        cache.whole_call_for |= 1 << cache.magnitude
    elif whole.can_be(cache.code):
        cache.whole_call_for = 1 << cache.magnitude
        whole.ask_soon(cache)
    else:
        return False
    record.before_whole = Before(nanoseconds, trial, cache.magnitude)
    return True


def is_plain(function: FunctionType, state: tuple[Any, ...]) -> bool:
    """Whether a function's arguments and globals are such that to read them, and what is in them, runs no code."""
    within = [function.__code__]
    return all(_is_plain_value(one, within) for one in state) and _uses_plain(function, [])


def _is_plain_value(value: object, callers: list[CodeType], levels: int = MOST_LEVELS) -> bool:
    """Whether a value is of one of NumPy's or Python's own types, or holds only such, down to some level.

    `callers`: the functions in which it is used, which need not be looked at again where they call themselves.
    """
    kind = type(value)  # `isinstance` would ask others for their class
    if kind in PLAIN:
        return True
    if issubclass(kind, np.generic | np.dtype):
        return kind.__module__ in ("numpy", "numpy.dtypes")
    if kind is tuple or kind is list:
        assert isinstance(value, tuple | list)
        return levels > 0 and all(_is_plain_value(one, callers, levels - 1) for one in value)
    if kind is CellType:
        assert isinstance(value, CellType)
        return not is_filled(value) or _is_plain_value(value.cell_contents, callers, levels)
    if issubclass(kind, _hook.Dispatcher):
        assert isinstance(value, _hook.Dispatcher)
        value = value.__ufuse_function__
    if type(value) is FunctionType:
        return _uses_plain(value, callers)
    return kind is type and value.__module__ in ("numpy", "builtins")


def _uses_plain(function: FunctionType, callers: list[CodeType]) -> bool:
    """The same for the variables around a function, and for those of functions that it inlining."""
    code = function.__code__
    if code in callers:
        return True
    names = names_of(code)
    if names is None or len(callers) > inlining.MOST_CALLS:
        return False
    used = [function.__globals__[name] for name in names & function.__globals__.keys()]
    within = [*callers, code]
    return all(_is_plain_value(one, within) for one in (*used, *(function.__closure__ or ())))
