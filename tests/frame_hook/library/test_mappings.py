"""OrderedDict, defaultdict, Counter and heaps in a trace: the same as in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import ufuse
from tests.programs.mappings import reordered


def first_of(x: Any, o: Any) -> Any:
    return x + 1, next(iter(o)), o.keys()


def test_order_is_guarded() -> None:
    """An OrderedDict of the same keys in another order is found out."""
    compiled, x = ufuse.compile(first_of), np.arange(3.0)
    for move in ("a", "b", "b"):
        o = reordered()
        o.move_to_end(move)
        assert repr(compiled(x, o)) == repr(first_of(x, o))
