"""One program for each kind of kernel, of an array of few rows and one of many."""

from __future__ import annotations

from typing import Any

WIDTH = 3  # of the other axis


def mapped(cp: Any, x: Any, y: Any) -> Any:
    z = cp.maximum(x * y, 2) - x
    return z, (z > y) & (x != 1), (z + 0.5).astype("f4"), cp.where(x > y, z, x // 3)


def broadcast(cp: Any, x: Any, y: Any) -> Any:
    return x + y[:1], x[:, None] * y, x[..., :1] - y


def stored(cp: Any, x: Any, y: Any) -> Any:
    z = cp.zeros(y.shape, y.dtype)
    z[:] = x * 2
    z[1:] += y[1:]
    z[:, ::2] -= 1
    z[x > y] = 7
    return z, z[::-1] + 1


def by_rows(cp: Any, x: Any, y: Any) -> Any:
    z = x * 2 - y
    total = z.sum(axis=-1, keepdims=True)
    return total, z * total, (z > 1).any(axis=-1), (x & y).prod(axis=-1), (z - total).sum(axis=-1)


def total(cp: Any, x: Any, y: Any) -> Any:
    z = x * 3 - y
    return z.sum(), z, (z > 4).all(), (z == 1).sum(), (x | y).prod()


def by_columns(cp: Any, x: Any, y: Any) -> Any:
    z = x * 0.1 - y
    return z.sum(axis=0), z.prod(axis=0), z.mean(axis=0), z, (z > 0).sum(axis=0)


def along_each(cp: Any, x: Any, y: Any) -> Any:
    z = x * 0.25 + y
    return z.sum(axis=1), z.sum(), (z * 2).mean(axis=-1)


def called(cp: Any, x: Any, y: Any) -> Any:
    z = x * 2 + y
    few = z[:, :300]  # eager CuPy has a block of 512 threads for each sum
    return cp.cumsum(few, axis=0) + 1, z[abs(z.sum(axis=1)) % WIDTH] * 2, z.ravel() - 1


def picked(cp: Any, x: Any, y: Any) -> Any:
    i, few = (x[0] - 3) * 2, y[:, :9]  # by all of them, results would be lengths times lengths
    return x[few] * 2 - few[..., None], x[:, i] - y, y[x, i] + x, x.T[:, i[:9] % 2] - 1, y[0][i] * i


KINDS = (mapped, broadcast, stored, by_rows, total, by_columns, along_each, called, picked)


def written(cp: Any, x: Any, y: Any) -> Any:
    before = x * 1
    x[:] = y * 2 - x
    x[1:] += y[:-1]
    x[::2, 1:] = x[::2, :-1] - 1
    x[y > x] = 3
    return before, x
