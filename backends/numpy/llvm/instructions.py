"""The instructions of the operations that IEEE 754 or two's complement define exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ufuse.backends.planning.loops import Loop
from ufuse.graph.records import record

Emitter = Callable[["Body", Sequence[np.dtype], np.dtype, Sequence[str]], str]


def why_not_native(loop: Loop) -> str | None:
    """Why a loop has no native form, or None."""
    name = {"cast": "cast", "copy": "positive", "where": "where"}.get(loop.kind, loop.name)
    rule = RULES.get(name)
    if rule is None:
        return f"{loop.name} has no exact short form"
    if any(dtype.char not in NATIVE_DTYPES for dtype in loop.dtypes):
        return "its dtypes have no exact short form"
    return (
        None
        if rule.accepts(loop.dtypes[:-1], loop.dtypes[-1])
        else f"{loop} has no exact short form"
    )


NATIVE_DTYPES = "?bBhHiIlLqQfd"


def memory_type(dtype: np.dtype) -> str:
    """The type of an element in memory."""
    if dtype.kind == "f":
        return {4: "float", 8: "double"}[dtype.itemsize]
    return f"i{8 * dtype.itemsize}"


class Body:
    """The instructions of one loop body on vectors of `lanes` elements; 1 lane means scalars."""

    def __init__(self, lanes: int, prefix: str) -> None:
        self.lanes = lanes
        self.prefix = prefix
        self.lines: list[str] = []
        self.doubts: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    def type(self, element: str) -> str:
        """A vector of the element type."""
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def value_type(self, dtype: np.dtype) -> str:
        """The type in registers: truth is one bit."""
        return self.type("i1" if dtype.kind == "b" else memory_type(dtype))

    def add(self, text: str) -> str:
        """Append an instruction with a result."""
        self._count += 1
        name = f"%{self.prefix}{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, dtype: np.dtype, value: int) -> str:
        """A small whole number as an operand, in an operation's own definition."""
        text = f"{value}.0" if dtype.kind == "f" else str(value)
        if self.lanes == 1:
            return text
        return f"<{', '.join([f'{memory_type(dtype)} {text}'] * self.lanes)}>"

    def call(self, name: str, dtype: np.dtype, argument: str, extra: str = "") -> str:
        """A call of an intrinsic on one value of the dtype."""
        element = memory_type(dtype)
        suffix = {"float": "f32", "double": "f64"}.get(element, element)
        full = f"@llvm.{name}.{suffix if self.lanes == 1 else f'v{self.lanes}{suffix}'}"
        type_ = self.type(element)
        self.declared.add(f"declare {type_} {full}({type_}{', i1' if extra else ''})")
        return self.add(f"call {type_} {full}({type_} {argument}{extra})")

    def compare(self, predicate: str, dtype: np.dtype, left: str, right: str) -> str:
        """A comparison of floats that raises no flag where one is NaN, as NumPy's."""
        type_, bits = self.value_type(dtype), self.type("i1")
        suffix = f"{'' if self.lanes == 1 else f'v{self.lanes}'}f{8 * dtype.itemsize}"
        full = f"@llvm.experimental.constrained.fcmp.{suffix}"
        self.declared.add(f"declare {bits} {full}({type_}, {type_}, metadata, metadata)")
        extra = f'metadata !"{predicate}", metadata !"fpexcept.strict"'
        return self.add(
            f"call {bits} {full}({type_} {left}, {type_} {right}, {extra}) nounwind strictfp"
        )

    def doubt(self, condition: str) -> None:
        """Note a condition under which the tile must be done by NumPy's loops."""
        self.doubts.append(condition)


# Emitters


def _two(integer: str, real: str, truth: str = "") -> Emitter:
    def emit(
        body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
    ) -> str:
        word = {"b": truth, "f": real}.get(result.kind, integer)
        return body.add(f"{word} {body.value_type(result)} {values[0]}, {values[1]}")

    return emit


def _compare(real: str, signed: str, unsigned: str) -> Emitter:
    def emit(
        body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
    ) -> str:
        kind = sources[0].kind
        if kind == "f":
            return body.compare(real, sources[0], *values)
        word = f"icmp {signed if kind == 'i' else unsigned}"
        return body.add(f"{word} {body.value_type(sources[0])} {values[0]}, {values[1]}")

    return emit


def _is_true(body: Body, dtype: np.dtype, value: str) -> str:
    if dtype.kind == "b":
        return value
    zero = body.constant(dtype, 0)
    return body.add(
        f"{'fcmp une' if dtype.kind == 'f' else 'icmp ne'} {body.value_type(dtype)} {value}, {zero}"
    )


