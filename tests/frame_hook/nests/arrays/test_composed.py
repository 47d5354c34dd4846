"""Functions of arrays that native loops compute by several array statements, and arrays made of numbers."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

pytest.importorskip("llvmlite")

TURNS = 140  # every length at every row
VECTORS = (
    "np.argsort(x)", "(x * i).argsort()", "np.argsort(-x)[::-1]", "np.argsort((x * 3).astype(int))", "x[np.argsort(x)]",
    "np.argsort(x[::-1].astype('f4'))", "np.argsort(A[:, 1])[: i % 30]",
    "np.diff(x)", "np.roll(x, 1)", "np.roll(x, -i)", "np.roll(x * 2, shift=i)", "np.concatenate((x, x[:2]))",
    "np.concatenate([x[::-1], x, x * 2])", "np.clip(x, 0.25, 0.75)", "x.clip(-1, i)", "np.clip(x, 0.75, 0.25)",
    "np.clip(x, 0.0, 0.5)", "x.clip(-1, -0.0)",
    "np.round(x, 2)", "np.round(x)", "(x * 7).round(1)", "x.astype(float)", "x.astype(np.float32)",
    "(x * 9).astype(int)", "x[::2].astype('f4')", "np.full(3, x[0])", "np.full(i % 4 + 1, 2)",
    "np.array([x[0], i, 2.5])", "np.array((i, i + 1))", "np.array([1.5, 2.5, 3.5])", "np.outer(x, x)[-1]",
    "np.outer(x[::-1], x[:3])[0]", "np.eye(3)[i % 3]", "np.identity(2)[0]", "np.array([[x[0], 1], [i, 0.5]])[i % 2]",
    "np.array([x[0], 3], dtype=np.float32)", "x / np.linalg.norm(x)", "np.roll(x, i, axis=0)",
    "np.array([x, x * 2, x[::-1]])[i % 3]", "np.array((x, (x * 9).astype(int)))[1]", "np.array([x], dtype='f4')[0]",
)  # fmt: skip
NUMBERS = (
    "(x > 0.5).mean()", "np.mean((x * 7).astype(int))", "(A * 7).astype('i2').mean()", "np.mean(A > 0.5, axis=0)[0]",
    "(x * 1e9).astype(int).mean()", "np.var(A[:9], axis=0)[i % 9]", "np.std(A, axis=1, ddof=1)[i % 9]", "np.var(A, 1)[2]",
    "np.eye(len(x))[i % 2, 1]",
    "np.linalg.norm(x)", "np.linalg.norm(x - A[0, : len(x)])", "np.var(x)", "x.std()", "np.std(x, ddof=1)", "np.ptp(x)",
    "np.std(A)", "np.linalg.norm(np.array([x[0], 3.0, i]))", "np.var(x * 3, ddof=0)",
    "np.corrcoef(x, A[0, : len(x)])[0, 1]", "np.cov(x[::-1], x)[1, 0]", "np.corrcoef(x, x)[1, 1]", "np.linalg.norm(x, axis=0)", "np.linalg.norm(x, 2, -1)", "np.linalg.norm(A[:9], axis=1)[i % 9]",
    "np.linalg.norm(x, 2)", "np.linalg.norm(x, 1)", "np.linalg.norm(x - 2.0, ord=np.inf)", "np.linalg.norm(x[1:], ord=1)", "np.linalg.norm(x, ord=2)",
    "np.linalg.norm(A[:9], 1, axis=1)[i % 9]", "np.linalg.norm(x, 1, 0, True)[0]", "np.linalg.norm(A)", "np.linalg.norm(A[1:-1, ::2] - A[:-2, ::2], 'fro')", "np.linalg.norm(A.T * 2)",
    "np.allclose(x, A[0, : len(x)])", "np.allclose(A, A[:, :1], atol=0.5)", "np.allclose(x, 0.5, 1, i)", "np.isclose(x[0], x[-1], rtol=0.5)",
    "np.isclose(i, 200)", "np.isclose(x[0], float(x[0]), atol=i)", "np.allclose(i, x[0] + i)", "np.allclose(0.5, x)", "np.isclose(x, x[::-1], 0.1)[-1]",
    "np.isclose(x[0], 0.5, x[1] / x[-1])", "np.isclose(x, x[0] / x[1])[0]", "np.allclose(np.float64(2.5), x, np.float64(0.5), x[0])",
    "np.linalg.norm(A[: i % 3, 1:])", "np.linalg.norm(A[None, : i % 3 + 1] * x[0])",
)  # fmt: skip


def made(text: str) -> Any:
    """The function of a text."""
    space: dict[str, Any] = {"np": np}
    exec(text, space)
    return space["loop"]


def given(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and where results go."""
    rng = np.random.default_rng(4)
    a = rng.random((20, 24))
    if kind == "odd":
        a[rng.random(a.shape) < 0.1] = np.nan
        a[rng.random(a.shape) < 0.1] = -0.0
        a[rng.random(a.shape) < 0.02] = np.inf
    if kind == "strided":
        a = a[::-1, ::-2]
    if kind == "columns":
        a = rng.random((24, 20)).T
    return a, np.zeros((20, 40))


