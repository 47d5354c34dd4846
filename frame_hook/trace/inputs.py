"""Arrays of the frame: what a graph input has been guarded to be, and that what is written shares no memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ufuse.frame_hook.trace.device_arrays import why_not_read
from ufuse.frame_hook.trace.draft import Draft
from ufuse.frame_hook.trace.followed import is_followed
from ufuse.frame_hook.trace.guards import GuardProgram
from ufuse.frame_hook.trace.layouts import (
    MOST_BYTES,
    elements_apart,
    fills_memory,
    memory_bounds,
    memory_order,
)
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import Sizes
from ufuse.frame_hook.trace.symbols import Array, Buffer, DeviceArray, Source
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, c_order
from ufuse.graph.typing.library import CUDA, cupy
from ufuse.graph.typing.sample import dtype_words

WRITEABLE = 0x400  # of `flags.num`: asking for `flags.writeable` may warn
WRITE_FLAGS = WRITEABLE | 1 << 31  # and NumPy's own, that writing is to be warned of
# A leading dimension of so few (components, colours) is part of the program, whose loops unroll, unless it changes.
FEW = 4
MOST_PAIRS = 32  # of arrays that are guarded to share no memory; where there are more, one row is about them all


def as_long(dtype: np.dtype) -> np.dtype:
    """`long long`, in which CuPy counts places, as the `long` that it is equal to."""
    return np.dtype(dtype.char.replace("q", "l").replace("Q", "L")) if dtype.char in "qQ" else dtype


class ArrayInputs:
    """The arrays that a trace has read from the frame, each of which is one symbol, and which of them it writes."""

    def __init__(
        self,
        guards: GuardProgram,
        sizes: Sizes,
        graph: Draft,
        static_sizes: bool | frozenset[str],
        changing: frozenset[str],
    ) -> None:
        self._guards = guards
        self._sizes = sizes
        self._graph = graph
        self._static_sizes = static_sizes if isinstance(static_sizes, frozenset) else frozenset()
        self._all_static = static_sizes is True
        self._changing = changing  # lengths, among other things
        # by id of the example, which the buffer keeps alive
        self._arrays: dict[int, Array] = {}
        self._on_device: dict[int, DeviceArray] = {}
        self._bounds: list[tuple[int, int, Buffer]] = []  # the addresses of each
        self._written: dict[Buffer, None] = {}
        self._written_bounds: list[tuple[int, int, Source]] = []

    def read(self, source: Source, value: np.ndarray) -> Array:
        """The symbol of an array of the frame: a graph input, or the one that this array has already."""
        known = self._arrays.get(id(value))
        if known is not None and known.buffer.source is not None:
            self._guards.check("SAME", known.buffer.source, source)
            return known
        if not is_followed(value.dtype):
            raise GraphBreak("dtype", f"an array of dtype {dtype_words(value.dtype)}")
        if not value.flags.aligned:
            raise GraphBreak("layout", f"{source.text}, which is not aligned in memory,")
        if value.nbytes > MOST_BYTES:
            raise GraphBreak("layout", f"{source.text}, of which no copy could be made,")
        self._guards.check("ARRAY", source, value.dtype, value.ndim)
        array = Array(*self._input(source, value, ""))
        self._arrays[id(value)] = array
        return array

    def read_on_device(self, source: Source, value: Any) -> DeviceArray:
        """The same of an array of CuPy's."""
        known = self._on_device.get(id(value))
        if known is not None and known.buffer.source is not None:
            self._guards.check("SAME", known.buffer.source, source)
            return known
        if not is_followed(as_long(value.dtype)):
            raise GraphBreak("dtype", f"an array of dtype {dtype_words(value.dtype)}")
        library = cupy()
        why = why_not_read(type(value), library.module)
        if why is not None:
            raise GraphBreak("layout", why)
        array = DeviceArray(*self._input(source, value, CUDA))
        self._on_device[id(value)] = array
        return array

    def _input(
        self, source: Source, value: Any, device: str
    ) -> tuple[Buffer, tuple[()], ArrayType]:
        """What the symbol of an array is made of; dtype and rank of one on the host are guarded."""
        layout = self._layout(source, value, device)
        dtype = as_long(value.dtype) if device else value.dtype
        kind = ArrayType(dtype, self._shape(source, value), *layout, device=device)
        start, end = memory_bounds(value)
        for low, high, written in self._written_bounds:
            if low < end and start < high:
                raise GraphBreak("overlap", written.text)
        node = self._graph.input(kind, source)
        buffer = Buffer(node, node, visible=True, source=source, value=value)
        self._bounds.append((start, end, buffer))
        return buffer, (), kind

    def _shape(self, source: Source, value: np.ndarray) -> tuple[Size, ...]:
        shape: list[Size] = []
        for axis, length in enumerate(value.shape):
            text = f"{source.text}.shape[{axis}]"
            changes = text in self._changing
            is_static = length <= 1 or self._all_static or text in self._static_sizes
            few = length <= FEW and axis < value.ndim - 1 and value.ndim > 2 and not changes
            if is_static or few:
                says = "SIZE" if is_static else "SIZE few"
                self._guards.check("SIZE", source, axis, length, source=text, says=says)
                shape.append(length)
                continue
            leaf = "size", source.register, axis
            shape.append(self._sizes.dimension(text, length, leaf, alone=changes))
        return tuple(shape)

    def _layout(
        self, source: Source, value: Any, device: str
    ) -> tuple[tuple[int, ...] | None, bool]:
        """Guard how an array lies in memory; of one on a device, dtype and rank too."""
        order = memory_order(value)
        contiguous = order is not None and fills_memory(value, order)
        if device:
            self._guard_on_device(source, value, order, contiguous)
            return order, contiguous
        if order is None:
            return None, False
        self._guards.check("ORDER", source, order)
        says = "CONTIGUOUS" if contiguous else "CONTIGUOUS not"
        self._guards.check("CONTIGUOUS", source, order, contiguous, says=says)
        return order, contiguous

    def _guard_on_device(
        self, source: Source, value: Any, order: tuple[int, ...] | None, contiguous: bool
    ) -> None:
        """One row that says all: each reads the array's struct anew."""
        about = value.dtype, value.data.device_id
        if order is None:
            self._guards.check("DEVICE_ARRAY", source, *about, value.ndim)
            return
        in_c_order = contiguous and order == c_order(value.ndim)
        self._guards.check(
            "DEVICE_LAYOUT",
            source,
            *about,
            order,
            contiguous,
            says="DEVICE_LAYOUT c" if in_c_order else "DEVICE_LAYOUT",
            fields=(source, *about, value.ndim),
        )

    def check_writable(self, buffer: Buffer) -> None:
        """Guard that the buffer may be written, and that no other argument shares its memory."""
        source, value = buffer.source, buffer.value
        if buffer.frozen is not None:
            raise buffer.frozen
        if source is None or value is None:
            raise GraphBreak("effect", "assigning to an array that the trace cannot find again")
        if id(value) not in self._on_device:  # CuPy's arrays are all writeable
            self._check_flags(source, value)
        if buffer not in self._written:
            self._refuse_overlap_with_itself(buffer, source, value)
            self._refuse_overlap(buffer, source, value)
            self._written[buffer] = None

    def _check_flags(self, source: Source, value: np.ndarray) -> None:
        if value.flags.num & WRITE_FLAGS != WRITEABLE:
            raise GraphBreak("eager-raises", f"writing to {source.text} raises or warns")
        if isinstance(value.base, np.memmap) or type(value) is not np.ndarray:
            raise GraphBreak("effect", f"assigning to elements of {source.text}")
        self._guards.check("WRITEABLE", source, True)

    def _refuse_overlap_with_itself(
        self, buffer: Buffer, source: Source, value: np.ndarray
    ) -> None:
        """Where one write is seen in several elements, the result depends on the order of NumPy's loop."""
        if not elements_apart(value):
            raise GraphBreak("layout", f"writing to {source.text}, whose elements share memory,")
        kind = buffer.root.type
        if not (isinstance(kind, ArrayType) and kind.contiguous):
            self._guards.check("APART", source)

    def _refuse_overlap(self, buffer: Buffer, source: Source, value: np.ndarray) -> None:
        start, end = memory_bounds(value)
        for low, high, other in self._bounds:
            if low < end and start < high and other is not buffer:
                raise GraphBreak("overlap", source.text)
        self._written_bounds.append((start, end, source))

    def guard_disjoint(self) -> None:
        """Guard that no written input shares memory with another input."""
        inputs = [array.buffer.source for array in self._all()]
        if len(self._written) * len(inputs) > MOST_PAIRS:
            self._guard_all_disjoint()
            return
        for written in self._written:
            assert written.source is not None
            for other in inputs:
                if other is None or other is written.source:
                    continue
                self._guards.check("DISJOINT", written.source, other)

    def on_device(self) -> Iterator[DeviceArray]:
        """The arrays of CuPy's that were read so far."""
        yield from self._on_device.values()

    def _all(self) -> Iterator[Array | DeviceArray]:
        yield from self._arrays.values()
        yield from self.on_device()

    def _guard_all_disjoint(self) -> None:
        written = [buffer.source for buffer in self._written]
        others = [array.buffer.source for array in self._all() if array.buffer not in self._written]
        registers = tuple(source.register for source in (*written, *others) if source is not None)
        self._guards.check(
            "ALL_DISJOINT", len(written), registers, fields=(len(written), len(registers))
        )
