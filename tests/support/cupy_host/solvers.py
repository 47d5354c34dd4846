"""NumPy in place of cuSOLVER: CuPy's functions that call it are replaced by others of the same name and arguments."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.cupy_host.libraries import Blas, at

NAMES = "solve inv cholesky qr svd eigh eigvalsh slogdet".split()  # others call these


def sample(array: Any) -> np.ndarray:
    """A matrix of the same shape and dtype for which no function raises, or a vector of ones."""
    if array.ndim < 2:
        return np.ones(array.shape, array.dtype)
    return np.broadcast_to(np.eye(*array.shape[-2:], dtype=array.dtype), array.shape)


def stand_in(name: str, cupy: Any, blas: Blas, original: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function on the device's memory, in the order of the current stream; matrices in Fortran order."""
    numpys, signature = getattr(np.linalg, name), inspect.signature(original)

    @functools.wraps(original)
    def function(*arguments: Any, **keywords: Any) -> Any:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        given = bound.arguments
        arrays = {
            key: cupy.array(one, order="C")
            for key, one in given.items()
            if isinstance(one, cupy.ndarray)
        }
        for one in arrays.values():
            if one.dtype == "e":
                raise TypeError("float16 is unsupported in linalg")
        shaped = numpys(*(given | {key: sample(one) for key, one in arrays.items()}).values())
        several = isinstance(shaped, tuple)
        made = [
            cupy.empty(np.shape(one), np.asarray(one).dtype, order="F")
            for one in (shaped if several else (shaped,))
        ]

        def work() -> None:
            host = {key: at(one.data.ptr, one.dtype, one.shape) for key, one in arrays.items()}
            found = numpys(*(given | host).values())
            for result, one in zip(made, found if several else (found,), strict=True):
                steps = [step // result.itemsize for step in result.strides]
                at(result.data.ptr, result.dtype, result.shape, steps)[...] = one

        blas.submit(work)
        return tuple(made) if several else made[0]

    return function


def install(cupy: Any, blas: Blas) -> None:
    """Replace the functions wherever CuPy's modules have them."""
    modules = [cupy.linalg, *(one for one in vars(cupy.linalg).values() if _is_of_linalg(one))]
    for name in NAMES:
        original = getattr(cupy.linalg, name)
        made = stand_in(name, cupy, blas, original)
        for module in modules:
            if getattr(module, name, None) is original:
                setattr(module, name, made)


def _is_of_linalg(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.startswith("cupy.linalg.")
