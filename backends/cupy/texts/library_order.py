"""CUDA C++ of folds in CUB's order (cub.py): what two values give, and a thread's elements of a tile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ufuse.backends.planning.kernels import Segment

# As CuPy has CUB do it: subnormals are not flushed; of a NaN and a number it is the NaN; of what is equal, as zeros of
# two signs are, the first is the most, the last the least.
FUNCTION_OF = {"add": "ufuse_plus", "maximum": "ufuse_most", "minimum": "ufuse_least"}


TYPES = {"f": ("float", "f32"), "d": ("double", "f64")}  # CUDA's and PTX's names
EXTREMES = (("ufuse_most", "gtu"), ("ufuse_least", "leu"))
# What a thread has of a tile, behind what it has of those before.
TREE = """\
template<int items, typename Fold, typename T>
__device__ __forceinline__ T ufuse_tree(const T* from, bool is_first, T before)
{
    T v[items + 1];
    v[0] = before;
    #pragma unroll
    for (int k = 0; k < items; ++k) v[k + 1] = from[k];
    if (is_first) {
        #pragma unroll
        for (int s = 1; s < items; s *= 2)
            #pragma unroll
            for (int k = 0; k + s < items; k += 2 * s) v[k + 1] = Fold::both(v[k + 1], v[k + 1 + s]);
        return v[1];
    }
    #pragma unroll
    for (int s = 1; s < items + 1; s *= 2)
        #pragma unroll
        for (int k = 0; k + s < items + 1; k += 2 * s) v[k] = Fold::both(v[k], v[k + s]);
    return v[0];
}"""


def functions_of(chars: Iterable[str]) -> Iterator[str]:
    """What kernels call that fold floats of these precisions: `chars` are NumPy's."""
    for char in chars:
        type_, ptx = TYPES[char]
        yield f"__device__ __forceinline__ {type_} ufuse_plus({type_} a, {type_} b)"
        yield f'{{ asm("add.rn.{ptx} %0, %0, %1;" : "+{char}"(a) : "{char}"(b)); return a; }}'
        # The other value where it is more (or no more) or a NaN, and its own is none.
        for name, taken in EXTREMES:
            yield f"__device__ __forceinline__ {type_} {name}({type_} a, {type_} b)"
            yield "{"
            yield f'    asm("{{ .reg .pred other, is_number; setp.num.{ptx} is_number, %0, %0; "'
            yield f'        "setp.{taken}.and.{ptx} other, %1, %0, is_number; selp.{ptx} %0, %1, %0, other; }}"'
            yield f'        : "+{char}"(a) : "{char}"(b));'
            yield "    return a;"
            yield "}"
    yield TREE


def has_library_order(fold: Segment) -> bool:
    """Whether the order of a fold is CUB's."""
    return fold.loop.kind == "library"


def is_tree(fold: Segment) -> bool:
    """Whether a thread's elements of a tile are folded as a tree: extremes may be, as they are the same then."""
    is_single = fold.loop.dtypes[-1].char == "f"
    return has_library_order(fold) and (is_single or fold.loop.name != "add")
