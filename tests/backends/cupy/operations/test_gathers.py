"""Elements by arrays of places inside kernels: picked where they are computed with, in one launch."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.captured import launched
from tests.support.devices.comparing import check, same
from tests.support.real_device import RealDevice

RNG = np.random.default_rng(27)

# One launch each: of an array of three axes, a column of places, and what is as long.
ONE = {
    "rows": lambda x, i, w: x[i] * 2 - w[:, None, None],
    "columns": lambda x, i, w: x[:, i] * w[:, None],
    "the last axis": lambda x, i, w: x[..., i] + w,
    "two axes": lambda x, i, w: x[i, i] * w[:, None],
    "two behind": lambda x, i, w: x[:, i, i] * w,
    "all axes": lambda x, i, w: x[i, i, -i] * w,
    "beside numbers": lambda x, i, w: x[-1, i, 2] * w + x[0, 1, i],
    "broadcast": lambda x, i, w: x[i[:, None], i, 0] * w,
    "computed places": lambda x, i, w: x[0, 1][i * 3 + 1] * w,
    "of a view": lambda x, i, w: x[::-1, 1, ::2][i] + x[0, 0, 0],
    "differences": lambda x, i, w: (x[i] - x[i[::-1]]) ** 2,
    "take": lambda x, i, w: x.take(i, axis=1) * 2,
    "of places": lambda x, i, w: i[i] * 2 + i,
    "several results": lambda x, i, w: (x[i] + 1, x[i] * 2),
}


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8"])
@pytest.mark.parametrize("name", ONE)
def test_what_is_picked_is_one_launch(host: Host, name: str, dtype: str) -> None:
    """Places wrap; arrays lie in any order."""
    cp, picking = host.cupy, ONE[name]
    x = cp.asarray(RNG.normal(size=(4, 5, 6)))
    i, w = cp.asarray(RNG.integers(0, 9, 7), dtype), cp.asarray(RNG.normal(size=7))
    if dtype[0] == "i":
        i -= 5
    compiled = ufuse.compile(picking)
    for array in (x, x.T, x[::-1, 1:], cp.broadcast_to(x[:1, :, :1], x.shape)):
        compiled.reset()
        check(picking, array, i, w)
        assert launched(host, compiled, array, i, w) == 1, compiled.graphs[0].source("cupy")
    for places in (i[:1], i[:0], i[::2]):
        compiled.reset()
        check(picking, x, places, w[: len(places)])


def added(x: Any, i: Any) -> Any:
    x[:] = x[i] + 1
    return x


def behind(x: Any, i: Any) -> Any:
    x[i[0] % 2 :: 2] += 1
    y = x[i] * 2
    x[1:] = y[:-1] - x[i][1:]
    return x, y


def moved(x: Any, i: Any) -> Any:
    i[:] = i + 1
    y = x[i] * 2
    i[1:] = 0
    return y, i, x[i] - y


def of_its_own(x: Any, i: Any) -> Any:
    y = x * 2
    z = y[i] + y
    y[i] = z
    return y[i] * z, z[i] - y


@pytest.mark.parametrize("function", [added, behind, moved, of_its_own])
def test_what_is_picked_from_is_whole(host: Host, function: Callable[..., Any]) -> None:
    """No kernel picks from what it writes, or makes; what is picked is what was there then."""
    cp = host.cupy
    compiled = ufuse.compile(function)
    numbers, places = RNG.normal(size=8), RNG.permutation(8)
    for _ in range(3):
        given = [(cp.asarray(numbers), cp.asarray(places)) for _ in range(2)]
        wanted, found = (one if isinstance(one, tuple) else (one,) for one in (
            function(*given[0]), compiled(*given[1])
        ))  # fmt: skip
        assert all(map(same, found, wanted))
        assert all(map(same, *given))
    assert compiled.stats.hits


def test_nothing_to_pick_from(host: Host) -> None:
    """CuPy's own error; and no places are no error."""
    cp = host.cupy

    def picking(x: Any, i: Any) -> Any:
        return x[i] * 2 + 1

    compiled = ufuse.compile(picking)
    x, i = cp.asarray(RNG.normal(size=5)), cp.asarray([1, 2])
    for _ in range(2):
        compiled(x, i)
        assert same(compiled(x[:0], i[:0]), picking(x[:0], i[:0]))
        for called in (picking, compiled):
            with pytest.raises(IndexError, match="non-empty take from an empty axes"):
                called(x[:0], i)


