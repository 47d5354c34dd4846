"""Graphs of kernels that are built node by node: what C code asks of the CUDA driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.cupy_host.device import INVALID_VALUE

SUCCESS, UNKNOWN = 0, 999
POINTERS = ctypes.POINTER(ctypes.c_void_p)


class NodeParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS, as CUDA 10 and later have it."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("arguments", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Node:
    """A kernel with copies of its arguments, behind other nodes."""

    function: int
    sizes: tuple[int, ...]
    shared: int
    arguments: Any
    behind: tuple[int, ...]


@dataclass
class Graphs:
    """The driver's functions as methods; each gives a status.

    Attributes:
        driver: what runs kernels.
        refusing: names of functions that fail.

    """

    driver: Any
    graphs: dict[int, dict[int, Node]] = field(default_factory=dict)
    executables: dict[int, dict[int, Node]] = field(default_factory=dict)
    refusing: set[str] = field(default_factory=set)
    entries: dict[str, Any] = field(default_factory=dict)
    order: Any = field(default_factory=lambda: np.random.default_rng(5))

    def addresses(self) -> dict[str, int]:
        """C functions by the driver's names."""
        number, pointer, size = ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t
        parameters = ctypes.POINTER(NodeParameters)
        functions: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
            "cuGraphCreate": (self.create, (POINTERS, number)),
            "cuGraphAddKernelNode": (self.add, (POINTERS, pointer, POINTERS, size, parameters)),
            "cuGraphInstantiateWithFlags": (
                self.instantiate,
                (POINTERS, pointer, ctypes.c_ulonglong),
            ),
            "cuGraphExecKernelNodeSetParams": (self.set, (pointer, pointer, parameters)),
            "cuGraphLaunch": (self.launch, (pointer, pointer)),
            "cuStreamIsCapturing": (self.is_capturing, (pointer, ctypes.POINTER(ctypes.c_int))),
            "cuGraphExecDestroy": (self.destroy_executable, (pointer,)),
            "cuGraphDestroy": (self.destroy, (pointer,)),
        }
        for name, (function, types) in functions.items():
            if name not in self.entries:
                kind = ctypes.PYFUNCTYPE(ctypes.c_int, *types)
                self.entries[name] = kind(self._status_of(name, function))
        return {
            name: ctypes.cast(entry, ctypes.c_void_p).value or 0
            for name, entry in self.entries.items()
        }

    def _status_of(self, name: str, function: Callable[..., None]) -> Callable[..., int]:
        def called(*given: Any) -> int:
            self.driver.device.counts[name] += 1
            if name in self.refusing:
                return UNKNOWN
            try:
                function(*given)
            except (KeyError, ValueError):
                return INVALID_VALUE
            except Exception as error:  # noqa: BLE001 - C gets a number
                self.driver.error = error
                return UNKNOWN
            return SUCCESS

        return called

    def create(self, out: Any, flags: int) -> None:
        """An empty graph."""
        out[0] = number = next(self.driver.tokens)
        self.graphs[number] = {}

    def add(self, out: Any, graph: int, behind: Any, count: int, parameters: Any) -> None:
        """One node more."""
        nodes = self.graphs[graph]
        node = self._node(parameters.contents, tuple(behind[i] for i in range(count)))
        if not set(node.behind) <= set(nodes):
            raise ValueError("a node behind none of this graph's")
        out[0] = number = next(self.driver.tokens)
        nodes[number] = node

    def _node(self, given: NodeParameters, behind: tuple[int, ...]) -> Node:
        sizes = (*given.grid, *given.block)
        kept = self.driver.kept_arguments(given.function, given.arguments)
        return Node(given.function, sizes, given.shared, kept, behind)

    def instantiate(self, out: Any, graph: int, flags: int) -> None:
        """What is launched: the nodes as they are now."""
        out[0] = number = next(self.driver.tokens)
        self.executables[number] = dict(self.graphs[graph])

    def set(self, executable: int, node: int, parameters: Any) -> None:
        """Give a node of an executable other arguments; the function stays."""
        nodes = self.executables[executable]
        made = self._node(parameters.contents, nodes[node].behind)
        if made.function != nodes[node].function:
            raise ValueError("another function")
        nodes[node] = made

    def launch(self, executable: int, stream: int | None) -> None:
        """Run the nodes in any order in which none is before what it is behind."""
        nodes, done = dict(self.executables[executable]), set[int]()
        while nodes:
            ready = [number for number, node in nodes.items() if done.issuperset(node.behind)]
            number = ready[self.order.integers(len(ready))]
            node = nodes.pop(number)
            done.add(number)
            self.driver.start(node.function, node.sizes, node.shared, stream or 0, node.arguments)

    def is_capturing(self, stream: int | None, out: Any) -> None:
        """Whether the stream's work is kept for a graph of the user's."""
        out[0] = int(self.driver.device.stream(stream or 0).captured is not None)

    def destroy_executable(self, executable: int) -> None:
        """Forget it."""
        del self.executables[executable]

    def destroy(self, graph: int) -> None:
        """Forget a graph."""
        del self.graphs[graph]
