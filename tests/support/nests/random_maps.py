"""Array statements drawn by chance, and memory for them: strided, shared, empty, of special values."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from ufuse.graph.nest import Map, Nest, Scalar, Step, View
from ufuse.graph.nest_types import F64, I64, Value
from ufuse.graph.semantics.nest_arithmetic import DoubtError
from ufuse.graph.semantics.nest_reference import follow

DTYPES = [np.dtype(char) for char in "?bBhHiIlLqQfd"]
USUAL = [np.dtype(char) for char in "dddddfli?"]
BOTH = "add subtract multiply maximum minimum".split()
REALS = "sqrt floor ceil trunc rint reciprocal fabs".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
PLAIN = "floor_divide hypot exp sin tanh arctan2".split()  # without a short form
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e300, -1e300, 1e-300, 5e-324, np.inf, -np.inf, np.nan, -np.nan]  # fmt: skip


@dataclass
class Part:
    """An array somewhere in memory that others may share."""

    base: np.ndarray
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    def array(self, base: np.ndarray) -> np.ndarray:
        """The array in a copy of its memory."""
        return np.ndarray(self.shape, self.dtype, base.data, self.offset, self.strides)


class Draw:
    """One array statement in a loop; lengths and places are numbers that the nest is given."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 (not cryptography)
        self.plain = seed % 3 == 0
        self.ndim = self.random.choice([1, 1, 2, 2, 3, 4])
        self.slots: list[tuple[np.dtype, int]] = []
        self.what = self._map()

    def nest(self) -> Nest:
        """The statement as a nest."""
        what = self.what
        slots = [
            array(f"a{place}", dtype, ndim, is_written=True)
            for place, (dtype, ndim) in enumerate(self.slots)
        ]
        names = [f"n{axis}" for axis in range(self.ndim)]
        names += [name for view, prefix in self.views() for name in self._names(view, prefix)]
        wholes = [number(name, "int", is_changed=False) for name in names]
        code = Code(*slots, *wholes, number("x", is_changed=False), RANGE)
        code.header("i", "body")
        inputs: list[Value] = [code.get(f"n{axis}") for axis in range(self.ndim)]
        places = {id(view): prefix for view, prefix in self.views()}
        for operand in what.operands:
            if isinstance(operand, Scalar):
                type_ = F64 if operand.dtype.kind == "f" else I64
                inputs.append(code.get("x") if type_ == F64 else code.whole(3))
            else:
                inputs += [code.get(name) for name in self._names(operand, places[id(operand)])]
        inputs += [code.get(name) for name in self._names(what.target, places[id(what.target)])]
        code.map(what, *inputs)
        code.end("jump", "header")
        return code.nest()

    def views(self) -> list[tuple[View, str]]:
        """The views, with a name for each."""
        views = [one for one in (*self.what.operands, self.what.target) if isinstance(one, View)]
        return [(view, f"v{place}.") for place, view in enumerate(views)]

    def _names(self, view: View, prefix: str) -> list[str]:
        return [f"{prefix}{axis}" for axis in range(self.slots[view.array][1])]

    def _view(self, dtype: np.dtype, *, target: bool = False) -> View:
        known = [place for place, (each, _) in enumerate(self.slots) if each == dtype]
        fits = [place for place in known if not target or self.slots[place][1] >= self.ndim]
        if fits and self.random.random() < 0.6:
            place = self.random.choice(fits)
        else:
            least = self.ndim if target else 1
            self.slots.append(
                (dtype, self.random.randint(least, max(least, min(4, self.ndim + 1))))
            )
            place = len(self.slots) - 1
        axes = list(range(self.slots[place][1]))
        if self.random.random() < 0.3:
            self.random.shuffle(axes)
        axes = axes[-self.ndim :] if self.random.random() < 0.7 else axes[: self.ndim]
        steps = [1, 1, 1, 1, -1, 2, -3]
        found: list[Any] = [(axis, self.random.choice(steps)) for axis in axes]
        while len(found) < self.ndim:
            found.insert(self.random.randint(0, len(found)), None)
        if not target and self.random.random() < 0.2:
            found[self.random.randrange(self.ndim)] = None
        return View(place, tuple(found))

    def _map(self) -> Map:
        dtypes = USUAL if self.random.random() < 0.7 else DTYPES
        operands: list[View | Scalar] = []
        types: list[np.dtype] = []
        for _ in range(self.random.randint(1, 4)):
            if operands and self.random.random() < 0.2:
                place = self.random.randrange(len(operands))
                operands.append(operands[place])
                types.append(types[place])
                continue
            dtype = self.random.choice(dtypes)
            is_scalar = self.random.random() < 0.2
            operands.append(Scalar(dtype) if is_scalar else self._view(dtype))
            types.append(dtype)
        steps: list[Step] = []
        unused = list(range(len(operands)))
        while len(unused) > 1 or not steps or self.random.random() < 0.5:
            left = unused.pop(0)
            right = unused.pop(0) if unused else self.random.randrange(len(types))
            unused.append(self._step(steps, types, left, right))
        return Map(self.ndim, tuple(operands), tuple(steps), self._view(types[-1], target=True))

    def _step(self, steps: list[Step], types: list[np.dtype], left: int, right: int) -> int:
        def add(name: str, result: np.dtype, *inputs: int) -> int:
            steps.append(Step(name, (*(types[value] for value in inputs), result), inputs))
            types.append(result)
            return len(types) - 1

        common = np.result_type(types[left], types[right])
        if self.random.random() < 0.1:
            # No NaN or infinity to an integer: what that gives is the compiler's.
            to = self.random.choice([np.dtype("d"), np.dtype("?"), np.dtype("f")])
            left = add("cast", to, left)
            common = np.result_type(to, types[right])
        if common.char not in "?bBhHiIlLqQfd":
            common = np.dtype("d")
        both = [
            value if types[value].char == common.char else add("cast", common, value)
            for value in (left, right)
        ]
        names = ["where", "copy", *COMPARISONS]
        names += BOTH if common.kind != "b" else ["logical_and", "logical_or", "bitwise_xor"]
        names += ["divide", *REALS] * (common.kind == "f") + ["negative"] * (common.kind != "b")
        if self.plain and common.kind == "f":
            names += PLAIN * 2
        name = self.random.choice(names)
        if name == "where":
            truth = add("less", np.dtype("?"), *both)
            return add("where", common, truth, *both)
        if name == "copy" or name in REALS or name in {"negative", "exp", "sin", "tanh"}:
            one = add(name, common, both[0])
            return add("add" if common.kind != "b" else "logical_or", common, one, both[1])
        return add(name, np.dtype("?") if name in COMPARISONS else common, *both)

    # What a nest is given

    def given(self, wildness: float) -> tuple[list[Part], dict[str, Any]]:
        """Arrays, and the numbers that say where views begin."""
        draw = self.random
        longest = {1: 70, 2: 40, 3: 9, 4: 5}[self.ndim]
        lengths = [draw.randint(1, longest) for _ in range(self.ndim)]
        if draw.random() < 0.1:
            lengths[draw.randrange(self.ndim)] = 0
        shapes = [[1] * ndim for _, ndim in self.slots]
        for view, _ in self.views():
            for length, axis in zip(lengths, view.axes, strict=True):
                if axis is not None:
                    wanted = max(0, length - 1) * abs(axis[1]) + 1
                    shapes[view.array][axis[0]] = max(shapes[view.array][axis[0]], wanted)
        shapes = [[length + draw.choice([0, 0, 1, 2]) for length in shape] for shape in shapes]
        parts: list[Part] = []
        for (dtype, _), shape in zip(self.slots, shapes, strict=True):
            parts.append(self._part(dtype, shape, parts, wildness))
        cells: dict[str, Any] = {f"n{axis}": length for axis, length in enumerate(lengths)}
        cells["x"] = draw.choice(SPECIAL) if draw.random() < wildness else 0.75
        for view, prefix in self.views():
            places = [draw.randrange(length) for length in shapes[view.array]]
            for length, axis in zip(lengths, view.axes, strict=True):
                if axis is not None and length:
                    span = (length - 1) * abs(axis[1])
                    slack = draw.randrange(shapes[view.array][axis[0]] - span)
                    places[axis[0]] = slack + (span if axis[1] < 0 else 0)
            cells.update(zip(self._names(view, prefix), places, strict=True))
        numpys = {f"{name}.numpy": False for name in cells}
        return parts, {**cells, **numpys}

    def _part(self, dtype: np.dtype, shape: list[int], others: list[Part], wildness: float) -> Part:
        draw = self.random
        order = list(range(len(shape)))
        if draw.random() < 0.3:
            draw.shuffle(order)
        step = dtype.itemsize * draw.choice([1, 1, 1, 2])
        strides, offset = [0] * len(shape), 0
        for axis in reversed(order):
            strides[axis] = step
            step *= shape[axis] + draw.choice([0, 0, 0, 1])
            if draw.random() < 0.1:
                strides[axis] *= -1
                offset -= strides[axis] * (shape[axis] - 1)
        shared = [one for one in others if one.dtype == dtype]
        size = step + dtype.itemsize
        if shared and draw.random() < 0.4:
            for one in shared:
                slack = one.base.size - size
                if slack >= 0:
                    offset += draw.randrange(slack // dtype.itemsize + 1) * dtype.itemsize
                    return Part(one.base, offset, tuple(shape), tuple(strides), dtype)
        count = size // dtype.itemsize + 5
        values = np.array([self._value(dtype, wildness) for _ in range(count)], dtype)
        return Part(values.view(np.uint8), offset, tuple(shape), tuple(strides), dtype)

    def _value(self, dtype: np.dtype, wildness: float) -> Any:
        draw = self.random
        if dtype.kind == "b":
            return draw.random() < 0.5
        if dtype.kind == "f":
            with np.errstate(all="ignore"):
                wild = draw.random() < wildness
                return dtype.type(draw.choice(SPECIAL)) if wild else draw.uniform(0.5, 2.0)
        info = np.iinfo(dtype)
        return draw.randint(info.min, info.max) if draw.random() < wildness else draw.randint(1, 9)


def outcome(
    machine: Machine, parts: Sequence[Part], cells: dict[str, Any], *, is_exact: bool = True
) -> bool:
    """Whether the machine code was left; then memory and flags are those of the reference.

    What is not exact may raise more flags.
    """
    bases = {id(part.base): part.base.copy() for part in parts}
    wanted = {id(part.base): part.base.copy() for part in parts}
    logged: set[str] = set()
    is_left = True
    with np.errstate(all="call", call=lambda kind, _: logged.add(kind.split()[0])):
        try:
            follow(machine.nest, [part.array(wanted[id(part.base)]) for part in parts], dict(cells))
        except DoubtError:
            is_left = False
    arrays = [part.array(bases[id(part.base)]) for part in parts]
    found, flags = machine.execute(arrays, dict(cells))
    if not found:
        return False
    assert is_left
    # Of steps on numbers alone, which no program has, the reference raises flags though there is nothing to do.
    enough = flags == logged if is_exact else flags >= logged
    assert enough or 0 in (cells.get(f"n{axis}") for axis in range(4)), machine.nest
    for key, base in bases.items():
        assert base.tobytes() == wanted[key].tobytes(), machine.nest
    return True
