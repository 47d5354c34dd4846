"""CuPy's own rules, asked of CuPy and never restated: which loop an elementwise function runs, in which dtypes.

Without a GPU nothing of CuPy's can run; its tables of loops can be read. It is imported where the first of its arrays
is met, or where a graph with one is read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.ops import Op
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.device_draws import BIT_GENERATORS
from ufuse.graph.typing.device_draws import RULED as DRAWS
from ufuse.graph.typing.sample import NUMBERS, CannotInfer, Constant, Operand, checked_dtype

CUDA = "cuda"  # the device of CuPy's arrays

# CuPy's functions that are the method of the same name of their first argument.
METHODS = (
    "sum prod max min amax amin any all mean var std argmax argmin ravel reshape transpose take cumsum cumprod"
).split()
FUNCTIONS = "arange linspace matmul dot sort argsort".split()
CREATORS = "zeros ones empty full zeros_like ones_like empty_like full_like".split()
# Functions with rules, by where they are in CuPy: most are in C, those in Python would ask what no trace knows.
RULED = [
    *(name.removeprefix("cupy.") for name in DRAWS),
    *"""
    roll fill_diagonal _manipulation.basic._can_memcpy
    _core._fusion_thread_local.is_fusing _core.internal._normalize_axis_index
    _core.internal._normalize_axis_indices _core.internal.prod _core.core.array _core.core.ascontiguousarray
    _core._routines_manipulation._expand_dims _core._routines_manipulation.moveaxis
    _core._routines_manipulation._move_single_axis _core._routines_manipulation.rollaxis
    _core._routines_manipulation.broadcast_to _core._routines_manipulation.array_split
    _core._routines_manipulation.concatenate_method _core._routines_linalg.tensordot_core
    _core._routines_indexing._ndarray_argwhere _util.check_array broadcast_arrays get_array_module
    einsum trace partition argpartition searchsorted digitize repeat pad isin interp median percentile quantile
    average cov corrcoef ptp bincount unique histogram histogram2d nansum nanprod nanmean nanvar nanstd nanmedian
    count_nonzero nan_to_num convolve fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn
    fft.rfft2 fft.rfftn fft.irfft2 fft.irfftn
    linalg.solve linalg.inv linalg.cholesky linalg.qr linalg.svd linalg.eigh linalg.eigvalsh linalg.slogdet
    linalg.lstsq RawModule.get_function random.default_rng
    cuda.Device.synchronize cuda.Device.__enter__ cuda.Device.__exit__ cuda.Device.use
    cuda.runtime.deviceSynchronize cuda.runtime.getDevice cuda.runtime.setDevice cuda.get_device_id
    cuda.Stream.synchronize cuda.Stream.__enter__ cuda.Stream.__exit__ cuda.Stream.use cuda.Stream.record
    cuda.Stream.wait_event cuda.Event.record cuda.Event.synchronize cuda.get_elapsed_time cuda.get_current_stream
    cuda.MemoryPool.free_all_blocks cuda.PinnedMemoryPool.free_all_blocks
    cuda.nvtx.RangePush cuda.nvtx.RangePushC cuda.nvtx.RangePop cuda.nvtx.Mark cuda.nvtx.MarkC
""".split(),
]
# Filters of images, whose results are as what they filter; they are in a module that few programs import.
IMAGES = "cupyx.scipy.ndimage"
FILTERS = """
    correlate convolve correlate1d convolve1d uniform_filter uniform_filter1d gaussian_filter gaussian_filter1d prewitt
    sobel laplace gaussian_laplace gaussian_gradient_magnitude minimum_filter maximum_filter minimum_filter1d
    maximum_filter1d rank_filter median_filter percentile_filter binary_erosion binary_dilation binary_opening
    binary_closing
