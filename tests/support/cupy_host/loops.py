"""Every loop of CuPy's ufuncs, with arrays to run it on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

# Right operands that stay small: shifts, exponents.
SMALL = {
    "left_shift",
    "right_shift",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "power",
    "pow",
    "float_power",
    "ldexp",
}
# CuPy's complex numbers have no such functions.
REFUSED = {"arctan2", "copysign", "hypot", "i0", "nextafter"}
BFLOAT16 = "E"  # which NumPy knows only where ml_dtypes is installed, and which is not captured
# The other names of int64 and uint64, which CuPy's arrays hardly have, and records.
NOT_CAPTURED = set("qQV")
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -3.75)


@dataclass(frozen=True)
class Loop:
    """One loop of a ufunc."""

    name: str
    ufunc: Any
    inputs: str
    outputs: str

    def __str__(self) -> str:
        return f"{self.name} {self.inputs}->{self.outputs}"

    @property
    def compiles(self) -> bool:
        """Whether CUDA's compiler would take the loop."""
        return self.name not in REFUSED or self.inputs[0] not in "FD"

    def arrays(self, size: int) -> list[np.ndarray]:
        """Values for its inputs: special ones first, then random ones."""
        rng = np.random.default_rng(len(self.name) + size)
        small = self.name in SMALL
        return [
            values(rng, np.dtype(char), size, small and place > 0)
            for place, char in enumerate(self.inputs)
        ]


def loops(cupy: Any) -> Iterator[Loop]:
    """The loops of the ufuncs in CuPy's namespace, each once."""
    seen = set()
    for name in sorted(dir(cupy)):
        ufunc = getattr(cupy, name)
        if type(ufunc).__name__ != "ufunc" or id(ufunc) in seen:
            continue
        seen.add(id(ufunc))
        for op in ufunc._ops.ops:
            if op.error_func is not None:
                continue  # it only says why there is no such loop
            inputs = "".join(dtype.char for dtype in op._in_dtypes)
            outputs = "".join(dtype.char for dtype in op._out_dtypes)
            if BFLOAT16 not in inputs + outputs:
                yield Loop(name, ufunc, inputs, outputs)


def values(rng: np.random.Generator, dtype: np.dtype, size: int, small: bool) -> np.ndarray:
    """Values of a type; `small` ones are between 0 and 5."""
    if small:
        return rng.integers(0, 6, size).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        some = rng.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        some[: size // 2] = rng.integers(0 if dtype.kind == "u" else -9, 10, size // 2)
        return some
    with np.errstate(all="ignore"):
        result = (rng.normal(size=size) * 3).astype(dtype)
        if dtype.kind == "c":
            result += (1j * rng.normal(size=size)).astype(dtype)
        rng.shuffle(special := np.array(SPECIAL))
        if size > len(special):
            result[: len(special)] = special
    return result
