"""What an lru_cache remembers is used as long as it is remembered."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import ufuse
from ufuse.frame_hook import _hook


def test_a_forgotten_result_is_computed_again() -> None:
    """An entry made while a result was remembered does not use it once it is not."""
    version = [1.0]

    @functools.lru_cache(maxsize=2)
    def scale(name: str) -> float:
        return version[0]

    @ufuse.compile
    def scaled(x: np.ndarray[Any, Any]) -> Any:
        return x * scale("a")

    x = np.arange(3.0)
    scale("a")
    assert [list(scaled(x)) for _ in range(3)] == [[0, 1, 2]] * 3
    assert not scaled.breaks
    assert scale.cache_info().hits == 3
    version[0] = 2.0
    assert list(scaled(x)) == [0, 1, 2]
    scale.cache_clear()
    assert list(scaled(x)) == [0, 2, 4]
    version[0] = 3.0
    scale("b")
    scale("c")  # forgets "a"
    assert list(scaled(x)) == [0, 3, 6]


def test_a_link_that_is_used_again_is_another_result() -> None:
    """CPython keeps a new result where a forgotten one was; then the same key may have the other one's place."""

    @functools.lru_cache(maxsize=1)
    def made(name: str) -> list[str]:
        return [name]

    first = made("a")
    before = _hook.remembered(made, "a")
    assert before is not None
    assert before[2] is first
    made("b")
    assert _hook.remembered(made, "a") is None
    again = made("a")
    found = _hook.remembered(made, "a")
    assert found is not None
    assert found[2] is again is not first


def test_what_is_no_lru_cache_remembers_nothing() -> None:
    """Whatever is asked, no code of the program runs."""

    class Asked:
        def __hash__(self) -> int:
            raise AssertionError

        __eq__ = __hash__  # type: ignore[assignment]

    @functools.lru_cache
    def held(thing: object) -> int:
        return 1

    assert _hook.remembered(len, "a") is None
    assert _hook.remembered(held, "a") is None
    held(1)
    assert _hook.remembered(held, (Asked(),)) is None
    assert _hook.remembered(held, 1) is not None
