"""None and other keys where NumPy has no use for them: refused as NumPy does, not taken as left out."""

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome

# fmt: off
MEANT = (
    "np.nan_to_num(x, copy=None)|np.nan_to_num(x, nan=None)|np.isclose(x, x, rtol=None)|np.isclose(x, x, equal_nan=None)|"
    "np.allclose(x, x, atol=None)|np.nanvar(x, ddof=None)|np.nanstd(x, 0, None, None, None)|np.nanmean(x, keepdims=None)|np.nanmin(x, keepdims=None)|"
    "np.nanmax(x, axis=0, keepdims=None)|np.average(x, keepdims=None)|np.average(x, returned=None)|np.cov(x, rowvar=None)|np.cov(x, bias=None)|"
    "np.roll(x, None)|np.cov(None)|np.corrcoef(None)|np.average(None)|np.nan_to_num(None)|np.isclose(None, x)|np.isclose(x, None)|np.nanmean(None)|"
    "np.isclose(x, x, rtol=np._NoValue)|np.roll(x, np._NoValue)|np.nanmean(x, axis=np._NoValue)|np.sum(x, axis=np._NoValue)|"
    "np.sum(x[:0], initial=None)|np.sum(-x[:1] * 0, initial=None)|np.add.reduce(x[:0], initial=None)|np.multiply.reduce(x[:0], initial=None)|"
    "np.clip(x, np._NoValue, 2)|np.clip(x, 1, np._NoValue)|x.clip(np._NoValue, 2)|np.clip(x, np._NoValue, np._NoValue)|np.hanning(len(x), called=None)"
).split("|")
LEFT_OUT = (
    "np.nan_to_num(x, posinf=None, neginf=None)|np.nanmean(x, axis=None, out=None)|np.nanvar(x, None, None, None)|np.average(x, None, None)|"
    "np.average(x, weights=None)|np.cov(x, None)|np.cov(x, ddof=None, fweights=None)|np.roll(x, 1, None)|np.max(x, None, None, np._NoValue)|"
    "np.sum(x, axis=None, dtype=None, keepdims=np._NoValue)|np.nanmax(x, keepdims=np._NoValue)|np.clip(x, None, 2)|np.clip(x, 1, None)|x.clip(None, 2)"
).split("|")
NO_OUTPUT = (
    "np.sort(x, out=None)|np.unique(x, out=None)|np.flatnonzero(x, out=None)|np.convolve(x, x, out=None)|np.searchsorted(x, x, out=None)|"
    "np.repeat(x, 2, out=None)|np.linalg.norm(x, out=None)|np.bincount(x.astype(int), out=None)|x.argsort(out=None)|x.repeat(2, out=None)"
).split("|")
OUTPUT = (
    "np.take(x, [0], out=None)|x.take([0], out=None)|np.cumsum(x, out=None)|np.median(x, out=None)|np.dot(x, x, out=None)|np.argmax(x, out=None)|"
    "np.concatenate([x, x], out=None)|np.stack([x, x], out=None)|x.argmin(out=None)|np.add.reduceat(x, [0, 1], out=None)|"
    "np.var(x.astype('f4'), out=None)|np.nanmedian(x, out=None)|np.round(x, 1, out=None)"
).split("|")
SORTED = "x.sort(axis=None)|x.sort(None)|x.T.sort(axis=None)|x[::2].sort(axis=None)".split("|")
ITEMS = (
    "x.item(slice(0, 1))|x.item([0])|x.item([0, 0])|x.item(None)|x.item(...)|x.item(True)|x.item(1.0)|x.item('a')|x.item((0, None))|x.item((slice(1),))|"
    "x.item(np.array([0]))|x.item(((0,),))|x.item(x > 1)|x.item(np.bool(True))|x.item(0, None)|x.item(x[0])|x[1:].item(None)|x[:1].item(slice(None))"
).split("|")
PLACES = (
    "x.item(0)|x.item((1,))|x.item(-1)|x.item(np.int8(1))|x.item(np.argmax(x))|x.item(len(x) - 1)|x.item(int(x[1]))|x[:1].item()|x.item(10)|x[:1].item(())"
).split("|")
# fmt: on


@pytest.mark.parametrize("call", MEANT + LEFT_OUT + NO_OUTPUT + OUTPUT + SORTED + ITEMS + PLACES)
def test_what_is_given_is_taken_as_numpy_takes_it(call: str, caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """At a first call, at a second, and where another dtype, another layout or no element has it traced anew."""
    function = eval(f"lambda x: {call}", {"np": np})  # noqa: S307  rows of a table
    compiled = ufuse.compile(function)
    for array in (
        np.array([1.0, 2.0, 0.5]),
        np.array([1, 2, 0]),
        np.arange(6.0)[::2],
        np.array([1.0, np.nan, np.inf]),
        np.array([2.5]),
        np.zeros(0),
        np.array([1.0, 2.0, 0.5, 3.0]),
    ):
        expected = outcome(function, array.copy())
        for _ in range(2):
            assert outcome(compiled, array.copy()) == expected, f"{call} of {array!r}"
    assert not caplog.records


@pytest.mark.parametrize("call", LEFT_OUT + OUTPUT)
def test_what_means_nothing_is_left_out(call: str) -> None:
    """Such a call stays in the graph."""
    compiled = ufuse.compile(eval(f"lambda x: {call}", {"np": np}))  # noqa: S307  rows of a table
    for _ in range(2):
        compiled(np.array([1.0, 2.0, 0.5]))
    assert (compiled.stats.breaks, compiled.stats.hits) == (0, 1)
