"""Views in which elements come several times: repeated along an axis, or in windows that overlap."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import ufuse
from tests.support.comparing.compare import MODES, check_in_turn, check_same

VIEWS = [
    "np.broadcast_to({0}[..., :1], {0}.shape)", "np.broadcast_to({0}[0], {0}.shape)", "np.broadcast_to({0}, (3, *{0}.shape))",
    "np.broadcast_arrays({0}[:1], {0})[0]", "np.broadcast_to({0}.T[:1], {0}.T.shape)", "np.broadcast_to(2.5, {0}.shape)",
    "windows({0}, 2, axis=0)", "windows({0}, 2, axis=-1)", "windows({0}, (2, 2), axis=(0, -1))", "windows({0}.T, 2, axis=0)",
    "np.broadcast_to({0}[:, None], ({0}.shape[0], 4, *{0}.shape[1:]))",
    "windows({0}.ravel()[::-1], 2)", "np.broadcast_to({0}.ravel()[::-1], (2, {0}.size))", "{0}.ravel()[::-1].reshape({0}.shape)", "{0}.ravel()[::-2]",
    "np.broadcast_to({0}.ravel()[:1], ({0}.size,))", "windows({0}.ravel()[::2], 2)",
]  # fmt: skip
TURNS = [
    "{}", "{}", "{}", "{}.T", "{}[::-1]", "{}[..., ::-1]", "{}[::2]", "{}[..., ::2]", "{}[1:]", "{}[None]", "{}[..., 0]",
    "{}.swapaxes(0, -1)", "{}[:1]", "{}[0]",
]  # fmt: skip
USES = [
    "{} * 2", "np.exp({})", "-{}", "({} > 0)", "{}.astype('f4')", "{}.copy()", "np.cumsum({}, axis=0)", "{}.sum()",
    "{}.sum(axis=0)", "{}.sum(axis=-1)", "{}.std(axis=0)", "{}.argmax()", "{}.flatten('F')", "np.sin({}) + 1", "{}",
    "np.ascontiguousarray({})", "np.copy({})", "np.where({} > 0, {}, 0)", "np.concatenate([{}, {}])", "{}.max(axis=(0, 1))",
    "np.median({}, axis=0)", "np.sort({}, axis=0)", "np.log(np.abs({}) + 1)", "np.stack([{}, {}])", "{}.mean(axis=-1)",
    "np.power(np.abs({}), 1.5)", "np.take({}, [0, 0], axis=0)", "{}.prod(axis=0)", "np.ravel({})", "{}.reshape(-1)", "np.zeros_like({})",
    "{} + y", "np.where(y > 0, {}, y)", "np.exp({}) * y", "np.power(np.abs(y), {})", "np.sin({}) * y - {}", "np.maximum({}, y.T)", "y * 2 - {} * x",
    "np.hypot({}, x)", "({} > y) & (x > {})", "np.float32(2) * {} + y", "y / {}",
]  # fmt: skip


def tables(order: Any, shape: Any, dtype: Any) -> Any:
    """Arguments: two arrays of random numbers."""
    values = np.random.default_rng(4).normal(size=(2, *shape)).astype(dtype)
    return tuple(np.array(one, order=order) for one in values)


def drawn(seed: int) -> Callable[..., Any]:
    """A function of random views of two arrays."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    lines = []
    for _ in range(3):
        use, view = draw.choice(USES), draw.choice(VIEWS).format(draw.choice("xy"))
        lines.append(use.replace("{}", draw.choice(TURNS).format(view)))
    names: dict[str, Any] = {"np": np, "windows": sliding_window_view}
    exec("def f(x, y):\n    return [" + ",\n        ".join(lines) + "]\n", names)
    made: Callable[..., Any] = names["f"]
    return made


@pytest.mark.filterwarnings("ignore:future versions:FutureWarning")
@pytest.mark.parametrize("seed", range(80))
def test_random_views(seed: int) -> None:
    """What is computed from them lies in memory as NumPy has it; lengths change."""
    function, ndim = drawn(seed), 2 + seed % 2
    compiled = ufuse.compile(function, backend="reference" if seed % 8 == 7 else "numpy")
    for shape in ((5, 6, 3), (4, 3, 7), (3, 4, 4)):
        made = "CF"[seed // 2 % 2], shape[:ndim], "df"[seed // 4 % 2]
        check_same(function, compiled, lambda made=made: tables(*made))


def spread(v: Any, a: Any) -> Any:
    wide = np.broadcast_to(v, a.shape)
    columns, rows = np.broadcast_arrays(a[:, :1], v)
    both = (
        columns + rows,
        np.exp(wide),
        wide * a,
        wide.sum(axis=0),
        np.broadcast_to(v.sum(), (2, 3)) + 1,
    )
    return both, wide, np.broadcast_to(2.5, (3, 4)), np.diff(v, prepend=1.0), np.array_equiv(a, a)


def test_they_are_captured() -> None:
    """Each is part of one graph, at other lengths too, whose text says how they lie."""
    compiled = ufuse.compile(spread)
    draw = np.random.default_rng(6).normal
    rows = [(draw(size=n), draw(size=(m, n))) for m, n in ((3, 4), (5, 6), (4, 4), (2, 7))]
    check_in_turn(spread, compiled, rows)
    check_same(spread, compiled, lambda: rows[0], modes=MODES)
    assert not compiled.breaks
    graph = ufuse.compile(lambda v: np.broadcast_to(v, (3, len(v))) * 2).trace(
        ufuse.Spec((None,), "f8")
    )
    assert str(ufuse.Graph.parse(str(graph))) == str(graph)
    (kind,) = [node.type for node in graph._captured if node.op.name == "broadcast"]
    assert kind.steps == (0, 1)


@pytest.mark.filterwarnings("ignore:future versions:FutureWarning")
def test_returned_views() -> None:
    """They repeat the caller's memory, what is written later shows, and who writes through one is told what NumPy says."""

    def written(x: Any, y: Any) -> Any:
        wide, (tall, same) = np.broadcast_to(x[0], x.shape), np.broadcast_arrays(x[:1], y)
        before = wide.sum(), tall.sum()
        x[0, 0] = 7.0
        return (
            before,
            wide.sum(),
            tall + same,
            wide,
            tall,
            same is y,
            wide.flags.writeable,
            wide[1:],
            tall.T,
        )

    def refused(x: Any, y: Any) -> Any:
        said = []
        for place in (
            np.broadcast_to(x[0], x.shape),
            np.broadcast_to(x, y.shape),
            np.broadcast_arrays(x[:1], y)[0],
        ):
            try:
                place[0] = 1
            except ValueError as error:
                said.append(str(error))
        return said, x

    for function in (written, refused):
        for modes in (MODES[:1], MODES[2:3]):
            check_same(
                function, ufuse.compile(function), lambda: tables("C", (3, 4), "d"), modes=modes
            )


def test_shapes_that_do_not_fit() -> None:
    """NumPy's errors, and lengths that come to be 0 or 1."""

    def unfit(x: Any, n: Any) -> Any:
        found: list[Any] = []
        for shape in ((n, 3), (2, -n), 3, (), (n, n, 4), (n, 1, 4)):
            try:
                view = np.broadcast_to(x, shape)
                found += [view, view + 1, np.copy(view)]
            except ValueError as error:
                found.append(str(error))
        return found

    rows = [(np.arange(float(m)), n) for m, n in ((4, 2), (4, 1), (4, 0), (1, 5), (3, 3), (1, 1))]
    check_in_turn(unfit, ufuse.compile(unfit), rows * 2)
