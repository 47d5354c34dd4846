"""Dtypes that are equal and not the same: two codes for the same numbers, metadata, copies; each stays what it is."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome

CODES = "bBhHiIlLqQefdgFDG"
SECOND = [(a, b) for a, b in permutations(CODES, 2) if np.dtype(a) == np.dtype(b)]
LABELLED = np.dtype("i4", metadata={"unit": "m"})
COPIED: np.dtype = pickle.loads(pickle.dumps(np.dtype("i8")))
SPELLED = np.dtype("i8").newbyteorder().newbyteorder()  # is native, and says which order that is

CALLS = (
    "x.astype('u8')|x.astype('i8')|x.astype(np.longlong)|x.astype(np.int64)|x.astype('q')|x.astype(x.dtype)|x.astype(np.int64, copy=False)|x + 1|"
    "x * x|x + np.int64(1)|np.int64(1) + x|x + np.longlong(1)|x // 2|x.sum()|x.max()|np.add(x, 1)|np.maximum(x, np.int64(2))|"
    "np.where(x > 1, x, np.int64(0))|np.where(x > 1, x, np.longlong(0))|x << 1|abs(x)|-x|~x|x.copy()|np.array(x)|np.asarray(x, dtype=np.int64)|"
    "np.asarray(x, dtype='q')|np.asarray(x, dtype='l')|np.asarray(x)|np.asarray(x + 1, np.int64)|np.zeros_like(x)|np.full_like(x, 2)|"
    "np.concatenate([x, x])|x.cumsum()|np.sum(x, dtype='q')|np.sum(x, dtype=np.int64)|x.prod()|x.view(np.int64)|np.clip(x, 0, 2)|x % 3|x ** 2|"
    "divmod(x, 2)|np.sort(x)|x[0]|x[...]|x.item()|np.sign(x)|np.square(x)|x.min()|x.mean()|x.dot(x)|x @ x|x.reshape(-1) + 1|np.ones(3, 'q') + x|"
    "np.ones(3, 'l') + x|np.zeros(3, x.dtype)|np.full(3, np.longlong(2))|np.longlong(x.max())|np.int64(x.max())|np.array([np.longlong(1)])|"
    "np.array((np.longlong(1),))|np.array((np.int64(1),))|np.result_type(x, 'l')|x == np.int64(1)|np.multiply(x, x, dtype='l')|np.diff(x)|"
    "np.arange(3, dtype='q') * x|np.arange(x[0], 3)|np.left_shift(x, np.int64(2))|x.dtype.char|x.dtype.metadata|x.dtype == 'i8'"
).split("|")


def values() -> list[Any]:
    """Arrays and scalars, those with equal dtypes behind one another."""
    made: list[Any] = []
    for first, second in SECOND:
        made += [np.arange(3).astype(code) for code in (first, second)]
        made += [np.dtype(code).type(2) for code in (first, second)]
    dtypes = (
        LABELLED, np.dtype("i4"), np.dtype(">i4"), COPIED, np.dtype("i8"), copy.copy(COPIED), SPELLED,
    )  # fmt: skip
    return made + [np.arange(3).astype(dtype) for dtype in dtypes]


@pytest.mark.parametrize("call", CALLS)
def test_equal_dtypes_are_told_apart(call: str) -> None:
    """A function that has met one of two equal dtypes gives for the other what NumPy gives."""
    program = eval(f"lambda x: {call}", {"np": np})  # noqa: S307  rows of a table
    met = values()
    for order in (met, met[::-1]):
        compiled = ufuse.compile(program)
        for x in (*order, *order):
            assert outcome(compiled, x) == outcome(program, x), repr(x)


def test_the_break_names_the_dtype() -> None:
    """Of two codes the one that no name of NumPy's stands for is left to NumPy, and so are dtypes with more to say."""
    second = [a for a, b in SECOND if np.dtype(np.dtype(a).str).char == b]
    for dtype in (*map(np.dtype, second), LABELLED, SPELLED):
        compiled = ufuse.compile(lambda x: x + 1)
        compiled.reset()
        compiled(np.arange(3).astype(dtype))
        (found,) = compiled.breaks
        words = "int32 with metadata" if dtype is LABELLED else dtype.type.__name__
        assert found.code == "dtype"
        assert f"an array of dtype {words} is left to NumPy" in found.reason
    assert second


def test_arrays_with_a_copied_dtype_are_captured() -> None:
    """What was unpickled has a dtype that is another object, and nothing else about it is different."""
    compiled = ufuse.compile(lambda x: x * 2 + 1)
    for dtype in (np.dtype("i8"), COPIED):
        x = np.arange(3).astype(dtype)
        assert (compiled(x) == [1, 3, 5]).all()
    assert compiled.breaks == ()


def test_equal_tuples_of_other_numbers_are_told_apart() -> None:
    """What NumPy makes of `(1, 2)` is not asked for `(1.0, 2.0)`, though they are equal."""
    programs: list[Callable[[], Any]] = [
        lambda: (np.array((1, 2)), np.array((1, 2)).dtype), lambda: (np.array((1.0, 2.0)), np.array((1.0, 2.0)).dtype),
        lambda: (np.array((True, 2)), np.array((1, 1)).dtype, np.array((True, True)).dtype), lambda: np.array((1 + 0j, 2)).dtype,
        lambda: np.array([(1, 2.0)]).dtype, lambda: np.array([(1, 2)]).dtype, lambda: np.array(((1, True),)).dtype,
    ]  # fmt: skip
    for program in (*programs, *programs):
        compiled = ufuse.compile(program)
        for _ in range(2):
            found, wanted = compiled(), program()
            assert repr(found) == repr(wanted)
