"""Solvers and decompositions: CuPy's own calls, in one graph with what is around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import same
from tests.support.restated import check_restated

RNG = np.random.default_rng(43)
M = RNG.normal(size=(6, 4))
SQUARE = M.T @ M + 4 * np.eye(4)

# Of a symmetric matrix `a`, a vector `b` and a matrix `m` with more rows than columns.
ONE_GRAPH: dict[str, Callable[..., Any]] = {
    "solve": lambda cp, a, b, m: cp.linalg.solve(a * 2, b + 1) * 3,
    "solve_several": lambda cp, a, b, m: cp.linalg.solve(a, m.T) + m.T,
    "inv": lambda cp, a, b, m: cp.linalg.inv(a + 1) @ b,
    "inv_of_stack": lambda cp, a, b, m: cp.linalg.inv(cp.stack([a, a * 2])) * 2,
    "det": lambda cp, a, b, m: (cp.linalg.det(a) * 2, cp.linalg.det(cp.stack([a, -a]))),
    "slogdet": lambda cp, a, b, m: cp.linalg.slogdet(a)[1] + cp.linalg.slogdet(-a)[0],
    "cholesky": lambda cp, a, b, m: cp.linalg.cholesky(a) * 2,
    "qr": lambda cp, a, b, m: (*cp.linalg.qr(m), cp.linalg.qr(m * 2, mode="r") + 1),
    "svd": lambda cp, a, b, m: (*cp.linalg.svd(m), cp.linalg.svd(m, full_matrices=False)[1] * 2),
    "singular_values": lambda cp, a, b, m: cp.linalg.svd(m, compute_uv=False).sum(),
    "eigh": lambda cp, a, b, m: (*cp.linalg.eigh(a), cp.linalg.eigh(a, "U")[0] + 1),
    "eigvalsh": lambda cp, a, b, m: cp.linalg.eigvalsh(a).max() * a,
    "pinv": lambda cp, a, b, m: cp.linalg.pinv(m) * 2,
    "matrix_rank": lambda cp, a, b, m: cp.linalg.matrix_rank(m) + 1,
    "norm": lambda cp, a, b, m: (cp.linalg.norm(m), cp.linalg.norm(m, axis=1), cp.linalg.norm(b, 1)),
    "tensorsolve": lambda cp, a, b, m: cp.linalg.tensorsolve(a, b) + 1,
    "matrix_power": lambda cp, a, b, m: cp.linalg.matrix_power(a, 3) * 2,
    "read": lambda cp, a, b, m: cp.linalg.solve(a, b) / float(cp.linalg.norm(b)),
    "np": lambda cp, a, b, m: np.linalg.solve(a, b) + np.linalg.norm(b),
}  # fmt: skip


def made(cp: Any, dtype: str) -> tuple[Any, ...]:
    """The arrays, in C order."""
    return tuple(cp.asarray(one.astype(dtype)) for one in (SQUARE, M[0], M))


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i8"])
@pytest.mark.parametrize("name", ONE_GRAPH)
def test_they_are_part_of_a_graph(host: Host, name: str, dtype: str) -> None:
    """Bits, strides and dtypes are eager CuPy's: on the first call, the next ones, and after a retrace."""
    cp, function = host.cupy, ONE_GRAPH[name]
    compiled = check_restated(host, lambda a, b, m: function(cp, a, b, m), lambda: made(cp, dtype))
    if dtype in ("f8", "f4"):
        assert not compiled.breaks
        assert compiled.stats.hits


ENDING: dict[str, Callable[..., Any]] = {
    "lstsq": lambda cp, a, b, m: cp.linalg.lstsq(m, m[:, 0] * 2, rcond=None),
    "cond": lambda cp, a, b, m: cp.linalg.cond(a * 2),
    "norm": lambda cp, a, b, m: (cp.linalg.norm(m, 2), cp.linalg.norm(m, "nuc") * 2),
}


@pytest.mark.parametrize("name", ENDING)
def test_those_that_branch(host: Host, name: str) -> None:
    """CuPy's own code asks for numbers, or for what no rule is about; capture goes on behind it."""
    cp, function = host.cupy, ENDING[name]
    check_restated(host, lambda a, b, m: function(cp, a, b, m), lambda: made(cp, "f8"))


def test_errors(host: Host) -> None:
    """What CuPy refuses is refused in its words, behind a store, too."""
    cp = host.cupy

    def refused(a: Any, b: Any) -> Any:
        a += 1
        return cp.linalg.solve(a, b) * 2

    compiled = ufuse.compile(refused)
    a, b = cp.asarray(SQUARE), cp.asarray(M[0])
    for _ in range(3):
        assert same(compiled(a.copy(), b), refused(a.copy(), b))
    for bad in ((a[:3], b), (a, b[:3]), (a.astype("f2"), b.astype("f2"))):
        plain, ours = bad[0].copy(), bad[0].copy()
        with pytest.raises((ValueError, TypeError, np.linalg.LinAlgError)) as wanted:
            refused(plain, bad[1])
        with pytest.raises(type(wanted.value)) as found:
            compiled(ours, bad[1])
        assert str(found.value) == str(wanted.value)
        assert same(ours, plain)


def test_the_order_of_work(host: Host) -> None:
    """A solver reads what the kernels in front of it write, however late a device does its work."""
    cp = host.cupy

    def several(a: Any, b: Any) -> Any:
        a = a * 2
        a[0] += 1
        b = b + 1
        x = cp.linalg.solve(a, b)
        a[1] = 0
        return x * 2 + a[0], cp.linalg.norm(x)

    given = cp.asarray(SQUARE), cp.asarray(M[0])
    compiled = ufuse.compile(several)
    for _ in range(3):
        assert all(map(same, compiled(*given), several(*given)))
    with host.device.working_late():
        found = compiled(*given)
    assert all(map(same, found, several(*given)))
