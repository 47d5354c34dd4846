"""Work that a program hands to CUDA itself: launches of its `RawKernel`s, and waits for streams and devices.

A launch says nothing of what it reads and writes: its text may follow addresses that it was given earlier. Laws:
1. What stands before a launch or a wait in the graph is done before it, and what stands behind it later. 2. A launch
writes all arrays that are there but those that the graph made and never gave away. 3. A launch cannot be taken back, so
it counts as a visible write; to wait once more changes nothing.
"""

from __future__ import annotations

from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import GeneratorType
from ufuse.graph.typing.device_draws import RANDOM

LAUNCH = "cupy.launch."  # what the names of launches begin with; that of a kernel follows
WAIT = "cupy.cuda.Stream.synchronize"
STREAM = "cupy.Stream"  # what the first input of a wait for a stream is
WAIT_FOR_DEVICE = "cupy.cuda.Device.synchronize"  # of a number, or of the current one
WAIT_FOR_ALL = "cupy.cuda.runtime.deviceSynchronize"
WAIT_FOR_EVENT = "cupy.cuda.Event.synchronize"
WAITS = (WAIT, WAIT_FOR_DEVICE, WAIT_FOR_ALL, WAIT_FOR_EVENT)


def is_fence(node: Node) -> bool:
    """Whether nothing may change places with a node."""
    return node.op is ops.CALL and str(node.attributes["function"]).startswith((LAUNCH, *WAITS))


def is_final(node: Node) -> bool:
    """Whether what a node does cannot be taken back, though it need not write an array: it draws or launches."""
    if node.op is not ops.CALL:
        return False
    name = str(node.attributes["function"])
    return name.startswith(LAUNCH) or (name.startswith(RANDOM) and not _is_of_made(node))


def _is_of_made(node: Node) -> bool:
    """Whether a node draws from a generator that the graph makes: a run that gives up drops it."""
    maker = node.inputs[0] if node.inputs else None
    return maker is not None and maker.op is ops.CALL and isinstance(maker.type, GeneratorType)
