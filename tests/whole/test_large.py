"""Large arrays, whose temporaries NumPy writes over: bits of NaN, layouts and warnings are eager's."""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.whole import large
from tests.whole.large import Program, arguments, difference

# (what is computed, in one graph)
BODIES = {
    "stored": ("z[...] = z + np.sqrt(x)\nreturn (z,)", True),
    "stored product": ("z[...] = z * -x\nreturn (z,)", True),
    "sorted": ("return (y + np.sort(x),)", True),
    "taken": ("return (y * np.take(x, i, axis=0),)", True),
    "behind a write": ("z[...] = 1.0\nreturn (y + np.sqrt(x),)", True),
    "in place": ("z += y + np.sqrt(x)\nreturn (z,)", True),
    "local": ("t = np.sqrt(x)\nreturn (y + t,)", True),
    "function's local": ("return (y + through_local(x),)", True),
    "in a list": ("kept = [np.sqrt(x)]\nreturn (y + kept[0], y + kept.pop())", True),
    "kept by a list": ("kept = []\nreturn (y + kept_by_caller(x, kept), kept)", True),
    "module operator": ("return (operator.add(y, np.sqrt(x)), operator.mul(y, -x))", True),
    "sum of a list": ("return (sum([y, np.sqrt(x)]), sum([y * 0.5, x, -x]))", True),
    "reduced": ("return (functools.reduce(operator.add, [y, np.sqrt(x), -x]),)", True),
    "method": ("return ((x * 1.5).__add__(y), y.__add__(x * 1.5))", False),
    "both": ("return (np.sqrt(x) + np.sqrt(y), x * y + y * x)", True),
    "object": ("box = Box(x * 0.5)\nreturn (box.a + box.step(y), box.a)", False),
    "generator": ("return (y + next(made(x)), sum(made(x)))", False),
    "loop": ("v = y - y\nfor j in range(3):\n    v = v + (np.sqrt(x) - 0.5)\nreturn (v,)", True),
    "item of a list of the stack": ("return (x * [y * q for q in made(x)][1],)", False),
    "complex in place": ("y[...] = y + (z + x)\nreturn (y,)", True),
    "behind another write": ("x -= z\nreturn (x + (y * 1.0),)", False),
    "numbers": ("return (np.float32(1.5) * -x, 1.5 * -x, np.array(1.5) * -x, 2 * -x)", True),
}  # fmt: skip
LAYOUTS = (["dense"] * 3, ["gaps", "dense", "gaps"], ["turned", "fortran", "inner"])


# Who has an operand is another question on each Python; of what dtype it is, and of what shape, is the same one.
DTYPES = ("f8", "f4", "c16", "c8")
SHAPES = ((70_000,), (1000,), (70_000, 1), (256, 257))


def statements() -> list[Any]:
    """Every statement, dtype and shape; every two of them are met without those that are marked as left out."""
    members = []
    for number, name in enumerate(BODIES):
        for place, dtype in enumerate(DTYPES):
            for other, shape in enumerate(SHAPES):
                is_first = (place, other) == (0, 0)
                is_left_out = not is_first and (number + place + other) % 4
                marks = [] if is_first else [pytest.mark.any_python]
                marks += [pytest.mark.left_out] if is_left_out else []
                key = f"{'x'.join(map(str, shape))}-{name}-{dtype}"
                members.append(pytest.param(name, dtype, shape, marks=marks, id=key))
    return members


@pytest.mark.parametrize(("name", "dtype", "shape"), statements())
def test_statements(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    """A temporary that nobody else has comes first in a large sum or product."""
    body, _ = BODIES[name]
    for layouts in LAYOUTS[:1] if shape == (1000,) else LAYOUTS:
        program = Program(1, body)
        program.shape, program.dtypes, program.layouts = shape, [dtype] * 3, list(layouts)
        assert not difference(program)


def test_every_two_values_meet() -> None:
    """What is left out of the product has no pair of a statement, a dtype and a shape to itself."""

    def pairs(members: list[Any]) -> set[Any]:
        return {
            pair for one in members for pair in itertools.combinations(enumerate(one.values), 2)
        }

    members = statements()
    met = [one for one in members if not any(mark.name == "left_out" for mark in one.marks)]
    assert len(members) == len(BODIES) * len(DTYPES) * len(SHAPES)
    assert len(met) < len(members) / 3
    assert pairs(met) == pairs(members)


@pytest.mark.parametrize("name", [name for name in BODIES if BODIES[name][1]])
def test_who_has_a_temporary_is_known(name: str) -> None:
    """The graph does not end where the trace sees that nothing else has an operand."""
    program = Program(1, BODIES[name][0])
    program.shape, program.dtypes, program.layouts = (70_000,), ["f8"] * 3, ["dense"] * 3
    space: dict[str, Any] = {"np": np, "operator": operator, "functools": functools}
    exec(compile(program.source, "<large>", "exec"), space)
    compiled = ufuse.compile(space["program"])
    with np.errstate(all="ignore"):
        for seed in range(2):
            compiled(*arguments(program, seed, program.shape))
    assert not [str(one) for one in compiled.breaks if "large arrays" in str(one)]


# What is computed of arrays that NumPy walks otherwise than what else is computed.
APART = [
    ("v = x * 2.0\nreturn (x + y + 1.0, v)", (5, 4), ["f8", "f4", "f8"], ["fortran", "dense", "dense"]),
    ("v = np.square(x)\nnp.subtract(x + y, v, out=y)\nreturn (y, v)", (5, 1, 4), ["f8", "f4", "f8"], ["fortran", "dense", "dense"]),
    ("z[...] = z + (x - y)\nreturn (z, x * 2.0)", (5, 4), ["f8", "f4", "f8"], ["fortran", "gaps", "turned"]),
    ("return ((x + y[:1] * 2.0) * z,)", (64,), ["f8", "f4", "f8"], ["dense"] * 3),
    ("x[...] = y[:1].astype('f4') * z / y[:1]\nreturn (x,)", (21,), ["f8"] * 3, ["dense"] * 3),
    ("np.multiply(z / (x * x), 1.5 + (1.5 + y[:1]), out=x)\nreturn (x,)", (64,), ["f8", "f4", "f8"], ["inner", "dense", "moved"]),
    ("return (y[:1, :1].astype('f4') + y[:1, :1],)", (1, 21), ["c16"] * 3, ["dense"] * 3),
]  # fmt: skip


@pytest.mark.parametrize(("body", "shape", "dtypes", "layouts"), APART)
def test_nan_of_arrays_that_numpy_walks_otherwise(
    body: str, shape: tuple[int, ...], dtypes: list[str], layouts: list[str]
) -> None:
    """Which of two NaN a sum has follows from how NumPy walks its operands: those that a kernel makes, too."""
    for seed in range(12):
        program = Program(seed, body)
        program.shape, program.dtypes, program.layouts = shape, dtypes, layouts
        assert not difference(program)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    """Values, layouts and warnings are eager's in random programs; `python -m tests.whole.large` has more."""
    assert not difference(Program(seed))


def test_differences_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another bit, another stride and another warning are told."""
    program = Program(1, "return (x + y,)")
    program.shape, program.dtypes, program.layouts = (1000,), ["f8"] * 3, ["dense"] * 3
    assert not difference(program)
    for other in (lambda x, y: (y + x,), lambda x, y: ((x + y)[::-1][::-1],)):
        monkeypatch.setattr(large.ufuse, "compile", lambda _, other=other: lambda *g: other(*g[:2]))
        assert difference(program)
