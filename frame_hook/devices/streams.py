"""Streams and events of CuPy's on symbols: which stream is current, waits, and objects that the function makes itself.

Law: what such a call does can be taken back (`graph/typing/device_streams.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.devices.calls import argument
from ufuse.frame_hook.devices.rules import function
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import described, is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.node import Node
from ufuse.graph.typing.device_launches import STREAM, WAIT, WAIT_FOR_EVENT
from ufuse.graph.typing.device_streams import (
    AWAIT_EVENT,
    ELAPSED,
    ENTER,
    EVENT,
    FREE,
    LEAVE,
    MAKING,
    ON_STREAM,
    POINTS,
    POOL,
    POP,
    PUSHES,
    RECORD,
    USE,
    kind_of,
)
from ufuse.graph.typing.library import CUDA, cupy

Given = Mapping[str, Symbol]
COLOURS = (range(-1, 2**31), range(2**32))  # by number, and as they are
FLAGS = "null non_blocking ptds block disable_timing interprocess".split()


def object_node(trace: Trace, symbol: Symbol, kind: str, what: str) -> Node:
    """A stream, an event or another object as an input of a call; what the graph has made is a node already."""
    read = trace.look(symbol)
    if not isinstance(read, Instance) or kind_of(read.kind, cupy().module) != kind:
        raise GraphBreak("call", f"{what} of {described(read)}")
    if read.node is not None:
        return read.node
    assert read.source is not None
    return trace.graph.generator(kind, read.source)


def _about(trace: Trace, name: str, *inputs: Node, may_raise: bool = False) -> Node:
    """A call of objects, in its place."""
    if trace.graph.in_side:
        raise GraphBreak("call", f"{name} on one side of a branch")
    call = {"function": name, "arguments": tuple(range(len(inputs))), "keywords": ()}
    return trace.graph.about_streams(inputs, call | {"device": CUDA}, may_raise=may_raise)


def _wait(trace: Trace, name: str, node: Node) -> Symbol:
    """Wait for a stream or an event, once, as in eager CuPy."""
    if trace.graph.in_side:
        raise GraphBreak("call", f"{name} on one side of a branch")
    call = {"function": name, "arguments": (0,), "keywords": (), "device": CUDA}
    trace.graph.about_streams((node,), call)
    trace.graph.waits = True
    return Constant(None)


@function("cuda.Stream.synchronize")
def _synchronize(interpreter: Interpreter, /, stream: Symbol) -> Symbol:
    trace = interpreter.trace
    return _wait(trace, WAIT, object_node(trace, stream, STREAM, "Stream.synchronize"))


@function("cuda.Event.synchronize")
def _wait_for_event(interpreter: Interpreter, /, event: Symbol) -> Symbol:
    trace = interpreter.trace
    return _wait(trace, WAIT_FOR_EVENT, object_node(trace, event, EVENT, "Event.synchronize"))


# The current stream


@function("cuda.Stream.__enter__")
def _enter(interpreter: Interpreter, /, stream: Symbol) -> Symbol:
    trace = interpreter.trace
    _about(trace, ENTER, object_node(trace, stream, STREAM, "Stream.__enter__"))
    trace.graph.stream = trace.look(stream)
    trace.graph.streams_entered.append(trace.graph.stream)
    return trace.graph.stream


@function("cuda.Stream.__exit__")
def _leave(interpreter: Interpreter, /, stream: Symbol, *raised: Symbol) -> Symbol:
    """Go back to the stream that was entered before, whatever was in use; behind the last one it is not known."""
    trace, entered = interpreter.trace, interpreter.trace.graph.streams_entered
    node = object_node(trace, stream, STREAM, "Stream.__exit__")
    # One that was entered before the graph must be current, so that it can be entered again.
    _about(trace, LEAVE, node, may_raise=not entered)
    del entered[-1:]
    trace.graph.stream = entered[-1] if entered else None
    return Constant(None)


@function("cuda.Stream.use")
def _use(interpreter: Interpreter, /, stream: Symbol) -> Symbol:
    trace = interpreter.trace
    _about(trace, USE, object_node(trace, stream, STREAM, "Stream.use"))
    trace.graph.stream = trace.look(stream)
    return trace.graph.stream


@function("cuda.get_current_stream")
def _current(interpreter: Interpreter, /, device_id: Symbol | None = None) -> Symbol:
    """The stream that the graph has made current, or the one that is current at each run."""
    trace = interpreter.trace
    if device_id is not None:
        raise GraphBreak("call", "cupy.cuda.get_current_stream of a device")
    if trace.graph.stream is None:
        if trace.graph.switches:
            raise GraphBreak("call", "cupy.cuda.get_current_stream behind a stream of the graph's")
        found = trace.look(trace.reader.object(cupy().module.cuda.get_current_stream()))
        _about(
            trace,
            ON_STREAM,
            object_node(trace, found, STREAM, "cupy.cuda.get_current_stream"),
            may_raise=True,
        )
        trace.graph.stream = found
    return trace.graph.stream


# Events, memory


@function("cuda.Event.record")
def _record(interpreter: Interpreter, /, event: Symbol, stream: Symbol | None = None) -> Symbol:
    trace = interpreter.trace
    inputs = [object_node(trace, event, EVENT, "Event.record")]
    if stream is not None and not is_none(trace.look(stream)):
        inputs.append(object_node(trace, stream, STREAM, "Event.record"))
    _about(trace, RECORD, *inputs)
    return Constant(None)


@function("cuda.Stream.record")
def _record_on(interpreter: Interpreter, /, stream: Symbol, event: Symbol | None = None) -> Symbol:
    """Record an event, or a new one."""
    trace = interpreter.trace
    on = object_node(trace, stream, STREAM, "Stream.record")
    if event is None or is_none(trace.look(event)):
        event = make(interpreter, cupy().module.cuda.Event, (), {})
    _about(trace, RECORD, object_node(trace, event, EVENT, "Stream.record"), on)
    return event


@function("cuda.Stream.wait_event")
def _await(interpreter: Interpreter, /, stream: Symbol, event: Symbol) -> Symbol:
    trace, what = interpreter.trace, "Stream.wait_event"
    nodes = object_node(trace, stream, STREAM, what), object_node(trace, event, EVENT, what)
    _about(trace, AWAIT_EVENT, *nodes)
    return Constant(None)


@function("cuda.get_elapsed_time")
def _elapsed(interpreter: Interpreter, /, start_event: Symbol, end_event: Symbol) -> Symbol:
    """Milliseconds between two events: another number in each call."""
    trace, what = interpreter.trace, "cupy.cuda.get_elapsed_time"
    nodes = object_node(trace, start_event, EVENT, what), object_node(trace, end_event, EVENT, what)
    return trace.graph.fresh(_about(trace, ELAPSED, *nodes))


@function("cuda.MemoryPool.free_all_blocks", "cuda.PinnedMemoryPool.free_all_blocks")
def _free(interpreter: Interpreter, /, pool: Symbol, stream: Symbol | None = None) -> Symbol:
    trace, what = interpreter.trace, "MemoryPool.free_all_blocks"
    if stream is not None and not is_none(trace.look(stream)):
        raise GraphBreak("call", f"{what} of a stream")
    _about(trace, FREE, object_node(trace, pool, POOL, what))
    return Constant(None)


# Ranges of a profiler


def _named(trace: Trace, name: str, message: Symbol, colour: Symbol | None) -> Symbol:
    """A range that begins, or a moment, in its place; with a name that is known, in a colour that there is."""
    text = arrays.plain(trace, message)
    given = [("const", text)]
    if colour is not None:
        number = arrays.plain(trace, colour)
        is_one = type(number) is int and number in COLOURS[name.endswith("C")]
        given.append(("const", number if is_one else None))
    if type(text) is not str or not text.isascii() or given[-1] == ("const", None):
        raise GraphBreak("call", f"{name} of such arguments")
    if trace.graph.in_side:
        raise GraphBreak("call", f"{name} on one side of a branch")
    call = {"function": name, "arguments": tuple(given), "keywords": (), "device": CUDA}
    trace.graph.about_streams((), call)
    trace.graph.ranges += name in PUSHES
    return Constant(None)


def _rule_of_indexed(name: str) -> Any:
    def rule(
        interpreter: Interpreter, /, message: Symbol, id_color: Symbol | None = None
    ) -> Symbol:
        return _named(interpreter.trace, name, message, id_color)

    return rule


def _rule_of_coloured(name: str) -> Any:
    def rule(interpreter: Interpreter, /, message: Symbol, color: Symbol | None = None) -> Symbol:
        return _named(interpreter.trace, name, message, color)

    return rule


for _name in (*PUSHES, *POINTS):
    _made = _rule_of_coloured if _name.endswith("C") else _rule_of_indexed
    function(_name.removeprefix("cupy."))(_made(_name))


@function(POP.removeprefix("cupy."))
def _end_range(interpreter: Interpreter, /) -> Symbol:
    """End a range that the graph has begun: the end of another one could not be taken back."""
    graph = interpreter.trace.graph
    if not graph.ranges:
        raise GraphBreak("call", "nvtx.RangePop of a range that was begun before")
    _about(interpreter.trace, POP)
    graph.ranges -= 1
    return Constant(None)


# Objects that the function makes


def make(
    interpreter: Interpreter, kind: type, arguments: Sequence[Symbol], keywords: Given
) -> Instance:
    """A new stream or event, by CuPy's own call in each run."""
    trace, what = interpreter.trace, f"making a {kind.__name__}"
    for one in (*arguments, *keywords.values()):
        if type(arrays.plain(trace, one)) not in (bool, type(None)):
            raise GraphBreak("call", f"{what} of such arguments")
    if len(arguments) > len(FLAGS) // 2 or set(keywords) - set(FLAGS):
        raise GraphBreak("call", f"{what} of such arguments")
    return made(trace, f"cuda.{kind.__name__}", kind, arguments, keywords)


def made(
    trace: Trace, name: str, kind: type, arguments: Sequence[Symbol], keywords: Given
) -> Instance:
    """What a call makes that each run makes anew."""
    if trace.graph.in_side:
        raise GraphBreak("call", f"making a {kind.__name__} on one side of a branch")
    inputs: list[Node] = []
    given = tuple(argument(trace, one, inputs) for one in arguments)
    named: tuple[Any, ...] = tuple(
        (key, argument(trace, one, inputs)) for key, one in keywords.items()
    )
    call = {"function": MAKING + name, "arguments": given, "keywords": named, "device": CUDA}
    node = trace.graph.about_streams(tuple(inputs), call)
    return Instance(kind, node=node)
