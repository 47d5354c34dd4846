"""Ufuncs that are not NumPy's but have names that NumPy's have, as those of other libraries (`scipy.special.i0`)."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np

# Of NumPy's table of C functions, as `numpy/__ufunc_api.h` numbers them.
FROM_FUNCTIONS, OF_ONE, OF_TWO = 1, 5, 15
NO_IDENTITY = -1
# What C functions and their pointers lie in: a ufunc has no copy of them.
_KEPT: list[object] = []


def _address_of(name: str) -> int:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert found is not None
    return found


def _table() -> ctypes.Array[ctypes.c_void_p]:
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._UFUNC_API  # type: ignore[attr-defined]
    return (ctypes.c_void_p * (OF_TWO + 1)).from_address(pointer_of(capsule, None))


def foreign_ufunc(name: str, inputs: int) -> np.ufunc:
    """A ufunc of one float64 or two with a name of NumPy's: it computes `sin`, or `hypot`."""
    table = _table()
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int,
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int,
    )(table[FROM_FUNCTIONS] or 0)  # fmt: skip
    loops = (ctypes.c_void_p * 1)(table[OF_ONE if inputs == 1 else OF_TWO])
    data = (ctypes.c_void_p * 1)(_address_of("sin" if inputs == 1 else "hypot"))
    types = ctypes.create_string_buffer(bytes([np.dtype("f8").num] * (inputs + 1)))
    text = ctypes.create_string_buffer(name.encode())
    _KEPT.extend((loops, data, types, text))
    made: np.ufunc = make(
        ctypes.addressof(loops), ctypes.addressof(data), ctypes.addressof(types),  # type: ignore[arg-type]
        1, inputs, 1, NO_IDENTITY, ctypes.addressof(text), None, 0,
    )  # fmt: skip
    return made
