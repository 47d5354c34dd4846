"""NumPy code on a GPU that writes into its arguments, and whose results share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.sent import is_sent, why_different

RNG = np.random.default_rng(51)
A = RNG.normal(size=(7, 9))


def check(function: Callable[..., Any], *arguments: Any, close: float = 0.0) -> Any:
    """Compare results, which of them share memory with what, and what the arguments have become."""
    compiled = ufuse.compile(function, backend="cupy")
    compiled.reset()
    for _ in range(3):
        given, same = ([np.array(one) for one in arguments] for _ in range(2))
        results, wanted = compiled(*given), function(*same)
        pairs = list(zip(given, same, strict=True))
        if isinstance(wanted, tuple):
            pairs += zip(results, wanted, strict=True)
        elif wanted is not None:
            pairs.append((results, wanted))
        for found, other in pairs:
            assert why_different(found, other, close) is None
        found, others = ([one for one, _ in pairs], [other for _, other in pairs])
        arrays = [place for place, one in enumerate(others) if isinstance(one, np.ndarray)]
        for i in arrays:
            for j in arrays:
                assert (found[i] is found[j]) == (others[i] is others[j])
                shares = np.shares_memory(others[i], others[j])
                assert np.shares_memory(found[i], found[j]) == shares
    assert compiled.stats.hits
    assert not compiled.breaks
    assert is_sent(compiled)
    return compiled


def test_arguments_are_written(host: Host) -> None:
    """All of one, parts of it, and by operators in place; what is returned is the argument."""

    def stepped(x: Any, v: Any) -> Any:
        x += v * 0.5
        v[1:-1, 2:] = x[:-2, 2:] - x[2:, 2:]
        v[0] = 7
        return x

    def filled(x: Any, y: Any) -> None:
        x[...] = (y * 2)[::-1]
        y[:, 3] = x[:, 0]

    for function in (stepped, filled):
        check(function, A, A * 2)
        check(function, A.T, A.T.copy())
        check(function, A, A.astype("f4"))
        check(function, (A * 9).astype("i4"), (A * 5).astype("i4")) if function is filled else None


def test_strided_arguments_are_written(host: Host) -> None:
    """Only their elements: what is between them stays."""

    def stepped(x: Any) -> Any:
        x *= 2
        x[1:] += 1
        return x.max()

    compiled = ufuse.compile(stepped, backend="cupy")
    for view in (lambda x: x[::2, 1:8:3], lambda x: x.T[1:], lambda x: x[:, 4:5]):
        for _ in range(2):
            given, same = A.copy(), A.copy()
            result, wanted = compiled(view(given)), stepped(view(same))
            assert why_different(result, wanted, 0) is None
            assert given.tobytes() == same.tobytes()
    assert is_sent(compiled)


def test_what_overlaps_is_read_first(host: Host) -> None:
    """Elements are moved in an array, forward and backward, whatever thread is first."""

    def moved(x: Any) -> None:
        x[1:] = x[:-1]
        x[:-2] += x[2:] * 0.5
        x[:, 1:] = x[:, :-1]
        x[::-1] = x

    for order in ORDERS:
        with host.driver.running(order):
            check(moved, A)
            check(moved, np.arange(40.0).reshape(20, 2))


def test_arrays_of_its_own_are_written(host: Host) -> None:
    """In parts, element by element, with numbers and scalars."""

    def made(x: Any) -> Any:
        y = np.zeros((7, 9))
        y[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1]
        y[0, 0] = x.sum()
        y[-1] = 3
        z = np.empty_like(x)
        z[:] = y
        z[::2] *= -1
        w = x * 2
        w[w.shape[0] // 2 :] = 0.25
        return y, z, w

    check(made, A, close=1e-12)


def test_results_that_are_views(host: Host) -> None:
    """Of arguments, of what was made, and of one another's memory."""

    def views(x: Any) -> Any:
        y = x + 1
        part = y[1:]
        y[2] = 5
        return part, y.T, x[:, 0], y, x.reshape(-1), part[:, ::-1][None]

    check(views, A)
    check(views, A.T.copy())
    check(lambda x: (x * 2).T, A)
    check(lambda x: (x[1:] * 2).reshape(-1)[::3], A)


def test_a_view_of_what_is_written(host: Host) -> None:
    """It shows what the argument has become."""

    def written(x: Any) -> Any:
        first = x[0]
        x *= 3
        return first, x[1:, ::2]

    check(written, A)


def test_nothing_is_written_where_the_device_fails(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without memory there plain Python runs, once."""

    def twice(x: Any) -> Any:
        x *= 2
        return x.sum(axis=0) + x.mean()

    compiled = ufuse.compile(twice, backend="cupy")
    assert np.allclose(compiled(A.copy()), twice(A.copy()))

    def full(*_: object, **__: object) -> None:
        raise host.cupy.cuda.memory.OutOfMemoryError(1, 2, 3)

    monkeypatch.setattr(host.cupy, "ndarray", full)
    for _ in range(2):
        given, same = A.copy(), A.copy()
        assert np.allclose(compiled(given), twice(same))
        assert given.tobytes() == same.tobytes()


def test_stores_that_stay_on_the_cpu(host: Host) -> None:
    """Numbers of another kind than the array's."""

    def stored(x: Any) -> Any:
        x[1:] = 2.75
        return x * 2

    compiled = ufuse.compile(stored, backend="cupy")
    for _ in range(2):
        given, same = np.arange(5), np.arange(5)
        assert (compiled(given) == stored(same)).all()
        assert (given == same).all()
    assert not is_sent(compiled)