""".split()
# Functions of images that give something else.
RESAMPLING = "zoom rotate shift affine_transform map_coordinates".split()
LABEL = IMAGES + ".label"
# Fourier transforms, which are in another module too.
FOURIER = "cupyx.scipy.fft"
TRANSFORMED = "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
OUTSIDE = "cupyx."  # what the names of functions begin with that are not CuPy's own
ASKING = frozenset(
    (
        *METHODS,
        *FUNCTIONS,
        *CREATORS,
        "where",
        *(name.rpartition(".")[2] for name in RULED),
        *FILTERS,
        *RESAMPLING,
        "label",
    )
)  # the names of functions that have rules
# What a loop knows besides its elements: the place of one, how many there are.
PLACED = re.compile(r"\b(?:i|n|_ind|(?:in|out)\d+_raw|type_(?:in|out)\d+_raw)\b")
# CUDA has no such functions of complex numbers: CuPy has loops, which no compiler takes.
NOT_COMPLEX = frozenset("arctan2 copysign hypot i0 nextafter".split())
KERNELS = frozenset("ElementwiseKernel ReductionKernel _SimpleReductionKernel RawKernel".split())
MADE = frozenset(
    """
    ElementwiseKernel ReductionKernel RawKernel RawModule Device Stream Event RandomState Generator broadcast
