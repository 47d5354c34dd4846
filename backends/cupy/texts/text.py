"""CUDA C++ for the plan of a kernel: each operation is CuPy's own loop in a scope of its own.

What is contracted is what CuPy's compiler contracts: contraction.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import cupy
import numpy as np

from ufuse.backends.cupy.texts import numpy_routines
from ufuse.backends.cupy.texts.contraction import (
    AFTER_OF,
    APART_OF,
    INTRINSICS,
    LETTERS,
    Nature,
    nature_of,
)
from ufuse.backends.planning.kernels import KernelPlan, Operand, Segment
from ufuse.backends.planning.loops import Loop
from ufuse.graph.node import Node
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.infer import operand_of
from ufuse.graph.typing.library import Routine
from ufuse.graph.typing.library import cupy as library

# Of a step: known at the launch only; to another part of memory; of an array that lies along the axis before.
VARYING, FAR, TURNED = -1, -2, -3


@record
class Form:
    """How a kernel walks: over `axes` axes, or (0) elements that lie alike in all arrays; `wide`: 64-bit indices.

    `few`: how many elements a thread takes at once (vectors.py); with `columns` of a row (tiles.py): the step along it
    of each array that is walked over if it is 0 or 1, else VARYING or FAR; TURNED where a kernel of turned.py reads it.
    """

    axes: int
    wide: bool
    few: int = 1
    columns: tuple[int, ...] = ()


@record
class Dialect:
    """What the kernels of a program are written in: which text an operation's loop has, and the compiler's options."""

    routine: Callable[[Node, Loop], Routine]
    options: tuple[str, ...] | None  # None: CuPy's own


def _routine_of_cupy(node: Node, loop: Loop) -> Routine:
    return library().routine_of(node.op, [operand_of(one) for one in node.inputs])


def _routine_of_numpy(node: Node, loop: Loop) -> Routine:
    return numpy_routines.routine(node.op, loop.dtypes)


CUPYS = Dialect(_routine_of_cupy, None)
# Subnormals stay and nothing is contracted: IEEE's operations have NumPy's bits.
NUMPYS = Dialect(_routine_of_numpy, ("--ftz=false", "--fmad=false", "-std=c++17"))


# A kernel may be on the device before those in front of it are done (native.EARLY): it reads nothing until they are,
# and what they have written is there.
BEHIND = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define UFUSE_BEHIND asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define UFUSE_BEHIND
#endif"""
SCALARS = cupy._core._scalar
# What CuPy 14 has in front of kernels for types such as half precision; before, all its kernels had that.
DECLARED: Callable[[set[Any]], str] | None = getattr(SCALARS, "format_type_decls", None)


def kernel_name(name: str) -> str:
    """A name that C++ takes."""
    return "ufuse_" + re.sub(r"\W", "_", name)


def kernel_text(plan: KernelPlan, name: str, form: Form, dialect: Dialect) -> str:
    """The CUDA C++ of a kernel; its parameters are those that `launch.arguments` gives."""
    writer = Writer(plan, form, dialect)
    body = [line for segment in plan.segments for line in writer.segment(segment)]
    lines = [
        *opened(name, writer.parameters()),
        f"    for ({writer.index} i = ({writer.index})blockIdx.x * blockDim.x + threadIdx.x; i < n;",
        f"         i += ({writer.index})gridDim.x * blockDim.x) {{",
        *(f"        {line}" for line in (*writer.places(), *body, *writer.stores())),
        "    }",
        "}",
    ]
    return writer.headed(lines)


def opened(name: str, parameters: Iterable[str], threads: int | None = None) -> Iterator[str]:
    """How a kernel begins, of blocks of so many threads at most."""
    bounds = "" if threads is None else f" __launch_bounds__({threads})"
    yield f'extern "C" __global__ void{bounds} {kernel_name(name)}({", ".join(parameters)})'
    yield "{"
    yield "    UFUSE_BEHIND;"