UNUSED = {
    "rows": lambda x, i: (x[i], x * 2)[1],
    "elements": lambda x, i: (x[i, i] + 1, x * 2)[1],
    "taken": lambda x, i: (x.take(i, 0).sum(), x * 2)[1],
    "the last axis": lambda x, i: (x[..., i], x * 2)[1],
}


@pytest.mark.parametrize("name", UNUSED)
def test_nothing_to_pick_from_is_an_error_where_nobody_uses_it(host: Host, name: str) -> None:
    """As in CuPy; what may be picked and is not used is not."""
    cp, function = host.cupy, UNUSED[name]
    compiled = ufuse.compile(function)
    x, i = cp.asarray(RNG.normal(size=(5, 5))), cp.asarray([1, 2])
    failed = 0
    for array in (x, x[:0], x[:, :0], x[:0, :0], x):
        try:
            wanted = function(array, i)
        except IndexError as error:
            failed += 1
            for _ in range(2):
                with pytest.raises(IndexError, match=re.escape(str(error))):
                    compiled(array, i)
        else:
            assert all(same(compiled(array, i), wanted) for _ in range(2))
    assert failed


def test_a_length_that_a_mask_decides_behind_another_axis(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    """What is stored is as long as the mask says, behind an axis of one element."""
    cp = host.cupy

    def stored(x: Any, t: Any, m: Any, i: Any) -> Any:
        x[i] = t[..., m]
        return x

    compiled = ufuse.compile(stored)
    for _ in range(3):
        given = [cp.ones(1), cp.asarray([[2.0]]), cp.asarray([True]), cp.asarray([0])]
        assert same(compiled(*given), stored(cp.ones(1), *given[1:]))
    assert not caplog.records


def behind_writes(x: Any, i: Any) -> Any:
    x += 1
    y = x[i] * 2
    x += 1
    return y + x


def test_fields_of_records_are_left_to_cupy(host: Host) -> None:
    """Their elements lie between others, where no kernel finds them, and a GPU itself refuses to look."""
    if isinstance(host, RealDevice):
        pytest.skip("CuPy's own kernels fail there, too")
    cp = host.cupy
    records = np.zeros(6, [("a", "u1"), ("b", "f8"), ("c", "i8")])
    records["b"], records["c"] = RNG.normal(size=6), RNG.integers(0, 6, 6)
    memory = cp.asarray(records.view("u1")).reshape(6, -1)
    b, c = (memory[:, start : start + 8].view(kind)[:, 0] for start, kind in ((1, "f8"), (9, "i8")))
    compiled = ufuse.compile(lambda x, i: x[i] * 2)
    for _ in range(3):
        assert same(compiled(b, cp.asarray([3, 1])), b[cp.asarray([3, 1])] * 2)
        assert same(compiled(cp.asarray(records["b"]), c), cp.asarray(records["b"])[c] * 2)
    compiled = ufuse.compile(behind_writes)
    for _ in range(3):
        given = [(cp.asarray(records["b"]), c.copy() if one else c) for one in (0, 0, 1)]
        wanted = behind_writes(*given[0])
        assert all(same(compiled(*one), wanted) for one in given[1:])
        assert all(same(one[0], given[0][0]) for one in given)


@pytest.mark.parametrize("name", ONE)
def test_python_launches_the_same(host: Host, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where C does not know CuPy."""
    native = importlib.import_module("ufuse.backends.cupy.launching.native")
    cp, picking = host.cupy, ONE[name]
    monkeypatch.setattr(native, "why_not", lambda: "a test")
    x = cp.asarray(RNG.normal(size=(4, 5, 6)))
    i, w = cp.asarray(RNG.integers(-9, 9, 7)), cp.asarray(RNG.normal(size=7))
    for array, places in ((x, i), (x.T, i), (x[::-1, 1:], i), (x, i[:0])):
        ufuse.compile(picking).reset()
        check(picking, array, places, w[: len(places)])
