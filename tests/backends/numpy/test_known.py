"""Arrays that are the same in every call are made once; nobody can tell."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import known
from ufuse.graph.node import Graph

pytestmark = pytest.mark.any_python


def interpolated(x):
    grid = np.linspace(-3, 3, 50)
    return np.interp(x, grid, np.tanh(grid)).sum()


def turned(x):
    return x[:2] @ np.array([[0.0, -1.0], [1.0, 0.0]])


def parts(x):
    a = np.array([1.0, 2.0, 3.0])
    return a[1:] * x[0], a.sum(), a[::-1] + x[:3]


def written(x):
    a = np.array([1.0, 2.0, 3.0])
    a[0] = x[0]
    return a.sum()


def written_later(x):
    a = np.linspace(0, 1, 4)
    b = a[1:]
    b += x[0]
    return a * 2


def returned(x):
    a = np.linspace(0, 1, 5)
    return a, a + x[0]


def returned_in_part(x):
    a = np.arange(6.0).reshape(2, 3)
    return a[1], x[0]


def warns(x):
    return np.sqrt(np.array([-1.0, 4.0])) + x[0]


def large(x):
    return np.linspace(0, 1, 5000).sum() + x[0]


def chosen(x):
    a = np.array([1.0, 2.0])
    if x[0] > 0:
        a = a + 1
    return a * x[0]


FOLDED = (interpolated, turned, parts)
OTHERS = (written, written_later, returned, returned_in_part, warns, large, chosen)


def graph_of(function: Callable[..., Any]) -> Graph:
    compiled = ufuse.compile(function)
    compiled(np.arange(1.0, 6.0))
    graph: Graph = compiled.__ufuse_session__.specialisations[0].graph
    return graph


@pytest.mark.parametrize("function", [*FOLDED, *OTHERS])
@pytest.mark.filterwarnings("ignore")
def test_as_in_plain_python(function: Callable[..., Any]) -> None:
    """Also what each call gets: an array of its own."""
    compiled = ufuse.compile(function)
    for x in (np.arange(1.0, 6.0), -np.arange(1.0, 6.0)):
        check_same(function, compiled, lambda: (x,))  # noqa: B023
    if function is returned:
        first, second = compiled(x)[0], compiled(x)[0]
        first[:] = 9.0
        assert second[0] == 0.0


@pytest.mark.parametrize("function", FOLDED)
def test_what_is_known_is_made_once(function: Callable[..., Any]) -> None:
    """No call of NumPy's is left for it."""
    graph = graph_of(function)
    names = {node.attributes.get("function") for node in known.with_known(graph).nodes}
    assert names.isdisjoint({"numpy.linspace", "numpy.array"})
    assert not names >= {node.attributes.get("function") for node in graph.nodes}


@pytest.mark.parametrize("function", [written, written_later, returned, warns, large])
def test_what_may_be_seen_is_made_anew(function: Callable[..., Any]) -> None:
    """Where it is written, or returned, or would warn, or is large."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        graph = graph_of(function)
    calls = [node for node in known.with_known(graph).nodes if "function" in node.attributes]
    if function is warns:
        assert len(heard) == 1
    else:
        assert calls