class Writer:
    """Writes the parts of one kernel's text."""

    def __init__(self, plan: KernelPlan, form: Form, dialect: Dialect) -> None:
        self.plan = plan
        self.dialect = dialect
        self.form = form
        self.index = "long long" if form.wide else "int"
        self.preambles: list[str] = []
        self.declared: set[Any] = set()  # what CuPy says that types need in front
        self.names: dict[str, str] = {}  # of types met so far, by code
        self.numbers = {
            place for place in range(len(plan.operands)) if not is_array(plan, place)
        }  # and what a loop makes of them
        self.real: set[int] = set()  # complex values that a loop makes of real ones
        self.steady: set[int] = set()  # values that a steady loop makes
        self.own = 0  # the number of the next `ufuse_apart`
        self.nodes = {one.position: one.node for one in plan.operations}
        self.targets = {result.how[1] for result in plan.results if result.how[0] == "into"}
        self.read = {value for segment in plan.segments for value in segment.inputs}
        self.is_array = [is_array(plan, place) for place in range(len(plan.operands))]
        self.tables = [place for place, one in enumerate(plan.operands) if one.table]
        self.walked = walked(plan)

    def type_name(self, dtype: np.dtype) -> str:
        """What CuPy calls a dtype in C++."""
        name = self.names.get(dtype.char)
        if name is None:
            declared = () if DECLARED is None else (self.declared,)
            name = self.names[dtype.char] = str(SCALARS.get_typename(dtype, *declared))
        return name

    def headed(self, lines: list[str]) -> str:
        """The whole text, of lines that are all written; what stands in front of them is there once.

        What CuPy has in front of `lcm` contains what it has in front of `gcd`.
        """
        headers = dict.fromkeys(one for one in self.preambles if one)
        kept = [one for one in headers if not any(one != two and one in two for two in headers)]
        declared = [DECLARED(self.declared)] if DECLARED and self.declared else []
        return "\n".join((*declared, *kept, BEHIND, *lines)) + "\n"

    def parameters(self) -> Iterator[str]:
        """The operands, the results, how many elements there are; lengths and steps of axes, and of tables."""
        for place, operand in enumerate(self.plan.operands):
            name = self.type_name(operand.dtype)
            if place in self.targets:
                yield f"{name}* p{place}"
            elif self.is_array[place]:
                yield f"const {name}* __restrict__ p{place}"
            else:
                yield f"const {name} v{place}"
        for place, result in enumerate(self.plan.results):
            if result.how[0] != "into":
                yield f"{self.type_name(self.plan.dtype(result.value))}* __restrict__ r{place}"
        yield from self._counts()
        for place in self.walked:
            yield from (f"const {self.index} s{place}_{axis}" for axis in range(self.form.axes))
        for place in self.tables:
            for axis in range(axes_of(self.plan.operands[place])):
                yield f"const long long m{place}_{axis}, const long long t{place}_{axis}"

    def _counts(self) -> Iterator[str]:
        yield f"const {self.index} n"
        yield from (f"const {self.index} n{axis}" for axis in range(1, self.form.axes))

    def _indices(self, counted: str, axes: int) -> Iterator[str]:
        """The index along each axis, of how many elements are before."""
        for axis in reversed(range(1, axes)):
            rest = counted if axis == axes - 1 else f"q{axis + 1}"
            yield f"const {self.index} q{axis} = {rest} / n{axis}, i{axis} = {rest} - q{axis} * n{axis};"
        if axes:
            yield f"const {self.index} i0 = {'q1' if axes > 1 else counted};"

    def places(self) -> Iterator[str]:
        """The index along each axis, and the elements of the operands."""
        yield from self._indices("i", self.form.axes)
        yield from self.elements()

    def elements(self) -> Iterator[str]:
        """What operands give, by their numbers."""
        for place in self.walked:
            operand = self.plan.operands[place]
            if operand.axis is not None:
                yield f"const {self.index} v{place} = {self._counted(place)};"
            elif place in self.read:
                yield f"const {self.type_name(operand.dtype)} v{place} = {self._element(place)};"

    def _counted(self, place: int) -> str:
        """How far along an axis the element is."""
        return self._offset(place)

    def _element(self, place: int) -> str:
        """The element of an operand."""
        return f"p{place}[{self._offset(place)}]"

    def _stored(self, target: int) -> str:
        """Where an element is stored into."""
        return f"p{target}[{self._offset(target)}]"

    def _made(self, place: int) -> str:
        """Where an element of a new array is."""
        return f"r{place}[i]"

    def _offset(self, place: int) -> str:
        if not self.form.axes:
            return "i"
        return " + ".join(f"i{axis} * s{place}_{axis}" for axis in range(self.form.axes))

    def stores(self) -> Iterator[str]:
        """The results: new arrays are in C order, others are stored into."""
        for place, result in enumerate(self.plan.results):
            into = result.how[0] == "into"
            at = self._stored(result.how[1]) if into else self._made(place)
            yield f"{at} = v{result.value};"

    def segment(self, segment: Segment) -> Iterator[str]:
        """The lines of one operation."""
        (output,) = segment.outputs
        made = self.type_name(self.plan.dtype(output))
        origin = self.plan.nodes[segment.node]
        line = f"  // line {origin.location.line}" if origin.location is not None else ""
        if segment.loop.kind == "gather":
            yield from self._gather(segment, f"const {made} v{output}", line)
            return
        if segment.loop.kind in ("cast", "copy"):
            (value,) = segment.inputs
            if value in self.steady:
                self.steady.add(output)
            is_own = origin.name != "cast"  # of the loop: CuPy's kernel makes it of what it reads
            if is_own and value in self.numbers:
                self.numbers.add(output)
            elif is_own and self.plan.dtype(output).kind == "c" != self.plan.dtype(value).kind:
                self.real.add(output)
            yield f"const {made} v{output} = ({made})v{value};{line}"
            return
        routine = self._routine(segment)
        self.preambles.append(routine.preamble)
        nature = nature_of(segment.loop)
        yield f"{made} v{output};"
        yield f"{{  // {segment.loop.name}{line[4:] and ',' + line[4:]}"
        for place, (value, dtype) in enumerate(zip(segment.inputs, routine.dtypes, strict=False)):
            given = self._given(value, nature)
            yield f"    typedef {self.type_name(dtype)} in{place}_type; const in{place}_type in{place} = {given};"
        yield f"    typedef {made} out0_type; out0_type &out0 = v{output};"
        yield f"    {routine.text.strip()};"
        if nature is Nature.LOOSE:
            yield f"    out0 = {self._apart(output, 'out0')};"
        elif nature is Nature.STEADY:
            self.steady.add(output)
        yield "}"

    def _given(self, value: int, nature: Nature) -> str:
        """A value as a loop takes it."""
        if nature is Nature.LOOSE:
            return self.apart(value)
        if nature is Nature.STEADY and value in self.steady:
            return self._apart(value, f"v{value}", "after", AFTER_OF)
        return f"v{value}"

    def _gather(self, segment: Segment, made: str, line: str) -> Iterator[str]:
        """An element of a table; places that are not in it wrap, as CuPy's do."""
        (output,), (table, *places) = segment.outputs, segment.inputs
        offsets = []
        for axis, value in enumerate(places):
            place = f"v{value}"
            if value >= len(self.plan.operands) or self.plan.operands[value].axis is None:
                place, length = f"a{output}_{axis}", f"m{table}_{axis}"
                yield f"long long {place} = v{value};"
                yield f"if ({place} < 0 || {place} >= {length}) {{"
                yield f"    {place} %= {length};"
                yield f"    if ({place} < 0) {place} += {length};"
                yield "}"
            offsets.append(f"{place} * t{table}_{axis}")
        yield f"{made} = p{table}[{' + '.join(offsets)}];{line}"

    def _routine(self, segment: Segment) -> Routine:
        loop = segment.loop
        letter = LETTERS.get(loop.dtypes[-1].char)
        if loop.name in INTRINSICS and letter and len({*loop.dtypes}) == 1:
            return Routine(loop.dtypes, f"out0 = __{letter}{INTRINSICS[loop.name]}", "")
        return self.dialect.routine(self.nodes[self.plan.nodes[segment.node].position], loop)

    def apart(self, value: int) -> str:
        """A value of which the compiler knows what it knows in CuPy's kernel; numbers are arguments there, too."""
        if value in self.numbers:
            return f"v{value}"
        if value in self.real:
            real = self._apart(value, f"v{value}.real()")
            return f"{self.type_name(self.plan.dtype(value))}({real}, v{value}.imag())"
        return self._apart(value, f"v{value}")

    def _apart(
        self,
        value: int,
        text: str,
        how: str = "apart",
        preambles: Mapping[str, tuple[str, ...]] = APART_OF,
    ) -> str:
        letter = self.plan.dtype(value).char
        if letter not in preambles or self.dialect is not CUPYS:
            return text
        self.preambles += preambles[letter]
        self.own += 1
        return f"ufuse_{how}<{self.own}>({text})"


def is_array(plan: KernelPlan, place: int) -> bool:
    """Whether an operand comes as an address, not as a number."""
    source = plan.operands[place].source
    type_ = getattr(source, "type", None)
    return not hasattr(source, "op") or (isinstance(type_, ArrayType) and not type_.scalar)


def walked(plan: KernelPlan) -> list[int]:
    """The operands that a kernel steps through: arrays, but for those it picks elements from."""
    places = range(len(plan.operands))
    return [place for place in places if is_array(plan, place) and not plan.operands[place].table]


def axes_of(operand: Operand) -> int:
    """How many axes an array has."""
    assert isinstance(operand.source, Node)
    assert isinstance(operand.source.type, ArrayType)
    return operand.source.type.ndim
