"""NumPy's elementwise functions that are sent to a GPU, of each dtype, and numbers for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ufuse
from tests.support.cupy_host import Host

NUMBERS = [0.0, -0.0, 1, -1, 1.5, 2.5, -0.5, 0.1, 3, -7.25, 1e30, np.inf, -np.inf, np.nan]
# In fewer bits than they have they are other numbers.
WHOLE = [0, 1, 2, 3, 7, 100, 127, 255, 32767, 2**31 - 1, 2**53 + 1, 2**63 - 1]
SIGNED = [-1, -2, -7, -100, -128, -32768, -(2**31), -(2**53) - 1, -(2**63)]
# What is near to NumPy's of complex numbers is so where nothing overflows, and nothing is divided by zero.
COMPLEX = [2, 1, -1, 1j, 0.5 - 2j, -1.5 + 0.25j, 3 + 4j]


def operands(count: int, dtype: str) -> tuple[np.ndarray, ...]:
    """So many rows of numbers, in which each meets each other one, in a third row one beside it."""
    kind = np.dtype(dtype).kind
    values = NUMBERS if kind == "f" else COMPLEX if kind == "c" else WHOLE
    row = np.array([*values, *(SIGNED if kind == "i" else ())]).astype(dtype)
    rows = np.repeat(row, row.size), np.tile(row, row.size), np.tile(np.roll(row, 3), row.size)
    return rows[:count]


def functions_sent() -> dict[str, tuple[int, Any]]:
    """The functions that are sent, by name, and how many operands they have."""
    from ufuse.backends.cupy.sending.elementwise import CLOSE, EXACT  # noqa: PLC0415  CuPy may be imported now

    return {
        name: (3 if name == "clip" else getattr(np, name).nin, getattr(np, name))
        for name in sorted(EXACT | CLOSE)
    }


Case = tuple[str, str, Callable[..., Any], tuple[np.ndarray, ...]]


def called_with_all(host: Host) -> list[Case]:
    """Each function with arrays of each dtype that it has a loop for: its name, the dtype, a call of it, arguments.

    What is compiled for them is only gathered.
    """
    cases = []
    with host.compiler.gathering():
        for name, (count, called) in functions_sent().items():
            for dtype in "?bBhHiIlLfdFD":
                arguments = operands(count, dtype)
                if (
                    name == "gcd" and np.dtype(dtype).kind == "i"
                ):  # of the smallest by -1 a CPU divides with a signal
                    arguments = tuple(np.where(one < -100, 9, one) for one in arguments)
                names = "xyz"[:count]
                text = f"lambda {','.join(names)}: called({','.join(names)})"
                function = eval(text, {"called": called})  # noqa: S307  code of its own for each
                compiled = ufuse.compile(function, backend="cupy")
                try:
                    with np.errstate(all="ignore"):
                        function(*arguments)
                        compiled(*arguments)
                except (TypeError, ValueError):
                    continue
                cases.append((name, dtype, function, arguments))
    return cases