""".split()
) | {*BIT_GENERATORS}  # by calls
HANDLES = frozenset(("Stream", "Event", "RandomState"))
MOST_FOREIGN = 512  # elementwise functions beside NumPy's that are remembered

# What says all of a kernel of a program's, by its class.
FACTS = {
    "ElementwiseKernel": "params name operation preamble reduce_dims no_return return_tuple kwargs",
    "ReductionKernel": "params in_params out_params name identity map_expr reduce_expr post_map_expr reduce_type"
    " preamble options reduce_dims",
    "RawKernel": "code name options backend enable_cooperative_groups file_path",
}
TRANSLATED = "cuComplex"  # in the text of a `RawKernel`: how it is read is not to be seen

# Reductions whose kernels no module of CuPy's has as an attribute, with the methods that run them.
UNNAMED = {"reduce_mean": "mean", "reduce_argmax": "argmax", "reduce_argmin": "argmin"}

Pattern = tuple[np.dtype | None, str]  # of an operand: its dtype, and what it is


@record
class Routine:
    """A loop of CuPy's: its dtypes, the result's last, and its CUDA C++, which sets `out0` from `in0` and so on."""

    dtypes: tuple[np.dtype, ...]
    text: str
    preamble: str  # what stands in front of a kernel with this text


@record
class Folding:
    """A reduction of CuPy's in CUDA C++.

    Attributes:
        dtypes: of what is folded, and of the result.
        start: what a fold begins with; "" where `kind` says so itself.
        each: the element `in0` at place `_J` of what is folded, as it is folded.
        both: two of those, `a` and `b`, as one.
        last: sets the result `out0` from the last one, `a`.
        kind: the type that is folded in.
        preamble: what stands in front of a kernel with these texts.

    """

    dtypes: tuple[np.dtype, np.dtype]
    start: str
    each: str
    both: str
    last: str
    kind: str
    preamble: str


class _Offered(Exception):  # noqa: N818  no error: it brings a kernel
    """A kernel was offered to an array."""


def _offered(_: Any, kernel: Any, *__: Any) -> None:
    raise _Offered(kernel)


OTHERS = {
    IMAGES: (*FILTERS, *RESAMPLING, "label"),
    FOURIER: TRANSFORMED,
}  # functions with rules, by module


def named(path: str) -> Any:
    """The function of a dotted name, in CuPy or in a module that is imported."""
    module, _, name = path.rpartition(".")
    if path.startswith(OUTSIDE):
        return getattr(sys.modules[module], name)
    return _found_in(cupy().module, path)


def _found_in(module: Any, name: str) -> Any:
    """What a dotted name is in a module; None where it is not there."""
    for word in name.split("."):
        module = getattr(module, word, None)
    return module


class CuPy:
    """The library of arrays on CUDA devices."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.array = module.ndarray
        self.ufunc = type(module.add)
        self.gufunc = type(module.matmul)
        self.where = module.where
        self.clip = module._core._routines_math.clip  # the elementwise function
        self.round = module._core.core._round_ufunc
        self.copy = module._core.elementwise_copy
        self._functions = {
            name: function
            for name in ops.UFUNCS
            if isinstance(function := getattr(module, name, None), self.ufunc)
            and function.nout == 1
        }
        self._functions[ops.WHERE.name] = module._sorting.search._where_ufunc
        core = module._core
        self._reductions = {
            "reduce_add": core._routines_math.sum_auto_dtype,
            "reduce_multiply": core._routines_math.prod_auto_dtype,
            "reduce_maximum": core._routines_statistics.amax,
            "reduce_minimum": core._routines_statistics.amin,
            "reduce_logical_or": core._routines_logic.any,
            "reduce_logical_and": core._routines_logic.all,
        }
        self._reduction_rows = {id(one): ops.OPS[name] for name, one in self._reductions.items()}
        named = (*METHODS, *FUNCTIONS, *CREATORS)
        self._methods = {id(getattr(module, name)): name for name in named}
        for name in RULED:
            found = _found_in(module, name)
            if found is not None:
                self._methods.setdefault(id(found), name)
        self._as_numpys = frozenset(self._functions.values())
        self._rows: dict[int, Op] = {}  # by id of the function, which its module keeps
        for name, function in self._functions.items():
            self._rows.setdefault(id(function), ops.OPS[name])
        self.elementwise = module.ElementwiseKernel
        self.reduction = type(core._routines_math.sum_auto_dtype)
        self.own_reduction = module.ReductionKernel
        self.raw = module.RawKernel
        self.raw_module = module.RawModule
        self.fused = core.fusion.Fusion
        self.dtypes_of_kernel = core._kernel._decide_params_type
        self._kernels: dict[str, Any] = {}  # that programs have been seen to call
        self._kernel_names: dict[int, str] = {}
        self._made: dict[str, Any] = {}  # what functions make at each call, by its texts
        self.scalar = module._core._scalar.CScalar
        self._routine = cache(self._asked)
        self._typename = core._scalar.get_typename
        self._folding = cache(self._asked_of_reduction)

    def op_of(self, function: Any) -> Op | None:
        """The row of an elementwise function of CuPy's with one result; None where it has several.

        One that NumPy has not has a row of its own, with CuPy's name.
        """
        found = self._rows.get(id(function))
        if found is None and function.nout == 1 and len(self._functions) < MOST_FOREIGN:
            name = str(function.name)
            if name in ops.OPS or name in self._functions:
                name = f"{name}_{len(self._functions)}"
            found = self._rows[id(function)] = Op(name, function.nin, ops.Kind.MAP)
            self._functions[name] = function
        return found

    def kernel_name(self, kernel: Any) -> str | None:
        """The name by which `kernel_named` finds a kernel that a program calls; None where there are too many."""
        found = self._kernel_names.get(id(kernel))
        if found is None and len(self._kernels) < MOST_FOREIGN:
            found = f"{kernel.name}_{len(self._kernels)}"
            self._kernels[found] = kernel
            self._kernel_names[id(kernel)] = found
        return found

    def kernel_named(self, name: str) -> Any:
        """The kernel of a name.

        Raises:
            CannotInfer: there is none.

        """
        if name not in self._kernels:
            raise CannotInfer(f"there is no kernel {name}")
        return self._kernels[name]

    def made_kernel(self, kind: type, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The kernel, or the module, of a class and texts, made once; None where there are too many."""
        key = f"{kind.__name__}{given}{named}"
        return self._made_once(key, lambda: kind(*given, **named))

    def kept_like(self, kernel: Any) -> Any:
        """The kernel that was made of the same texts by a function, and is kept; None where there is none."""
        return next((one for one in self._made.values() if are_alike(one, kernel)), None)

    def kernel_of_module(self, module: Any, name: str) -> Any:
        """A kernel of a `RawModule`, made once; None where there are too many."""
        found = self._made_once(f"{id(module)}.{name}", lambda: (module, module.get_function(name)))
        return None if found is None else found[1]

    def _made_once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._made and len(self._made) < MOST_FOREIGN:
            self._made[key] = make()
        return self._made.get(key)

    def reduction_row(self, kernel: Any) -> Op | None:
        """The row of a reduction of CuPy's that has no function of NumPy's."""
        found = self._reduction_rows.get(id(kernel))
        if found is None and len(self._reductions) < MOST_FOREIGN:
            name = f"reduce_{kernel.name}_{len(self._reductions)}"
            found = Op(name, 1, ops.Kind.REDUCE)
            self._reductions[name] = kernel
            self._reduction_rows[id(kernel)] = found
        return found

    def foreign_reduction(self, op: Op) -> Any:
        """The kernel of such a row; None of any other."""
        return self._reductions.get(op.name) if op.name not in ops.OPS else None

    def function_of(self, op: Op) -> Any:
        """CuPy's function for a row.

        Raises:
            CannotInfer: it has none.

        """
        found = self._functions.get(op.name)
        if found is None:
            raise CannotInfer(f"CuPy has no elementwise {op.name}")
        return found

    def row_named(self, name: str) -> Op | None:
        """The row of the elementwise function of a name, if it has been met."""
        function = self._functions.get(name)
        return None if function is None else self._rows.get(id(function))

    def routine_of(self, op: Op, operands: Sequence[Operand]) -> Routine:
        """The loop that CuPy runs for operands of these types.

        Raises:
            CannotInfer: there is none, or it is one that graphs leave to CuPy.

        """
        found: Routine = self._routine(self.function_of(op), tuple(map(_pattern, operands)))
        return found

    def made_by(
        self, function: Any, operands: Sequence[Operand], dtype: np.dtype | None
    ) -> tuple[np.dtype, ...]:
        """The dtypes of what an elementwise function gives, perhaps in a dtype that is asked for.

        Raises:
            CannotInfer: it raises.

        """
        samples = [self._sample(*_pattern(one)) for one in operands]
        given = None if dtype is None else dtype.type
        try:
            loop = function._ops.guess_routine(function.name, {}, samples, given, function._out_ops)
        except TypeError as error:
            raise CannotInfer(f"CuPy raises TypeError here: {error}") from None
        return tuple(checked_dtype(np.dtype(one)) for one in loop._out_dtypes)

    def method_of(self, function: Any) -> str | None:
        """The name of one of CuPy's functions written in Python, if it has a rule of its own."""
        found = self._methods.get(id(function))
        name = getattr(function, "__name__", "")
        for module, names in OTHERS.items():
            if (
                found is None
                and name in names
                and getattr(sys.modules.get(module), name, None) is function
            ):
                return f"{module}.{name}"
        return found

    def reduced_dtype(self, op: Op, dtype: np.dtype) -> np.dtype:
        """The dtype of a reduction's result.

        Raises:
            CannotInfer: CuPy has no such reduction.

        """
        return self.folding_of(op, dtype).dtypes[1]

    def folding_of(self, op: Op, dtype: np.dtype) -> Folding:
        """CuPy's own reduction of an array of this dtype.

        Raises:
            CannotInfer: there is none.

        """
        found: Folding = self._folding(op.name, checked_dtype(dtype))
        return found

    def _asked_of_reduction(self, name: str, dtype: np.dtype) -> Folding:
        kernel = self._reductions.get(name) or self._kernel_of_method(UNNAMED.get(name))
        if kernel is None:
            raise CannotInfer(f"CuPy has no {name}")
        sample = self._sample(dtype, "array")
        try:
            loop = kernel._ops.guess_routine(kernel.name, {}, [sample], None, None)
        except TypeError as error:
            raise CannotInfer(f"CuPy raises TypeError here: {error}") from None
        made = np.dtype(loop.out_types[0])
        if name not in UNNAMED:  # places are `long long`, which graphs take for `long`
            checked_dtype(made)
        each, both, last, kind = loop.routine
        kind = kind or self._typename(made)
        return Folding((dtype, made), kernel.identity, each, both, last, kind, kernel.preamble)

    def _kernel_of_method(self, method: str | None) -> Any:
        """The reduction that a method of arrays runs, which is offered to arrays of other classes first."""
        if method is None:
            return None
        asked = type("Asked", (self.array,), {"__cupy_override_reduction_kernel__": _offered})
        memory = np.zeros(3, np.int8)
        whole = self.module.cuda.UnownedMemory(memory.ctypes.data, memory.nbytes, memory, 0)
        pointer = self.module.cuda.MemoryPointer(whole, 0)
        # No library beside CuPy's kernel takes such strides, nor whole numbers.
        array = asked((2,), np.int8, memptr=pointer, strides=(2,))
        try:
            getattr(array, method)()
        except _Offered as offered:
            return offered.args[0]
        return None

    def routine_of_dtypes(self, op: Op, dtypes: tuple[np.dtype, ...]) -> Routine:
        """The loop of exactly these dtypes, the result's last.

        Raises:
            CannotInfer: CuPy has none.

        """
        function = self.function_of(op)
        for loop in function._ops.ops:
            own = tuple(map(np.dtype, (*loop.in_types, *loop.out_types)))
            if own == dtypes and isinstance(loop.routine, str) and not function._loop_prep:
                return Routine(dtypes, loop.routine, function._preamble)
        raise CannotInfer(f"CuPy has no loop of {op.name} for these types")

    def _asked(self, function: Any, patterns: tuple[Pattern, ...]) -> Routine:
        samples = [self._sample(*one) for one in patterns]
        if len(samples) != function.nin:
            raise CannotInfer(f"{function.name} takes {function.nin} operands")
        name, ufunc_ops = function.name, function._ops
        try:
            loop = ufunc_ops.guess_routine(name, {}, samples, None, function._out_ops)
        except TypeError as error:
            raise CannotInfer(f"CuPy raises TypeError here: {error}") from None
        is_text = isinstance(loop.routine, str) and not function._loop_prep
        if loop.error_func is not None or not is_text:
            raise CannotInfer(f"CuPy has no loop of {name} for these types")
        if function not in self._as_numpys and PLACED.search(loop.routine):
            raise CannotInfer(f"the loop of {name} asks where its element is")
        results = [checked_dtype(np.dtype(one)) for one in loop._out_dtypes]
        own = (*map(np.dtype, loop._in_dtypes), *results)
        if name.removeprefix("cupy_") in NOT_COMPLEX and any(one.kind == "c" for one in own):
            raise CannotInfer(f"no compiler takes CuPy's loop of {name} for complex numbers")
        return Routine(own, loop.routine, function._preamble)

    def _sample(self, dtype: np.dtype | None, kind: str) -> Any:
        """What CuPy is asked about in place of an operand: an array over the host's memory, or a number."""
        if kind == "array":
            memory = np.ones(1, dtype)
            whole = self.module.cuda.UnownedMemory(memory.ctypes.data, memory.nbytes, memory, 0)
            return self.module.ndarray((1,), dtype, memptr=self.module.cuda.MemoryPointer(whole, 0))
        return self.scalar(NUMBERS[kind](1) if dtype is None else dtype.type(1))


def _pattern(operand: Operand) -> Pattern:
    """All of an operand that decides which loop is run."""
    type_ = operand.type if isinstance(operand, Constant) else operand
    if isinstance(type_, NumberType):
        return None, type_.kind
    if isinstance(type_, ArrayType):
        return checked_dtype(type_.dtype), "scalar" if type_.scalar else "array"
    raise CannotInfer("an operand is neither an array nor a number")


def are_alike(one: Any, other: Any) -> bool:
    """Whether two kernels are of the same texts, and the same in all else."""
    kind = type(one)
    if kind is not type(other) or kind.__name__ not in FACTS:
        return False
    if one is other:
        return True
    if kind.__name__ == "RawKernel" and (one.code is None or TRANSLATED in one.code):
        return False
    return all(getattr(one, name) == getattr(other, name) for name in FACTS[kind.__name__].split())


@cache
def cupy() -> CuPy:
    """CuPy, imported.

    Raises:
        CannotInfer: it is not installed.

    """
    try:
        return CuPy(import_module("cupy"))
    except ImportError as missing:
        raise CannotInfer(f"CuPy cannot be imported: {missing}") from None
    except AttributeError as missing:
        raise CannotInfer(f"this version of CuPy is not known: {missing}") from None


def imported() -> CuPy | None:
    """CuPy, where the program has imported it, in a version whose tables are known."""
    if not hasattr(sys.modules.get("cupy"), "ndarray"):
        return None
    try:
        return cupy()
    except CannotInfer:
        return None


def is_device_array(kind: type) -> bool:
    """Whether this is the class of CuPy's arrays."""
    return kind.__name__ == "ndarray" and (found := imported()) is not None and kind is found.array


def is_device_function(kind: type) -> bool:
    """Whether this is the class of CuPy's elementwise functions."""
    return kind.__name__ == "ufunc" and (found := imported()) is not None and kind is found.ufunc


def is_device_gufunc(kind: type) -> bool:
    """Whether this is the class of CuPy's functions of whole vectors or matrices."""
    found = imported() if kind.__name__ == "_GUFunc" else None
    return found is not None and kind is found.gufunc


def is_device_kernel(kind: type) -> bool:
    """Whether this is a class of kernels: elementwise ones, reductions, those of CuPy's own functions, `RawKernel`."""
    if kind.__name__ not in KERNELS:
        return False
    found = imported()
    return found is not None and kind in (
        found.elementwise,
        found.own_reduction,
        found.reduction,
        found.raw,
    )


def is_made_by_call(kind: Any) -> bool:
    """Whether this is a class of kernels and their modules, or of devices, of which graphs may make instances."""
    if type(kind) is not type or kind.__name__ not in MADE or (found := imported()) is None:
        return False
    classes = found.elementwise, found.own_reduction, found.raw, found.raw_module
    cuda = found.module.cuda
    random = found.module.random
    bits = (getattr(random, name) for name in BIT_GENERATORS)
    others = found.module.broadcast, random.RandomState, random.Generator, *bits
    return kind in (*classes, cuda.Device, cuda.Stream, cuda.Event, *others)


def is_handle(kind: Any) -> bool:
    """Whether instances of a class only stand for what CUDA has: their finalizers give it back, and nobody notices."""
    if kind.__name__ not in HANDLES or (found := imported()) is None:
        return False
    return kind in handles_of(found.module)


def handles_of(module: Any) -> tuple[type, ...]:
    """Such classes of CuPy's."""
    return module.cuda.Stream, module.cuda.Event, module.random.RandomState


def is_device_fusion(kind: type) -> bool:
    """Whether this is the class of functions that `cupy.fuse` makes."""
    return kind.__name__ == "Fusion" and (found := imported()) is not None and kind is found.fused


def numpys_counterpart(function: Any) -> Any:
    """CuPy's function that arrays of CuPy's call in place of one of NumPy's; None where there is none.

    As `__array_ufunc__` and `__array_function__` of these arrays find it.
    """
    found = imported()
    if found is None:
        return None
    if isinstance(function, np.ufunc):
        return getattr(found.module, function.__name__, None)
    words = (*str(function.__module__).split(".")[1:], function.__name__)
    made = _found_in(found.module, ".".join(words))
    return None if made is function else made


def device_rule(function: Any) -> str | None:
    """The rule for a function of CuPy's that asks what no trace knows: "where", or its name."""
    if getattr(function, "__name__", None) not in ASKING or (found := imported()) is None:
        return None
    return "where" if function is found.where else found.method_of(function)


def device_of(operands: Sequence[Operand]) -> str:
    """Where the arrays among operands are; "" where none is on a device. Numbers are anywhere.

    Raises:
        CannotInfer: they are not all in one place, which CuPy refuses.

    """
    device = ""
    for operand in operands:
        if isinstance(operand, ArrayType) and operand.device:
            device = operand.device
    if device:
        for operand in operands:
            if _is_elsewhere(operand, device):
                raise CannotInfer("CuPy does not take NumPy's arrays beside its own")
    return device


def _is_elsewhere(operand: Operand, device: str) -> bool:
    type_ = operand.type if isinstance(operand, Constant) else operand
    return isinstance(type_, ArrayType) and not type_.scalar and type_.device != device
