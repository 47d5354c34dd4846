"""A compiled function that another one calls is inlined as the function that it was made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse

X = np.arange(4.0)


@ufuse.compile
def doubled(x: Any) -> Any:
    return x * 2


def of_a_global(x: Any) -> Any:
    return doubled(x) + 1


class Model:
    """Compiled methods call one another."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @ufuse.compile
    def step(self, x: Any) -> Any:
        """What another method calls."""
        return x * self.weight

    @ufuse.compile
    def twice(self, x: Any) -> Any:
        """Calls it two times."""
        return self.step(x) + self.step(x * 2)


def composed(depth: int) -> Any:
    def scaled(inner: Any, by: float) -> Any:
        return ufuse.compile(lambda v: inner(v) * by + by)

    function: Any = np.sin
    for k in range(depth):
        function = scaled(function, 1.0 + k)
    return function


def plainly(function: Any, x: Any) -> Any:
    with ufuse.eager():
        return function(x)


def test_one_graph_through_compiled_functions() -> None:
    """Found in globals, in classes, and in closures."""
    compiled = ufuse.compile(of_a_global)
    assert compiled(X).tolist() == of_a_global(X).tolist()
    models = [Model(1.5), Model(2.5)]
    for model in models:
        assert model.twice(X).tolist() == (X * model.weight * 3).tolist()
    for _ in range(3):
        function = composed(4)
        assert function(X).tobytes() == plainly(function, X).tobytes()
    for one, traces in ((compiled, 1), (Model.twice, 1), (function, 1)):
        assert not one.breaks
        assert one.stats.traces == traces


def test_another_compiled_function_in_its_place() -> None:
    """A function from other code, with other options, or not compiled at all."""

    def calling(function: Any, x: Any) -> Any:
        return function(x) + 1

    compiled = ufuse.compile(calling)
    others = [
        doubled,
        ufuse.compile(lambda v: v * 3),
        ufuse.compile(doubled, dynamic=False),
        ufuse.compile(doubled, fullgraph=True),
        lambda v: v * 4,
        np.sin,
    ]
    for _ in range(2):
        for one in others:
            assert compiled(one, X).tobytes() == (one(X) + 1).tobytes()
    assert not compiled.breaks


def test_code_that_is_set_is_what_is_called() -> None:
    """The function in a compiled one may be given other code."""

    @ufuse.compile
    def inner(x: Any) -> Any:
        return x + 1

    compiled = ufuse.compile(lambda x: inner(x) * 2)
    assert compiled(X).tolist() == ((X + 1) * 2).tolist()
    inner.__code__ = (lambda x: x + 5).__code__
    assert compiled(X).tolist() == ((X + 5) * 2).tolist()


def test_arguments_are_checked_by_a_signature() -> None:
    """A function that checks them is called as it is."""
    checked = ufuse.compile(doubled, signature=[ufuse.Spec((None,), "f8")])
    compiled = ufuse.compile(lambda x: checked(x) + 1)
    assert compiled(X).tolist() == (X * 2 + 1).tolist()
    with pytest.raises(TypeError, match="must be Spec"):
        compiled(X.astype(np.float32))
