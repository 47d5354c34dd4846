"""What nests compute with numbers of every type against NumPy's scalars: values, types, warnings and errors."""

from __future__ import annotations

import builtins
import cmath
import itertools
import math
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.nests.given.found_attributes import Attributes
from ufuse.frame_hook.nests.given.keyed import GivenKeys
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.loops.finishing import Read
from ufuse.frame_hook.nests.loops.loop_reader import LoopReader
from ufuse.graph.semantics.nest_reference import run

pytestmark = pytest.mark.any_python

INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
REALS = (0.0, -0.0, 0.1, -1.5, 255.5, 2.0**31, 1e300, math.inf, math.nan)
COMPLEX = [
    complex(real, imaginary)
    for real, imaginary in (
        (0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0), (1.0, 0.0), (0.0, 1.0), (0.1, -1.5), (-2.5, 0.3), (3.0, 4.0),
        (1e300, 1e300), (1e-300, -1e-310), (math.inf, 1.0), (math.inf, math.nan), (2.0**53, -0.0), (-7.0, 0.0),
    )
]  # fmt: skip
SPACE: dict[str, Any] = {"np": np, "math": math, "cmath": cmath}


def integers(low: int, high: int) -> list[int]:
    """Numbers at which something happens."""
    near = (0, 1, -1, 3, 8, 300, 2**24 + 1, 2**53 + 1, low, high)
    return sorted({number for number in near if low <= number <= high})


NUMBERS: dict[str, list[Any]] = {
    "float": list(REALS),
    "int": integers(-(2**63), 2**63 - 1),
    "bool": [True, False],
    "complex": COMPLEX,
    "complex128": list(map(np.complex128, COMPLEX)),
    "float64": list(map(np.float64, REALS)),
    "float32": [np.float32(min(real, 3e38)) if real == 1e300 else np.float32(real) for real in REALS],
    **{
        name: [
            np.dtype(name).type(one)
            for one in integers(int(np.iinfo(name).min), int(np.iinfo(name).max))
        ]
        for name in INTEGERS
    },
}  # fmt: skip


class Everything:
    """What a loop takes from outside: all that there is."""

    def __init__(self) -> None:
        self.arrays: dict[int, Any] = {}
        self.lists: dict[int, Any] = {}
        self.stacks: dict[int, Any] = {}
        self.sequences: dict[int, Any] = {}
        self.generators: dict[int, str] = {}
        self.walked: dict[int, str] = {}
        self.numbers_around: dict[int, Any] = {}
        self.objects: dict[int, Any] = {}
        self.owners: dict[int, int] = {}
        self.attributes = Attributes()
        self.keyed = GivenKeys()

    def name(self, _: object, name: str) -> Known:
        """A global."""
        return Known(SPACE[name] if name in SPACE else getattr(builtins, name))

    def is_text(self, _: object) -> bool:
        """Whether an array is one of characters."""
        return False

    def goes_over(self, *_: object) -> None:
        """Nothing is gone over twice."""

    def attribute(self, module: types.ModuleType, name: str) -> Known:
        """An attribute of a module."""
        return Known(getattr(module, name))


class Program:
    """A loop of one turn that does a statement, read anew for each type of its variables."""

    def __init__(self, statement: str, result: str = "r") -> None:
        text = (
            f"def program(a, b, x, n, r):\n for i in range(n):\n  {statement}\n return {result}\n"
        )
        space = dict(SPACE)
        exec(text, space)
        self.plain: Callable[..., Any] = space["program"]
        self.code = self.plain.__code__
        self.result = result
        self._known: dict[Any, Read | None] = {}
        self.natives = 0

    def state(self, variables: dict[str, Any]) -> tuple[Any, ...]:
        """The frame at the header."""
        names = instructions.slot_names(self.code)
        return (*(variables.get(name, _hook.NULL) for name in names), iter(range(1)))

    def native(self, variables: dict[str, Any]) -> Any:
        """The variable `r`, or an element of `x`, or NotImplemented."""
        key = tuple(type(one) for one in variables.values())
        state = self.state(variables)
        if key not in self._known:
            header = next(
                one.position
                for one in instructions.instructions(self.code)
                if one.opname == "FOR_ITER"
            )
            outside: Any = Everything()
            try:
                self._known[key] = LoopReader(self.code, header, state, _hook.NULL, outside).read()
            except NotNativeError:
                self._known[key] = None
        read = self._known[key]
        if read is None:
            return NotImplemented
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = run(read.nest, [state[slot] for slot in read.slots])
            except (FloatingPointError, RuntimeWarning):
                return NotImplemented
        if found is not NotImplemented and read.exits:
            found = self._left_by(read, found)
        if found is NotImplemented or self.result == "r":
            return found
        return variables["x"][0]

    def _left_by(self, read: Read, found: Any) -> Any:
        """The variable `r` where a nest has exits: at the header, for what changes its type."""
        *values, number = found if isinstance(found, tuple) else (found,)
        slot = instructions.slot_names(self.code).index("r")
        names = [one.name for one in read.nest.slots if getattr(one, "is_changed", False)]
        return values[names.index(read.exits[number - 1].values[slot]) if number else 0]

    def check(self, *values: Any, array: np.ndarray | None = None) -> None:
        """Compare with plain Python, where the nest does the turn."""
        variables = dict(zip("ab", values, strict=False)) | {"n": 1, "x": array, "r": 0}
        before = None if array is None else array.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                wanted = self.plain(**{"b": None, **variables, "x": before})
            except Exception:  # noqa: BLE001 (whatever it is: the nest must leave it to plain Python)
                wanted = NotImplemented
        if self.result == "r":
            variables["r"] = 0 if wanted is NotImplemented else wanted
        found = self.native(variables)
        if found is NotImplemented:
            return
        self.natives += 1
        assert type(found) is type(wanted), values
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes(), values


