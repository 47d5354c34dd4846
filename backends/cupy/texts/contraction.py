"""Which loops the compiler could contract, and what keeps it from that.

Contraction is on, as CuPy has it: within a loop it is part of CuPy's result. Which product of `a * b + c * d` is fused
with the sum depends on what else uses the products, and on where the operands come from. So a loop must look to the
compiler as it does alone in CuPy's kernel, and nothing may be contracted between two:

- real sums, differences, products and squares are intrinsics, which are never contracted; other loops of one rounding
  (PLAIN) have nothing to contract;
- what steady loops give each other goes through `ufuse_after`: their own sums and products are fused by CUDA's library
  or not at all, wherever they stand;
- what other loops take and give goes through `ufuse_apart`.

Both change nothing, but no compiler can know that.
"""

from __future__ import annotations

from enum import Enum

from ufuse.backends.planning.loops import Loop

INTRINSICS = {
    "add": "add_rn(in0, in1)",
    "subtract": "sub_rn(in0, in1)",
    "multiply": "mul_rn(in0, in1)",
    "square": "mul_rn(in0, in0)",
}
LETTERS = {"f": "f", "d": "d"}  # of intrinsics, by the type of a loop
# Loops of numbers that are not complex, without a sum or product.
PLAIN = frozenset(
    """equal not_equal less less_equal greater greater_equal maximum minimum fmax fmin absolute fabs negative
    positive sign signbit copysign isnan isinf isfinite floor ceil trunc rint logical_and logical_or logical_xor
    logical_not where divide sqrt reciprocal""".split()
)
# Real loops whose machine code is the same without contraction, on every architecture; and those of single and half
# precision alone.
STEADY = frozenset(
    """arcsin arctan arctan2 cbrt cos cosh deg2rad radians degrees rad2deg exp expm1 fix floor_divide fmod heaviside
    hypot ldexp sin sinc sinh tan tanh""".split()
)
STEADY_SINGLE = frozenset("arccos arccosh arcsinh arctanh exp2 log log10 log1p log2 power".split())
HALF = frozenset(INTRINSICS)  # loops that are steady in half precision, as each is rounded to it
# A grid has one layer, so `blockIdx.z` is 0. The numbers `own` keep two loops' equal operands from being one value.
APART = """\
#ifdef __CUDA_ARCH__
#define UFUSE_UNKNOWN(place, zero, own) \\
    "{ .reg .b32 low; mov.b32 low, %" place "; lop3.b32 low, low, %" zero ", %" own ", 0x78; mov.b32 %" place ", low; }"
#define UFUSE_UNKNOWN_64(place, zero, own) \\
    "{ .reg .b32 low, high; mov.b64 {low, high}, %" place "; lop3.b32 low, low, %" zero ", %" own ", 0x78; " \\
    "mov.b64 %" place ", {low, high}; }"
#define UFUSE_UNKNOWN_16(place, zero, own) \\
    "{ .reg .b32 low; cvt.u32.u16 low, %" place "; lop3.b32 low, low, %" zero ", %" own ", 0x78; " \\
    "cvt.u16.u32 %" place ", low; }"
#define UFUSE_APART(code, ...) asm volatile(code : __VA_ARGS__ : "r"(blockIdx.z), "n"(own))
#define UFUSE_AFTER(code, ...) asm(code : __VA_ARGS__ : "r"(blockIdx.z), "n"(own))
#else
#define UFUSE_APART(code, ...)
#define UFUSE_AFTER(code, ...)
#endif
"""
APART_HALF = """\
template <unsigned int own> __device__ __forceinline__ float16 ufuse_apart(float16 value)
{
    UFUSE_APART(UFUSE_UNKNOWN_16("0", "1", "2"), "+h"(reinterpret_cast<unsigned short&>(value)));
    return value;
}
"""
APART_REAL = """\
template <unsigned int own> __device__ __forceinline__ TYPE ufuse_apart(TYPE value)
{
    UFUSE_APART(UNKNOWN("0", "1", "2"), "+LETTER"(value));
    return value;
}
"""
# Compilers order products by what is known first, and those for architectures before 10.0 read both parts at once.
APART_COMPLEX = """\
template <unsigned int own> __device__ __forceinline__ thrust::complex<TYPE> ufuse_apart(thrust::complex<TYPE> value)
{
#if __CUDA_ARCH__ < 1000
    TYPE real = value.real(), imag = value.imag();
    UFUSE_APART(UNKNOWN("0", "2", "3") UNKNOWN("1", "2", "3"), "+LETTER"(real), "+LETTER"(imag));
#else
    const TYPE real = ufuse_apart<own>(value.real()), imag = ufuse_apart<own>(value.imag());
#endif
    return thrust::complex<TYPE>(real, imag);
}
"""


def _after(text: str) -> str:
    return text.replace("ufuse_apart", "ufuse_after").replace("UFUSE_APART", "UFUSE_AFTER")


def _of_type(text: str, type_: str) -> str:
    unknown = "UFUSE_UNKNOWN_64" if type_ == "double" else "UFUSE_UNKNOWN"
    return (
        text.replace("TYPE", type_).replace("LETTER", type_[0]).replace("UNKNOWN(", f"{unknown}(")
    )


APART_OF = {  # by the type of a value
    "e": (APART, APART_HALF),
    "f": (APART, _of_type(APART_REAL, "float")),
    "d": (APART, _of_type(APART_REAL, "double")),
    "F": (APART, _of_type(APART_REAL, "float"), _of_type(APART_COMPLEX, "float")),
    "D": (APART, _of_type(APART_REAL, "double"), _of_type(APART_COMPLEX, "double")),
}
AFTER_OF = {
    "f": (APART, _after(_of_type(APART_REAL, "float"))),
    "d": (APART, _after(_of_type(APART_REAL, "double"))),
}


class Nature(Enum):
    """How a loop takes contraction."""

    PLAIN = 1  # there is none
    STEADY = 2  # it begins or ends with what could be contracted with another loop
    LOOSE = 3  # how it is contracted itself depends on what is around it


def nature_of(loop: Loop) -> Nature:
    """How a loop takes contraction."""
    kinds, chars = {one.kind for one in loop.dtypes}, {one.char for one in loop.dtypes}
    if loop.kind != "ufunc" or not kinds & {*"fc"}:
        return Nature.PLAIN
    if "c" in kinds:
        return Nature.LOOSE
    is_intrinsic = loop.name in INTRINSICS and loop.dtypes[-1].char in LETTERS and len(chars) == 1
    if loop.name in PLAIN or is_intrinsic:
        return Nature.PLAIN
    is_steady = loop.name in STEADY or (loop.name in STEADY_SINGLE and "d" not in chars)
    return Nature.STEADY if is_steady or (loop.name in HALF and chars == {"e"}) else Nature.LOOSE
