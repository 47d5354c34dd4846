"""Slots of arrays that listed objects have: what C refuses."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("llvmlite")

from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.any_python

LIST: tuple[Any, ...] = ("objects", True, (), ("mate",))
ARRAYS: tuple[Any, ...] = ("arrays", "d", 2, 0, True, "pos", -1)
RANGE = ("range",)


@pytest.mark.parametrize(
    "slots",
    [
        (ARRAYS,),
        (("objects", False, (), ()), ARRAYS),
        (LIST, (*ARRAYS[:2], 1, *ARRAYS[3:])),
        (LIST, (*ARRAYS[:2], 7, *ARRAYS[3:])),
        (LIST, (*ARRAYS[:1], "O", *ARRAYS[2:])),
        (LIST, (*ARRAYS[:3], 1, *ARRAYS[4:])),
        (LIST, ("marks", 0, False)),
        (LIST, ("marks", 5, False)),
        (LIST, ("marks", -1, False)),
        (LIST, (*ARRAYS[:4], False, *ARRAYS[5:]), ("marks", 1, False)),
        (LIST, (*ARRAYS[:6], 2), ("marks", 1, False)),
        (LIST, ARRAYS, ("marks", 1, False), ("marks", 1, True)),
    ],
)
def test_slots_that_cannot_be(slots: tuple[Any, ...]) -> None:
    """Arrays are of a list that is apart where they are written; marks are of arrays that are, once."""
    _tiles.Nest(1, None, (LIST, ARRAYS, ("marks", 1, True), RANGE))
    with pytest.raises(ValueError, match=r"of a nest|of a list of objects|no arrays that are new"):
        _tiles.Nest(1, None, (*slots, RANGE))
