"""The names and constants of a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same


def test_constants_of_code_are_one_object_at_every_call() -> None:
    """Also where they were taken apart: tuples, and from Python 3.14 on slices."""

    class Keys:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def __setitem__(self, key: Any, value: Any) -> None:
            self.seen.append(key)

    def store(keys: Any, x: Any) -> Any:
        keys[:] = keys[1, :] = keys[(2, 3), 4] = x
        return x + 1

    def identities(seen: list[Any]) -> list[tuple[Any, ...]]:
        parts = [one for key in seen for one in ([key, *key] if type(key) is tuple else [key])]
        return [(one, [one is other for other in parts]) for one in parts]

    x, compiled = np.ones(3), ufuse.compile(store)
    plainly, found = Keys(), Keys()
    for _ in range(4):
        store(plainly, x)
        compiled(found, x)
    assert identities(found.seen) == identities(plainly.seen)


def looks_at_its_frame(x: Any) -> Any:
    y = x + 1
    return sorted(locals()), y


def looks_at_its_frame_twice(x: Any) -> Any:
    first = locals()
    y = x + 1
    exec("made = 1")
    second = locals()
    return sorted(first), first is second, sorted(second), y


@pytest.mark.parametrize("program", [looks_at_its_frame, looks_at_its_frame_twice])
def test_locals_as_a_dict(program: Callable[..., Any]) -> None:
    """Before Python 3.13 a frame has one such dict, and keeps what is written into it."""
    check_same(program, ufuse.compile(program), lambda: (np.arange(3.0),), calls=3, modes=MODES[:1])