def _logical(word: str) -> Emitter:
    def emit(
        body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
    ) -> str:
        truths = [
            _is_true(body, dtype, value) for dtype, value in zip(sources, values, strict=True)
        ]
        return body.add(f"{word} {body.type('i1')} {truths[0]}, {truths[1]}")

    return emit


def _not(body: Body, truth: str) -> str:
    ones = "true" if body.lanes == 1 else f"<{', '.join(['i1 true'] * body.lanes)}>"
    return body.add(f"xor {body.type('i1')} {truth}, {ones}")


def _logical_not(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    return _not(body, _is_true(body, sources[0], values[0]))


def _invert(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    if result.kind == "b":
        return _not(body, values[0])
    return body.add(f"xor {body.value_type(result)} {values[0]}, {body.constant(result, -1)}")


def _identity(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    return values[0]


def _square(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    word = "fmul" if result.kind == "f" else "mul"
    return body.add(f"{word} {body.value_type(result)} {values[0]}, {values[0]}")


def _reciprocal(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    return body.add(f"fdiv {body.value_type(result)} {body.constant(result, 1)}, {values[0]}")


def _negative(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    if result.kind == "f":
        negative = body.add(f"fneg {body.value_type(result)} {values[0]}")
        # Else the code generator would make `x * x` of `-x * -x`, where a NaN keeps its sign.
        return body.call("arithmetic.fence", result, negative)
    return body.add(f"sub {body.value_type(result)} {body.constant(result, 0)}, {values[0]}")


def _absolute(
    body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
) -> str:
    if result.kind == "f":
        return body.call("fabs", result, values[0])
    if result.kind in "ub":
        return values[0]
    return body.call("abs", result, values[0], ", i1 false")


def _intrinsic(name: str) -> Emitter:
    def emit(
        body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
    ) -> str:
        return body.call(name, result, values[0])

    return emit


def _classify(word: str) -> Emitter:
    """isnan, isinf, isfinite: by the bits, so that no flag is raised."""

    def emit(
        body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
    ) -> str:
        dtype = sources[0]
        integer = np.dtype(f"i{dtype.itemsize}")
        type_ = body.value_type(integer)
        bits = body.add(f"bitcast {body.value_type(dtype)} {values[0]} to {type_}")
        size = body.add(f"and {type_} {bits}, {body.constant(integer, np.iinfo(integer).max)}")
        infinity = int(np.array(np.inf, dtype).view(integer))
        return body.add(f"icmp {word} {type_} {size}, {body.constant(integer, infinity)}")

    return emit


def _extreme(real: str, signed: str, unsigned: str) -> Emitter:
    """Maximum or minimum; zeros of opposite sign, and NaN, are a doubt: NumPy's own loop decides."""

    def emit(
        body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]
    ) -> str:
        type_ = body.value_type(result)
        a, b = values
        if result.kind != "f":
            word = signed if result.kind == "i" else unsigned
            better = body.add(f"icmp {word} {type_} {a}, {b}")
            return body.add(f"select {body.type('i1')} {better}, {type_} {a}, {type_} {b}")
        integer = body.value_type(np.dtype(f"i{result.itemsize}"))
        better = body.add(f"fcmp {real} {type_} {a}, {b}")
        equal = body.add(f"fcmp ueq {type_} {a}, {b}")
        first, second = (body.add(f"bitcast {type_} {v} to {integer}") for v in (a, b))
        different = body.add(f"icmp ne {integer} {first}, {second}")
        body.doubt(body.add(f"and {body.type('i1')} {equal}, {different}"))
        return body.add(f"select {body.type('i1')} {better}, {type_} {a}, {type_} {b}")

    return emit


def _where(body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]) -> str:
    type_ = body.value_type(result)
    if result.kind == "f":
        # Else the code generator may do the sides' operations after the choice, and the flag of the side that is not
        # taken is lost.
        values = [values[0], *(body.call("arithmetic.fence", result, one) for one in values[1:])]
    return body.add(
        f"select {body.type('i1')} {values[0]}, {type_} {values[1]}, {type_} {values[2]}"
    )


def _cast(body: Body, sources: Sequence[np.dtype], result: np.dtype, values: Sequence[str]) -> str:
    source, value = sources[0], values[0]
    before, after = body.value_type(source), body.value_type(result)
    if result.kind == "b":
        return _is_true(body, source, value)
    if source.kind == "f":
        if source.itemsize == result.itemsize:
            return value
        return body.add(
            f"{'fptrunc' if source.itemsize > result.itemsize else 'fpext'} {before} {value} to {after}"
        )
    if result.kind == "f":
        word = "sitofp" if source.kind == "i" else "uitofp"
        number = body.add(f"{word} {before} {value} to {after}")
        # Else the code generator chooses between what an operation gives for 1 and for 0, without that one's flags.
        return body.call("arithmetic.fence", result, number) if source.kind == "b" else number
    if source.kind != "b" and source.itemsize == result.itemsize:
        return value
    if source.kind != "b" and source.itemsize > result.itemsize:
        return body.add(f"trunc {before} {value} to {after}")
    return body.add(f"{'sext' if source.kind == 'i' else 'zext'} {before} {value} to {after}")


# What is accepted


def _same(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return all(dtype == result for dtype in sources)


def _alike(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return len(set(sources)) == 1 and result.kind == "b"


def _real(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return _same(sources, result) and result.kind == "f"


def _real_or_integer(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return _same(sources, result) and result.kind in "fiu"


def _whole(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return _same(sources, result) and result.kind in "biu"


def _float_to_truth(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return sources[0].kind == "f" and result.kind == "b"


def _choice(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return sources[0].kind == "b" and all(dtype == result for dtype in sources[1:])


def _castable(sources: Sequence[np.dtype], result: np.dtype) -> bool:
    return not (sources[0].kind == "f" and result.kind in "iu")


@record
class Rule:
    """How an operation is written, and for which dtypes."""

    accepts: Callable[[Sequence[np.dtype], np.dtype], bool]
    emit: Emitter


# fmt: off
RULES: dict[str, Rule] = {
    "add":           Rule(_same,            _two("add", "fadd", "or")),
    "subtract":      Rule(_real_or_integer, _two("sub", "fsub")),
    "multiply":      Rule(_same,            _two("mul", "fmul", "and")),
    "divide":        Rule(_real,            _two("", "fdiv")),
    "bitwise_and":   Rule(_whole,           _two("and", "", "and")),
    "bitwise_or":    Rule(_whole,           _two("or", "", "or")),
    "bitwise_xor":   Rule(_whole,           _two("xor", "", "xor")),
    "invert":        Rule(_whole,           _invert),
    "negative":      Rule(_real_or_integer, _negative),
    "positive":      Rule(_same,            _identity),
    "conjugate":     Rule(_real_or_integer, _identity),
    "absolute":      Rule(_same,            _absolute),
    "fabs":          Rule(_real,            _absolute),
    "square":        Rule(_real_or_integer, _square),
    "sqrt":          Rule(_real,            _intrinsic("sqrt")),
    "reciprocal":    Rule(_real,            _reciprocal),
    "floor":         Rule(_real,            _intrinsic("floor")),
    "ceil":          Rule(_real,            _intrinsic("ceil")),
    "trunc":         Rule(_real,            _intrinsic("trunc")),
    "rint":          Rule(_real,            _intrinsic("rint")),
    "isnan":         Rule(_float_to_truth,  _classify("sgt")),
    "isinf":         Rule(_float_to_truth,  _classify("eq")),
    "isfinite":      Rule(_float_to_truth,  _classify("slt")),
    "equal":         Rule(_alike,           _compare("oeq", "eq", "eq")),
    "not_equal":     Rule(_alike,           _compare("une", "ne", "ne")),
    "less":          Rule(_alike,           _compare("olt", "slt", "ult")),
    "less_equal":    Rule(_alike,           _compare("ole", "sle", "ule")),
    "greater":       Rule(_alike,           _compare("ogt", "sgt", "ugt")),
    "greater_equal": Rule(_alike,           _compare("oge", "sge", "uge")),
    "logical_and":   Rule(_alike,           _logical("and")),
    "logical_or":    Rule(_alike,           _logical("or")),
    "logical_xor":   Rule(_alike,           _logical("xor")),
    "logical_not":   Rule(_alike,           _logical_not),
    "maximum":       Rule(_same,            _extreme("ogt", "sgt", "ugt")),
    "minimum":       Rule(_same,            _extreme("olt", "slt", "ult")),
    "where":         Rule(_choice,          _where),
    "cast":          Rule(_castable,        _cast),
}
# fmt: on


def emit(body: Body, loop: Loop, values: Sequence[str]) -> str:
    """Append the instructions of a loop; the name of its result."""
    name = {"cast": "cast", "copy": "positive", "where": "where"}.get(loop.kind, loop.name)
    return RULES[name].emit(body, loop.dtypes[:-1], loop.dtypes[-1], values)
