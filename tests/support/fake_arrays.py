"""Arrays on a device that is not there, with structs and C functions like CuPy's: `_launch` alone, without CuPy."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ufuse.backends import _launch

BEGIN = bytes.__basicsize__ - 1  # of what a bytes object holds, in its struct
OFFSETS = tuple(BEGIN + 8 * word for word in (0, 3, 6, 7, 0, 1))
ALLOCATED = 1 << 32  # the first address that is given
LAUNCH = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3
)
NEW_ARRAY = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object
)
ALLOC = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int)

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class RefusedError(Exception):
    """What stands for `DoesNotFit`."""


class Memory(bytes):
    """What points to memory: an address and a device."""


class Array(bytes):
    """An array: two vectors, a dtype and its memory."""

    kept: tuple[Any, ...]
    shape: tuple[int, ...]

    def __new__(cls, *given: Any) -> Any:
        """Of the bytes of a struct; or, as CuPy's, of a shape, a dtype and memory."""
        if len(given) == 1:
            return super().__new__(cls, *given)
        address, device = struct.unpack("Pi", given[2])
        return array_of(given[0], given[1], address=address, device=device)


def memory_at(address: int, device: int = 0) -> Memory:
    """What points to an address."""
    return Memory(struct.pack("Pi", address, device))


def array_of(
    shape: Sequence[int], dtype: Any = "f8", strides: Sequence[int] | None = None, address: int = 512, device: int = 0,
) -> Array:  # fmt: skip
    """An array at an address that nobody reads."""
    dtype = np.dtype(dtype)
    if strides is None:
        strides = [dtype.itemsize * int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    vectors = [(ctypes.c_ssize_t * len(numbers))(*numbers) for numbers in (shape, strides)]
    ends = []
    for vector in vectors:
        begin = ctypes.addressof(vector)
        ends += [begin, begin + ctypes.sizeof(vector), begin + ctypes.sizeof(vector)]
    memory = memory_at(address, device)
    made = Array(struct.pack("8P", *ends, id(dtype), id(memory)))
    made.kept, made.shape = (vectors, dtype, memory), tuple(shape)
    return made


@dataclass
class Device:
    """Counts and keeps what C asks for.

    Attributes:
        launches: function, blocks, threads, stream and addresses of arguments of each.
        sizes: how many bytes each argument of a launch has.
        read: the arguments of the last launch.
        status: what launches end with.
        room: how many arrays and allocations there is memory for.
    """

    current: int = 0
    stream: int = 77
    status: int = 0
    room: int = 1 << 20
    sizes: tuple[int, ...] = ()
    launches: list[tuple[int, int, int, int]] = field(default_factory=list)
    read: list[bytes] = field(default_factory=list)
    made: list[int] = field(default_factory=list)  # the sizes of allocations, or -1 for arrays
    kept: list[Any] = field(default_factory=list)
    graphs: dict[str, int] = field(default_factory=dict)  # addresses of functions for graphs

    def new_array(self, kind: type, vector: int, dtype: np.dtype, _: object) -> Array:
        """An array in C order at the next address."""
        begin, end = (ctypes.c_void_p * 2).from_address(vector)
        count = ((end or 0) - (begin or 0)) // 8
        shape = tuple((ctypes.c_ssize_t * count).from_address(begin)) if count else ()
        return array_of(shape, dtype, address=self.take(-1), device=self.current)

    def stream_of(self, device: int) -> int:
        """The current stream of a device; that of the first is `stream`."""
        return self.stream + device

    def alloc(self, size: int, _: int) -> Memory:
        """Memory at the next address."""
        return memory_at(self.take(size), self.current)

    def take(self, size: int) -> int:
        """The next address."""
        self.made.append(size)
        return ALLOCATED + 4096 * len(self.made)

    def launch(self, function: int, *others: Any) -> int:
        """Keep what is launched."""
        blocks, _, _, threads, _, _, _, stream, arguments, _ = others
        self.launches.append((function, blocks, threads, stream or 0))
        given = (ctypes.c_void_p * len(self.sizes)).from_address(arguments)
        self.read = [
            ctypes.string_at(one, size) for one, size in zip(given, self.sizes, strict=True)
        ]
        return self.status

    def capsules(self, **signatures: str) -> dict[str, Any]:
        """Capsules of these functions, named by what C expects or as is said here."""
        number = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int)
        functions = {
            "alloc": ALLOC(self.alloc),
            "_ndarray_init": NEW_ARRAY(self.new_array),
            "getDevice": number(lambda _: self.current),
            "get_current_stream_ptr": ctypes.PYFUNCTYPE(ctypes.c_ssize_t)(lambda: self.stream),
            "get_stream_ptr": ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int)(self.stream_of),
            "_ensure_context": ctypes.PYFUNCTYPE(ctypes.py_object)(lambda: None),
        }
        made = {}
        for name, function in functions.items():
            signature = signatures.get(name, _launch.signatures()[name]).encode()
            address = ctypes.cast(function, ctypes.c_void_p)
            made[name] = new_capsule(address, signature, None)
            self.kept += [function, signature]
        return made

    def use(self, capsules: dict[str, Any] | None = None) -> None:
        """Have C launch here."""
        entry = LAUNCH(self.launch)
        self.kept.append(entry)
        driver = {"cuLaunchKernel": ctypes.cast(entry, ctypes.c_void_p).value or 0, **self.graphs}
        _launch.use(
            Array, OFFSETS, capsules or self.capsules(), driver, no_early_one, failed, RefusedError, not_a_number,
            (RefusedError,),
        )  # fmt: skip


def no_early_one(device: int) -> bool:
    """Whether a device's kernels wait for those before them by themselves."""
    return False


def failed(status: int) -> None:
    """Raise what stands for the driver's error."""
    raise ArithmeticError(f"status {status}")


def not_a_number(value: object, dtype: np.dtype) -> None:
    """Accept NumPy's numbers, as CuPy does."""
    if not isinstance(value, np.generic):
        raise TypeError(f"Unsupported type {type(value)}")
