"""Streams, events and other objects of CuPy's that a graph uses: switches of the current stream, events, what is made.

Ranges of a profiler keep their places, too.

Laws: 1. What stands before one of them in the graph is handed to the device before it, and what stands behind it
later. 2. Nothing that is computed for one stream is computed again, or used again, for another one. 3. They can be
taken back: a graph that gives up has the stream current that was current before it.
"""

from __future__ import annotations

from typing import Any

from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import GeneratorType, NothingType, NumberType, Type
from ufuse.graph.typing.device_draws import BIT_GENERATORS, GENERATOR, STATE
from ufuse.graph.typing.device_launches import STREAM

EVENT, POOL, DEVICE = (
    "cupy.Event",
    "cupy.MemoryPool",
    "cupy.Device",
)  # what inputs are, beside streams
ENTER = "cupy.cuda.Stream.__enter__"
LEAVE = "cupy.cuda.Stream.__exit__"
USE = "cupy.cuda.Stream.use"
SWITCHES = (ENTER, LEAVE, USE)
RECORD = "cupy.cuda.Event.record"  # of an event, perhaps on a stream
AWAIT_EVENT = "cupy.cuda.Stream.wait_event"
FREE = "cupy.cuda.MemoryPool.free_all_blocks"
RANGES = "cupy.cuda.nvtx."  # what names of those begin with that a profiler shows
PUSHES = (RANGES + "RangePush", RANGES + "RangePushC")  # begin a range, by name
POP = RANGES + "RangePop"  # ends the innermost one
POINTS = (RANGES + "Mark", RANGES + "MarkC")  # a moment with a name
MARKS = (RECORD, AWAIT_EVENT, FREE, *PUSHES, POP, *POINTS)
ELAPSED = "cupy.cuda.get_elapsed_time"
ON_DEVICE = "cupy.cuda.on_device"  # fails where the current device is not of this number
IS_DEVICE = "cupy.cuda.is_device"  # fails where a device is not of this number
ON_STREAM = "cupy.cuda.on_stream"  # fails where the current stream is not this object
MADE_ANEW = "cupy.Kernel"  # what an input is of which an equal kernel is kept
IS_LIKE = "cupy.is_kernel_like"  # fails where a kernel is no longer like that of a name
BITS = "cupy.BitGenerator"  # what a Generator draws from
OBJECT = "cupy.object"  # any object that is compared
IS_REMEMBERED = "cupy.is_remembered"  # fails where a function that remembers gives another object
CHECKS = (ON_DEVICE, IS_DEVICE, ON_STREAM, IS_LIKE, IS_REMEMBERED)
KINDS = (EVENT, POOL, DEVICE, MADE_ANEW, OBJECT, BITS)  # of inputs, beside streams and generators
MAKING = "cupy.made."  # what the names of calls begin with that make an object
# The objects that such calls make, by what is called.
MADE = {
    "cuda.Stream": STREAM,
    "cuda.Event": EVENT,
    "random.default_rng": GENERATOR,
    "random.RandomState": STATE,
    "random.Generator": GENERATOR,
    **{f"random.{name}": BITS for name in BIT_GENERATORS},
}


def _is_call(node: Node) -> bool:
    return node.op is ops.CALL


def is_switch(node: Node) -> bool:
    """Whether a node changes the current stream."""
    return _is_call(node) and node.attributes["function"] in SWITCHES


def is_mark(node: Node) -> bool:
    """Whether nothing may change places with a node: it is about a stream, or about all memory."""
    return _is_call(node) and node.attributes["function"] in (*SWITCHES, *MARKS)


def makes_object(node: Node) -> bool:
    """Whether a node makes an object of CuPy's."""
    return _is_call(node) and str(node.attributes["function"]).startswith(MAKING)


def is_about_streams(node: Node) -> bool:
    """Whether a node is one of these."""
    if not _is_call(node):
        return False
    name = node.attributes["function"]
    return is_mark(node) or name in CHECKS or name == ELAPSED or makes_object(node)


def type_of(name: str) -> Type | None:
    """What such a call gives; None: it is another one."""
    if name.startswith(MAKING):
        return GeneratorType(MADE[name.removeprefix(MAKING)])
    if name == ELAPSED:
        return NumberType("float")
    return NothingType() if name in (*SWITCHES, *MARKS, *CHECKS) else None


def kind_of(class_: Any, module: Any) -> str | None:
    """What instances of a class are as inputs of a graph."""
    cuda, random = module.cuda, module.random
    return {
        cuda.Stream: STREAM,
        cuda.ExternalStream: STREAM,
        cuda.Event: EVENT,
        cuda.MemoryPool: POOL,
        cuda.PinnedMemoryPool: POOL,
        random.Generator: GENERATOR,
        random.RandomState: STATE,
        **{getattr(random, name): BITS for name in BIT_GENERATORS},
    }.get(class_)