def another(expression: str) -> str:
    """Which rows an expression has besides plain ones; others have others."""
    return ("strided", "columns")[len(expression) % 2]


@pytest.mark.parametrize("expression", VECTORS)
def test_vectors(expression) -> None:
    """Every length, where elements are neighbours and where they are not, odd numbers too."""
    loop = made(
        "def loop(A, out, turns):\n"
        "    for i in range(turns):\n"
        "        x = A[i % 20, : i % 7 + 2]\n"
        f"        y = {expression}\n"
        "        out[i % 20, : len(y)] = y\n"
        "    return out, y\n"
    )
    for kind in ("plain", another(expression)):
        assert native_turns(loop, lambda kind=kind: (*given(kind), TURNS)) > 100
    native_turns(loop, lambda: (*given("odd"), TURNS))


@pytest.mark.parametrize("expression", NUMBERS)
def test_numbers(expression) -> None:
    """The same of what gives a number."""
    loop = made(
        "def loop(A, out, turns):\n"
        "    for i in range(turns):\n"
        "        x = A[i % 20, : i % 7 + 2]\n"
        f"        y = {expression}\n"
        "        out[i % 20, i % 7] = y\n"
        "    return out, y\n"
    )
    for kind in ("plain", another(expression)):
        turns = native_turns(loop, lambda kind=kind: (*given(kind), TURNS))
        assert turns > 100 or (kind != "plain" and "(A" in expression)
    native_turns(loop, lambda: (*given("odd"), TURNS))


MATRICES = (
    "np.eye(len(X)) * X[0, 0]", "np.eye(i % 3 + 1, dtype=int)", "X - X.std(axis=0)", "np.var(X, axis=1, keepdims=True)", "X.mean(axis=0, keepdims=True)",
    "np.mean((X * 9).astype(int), axis=0, keepdims=True)",
    "np.roll(X, 1, 0)", "np.roll(X, -i, axis=1)", "np.roll(X * 2, i, axis=-1)", "np.array([X[0], X[1] - X[0]])",
    "np.array([X[:, 0], X[:, -1]], dtype=float)", "np.array([X[0]])",
    "np.corrcoef(X[0], X[1])", "np.cov(X[0], X[-1])", "np.corrcoef(X[:, 0], X[:, -1])", "np.cov(X[:, 1], X[0, 0] * X[:, 0])",
    "np.linalg.norm(X, axis=0, keepdims=True)", "np.linalg.norm(X[:, None] - X[None], axis=2)",
)  # fmt: skip
ODD_MATRICES = (
    "np.corrcoef(X)",
    "np.cov(X[0], X[1], bias=True)",
    "np.cov(X[0, 1:], X[0])",
    "np.array([X[0], X[0, 1:]])",
    "np.roll(X, 1)",
    "(X * 1e15).astype(int).mean(axis=0, keepdims=True)",
    "X.sum(axis=0, keepdims=True)",
    "X.std(axis=0, keepdims=True)",
    "X.T.var(axis=0, keepdims=True).T",
    "np.array([X[0], 1.0])",
)


@pytest.mark.parametrize("expression", MATRICES + ODD_MATRICES)
def test_matrices(expression) -> None:
    """Of every size, with its strides; or eager's own error."""
    loop = made(
        "def loop(A, out, turns):\n"
        "    for i in range(turns):\n"
        "        X = A[: i % 5 + 2, : i % 7 + 2]\n"
        f"        Y = {expression}\n"
        "        out[: len(Y), : Y.shape[1]] = Y\n"
        "    return out, Y\n"
    )
    for kind in ("plain", another(expression)):
        turns = native_turns(loop, lambda kind=kind: (*given(kind), TURNS))
        assert turns > 100 or kind != "plain" or expression in ODD_MATRICES
    native_turns(loop, lambda: (*given("odd"), TURNS))


def filled(a, turns):
    for i in range(turns):
        a[i % 20].fill(i * 0.5)
        a[:, 3].fill(i)
    return a


def test_fill() -> None:
    """Of a row and a column."""
    assert native_turns(filled, lambda: (given("plain")[0], TURNS)) > 100
