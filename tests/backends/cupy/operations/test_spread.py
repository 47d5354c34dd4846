"""Variances and deviations in kernels, folded as CuPy's own reduction kernel folds them: its bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.captured import check_in_every_order, launched, source_of, values
from tests.support.devices.comparing import check, same
from tests.support.devices.folds import OF_OTHERS, OF_ROWS, scores_of_columns, standard

ROWS = (1, 2, 3, 8, 15, 16, 31, 32, 33, 70)
SHORT = (1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256, 257)
MANY = (3, 16, 33)  # rows, of LONG elements
LONG = (511, 512, 513, 700, 1024, 2048, 4096, 4099, 8192, 8200)


def of_what_is_computed(x: Any) -> Any:
    """Variances of something else, with axes kept and left out, and other folds beside them."""
    y = x * 0.5
    return (
        y.var(axis=-1),
        y - y.std(axis=-1, ddof=1, keepdims=True),
        y.max(axis=-1),
        y.mean(axis=-1),
    )


def layer_norm(x: Any, weight: Any) -> Any:
    """With a variance, and a number beside it."""
    mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * weight


def every_second(lengths: tuple[int, ...], number: int, dtype: str) -> tuple[int, ...]:
    """Those that rows of a dtype have: the other dtype has those between, and so have as many rows as are next."""
    return lengths[(number + "fd".index(dtype)) % 2 :: 2]


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("rows", ROWS)
def test_short_rows(host: Host, rows: int, dtype: str) -> None:
    """Of which a thread or a part of a warp folds one; how many depends on how many rows there are, too."""
    compiled, other = ufuse.compile(standard), ufuse.compile(of_what_is_computed)
    for length in every_second(SHORT, ROWS.index(rows), dtype):
        x = host.cupy.asarray(values((rows, length), dtype))
        for _ in range(2):
            assert same(compiled(x), standard(x)), length
            assert all(map(same, other(x), of_what_is_computed(x))), length
    assert compiled.stats.eager_calls + other.stats.eager_calls <= 2  # the first of everything
    assert not compiled.breaks


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("rows", MANY)
def test_long_rows(host: Host, rows: int, dtype: str) -> None:
    """In registers and longer, whatever thread is first."""
    compiled, other = ufuse.compile(standard), ufuse.compile(of_what_is_computed)
    for length in every_second(LONG, MANY.index(rows), dtype):
        x = host.cupy.asarray(values((rows, length), dtype))
        wanted = of_what_is_computed(x)
        standard_wanted = standard(x)
        for order in ORDERS:
            with host.driver.running(order):
                assert same(compiled(x), standard_wanted), (length, order)
                assert all(map(same, other(x), wanted)), (length, order)
    assert not compiled.breaks


def test_a_standard_score_is_one_kernel(host: Host) -> None:
    """Mean, deviation and what is made of them; in double precision the mean is CuPy's own call."""
    weight = host.cupy.asarray(values((700,), "f"))
    for dtype, launches in (("f", 1), ("d", 3)):
        x = host.cupy.asarray(values((40, 700), dtype))
        compiled, normed = check(standard, x), check(layer_norm, x, weight)
        assert source_of(compiled).count("__global__") == source_of(normed).count("__global__") == 1
        assert launched(host, compiled, x) == launched(host, normed, x, weight) == launches


