"""Random numbers from NumPy's generators: the functions that its C API for distributions has. Python's have our own.

Source: NumPy's `numpy/random/distributions.h` and `numpy/random/bitgen.h`, documented as "C API for random".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from ufuse.backends.numpy.llvm.symbols import KINDS, checked
from ufuse.backends.numpy.nest_code.body import TYPES, Body
from ufuse.backends.numpy.nest_code.maps import lose_patience, place_of
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import DRAWS
from ufuse.graph.semantics.nest_generators import bit_generator_of

SYMBOLS = {
    "random": "random_standard_uniform",
    "standard_normal": "random_standard_normal",
    "standard_exponential": "random_standard_exponential",
    "normal": "random_normal",
    "uniform": "random_uniform",
    "exponential": "random_exponential",
    "integers": "random_bounded_uint64_fill",
    "masked_integers": "random_bounded_uint64_fill",
    "interval": "random_interval",
}
# What `bitgen_t` holds: its state, and the function that gives the next double.
NEXT_DOUBLE = 24
WHOLE = {"integers": 0, "masked_integers": 1}  # whether bits beyond the greatest are masked
COMPARED = 64  # numbers


def emit_draw(body: Body, one: Instruction) -> str:
    """Append a random number."""
    name, slot = one.attributes
    generator = f"%generator{[each.name for each in body.nest.generators].index(slot)}"
    for value in one.inputs:
        body.settle(value)
    operands = [body.operand(value) for value in one.inputs]
    if name == "random":
        at = body.add_new(f"getelementptr i8, ptr {generator}, i64 {NEXT_DOUBLE}")
        function = body.add_new(f"load ptr, ptr {at}, !invariant.load !2")
        state = body.add_new(f"load ptr, ptr {generator}, !invariant.load !2")
        return body.add_new(f"call double {function}(ptr {state}) #1")
    function = _function(body, name)
    if name not in WHOLE:
        types, result = DRAWS[name]
        typed = (f"{TYPES[type_]} {each}" for type_, each in zip(types, operands, strict=True))
        given = ", ".join([f"ptr {generator}", *typed])
        return body.add_new(f"call {TYPES[result]} {function}({given}) #1")
    least, most = operands
    more = body.add_new(f"sub i64 {most}, {least}")
    given = f"ptr {generator}, i64 {least}, i64 {more}, i64 1, i8 {WHOLE[name]}, ptr %drawn"
    body.lines.append(f"call void {function}({given}) #1")
    return body.add_new("load i64, ptr %drawn")


def _function(body: Body, name: str) -> str:
    """What draws; C has compared our own functions when the nest's generators were found."""
    return body.symbol(checked(f"draw.{name}" if name in SYMBOLS else f"helper.{name}"))


def emit_draws(body: Body, one: Instruction) -> str:
    """Append random numbers for all elements of a temporary, in the order of memory."""
    name, slot, view = one.attributes
    generator = f"%generator{[each.name for each in body.nest.generators].index(slot)}"
    count = len(DRAWS[name][0])
    for value in one.inputs[:count]:
        body.settle(value)
    operands = [body.operand(value) for value in one.inputs[:count]]
    lengths = [body.operand(value) for value in one.inputs[count : count + len(view.axes)]]
    elements = lengths[0]
    for length in lengths[1:]:
        elements = body.add(f"mul i64 {elements}, {length}")
    data, _ = place_of(body, view, one.inputs[count + len(lengths) :])
    function = _function(body, name)
    if name in WHOLE:
        least, most = operands
        more = body.add_new(f"sub i64 {most}, {least}")
        given = f"ptr {generator}, i64 {least}, i64 {more}, i64 {elements}, i8 {WHOLE[name]}, ptr {data}"
        body.lines.append(f"call void {function}({given}) #1")
    else:
        first, second = [*operands, "0.0", "0.0"][:2]
        given = f"ptr {function}, ptr {generator}, i64 {count}, double {first}, double {second}"
        given += f", ptr {data}, i64 {elements}"
        body.lines.append(f"call void {body.symbol('helper.draws')}({given}) #1")
    body.known.forget(one)
    lose_patience(body, lengths)
    return ""


@lru_cache(maxsize=64)
def _address(name: str) -> int:
    """Where the function lies.

    Raises:
        LookupError: there is none, or it gives other numbers than the generator's method.

    """
    try:
        function = getattr(_library(), SYMBOLS[name])
    except AttributeError:
        raise LookupError(f"NumPy has no {SYMBOLS[name]}") from None
    found = ctypes.cast(function, ctypes.c_void_p).value
    if found is None or not _agrees(name, function):
        raise LookupError(f"NumPy's {SYMBOLS[name]} is not what its generators use")
    return found


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(import_module("numpy.random._generator").__file__)


def _agrees(name: str, function: Callable[..., float]) -> bool:
    """Whether a function gives what the method does."""
    is_legacy = name in ("masked_integers", "interval")
    kind = np.random.RandomState if is_legacy else np.random.Generator
    one, other = (kind(np.random.MT19937(1)) for _ in range(2))
    found = [_drawn(name, function, one) for _ in range(COMPARED)]
    inputs = EXAMPLES[name]
    if name == "interval":
        inputs = 0, inputs[0] + 1
    method = getattr(other, "randint" if is_legacy else name)
    return found == [method(*inputs) for _ in range(COMPARED)]


KINDS["draw"] = _address

EXAMPLES: dict[str, tuple[float, ...]] = {
    "random": (),
    "standard_normal": (),
    "standard_exponential": (),
    "normal": (0.5, 3.0),
    "uniform": (-1.0, 0.5),
    "exponential": (2.5,),
    "integers": (-3, 1000),
    "masked_integers": (-3, 1000),
    "interval": (1000,),
}


def _drawn(name: str, function: Callable[..., float], generator: Any) -> float:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    bits = ctypes.c_void_p(pointer(bit_generator_of(generator).capsule, b"BitGenerator"))
    inputs = EXAMPLES[name]
    if name in WHOLE:
        least, beyond = map(int, inputs)
        number = ctypes.c_int64()
        function.restype = None  # type: ignore[attr-defined]
        function(
            bits, ctypes.c_uint64(least % 2**64), ctypes.c_uint64(beyond - 1 - least), ctypes.c_ssize_t(1),
            ctypes.c_bool(bool(WHOLE[name])), ctypes.byref(number),
        )  # fmt: skip
        return number.value
    if name == "uniform":
        low, high = inputs
        inputs = low, high - low
    if name == "interval":
        function.restype = ctypes.c_uint64  # type: ignore[attr-defined]
        return function(bits, *map(ctypes.c_uint64, map(int, inputs)))
    function.restype = ctypes.c_double  # type: ignore[attr-defined]
    return function(bits, *map(ctypes.c_double, inputs))