def pairs(one: str, other: str) -> Sequence[tuple[Any, Any]]:
    """All pairs of numbers."""
    return list(itertools.product(NUMBERS[one], NUMBERS[other]))


OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "==", ">=")


@pytest.mark.parametrize("one", NUMBERS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(one: str, operator: str) -> None:
    """Of two numbers of any types."""
    program = Program(f"r = a {operator} b")
    for other in NUMBERS:
        if operator == "<<" and not {one, other} & {*INTEGERS}:
            continue  # Python's ints grow
        for values in pairs(one, other):
            program.check(*values)
    is_ordered = operator in "<>=" and one.startswith("complex")
    assert program.natives or operator in "&|^<<>>//%" or is_ordered


COMPLEX_STATEMENTS = (
    "a * 1j", "a / (2 - 3j)", "(1 + 2j) / a", "2.5 / a", "a - 1j", "1j - a", "a == 1j", "a != 0", "a * a + (0.5 - 0.1j)",
    "a ** 4", "a ** 5", "complex(a)", "complex(a, 0.5)", "complex(0.5, a)", "complex(a, -0.0)", "np.complex128(a)",
    "a.real", "a.imag", "a.conjugate()", "np.conj(a)", "np.real(a)", "np.imag(a)", "cmath.exp(a)", "cmath.sqrt(a)",
    "cmath.phase(a)", "cmath.polar(a)[0]", "cmath.rect(a, 0.3)", "cmath.rect(2.5, a)", "1 if a else 2",
)  # fmt: skip
STATEMENTS = (
    "-a", "~a", "not a", "abs(a)", "int(a)", "float(a)", "bool(a)", "round(a)", "np.sqrt(a)", "np.abs(a)",
    "np.floor(a)", "np.isnan(a)", "math.floor(a)", "a + 1", "a - 300", "a * 1.5", "3 / a", "a // 3", "a % 5",
    "a ** 2", "a ** 3", "a ** 0.5", "a & 15", "a | 511", "a ^ -1", "a << 1", "a >> 9", "a < 300", "a == 0.1",
    "min(a, 3)", "max(0, a)", "max(a, 1, np.int8(2))", "a * np.float32(1.1)", "a + np.uint8(200)",
    *(f"np.{name}(a)" for name in ("float64", "float32", "bool_", *INTEGERS)),
    *(f"a.astype(np.{name})" for name in ("float64", "float32", "bool_", *INTEGERS)),
    "a.item()", "a.astype(dtype=int)", "a.astype('f4').item()", "a.copy()", "a.conj()", "a.ndim", "a.size", "len(a.shape)",
    *COMPLEX_STATEMENTS,
)  # fmt: skip


@pytest.mark.parametrize("expression", STATEMENTS)
def test_expressions(expression: str) -> None:
    """Of one number of any type, and constants."""
    program = Program(f"r = {expression}")
    for values in NUMBERS.values():
        for value in values:
            program.check(value)
    assert program.natives


@pytest.mark.parametrize("dtype", ["float64", "float32", "bool", "complex128", *INTEGERS])
def test_stores(dtype: str) -> None:
    """Of a number of any type into an array."""
    program = Program("x[0] = a", "x[0]")
    for values in NUMBERS.values():
        for value in values:
            program.check(value, array=np.zeros(2, dtype))
    assert program.natives
