"""NumPy's functions with arguments that nobody should pass: refused, converted or taken as NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome


class One:
    """Something that may stand for a whole number."""

    def __index__(self) -> int:
        return 1


ODD: list[Any] = [
    None, True, 1.5, "a", (), [1], (0,), (0, 0), {}, range(2), slice(1), ..., -1, -4, 2, 10**30, float("nan"), 1j, np.array(1), np.array([1]),
    np.array([True, False, True]), np.bool(True), np.int8(1), np.float32(1.5), int, np.dtype("f4"), "i4", One(), np.ma.array([1, 2, 3]),
    np.array([1, None, 2], object), np.ones((3, 1)), np.zeros(0), np.ones(3, ">f8"),
]  # fmt: skip
# `x` is an array, `v` what is odd
CALLS = (
    "x + v|x[v]|x.sum(v)|x.sum(keepdims=v)|x.sum(dtype=v)|x.max(axis=v)|x.any(v)|x.mean(v)|x.var(ddof=v)|x.astype(v)|x.astype(float, copy=v)|"
    "x.reshape(v)|x.reshape(v, -1)|x.transpose(v)|x.swapaxes(0, v)|x.copy(v)|x.fill(v)|x.take(v)|np.zeros(v)|np.ones((2, v))|np.full(3, v)|"
    "np.zeros_like(x, v)|np.full_like(x, v)|np.zeros_like(v)|np.array(v)|np.array([v, 1])|np.asarray(x, v)|np.arange(v)|np.arange(0, 3, v)|"
    "np.where(v, x, 1)|np.where(x > 1, x, v)|np.clip(x, v, 2)|np.maximum(x, v)|np.add(x, 1, x.copy(), where=v)|np.add(x, 1, dtype=v)|np.add(x, v, out=x)|"
    "np.add.reduce(x, v)|np.transpose(x, v)|np.concatenate(v)|np.concatenate([x, x], v)|np.stack([x, x], v)|np.dstack(v)|np.expand_dims(x, v)|"
    "np.squeeze(x, v)|np.broadcast_to(x, v)|np.round(x, v)|np.repeat(x, 2, v)|np.copyto(x, v)|x.__setitem__(v, 1)|x.__setitem__(0, v)|x @ v|x == v|"
    "np.tile(x, v)|np.tile(x, (2, v))|np.pad(x, v)|np.pad(x, (1, v))|np.pad(x, [(v, 1)] * x.ndim)"
).split("|")


@pytest.mark.parametrize("call", CALLS)
def test_odd_arguments_are_taken_as_numpy_takes_them(call: str, caplog: pytest.LogCaptureFixture) -> None:  # fmt: skip
    """Whatever is passed, the result or the error is NumPy's own, and nothing fails inside."""
    function = eval(f"lambda x, v: {call}", {"np": np})  # noqa: S307  rows of a table
    for odd in ODD:
        for make in (lambda: np.arange(3.0), lambda: np.arange(6, dtype="i2").reshape(3, 2).T):
            compiled = ufuse.compile(function)
            expected = outcome(function, make(), odd)
            for _ in range(2):
                found = outcome(compiled, make(), odd)
                assert found == expected, f"{call}, v = {odd!r}"
    assert not caplog.records