@pytest.mark.parametrize("name", ["var", "std"])
def test_every_axis(host: Host, name: str) -> None:
    """Of arrays with several, of one and two degrees of freedom, kept and left out; of other dtypes and layouts."""
    cp = host.cupy
    x = values((6, 33, 9), "f")
    x[0, 3, 3], x[5, 5, 5], x[:, 7, 7] = np.nan, np.inf, np.nan
    for dtype in "fdie":
        given = cp.asarray(
            np.nan_to_num(x, posinf=9).astype(dtype) if dtype == "i" else x.astype(dtype)
        )
        for axis in (0, 1, -1, None, (0, 1), (1, 2), (0, 2), (2,)):
            for more in ("", ", keepdims=True", ", ddof=1", ", ddof=2", ", ddof=40, keepdims=True"):
                text = f"lambda x: (x * 2).{name}(axis={axis}{more}) + 1"
                check(eval(text, {}), given)  # noqa: S307  code of its own for each
    made = cp.asarray(values((20, 30), "f"))

    def along(x: Any) -> Any:
        return x.var(axis=1), x.std(axis=0), cp.var(x, axis=-1, ddof=1), cp.std(x), x.var(0, "d")

    compiled = ufuse.compile(along)
    for one in (
        made, made.T, made[::2], made[:, ::-1], cp.broadcast_to(made[0], (20, 30)), made[:1], made[:, :1], made[:0],
        made[:, :0], made[:2, :2], cp.asarray(values((601,), "f"))[1:].reshape(20, 30),
    ):  # fmt: skip
        for _ in range(3):
            assert all(map(same, compiled(one), along(one))), one.shape


@pytest.mark.parametrize("dtype", "fd")
def test_columns(host: Host, dtype: str) -> None:
    """Of few and many, in each order of threads."""
    compiled = ufuse.compile(scores_of_columns)
    for shape in ((2, 2), (33, 2), (4099, 3), (700, 40), (5, 257), (1, 9), (9, 1), (0, 3), (3, 0)):
        x = host.cupy.asarray(values(shape, dtype))
        wanted = scores_of_columns(x)
        for order in ORDERS:
            with host.driver.running(order):
                assert same(compiled(x), wanted), (shape, order)
    x = host.cupy.asarray(values((700, 40), dtype))
    compiled(x)
    assert launched(host, compiled, x) == 4  # means, squares, deviations and scores
    middle = check(lambda x: (x * 2).var(axis=1), host.cupy.asarray(values((5, 33, 7), dtype)))
    assert OF_ROWS not in source_of(middle)
    assert OF_OTHERS in source_of(middle)


@pytest.mark.usefixtures("own_kernels")
def test_where_cupy_takes_no_library(host: Host) -> None:
    """Means are in the order of its own kernel then."""
    for dtype in "fd":
        x = host.cupy.asarray(values((40, 257), dtype))
        compiled = check(standard, x)
        assert OF_ROWS in source_of(compiled)
        check(scores_of_columns, x)


def test_what_is_tried_out_is_cupys(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a context in which CuPy tries out how to launch its reductions their order is not known."""
    x = host.cupy.asarray(values((40, 257), "f"))
    rows, others = check(standard, x), check(scores_of_columns, x)
    config = host.cupy._core._optimize_config
    with monkeypatch.context() as patched:
        patched.setattr(config, "get_current_context", object)
        assert same(rows(x), standard(x))
        assert same(others(x), scores_of_columns(x))
        assert launched(host, rows, x) > 1
        assert launched(host, others, x) > 4
    assert launched(host, rows, x) == 1
    assert launched(host, others, x) == 4


def test_stores_are_behind_what_may_be_left_to_cupy(host: Host) -> None:
    """Of rows that are written where they were read, and behind another store."""

    def in_place(x: Any) -> Any:
        x -= x.mean(axis=1, keepdims=True)
        x /= x.std(axis=1, keepdims=True)
        return x.var(axis=0)

    def at_once(x: Any) -> Any:
        x[...] = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)

    functions: tuple[Callable[..., Any], ...] = (in_place, at_once)
    for function in functions:
        compiled = ufuse.compile(function)
        for shape in ((33, 700), (3, 5), (3, 4096), (1, 7), (40, 257)):
            given = values(shape, "f")
            for order in ORDERS:
                one, other = host.cupy.asarray(given), host.cupy.asarray(given)
                with host.driver.running(order):
                    made = compiled(other)
                wanted = function(one)
                assert same(one, other)
                assert wanted is None or same(made, wanted)


def test_rows_of_every_form_in_every_order(host: Host) -> None:
    """The same kernel over lengths that come in turn."""
    compiled = ufuse.compile(of_what_is_computed)
    for length in (40, 700, 40, 8200, 16):
        x = host.cupy.asarray(values((20, length), "f"))
        check_in_every_order(host, compiled, x, of_what_is_computed(x))
