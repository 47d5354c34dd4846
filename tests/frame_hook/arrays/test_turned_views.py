"""Views that go backwards along an axis of several: what is computed from them, and how that lies in memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same

ENTRIES = [":", "::-1", "::-1", "::-2", "1:", ":-1", "::2", "-1:0:-1", "0"]
USES = [
    "{} * 2", "np.exp({})", "-{}", "({} > 0)", "{}.astype('f4')", "{}.copy()", "np.cumsum({}, axis=0)", "{}.sum()",
    "{}.sum(axis=0)", "{}.sum(axis=-1)", "{}.std(axis=0)", "{}.argmax()", "np.ravel({})", "{}.T", "{}.flatten('F')",
    "np.ascontiguousarray({})", "np.zeros_like({})", "{}.reshape(-1)", "{}.ravel('K')", "np.copy({})", "{} @ {}.T",
    "{} + {}", "np.maximum({}, {})", "np.where({} > {}, {}, 0)", "np.concatenate([{}, {}])", "{} - {}.mean(axis=0)",
]  # fmt: skip


def mirrored(x: Any, y: Any) -> Any:
    return (
        x[:, ::-1] * 2 + 1,
        x[::-1, ::-1] - y,
        (x[:, ::-1] + x[::-1]).sum(axis=0),
        np.fliplr(x) + np.flipud(y),
    )


def test_they_are_captured() -> None:
    """Each is part of one graph, whose text says how the views lie."""
    compiled = ufuse.compile(mirrored)
    for order in ("C", "F"):
        made = np.asarray(np.random.default_rng(3).normal(size=(2, 5, 7)))

        def arguments(order: Any = order, made: Any = made) -> tuple[Any, ...]:
            return tuple(np.array(one, order=order) for one in made)

        check_same(mirrored, compiled, arguments)
    assert not compiled.breaks
    graph = ufuse.compile(lambda x: x[:, ::-1] * 2).trace(ufuse.Spec((None, None), "f8"))
    assert str(ufuse.Graph.parse(str(graph))) == str(graph)
    (kind,) = [node.type for node in graph._captured if node.op.name == "index"]
    assert kind.steps == (1000, -1)


def drawn(seed: int, ndim: int) -> Callable[..., Any]:
    """A function of random views of two arrays."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    lines = []
    for _ in range(3):
        entries = ", ".join(draw.choices(ENTRIES, k=ndim))
        use = draw.choice(USES)
        views = [f"{draw.choice('xy')}[{entries}]" for _ in range(use.count("{}"))]
        turned = draw.choice(["{}", "{}", "{}.T", "{}[::-1]", "{}[..., ::-1]", "{}[None]"])
        lines.append(use.format(*(turned.format(view) for view in views)))
    names: dict[str, Any] = {"np": np}
    exec("def f(x, y):\n    return [" + ",\n        ".join(lines) + "]\n", names)
    made: Callable[..., Any] = names["f"]
    return made


@pytest.mark.parametrize("seed", range(60))
def test_random_views(seed: int) -> None:
    """Of two and three axes, of arrays in C and Fortran order; lengths change, down to one."""
    ndim = 2 + seed % 2
    function = drawn(seed, ndim)
    compiled = ufuse.compile(function)
    for shape in ((5, 6, 3), (4, 2, 7), (2, 2, 2)):
        values = np.random.default_rng(seed).normal(size=(2, *shape[:ndim]))
        orders = "CF"[seed // 2 % 2], "CF"[seed // 4 % 2]

        def arguments(values: Any = values, orders: Any = orders) -> tuple[Any, ...]:
            return tuple(np.array(one, order=how) for one, how in zip(values, orders, strict=True))

        check_same(function, compiled, arguments)
