"""Annotations of functions that a traced function makes: values in this file, which does not postpone them."""

from typing import Any

import numpy as np

import ufuse
from tests.support.comparing.compare import check_same


def called(x: Any, f: float) -> Any:
    """Annotations that are names."""

    def scaled(y: np.ndarray, by: float = 2.0, *, more: int = 1) -> Any:
        return y * by + more

    return scaled(x) - scaled(x, f)


def given(x: Any, f: float) -> Any:
    """A function that leaves the graph: what it is annotated with is seen behind it."""

    def scaled(y: np.ndarray, by: float = f) -> float:
        return y * by  # type: ignore[return-value]

    found = scaled.__annotations__
    found["more"] = f
    return scaled, scaled(x), found is scaled.__annotations__, [*scaled.__annotations__]


def test_annotations_of_inner_functions() -> None:
    """Called, the function is part of the graph; given back, its annotations are what they are without us."""
    x = np.arange(4.0)
    compiled = ufuse.compile(called)
    check_same(called, compiled, lambda: (x, 1.5))
    assert not compiled.breaks
    ours = ufuse.compile(given)
    for _ in range(3):
        wanted, found = given(x, 1.5), ours(x, 1.5)
        assert found[0].__annotations__ == wanted[0].__annotations__
        assert found[0].__annotations__["by"] is float
        assert found[0].__defaults__ == (1.5,)
        assert found[1].tolist() == wanted[1].tolist()
        assert found[2:] == wanted[2:]
