"""Loops of NumPy's where CuPy's have other bits, and CuPy's where those are the same.

Floors and remainders are of C's `fmod`, which is exact, as in NumPy; CuPy divides, and rounds twice.
"""

from __future__ import annotations

import numpy as np

from ufuse.graph.ops import Op
from ufuse.graph.typing.library import Routine
from ufuse.graph.typing.library import cupy as library

DIVISION = """\
template <typename T> __device__ T ufuse_divided(T a, T b, T &rest)
{
    rest = fmod(a, b);
    T whole = (a - rest) / b;
    if (rest != 0) {
        if ((b < 0) != (rest < 0)) {
            rest += b;
            whole -= 1;
        }
    } else {
        rest = copysign((T)0, b);
    }
    if (whole == 0) {
        return copysign((T)0, a / b);
    }
    const T below = floor(whole);
    return whole - below > (T)0.5 ? below + 1 : below;
}
"""
FLOOR_DIVIDE = """\
if (in1 == 0) {
        out0 = in0 / in1;
    } else {
        out0_type rest;
        out0 = ufuse_divided<out0_type>(in0, in1, rest);
    }"""
REMAINDER = """\
if (in1 == 0) {
        out0 = fmod(in0, in1);
    } else {
        out0_type rest;
        ufuse_divided<out0_type>(in0, in1, rest);
        out0 = rest;
    }"""
# The smallest number by -1 is itself, as in NumPy; C++ says nothing of it.
WHOLE_DIVISION = """\
template <typename T> __device__ T ufuse_rest(T a, T b)
{
    return b == 0 || ((T)-1 < 0 && b == (T)-1) ? 0 : a % b;
}
template <typename T> __device__ T ufuse_remainder(T a, T b)
{
    const T rest = ufuse_rest(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <typename T> __device__ T ufuse_floor(T a, T b)
{
    if (b == 0) return 0;
    if ((T)-1 < 0 && b == (T)-1) return (T)(0 - (unsigned long long)a);
    return a / b - (ufuse_rest(a, b) != 0 && (a < 0) != (b < 0));
}
"""
# NaN as a limit is the result. A zero that is equal to a limit stays, as where limits are numbers.
CLIP = """\
const out0_type least = in0 < in1 ? in1 : in0;
    out0 = in1 != in1 ? in1 : in2 != in2 || least > in2 ? in2 : least"""
LEFT_SHIFT = (
    "out0 = (unsigned long long)in1 < sizeof(in0_type) * 8 ? (out0_type)(in0 << in1) : (out0_type)0"
)
RIGHT_SHIFT = (
    "out0 = (unsigned long long)in1 < sizeof(in0_type) * 8 ? in0 >> in1 : (in0 < 0 ? -1 : 0)"
)

DEGREES = "out0 = in0 * (180 / 3.14159265358979323846)"
DEGREES_SINGLE = "out0 = in0 * (180.0f / 3.14159265358979323846f)"
RADIANS = "out0 = in0 * (out0_type)(3.14159265358979323846 / 180)"
COMPARED = {
    "logical_and": "&&", "logical_or": "||",
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
WHOLE = "bBhHiIlLqQ"
# Of which dtypes, the text, and what stands in front of a kernel with it.
OWN: dict[str, tuple[tuple[str, str, str], ...]] = {
    "floor_divide": (
        ("fd", FLOOR_DIVIDE, DIVISION),
        (WHOLE, "out0 = ufuse_floor<in0_type>(in0, in1)", WHOLE_DIVISION),
    ),
    "remainder": (
        ("fd", REMAINDER, DIVISION),
        (WHOLE, "out0 = ufuse_remainder<in0_type>(in0, in1)", WHOLE_DIVISION),
    ),
    "fmod": (
        (WHOLE, "out0 = ufuse_rest<in0_type>(in0, in1)", WHOLE_DIVISION),
    ),  # CuPy's is of doubles
    "clip": (("?bBhHiIlLqQfd", CLIP, ""),),
    "left_shift": ((WHOLE, LEFT_SHIFT, ""),),
    "right_shift": ((WHOLE, RIGHT_SHIFT, ""),),
    **dict.fromkeys(("degrees", "rad2deg"), (("f", DEGREES_SINGLE, ""), ("d", DEGREES, ""))),
    **dict.fromkeys(("radians", "deg2rad"), (("fd", RADIANS, ""),)),
    "isnan": ((WHOLE + "?", "out0 = false", ""),),
    "isinf": ((WHOLE + "?", "out0 = false", ""),),
    "isfinite": ((WHOLE + "?", "out0 = true", ""),),
    # CuPy compares small whole numbers as large ones.
    **{name: ((WHOLE + "?", f"out0 = in0 {sign} in1", ""),) for name, sign in COMPARED.items()},
}


def routine(op: Op, dtypes: tuple[np.dtype, ...]) -> Routine:
    """The loop of exactly these dtypes, the result's last.

    Raises:
        CannotInfer: there is none.

    """
    chars = {dtype.char for dtype in dtypes[:-1]}
    for own, text, preamble in OWN.get(op.name, ()) if len(chars) == 1 else ():
        if chars <= {*own}:
            return Routine(dtypes, text, preamble)
    return library().routine_of_dtypes(op, dtypes)
