"""What machine code of nests names in this process: C's helpers, NumPy's loops, functions of libraries.

In the text each is a symbol that means the same in every process, so that code can be kept. Its address is looked up
where the code is loaded. LLVM knows no function of such a name, and takes nothing for granted of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.loops import OF_MATRICES, loop_object
from ufuse.backends.planning.loops import Loop, cast_loop, copy_loop
from ufuse.graph import ops
from ufuse.graph.nest import numpy_function

PREFIX = "ufuse."
ROW = "row."  # of an array statement: machine code of ours


def loop_symbol(loop: Loop) -> str:
    """The inner loop that C runs, an object of `_tiles`.

    Raises:
        LookupError: NumPy has no such function.

    """
    name = f"loop.{loop.kind}.{loop.name}.{''.join(dtype.char for dtype in loop.dtypes)}"
    if _kept_loop(loop) is not _loop_named(name.partition(".")[2]):
        raise LookupError(f"{loop.name} is not NumPy's own")
    return name


@cache  # for ever: machine code holds their addresses
def _kept_loop(loop: Loop) -> Any:
    return loop_object(loop)


@cache
def _loop_named(name: str) -> Any:
    kind, function, chars = name.split(".")
    dtypes = tuple(map(np.dtype, chars))
    if kind == "cast":
        return _kept_loop(cast_loop(*dtypes))
    if kind == "copy":
        return _kept_loop(copy_loop(dtypes[-1]))
    if kind == "where":
        return _kept_loop(Loop("where", "where", dtypes))
    ufunc = OF_MATRICES.get(function) or ops.UFUNCS[function].ufunc
    return _kept_loop(Loop("ufunc", function, dtypes, ufunc))


@lru_cache(maxsize=256)
def _scalar_loop(name: str, dtype: type[np.floating[Any]]) -> object:
    """The loop for one real. Kept for as long as the process lives: machine code has its address."""
    ufunc = numpy_function(name)
    return _tiles.numpy_loop(ufunc, (np.dtype(dtype),) * (ufunc.nin + ufunc.nout))


def _helper(name: str) -> int:
    return _helpers()[name]


@cache
def _helpers() -> dict[str, int]:
    return _tiles.nest_helpers()


def library_function(name: str) -> int:
    """The address of a function of C's libraries, the one that Python calls where several libraries have it.

    Raises:
        LookupError: there is none.

    """
    for library in (None, "libm.so.6"):  # what was loaded in front of it comes first
        try:
            found = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        if found is not None:
            return found
    raise LookupError(f"the mathematics library has no {name}")


# By the first part of a symbol's name: what gives the address.
KINDS: dict[str, Callable[[str], int]] = {
    "helper": _helper,
    "loop": lambda name: id(_loop_named(name)),
    "math": lru_cache(maxsize=256)(library_function),
    "scalar": lambda name: id(_scalar_loop(name, np.float64)),
    "single": lambda name: id(_scalar_loop(name, np.float32)),
}


def checked(name: str) -> str:
    """The name of a symbol that there is.

    Raises:
        LookupError: there is none.

    """
    address_of(PREFIX + name)
    return name


def address_of(symbol: str) -> int:
    """The address of what code names.

    Raises:
        LookupError: there is nothing of this name.

    """
    if not symbol.startswith(PREFIX):  # LLVM's own calls: memset, fmod
        return library_function(symbol)
    kind, _, name = symbol.removeprefix(PREFIX).partition(".")
    return KINDS[kind](name)
