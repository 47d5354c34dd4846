"""CUDA C++ of folds in CUB's order (cub.py): what two values give, and a thread's elements of a tile."""

from __future__ import annotations

from ufuse.backends.planning.kernels import Segment

# As CuPy has CUB do it: subnormals are not flushed; of a NaN and a number it is the NaN; of what is equal, as zeros of
# two signs are, the first is the most, the last the least.
FUNCTION_OF = {"add": "ufuse_plus", "maximum": "ufuse_most", "minimum": "ufuse_least"}


def _extreme(name: str, taken: str, sign: str, type_: str, short: str, letter: str) -> str:
    """What takes the other value where it is more (or no more), or is a NaN, and its own is none."""
    return f"""\
__device__ __forceinline__ {type_} {name}({type_} a, {type_} b)
{{
#ifdef __CUDA_ARCH__
    asm("{{ .reg .pred other, is_number; setp.num.{short} is_number, %0, %0; "
        "setp.{taken}.and.{short} other, %1, %0, is_number; selp.{short} %0, %1, %0, other; }}"
        : "+{letter}"(a) : "{letter}"(b));
    return a;
#else
    return a != a ? a : b != b ? b : b {sign} a ? b : a;
#endif
}}
"""


EXTREMES = "".join(
    _extreme(*one, *type_)
    for one in (("ufuse_most", "gtu", ">"), ("ufuse_least", "leu", "<="))
    for type_ in (("float", "f32", "f"), ("double", "f64", "d"))
)
FUNCTIONS = f"""\
{EXTREMES}\
__device__ __forceinline__ double ufuse_plus(double a, double b) {{ return __dadd_rn(a, b); }}
__device__ __forceinline__ float ufuse_plus(float a, float b)
{{
#ifdef __CUDA_ARCH__
    asm("add.rn.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
    return a;
#else
    return a + b;
#endif
}}
// What a thread has of a tile, behind what it has of those before.
template<int items, typename Fold, typename T>
__device__ __forceinline__ T ufuse_tree(const T* from, bool is_first, T before)
{{
    T v[items + 1];
    v[0] = before;
    #pragma unroll
    for (int k = 0; k < items; ++k) v[k + 1] = from[k];
    if (is_first) {{
        #pragma unroll
        for (int s = 1; s < items; s *= 2)
            #pragma unroll
            for (int k = 0; k + s < items; k += 2 * s) v[k + 1] = Fold::both(v[k + 1], v[k + 1 + s]);
        return v[1];
    }}
    #pragma unroll
    for (int s = 1; s < items + 1; s *= 2)
        #pragma unroll
        for (int k = 0; k + s < items + 1; k += 2 * s) v[k] = Fold::both(v[k], v[k + s]);
    return v[0];
}}"""


def has_library_order(fold: Segment) -> bool:
    """Whether the order of a fold is CUB's."""
    return fold.loop.kind == "library"


def is_tree(fold: Segment) -> bool:
    """Whether a thread's elements of a tile are folded as a tree: extremes may be, as they are the same then."""
    is_single = fold.loop.dtypes[-1].char == "f"
    return has_library_order(fold) and (is_single or fold.loop.name != "add")
