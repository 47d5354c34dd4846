"""A short, repeatable search: random programs do compiled what they do plain. `make fuzz` searches longer."""

from __future__ import annotations

import pytest

from tests.fuzz.check import difference
from tests.fuzz.generate import compact, generated

COUNT = 150
AT_ONCE = 10


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
@pytest.mark.parametrize("backend", ["numpy"])
def test_random_programs_are_the_same_compiled(first: int, backend: str) -> None:
    """Nothing that can be observed tells a random program compiled from the same one plain."""
    for seed in range(first, first + AT_ONCE):
        program = generated(seed)
        assert not (found := difference(program, backend)), f"{compact(program)}\n{found}"
