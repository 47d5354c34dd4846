"""CUDA devices on symbols: `Device(0)`, `x.device`, `with` one, and the number of the current one.

A graph runs on the device that is current, which is compared where a program asks for it. Law: to enter a device that
is current already changes nothing but CuPy's list of devices to go back to, behind the graph.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.devices.rules import function
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Dict, Instance, Source, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.typing.device_launches import WAIT_FOR_ALL, WAIT_FOR_DEVICE
from ufuse.graph.typing.device_streams import DEVICE, IS_DEVICE, ON_DEVICE
from ufuse.graph.typing.library import CUDA, cupy, is_made_by_call

UNEQUAL = (bool, int, float, str, type(None))  # to every device


def make(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    """A device by its number, or the current one."""
    trace = interpreter.trace
    given = [*map(trace.look, (*arguments, *keywords.values()))]
    if len(given) > 1 or set(keywords) - {"device"}:
        raise GraphBreak("call", "cupy.cuda.Device of such arguments")
    if not given or (isinstance(given[0], Constant) and given[0].value is None):
        return device_of(current(trace))
    if isinstance(given[0], Instance) and given[0].kind is cupy().module.cuda.Device:
        return device_of(number_of(trace, given[0]))
    number = arrays.plain(trace, given[0])
    if type(number) is not int or not 0 <= number < cupy().module.cuda.runtime.getDeviceCount():
        raise GraphBreak("call", "cupy.cuda.Device of such a number")
    return device_of(number)


def device_of(number: int) -> Instance:
    """A new object for the device of a number."""
    content = Tuple((Tuple((Constant(number),)), Dict({})))
    return Instance(cupy().module.cuda.Device, content=content)


def current(trace: Trace) -> int:
    """The number of the current device; each run compares it."""
    graph, number = trace.graph, int(cupy().module.cuda.runtime.getDevice())
    if graph.device_number != number:
        if graph.in_side:
            raise GraphBreak("call", "the current device on one side of a branch")
        call = {"function": ON_DEVICE, "arguments": (("const", number),), "keywords": ()}
        graph.about_streams((), call | {"device": CUDA}, may_raise=True)
        graph.device_number = number
    return number


def number_of(trace: Trace, device: Instance) -> int:
    """The number of a device."""
    if device.source is not None:
        return _of_the_frame(trace, device.source, int(device.value.id))
    assert isinstance(device.content, Tuple)
    given = device.content.items[0]
    assert isinstance(given, Tuple)
    number = arrays.plain(trace, given.items[0])
    assert type(number) is int
    return number


def is_device(symbol: Symbol) -> TypeGuard[Instance]:
    """Whether this is a device, of exactly CuPy's class."""
    return (
        isinstance(symbol, Instance)
        and symbol.kind.__name__ == "Device"
        and is_made_by_call(symbol.kind)
    )


def compared(trace: Trace, name: str, left: Symbol, right: Symbol) -> Constant | None:
    """Devices compare as their numbers do, and are equal to nothing else; None: not of what is compared here."""
    if is_device(left) and is_device(right):
        return Constant(getattr(operator, name)(number_of(trace, left), number_of(trace, right)))
    others = (one for one in (left, right) if not is_device(one))
    if name in ("eq", "ne") and all(
        isinstance(one, Constant) and type(one.value) in UNEQUAL for one in others
    ):
        return Constant(name == "ne")
    return None


def _of_the_frame(trace: Trace, source: Source, number: int) -> int:
    """The number of an object of the frame, which each run compares, as programs may change it."""
    graph = trace.graph
    if graph.device_numbers.get(source.register) != number:
        if graph.in_side:
            raise GraphBreak("call", "a device's number on one side of a branch")
        given = (("const", number), 0)
        call = {"function": IS_DEVICE, "arguments": given, "keywords": (), "device": CUDA}
        graph.about_streams((graph.generator(DEVICE, source),), call, may_raise=True)
        graph.device_numbers[source.register] = number
    return number


def _read(interpreter: Interpreter, symbol: Symbol, what: str) -> Instance:
    read = interpreter.trace.look(symbol)
    if not isinstance(read, Instance) or read.kind is not cupy().module.cuda.Device:
        raise GraphBreak("call", f"Device.{what} of {described(read)}")
    return read


def _current_one(interpreter: Interpreter, device: Symbol, what: str) -> Instance:
    """A device that is current already."""
    read = _read(interpreter, device, what)
    if interpreter.trace.graph.in_side:
        raise GraphBreak("call", f"Device.{what} on one side of a branch")
    if number_of(interpreter.trace, read) != current(interpreter.trace):
        raise GraphBreak("call", f"Device.{what} of another device than the current one")
    return read


@function("cuda.Device.__enter__")
def _enter(interpreter: Interpreter, /, device: Symbol) -> Symbol:
    trace = interpreter.trace
    read = _current_one(interpreter, device, "__enter__")
    trace.changes.effect("call", read, what=cupy().module.cuda.Device.__enter__)
    trace.graph.devices_entered.append(trace.changes.effects[-1])
    return read


@function("cuda.Device.__exit__")
def _leave(interpreter: Interpreter, /, device: Symbol, *raised: Symbol) -> Symbol:
    """Go back to the device before, which is the same one; one that was entered before the graph is plain Python's."""
    trace = interpreter.trace
    read = _read(interpreter, device, "__exit__")
    entered = trace.graph.devices_entered
    if not entered or trace.graph.in_side:
        raise GraphBreak("call", "Device.__exit__ of a device that was entered before")
    effects = trace.changes.effects
    if effects[-1] is entered.pop():
        effects.pop()  # and nobody knows
        return Constant(None)
    leave = cupy().module.cuda.Device.__exit__
    trace.changes.effect("call", read, *raised, what=leave)
    return Constant(None)


@function("cuda.Device.use")
def _use(interpreter: Interpreter, /, device: Symbol) -> Symbol:
    return _current_one(interpreter, device, "use")


@function("cuda.runtime.getDevice", "cuda.get_device_id")
def _get_device(interpreter: Interpreter, /) -> Symbol:
    return Constant(current(interpreter.trace))


@function("cuda.runtime.setDevice")
def _set_device(interpreter: Interpreter, /, device: Symbol) -> Symbol:
    """To set the current device changes nothing."""
    trace = interpreter.trace
    if trace.graph.in_side or arrays.plain(trace, device) != current(trace):
        raise GraphBreak(
            "call", "cupy.cuda.runtime.setDevice of another device than the current one"
        )
    return Constant(None)


@function("cuda.Device.synchronize")
def _synchronize(interpreter: Interpreter, /, device: Symbol) -> Symbol:
    """Wait for all that a device has to do, once, as in eager CuPy."""
    read = _read(interpreter, device, "synchronize")
    return _wait(interpreter, WAIT_FOR_DEVICE, number_of(interpreter.trace, read))


@function("cuda.runtime.deviceSynchronize")
def _synchronize_all(interpreter: Interpreter, /) -> Symbol:
    """Wait for all that the current device has to do."""
    return _wait(interpreter, WAIT_FOR_ALL)


def _wait(interpreter: Interpreter, name: str, *numbers: int) -> Symbol:
    """A wait in its place."""
    graph = interpreter.trace.graph
    if graph.in_side:
        raise GraphBreak("call", "waiting for a device on one side of a branch")
    given = tuple(("const", one) for one in numbers)
    graph.about_streams((), {"function": name, "arguments": given, "keywords": (), "device": CUDA})
    graph.waits = True
    return Constant(None)
