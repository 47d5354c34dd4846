"""Python's unary and binary operators on symbols: numbers, arrays, instances, containers; truth and length."""

from __future__ import annotations

import math
import operator
import sys
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.scalars import operator_function, scalar
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.objects.classes import (
    call_special,
    guard_bases,
    guarded_lookup,
    inherits,
    is_not_implemented,
    special_method,
    static_lookup,
    uses_plain,
)
from ufuse.frame_hook.objects.contents import has_content, is_built_in, unwrapped
from ufuse.frame_hook.objects.values import (
    PURE,
    as_size,
    described,
    known_value,
    number_type,
    pure,
    text_value,
)
from ufuse.frame_hook.operations import containers, deques, elided, iterate
from ufuse.frame_hook.operations.iterate import LONGEST_SEQUENCE
from ufuse.frame_hook.trace.guards import DEEPEST, postfix
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import LARGEST_INT
from ufuse.frame_hook.trace.symbols import (
    BUILT_IN,
    Array,
    ArrayMethod,
    Constant,
    Deque,
    DeviceArray,
    Dict,
    Function,
    Generator,
    Instance,
    Integer,
    Iterator,
    List,
    Method,
    Number,
    Range,
    Set,
    Slice,
    Symbol,
    Tuple,
    View,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, size
from ufuse.graph.types import ArrayType, NumberType

# fmt: off
#           operator        ufunc            on sizes
BINARY: dict[str, tuple[str, np.ufunc | None, Callable[..., Any] | None]] = {
    "+":   ("add",          np.add,          size.add),
    "-":   ("sub",          np.subtract,     lambda a, b: size.add(a, size.multiply(b, -1))),
    "*":   ("mul",          np.multiply,     size.multiply),
    "/":   ("truediv",      np.true_divide,  None),
    "//":  ("floordiv",     np.floor_divide, lambda a, b: size.divide("//", a, b)),
    "%":   ("mod",          np.remainder,    lambda a, b: size.divide("%", a, b)),
    "**":  ("pow",          np.power,        None),
    "@":   ("matmul",       None,            None),
    "&":   ("and_",         np.bitwise_and,  None),
    "|":   ("or_",          np.bitwise_or,   None),
    "^":   ("xor",          np.bitwise_xor,  None),
    "<<":  ("lshift",       np.left_shift,   None),
    ">>":  ("rshift",       np.right_shift,  None),
}
# Product and sum of the weights of two size expressions; past these, as where one is deep, both are guarded to be
# constant, or loops would grow them.
HEAVIEST, LONGEST = 2500, 64
ONE_DIGIT = 2**sys.int_info.bits_per_digit  # the least int of two digits inside CPython
SUBCLASSED = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, deque)
UNARY = {"neg": np.negative, "pos": np.positive, "invert": np.invert, "abs": np.absolute}
# fmt: on


def binary(
    interpreter: Interpreter,
    sign: str,
    left: Symbol,
    right: Symbol,
    *,
    in_place: bool,
    by_operator: bool = False,
) -> Symbol:
    """The result of a binary operator; in place, the left symbol itself where it is changed.

    `by_operator`: it is called by a function of the module `operator`, with just these arguments.
    """
    trace = interpreter.trace
    left, right = trace.look(left), trace.look(right)
    name, ufunc, on_sizes = BINARY[sign]
    if isinstance(left, DeviceArray) or isinstance(right, DeviceArray):
        if sign == "@":  # in place too: CuPy's arrays have no method for that
            return devices.function_call(trace, "matmul", (left, right))
        if ufunc is None:
            raise GraphBreak("operator", f"{sign}{'=' * in_place} of CuPy's arrays")
        if in_place and isinstance(left, DeviceArray):
            return devices.in_place(trace, ufunc.__name__, left, right)
        return devices.operator(trace, ufunc.__name__, left, right)
    if isinstance(left, Instance) or isinstance(right, Instance):
        if has_content(left) or has_content(right):
            return _on_contents(interpreter, sign, left, right, in_place=in_place)
        return _on_instances(interpreter, sign, left, right, in_place=in_place)
    if isinstance(left, Array) or isinstance(right, Array):
        if sign == "@":
            return arrays.matmul(trace, left, right, in_place=in_place)
        assert ufunc is not None
        if in_place and isinstance(left, Array):
            return _on_arrays(trace, sign, ufunc, left, right, in_place=True)
        one, other, over = elided.in_order(interpreter, sign, left, right, by_operator=by_operator)
        if over and trace.graph.stores:
            raise GraphBreak("operator", f"{sign} of complex numbers with gaps, behind a write,")
        result = _on_arrays(trace, sign, ufunc, one, other, in_place=over)
        if over:
            return result
        if isinstance(result, Array):
            elided.refuse_to_guess(interpreter, sign, left, right, result, by_operator=by_operator)
        return result
    if isinstance(left, Constant) and isinstance(right, Constant):
        if sign != "%" or type(right.value) is not type:
            return _on_constants(trace, name, left, right, in_place=in_place)
    if arrays.is_number(left) and arrays.is_number(right):
        return _on_numbers(trace, name, on_sizes, left, right, in_place=in_place)
    return _on_containers(interpreter, sign, left, right, in_place=in_place)


def kind_of(symbol: Symbol) -> type | None:
    """The class of an instance; None of any other symbol."""
    return symbol.kind if isinstance(symbol, Instance) else None


def _on_contents(
    interpreter: Interpreter, sign: str, left: Symbol, right: Symbol, *, in_place: bool
) -> Symbol:
    """An operator with an instance of a subclass of a built-in type that inherits the operator."""
    name = BINARY[sign][0].strip("_")
    methods = [f"__{name}__", f"__r{name}__", f"__i{name}__"]
    a, b = (unwrapped(interpreter.trace, symbol, *methods) for symbol in (left, right))
    if isinstance(a, Instance) or isinstance(b, Instance):
        one_is_plain = isinstance(a, Instance) != isinstance(b, Instance)
        if (has_content(left) and has_content(right) and one_is_plain) or (
            in_place and a is not left
        ):
            raise GraphBreak("operator", f"{sign} of {described(left)} and {described(right)}")
        return _on_instances(interpreter, sign, left, right, in_place=in_place)
    if is_of_numpy(a) or is_of_numpy(b):
        raise GraphBreak("operator", f"{sign} of {described(left)} and {described(right)}")
    result = binary(interpreter, sign, a, b, in_place=in_place)
    if in_place and result is a and isinstance(a, List | Dict | Set):
        return left
    # of tuples CPython gives an operand back where it is of no subclass
    is_content = (result is a and a is not left) or (result is b and b is not right)
    return Tuple(result.items) if is_content and isinstance(result, Tuple) else result


def _built_in_answers(left: Symbol, right: Symbol, name: str, *, in_place: bool) -> bool:
    """Whether the operator of a built-in type, on the left, may give a result for an instance."""
    if in_place and isinstance(left, Dict | Set):
        return True
    if not isinstance(right, Instance) or not issubclass(right.kind, SUBCLASSED):
        return False
    kind = type(left.value) if isinstance(left, Constant) else BUILT_IN.get(type(left))
    reflected = static_lookup(right.kind, f"__r{name}__")
    return (
        kind is None
        or not issubclass(right.kind, kind)
        or reflected is static_lookup(kind, f"__r{name}__")
    )


def is_of_numpy(symbol: Symbol) -> bool:
    """Whether it is an array or a NumPy scalar: their operators answer for other classes too."""
    return (
        isinstance(symbol, Array)
        or (isinstance(symbol, Number) and isinstance(symbol.node.type, ArrayType))
        or (isinstance(symbol, Constant) and isinstance(symbol.value, np.generic))
    )


def defers(trace: Trace, other: Instance) -> bool:
    """Whether arrays and NumPy scalars return NotImplemented for this operand: its `__array_ufunc__` is None."""
    return static_lookup(other.kind, "__array_ufunc__") is None and uses_plain(
        trace, other.kind, "__array_ufunc__", None
    )


def _on_instances(
    interpreter: Interpreter, sign: str, left: Symbol, right: Symbol, *, in_place: bool
) -> Symbol:
    """A binary operator in CPython's order: in place, left, reflected; a subclass on the right goes before the left."""
    name = BINARY[sign][0].strip("_")
    if not isinstance(left, Instance) and _built_in_answers(left, right, name, in_place=in_place):
        raise GraphBreak("operator", f"{sign} of {described(left)} and {described(right)}")
    tries = [(left, f"__{name}__", right)]
    if kind_of(left) is not kind_of(right):
        goes_first = _right_goes_first(interpreter.trace, left, right, f"__r{name}__")
        tries.insert(0 if goes_first else 1, (right, f"__r{name}__", left))
    if in_place:
        tries.insert(0, (left, f"__i{name}__", right))
    for receiver, method_name, other in tries:
        if not isinstance(receiver, Instance):
            if is_of_numpy(receiver) and isinstance(other, Instance):
                if in_place or not defers(interpreter.trace, other):
                    raise GraphBreak("operator", f"{sign} of an array and a {other.kind.__name__}")
            continue  # the built-in type returns NotImplemented
        if has_content(receiver) and is_built_in(receiver.kind, method_name):
            overrides = not all(
                is_built_in(receiver.kind, n) for n in (f"__{name}__", f"__r{name}__")
            )
            if not isinstance(other, Instance) or has_content(other) or overrides:
                raise GraphBreak("operator", f"{sign} of {described(left)} and {described(right)}")
            unwrapped(interpreter.trace, receiver, method_name)
            continue
        method = special_method(interpreter, receiver, method_name)
        if method is None:
            continue
        result = interpreter.trace.look(interpreter.call(method, (other,)))
        if not is_not_implemented(result):
            return result
    raise GraphBreak(
        "eager-raises", f"TypeError: {sign} of {described(left)} and {described(right)}"
    )


def _right_goes_first(trace: Trace, left: Symbol, right: Symbol, reflected: str) -> bool:
    a, b = kind_of(left), kind_of(right)
    if a is None or b is None:
        return False
    guard_bases(trace, b)
    if not inherits(b, a):
        return False
    return guarded_lookup(trace, b, reflected) is not guarded_lookup(trace, a, reflected)


def _on_arrays(
    trace: Trace, sign: str, ufunc: np.ufunc, left: Symbol, right: Symbol, *, in_place: bool
) -> Symbol:
    if sign == "**" and isinstance(left, Array):
        faster = _fast_power(trace, left, right)
        if faster is not None:
            if in_place and isinstance(left, Array):
                return arrays.store_result(trace, faster, (left,), left)
            return arrays.elementwise(trace, faster, (left,))
    if in_place and isinstance(left, Array):
        return arrays.store_result(trace, ufunc, (left, right), left)
    return arrays.elementwise(trace, ufunc, (left, right))


# NumPy up to 2.2 has fast paths for more exponents, by value: 2.0, np.float64(2), 0 and 1 too.
POWERS_BY_VALUE = (np.ones(1, np.bool_) ** 2.0).dtype == np.int8
FAST_EXPONENTS = (0, 1, 2, -1, 0.5)
NUMBERS = (int, float, complex, np.generic)
OWN_FAST_POWERS = frozenset("fd")  # dtypes whose loop of `power` gives the bits of the fast path


def _fast_power(trace: Trace, left: Array, right: Symbol) -> np.ufunc | None:
    """The ufunc that `ndarray.__pow__` calls in place of power for some Python exponents; warnings name that one."""
    dtype = left.type.dtype
    inexact = dtype.kind in "fc"
    if POWERS_BY_VALUE and _is_fast_by_value(trace, right):
        raise GraphBreak("operator", f"a power of a {dtype} array with this exponent")
    if isinstance(right, Integer):
        if trace.sizes.decide("eq", right.size, 2):
            return np.square
        return np.reciprocal if inexact and trace.sizes.decide("eq", right.size, -1) else None
    if isinstance(right, Number) and inexact and right.node.type == NumberType("float"):
        return np.sqrt if _is_one_half(trace, right, dtype) else None
    if not isinstance(right, Constant):
        return None
    exponent = right.value
    if type(exponent) is int and exponent == 2:
        return np.square
    if inexact and type(exponent) is int and exponent == -1:
        return np.reciprocal
    return np.sqrt if inexact and type(exponent) is float and exponent == 0.5 else None


def _is_fast_by_value(trace: Trace, exponent: Symbol) -> bool:
    """Whether an older NumPy may have a fast path for this exponent that it has not for others."""
    if isinstance(exponent, Integer):
        return any(trace.sizes.decide("eq", exponent.size, value) for value in (0, 1))
    if isinstance(exponent, Constant):
        value = exponent.value
        taken = (type(value) is int and value in (2, -1)) or (type(value) is float and value == 0.5)
        return not taken and isinstance(value, NUMBERS) and value in FAST_EXPONENTS
    return isinstance(exponent, Number) or (isinstance(exponent, Array) and not exponent.type.ndim)


def _is_one_half(trace: Trace, number: Number, dtype: np.dtype) -> bool:
    """Whether a float of the frame is 0.5; the answer is guarded."""
    source = number.source
    if source is not None and number.node in trace.number_examples:
        holds: bool = trace.number_examples[number.node] == 0.5
        trace.guards.check("FLOAT" if holds else "NOT_FLOAT", source, 0.5)
        return holds
    if dtype.char not in OWN_FAST_POWERS:
        raise GraphBreak("operator", f"a power of a {dtype} array with a computed exponent")
    return False


def _is_in_union(trace: Trace, value: Any) -> bool:
    """Whether `|` makes a `types.UnionType` of it, and runs none of the user's code."""
    return (
        value is None
        or isinstance(value, types.UnionType)
        or (
            isinstance(value, type)
            and uses_plain(trace, type(value), "__or__", type.__or__)
            and uses_plain(trace, type(value), "__ror__", type.__ror__)
        )
    )


def _on_constants(
    trace: Trace, name: str, left: Constant, right: Constant, *, in_place: bool = False
) -> Symbol:
    if name == "or_" and all(_is_in_union(trace, one.value) for one in (left, right)):
        if left.value is not None or right.value is not None:
            return pure(operator.or_, left.value, right.value)
    if not isinstance(left.value, PURE) or not isinstance(right.value, PURE):
        raise GraphBreak("operator", f"{name} of {described(left)} and {described(right)}")
    a: Any = left.value
    b: Any = right.value
    numbers = [v for v in (a, b) if type(v) is int]
    if name in ("pow", "lshift", "mul") and any(v.bit_length() > 64 for v in numbers):
        raise GraphBreak("operator", f"{name} of very large numbers")
    if name in ("pow", "lshift") and len(numbers) == 2 and abs(b) > 1024:
        raise GraphBreak("operator", f"{name} of very large numbers")
    texts = [v for v in (a, b) if isinstance(v, (str, bytes))]
    if name == "mul" and texts and any(v * len(texts[0]) > LONGEST_SEQUENCE for v in numbers):
        raise GraphBreak("operator", "a long text")
    function = operator_function(name, in_place=in_place)
    assert function is not None
    return pure(function, a, b)


def _on_numbers(
    trace: Trace,
    name: str,
    on_sizes: Callable[..., Any] | None,
    left: Symbol,
    right: Symbol,
    *,
    in_place: bool,
) -> Symbol:
    a, b = as_size(left), as_size(right)
    if a is not None and b is not None:
        if on_sizes is not None:
            if name in ("floordiv", "mod") and trace.sizes.decide("eq", b, 0):
                raise GraphBreak(
                    "eager-raises", "ZeroDivisionError: integer division or modulo by zero"
                )
            plain = isinstance(left, Integer) or (
                isinstance(left, Constant) and type(left.value) is int
            )
            if name == "mod" and plain and _is_remainder_of_itself(trace, a, b):
                return left
            weights = size.weight(a), size.weight(b)
            if (
                math.prod(weights) > HEAVIEST
                or sum(weights) > LONGEST
                or size.depth(found := on_sizes(a, b)) > DEEPEST
            ):
                found = on_sizes(trace.sizes.fixed(a), trace.sizes.fixed(b))
            return _small_enough(trace, found)
        if name != "truediv":
            c, d = Constant(trace.sizes.fixed(a)), Constant(trace.sizes.fixed(b))
            return _on_constants(trace, name, c, d, in_place=in_place)
    return scalar(trace, name, left, right, in_place=in_place)


def _is_remainder_of_itself(trace: Trace, value: size.Size, divisor: size.Size) -> bool:
    """Whether `%` returns the object on its left itself: so CPython does where only the divisor has several digits."""
    decide = trace.sizes.decide
    if decide("lt", divisor, ONE_DIGIT) and decide("gt", divisor, -ONE_DIGIT):
        return False
    if decide("gt", divisor, 0):
        return decide("ge", value, 0) and decide("lt", value, divisor)
    return decide("le", value, 0) and decide("gt", value, divisor)


def _small_enough(trace: Trace, value: size.Size) -> Symbol:
    """The symbol of a whole number, guarded to fit the 64 bits in which guards compute it."""
    if isinstance(value, int):
        return Constant(value)
    factors = [factor for _, factor in value.terms]
    if any(abs(number) >= LARGEST_INT for number in (*factors, trace.sizes.example(value))):
        raise GraphBreak("operator", "arithmetic of very large numbers")
    program = (*postfix(value, trace.sizes.leaves), ("const", -LARGEST_INT), ("gt",))
    trace.guards.check("RELATION", program, says="RELATION large", fields=(value,))
    return arrays.integer(trace, value)


def _on_containers(
    interpreter: Interpreter, sign: str, left: Symbol, right: Symbol, *, in_place: bool
) -> Symbol:
    made = containers.combine_sets(interpreter, sign, left, right, in_place=in_place)
    if made is not None:
        return made
    if sign == "*":
        many, count = (right, left) if as_size(left) is not None else (left, right)
        times = as_size(count)
        if isinstance(many, Tuple | List | Deque) and times is not None:
            return _repeated(interpreter, many, times, in_place=in_place and many is left)
    match left, right:
        case List() as target, _ if sign == "+" and in_place:
            containers.extend(interpreter, target, right)
            return target
        case Tuple(items=a), Tuple(items=b) if sign == "+":
            if not a or not b:  # CPython gives the other one back
                return right if not a else left
            return Tuple((*a, *b))
        case List(items=first), List(items=second) if sign == "+":
            return List([*first, *second])
        case Deque() as queue, _ if sign == "+" and in_place:
            deques.extend(interpreter, queue, right)
            return queue
        case Deque(items=some), Deque(items=others) if sign == "+":
            return Deque(some + others)
        case Dict(items=entries), Dict() if sign == "|":
            target_dict = left if in_place else Dict(dict(entries))
            containers.update(interpreter, target_dict, right)
            return target_dict
        case Dict(), _ if sign == "|" and in_place:
            containers.update(interpreter, left, right)
            return left
        case Constant(value=str() | bytes() as text), _ if sign == "%":
            return pure(operator.mod, text, text_value(interpreter, right))
        case Constant(value=str() | bytes() as text), Integer() if sign == "*":
            number = Constant(known_value(interpreter, right))
            return _on_constants(interpreter.trace, "mul", left, number)
    raise GraphBreak("operator", f"{sign} of {described(left)} and {described(right)}")


def _repeated(
    interpreter: Interpreter, sequence: Tuple | List | Deque, count: size.Size, *, in_place: bool
) -> Symbol:
    """`sequence * count`; more than `sys.maxsize` times is an error, whatever the length."""
    times = interpreter.trace.sizes.fixed(count)
    if times * len(sequence.items) > LONGEST_SEQUENCE or abs(times) > sys.maxsize:
        raise GraphBreak("operator", "a long sequence")
    match sequence:
        case Tuple(items=items):
            return sequence if times == 1 else Tuple(items * times)
        case List(items=members) if not in_place:
            return List(members * times)
        case Deque(items=queue) if not in_place:
            return Deque(queue * times)
        case List():
            sequence.items *= times
            interpreter.trace.changes.call(list.__imul__, sequence, Constant(times))
        case Deque():
            deques.repeat(interpreter, sequence, times)
    return sequence


def unary(interpreter: Interpreter, name: str, symbol: Symbol) -> Symbol:
    """The result of `-x`, `+x`, `~x` or `abs(x)`."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    symbol = unwrapped(trace, symbol, f"__{name}__")
    if isinstance(symbol, Instance):
        return call_special(interpreter, symbol, f"__{name}__")
    if isinstance(symbol, Array):
        return arrays.elementwise(trace, UNARY[name], (symbol,))
    if isinstance(symbol, DeviceArray):
        return devices.operator(trace, UNARY[name].__name__, symbol)
    if isinstance(symbol, Constant) and isinstance(symbol.value, PURE):
        return pure(getattr(operator, name), symbol.value)
    if isinstance(symbol, Integer):
        if name == "neg":
            return _small_enough(trace, size.multiply(symbol.size, -1))
        if name == "pos" or (name == "abs" and trace.sizes.decide("ge", symbol.size, 0)):
            return symbol
        return Constant(getattr(operator, name)(trace.sizes.fixed(symbol.size)))
    if isinstance(symbol, Number):
        return scalar(trace, name, symbol)
    raise GraphBreak("operator", f"{name} of {described(symbol)}")


def truth(interpreter: Interpreter, symbol: Symbol) -> bool:
    """What `bool(symbol)` is; guarded where it depends on the frame.

    Raises:
        GraphBreak: the value is not computed yet.

    """
    trace = interpreter.trace
    symbol = unwrapped(trace, trace.look(symbol), "__bool__", "__len__")
    match symbol:
        case Constant(value=type() as kind) if type(kind) is not type:
            return _truth_of_instance(interpreter, symbol)
        case Constant(value=value):
            if isinstance(value, (*PURE, type, tuple)) or callable(value):
                return bool(value)
        case Integer(size=value):
            return trace.sizes.decide("ne", value, 0)
        case Tuple() | List() | Deque() | Dict() | Set():
            return bool(symbol.items)
        case View(of=Dict(items=entries)):
            return bool(entries)
        case Number():
            if symbol.node in trace.number_examples:
                return bool(trace.specialised(symbol).value)
            raise GraphBreak("data-branch", "a computed number")
        case Array() | DeviceArray():
            raise GraphBreak("data-branch", "an array's value")
        case Instance():
            return _truth_of_instance(interpreter, symbol)
        case Function() | Method() | Generator() | Iterator() | ArrayMethod() | Slice():
            return True
        case Range():
            return bool(iterate.fixed_range(interpreter, symbol))
    raise GraphBreak("data-branch", f"whether {described(symbol)} is true")


def truth_or_number(interpreter: Interpreter, symbol: Symbol) -> bool | Number:
    """What `bool(symbol)` is; where the graph computes that, a number that is true as the symbol is."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    if isinstance(symbol, Number):
        if symbol.node in trace.expected:
            return trace.expected[symbol.node]
        return bool(trace.specialised(symbol).value) if trace.is_fixed(symbol) else symbol
    if isinstance(symbol, Array) and trace.sizes.decide("eq", arrays.total(symbol.type.shape), 1):
        return _only_element(trace, symbol)
    if isinstance(symbol, DeviceArray) and trace.sizes.decide(
        "eq", arrays.total(symbol.type.shape), 1
    ):
        return devices.read(trace, symbol)
    return truth(interpreter, symbol)


def _only_element(trace: Trace, array: Array) -> Number:
    """The element of an array that has one: the array is true as it is."""
    index = {"index": (0,) * array.type.ndim}
    found = trace.graph.fresh(trace.graph.node(ops.ELEMENT, (trace.graph.value(array),), index))
    assert isinstance(found, Number)
    return found


def as_bool(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    """`bool(symbol)`."""
    known = truth_or_number(interpreter, symbol)
    return (
        scalar(interpreter.trace, "bool", known) if isinstance(known, Number) else Constant(known)
    )


def _truth_of_instance(interpreter: Interpreter, symbol: Symbol) -> bool:
    method = special_method(interpreter, symbol, "__bool__")
    if method is not None:
        answer = interpreter.trace.look(interpreter.call(method))
        if not isinstance(answer, Constant) or type(answer.value) is not bool:
            raise GraphBreak("operator", f"the truth of {described(symbol)}")
        return answer.value
    if special_method(interpreter, symbol, "__len__") is not None:
        return truth(interpreter, length(interpreter, symbol))
    return True


def length(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    """What `len(symbol)` is."""
    trace = interpreter.trace
    symbol = unwrapped(trace, trace.look(symbol), "__len__")
    match symbol:
        case Array(type=kind) if kind.shape:
            return arrays.integer(trace, kind.shape[0])
        case DeviceArray():
            return devices.length(trace, symbol)
        case Tuple() | List() | Deque() | Dict() | Set():
            return Constant(len(symbol.items))
        case View(of=Dict(items=entries)):
            return Constant(len(entries))
        case Constant(value=str() | bytes() | range() | frozenset() | tuple() as value):
            return Constant(len(value))
        case Range():
            return pure(len, iterate.fixed_range(interpreter, symbol))
        case Instance():
            return _checked_length(interpreter, call_special(interpreter, symbol, "__len__"))
        case Constant(value=type() as kind) if type(kind) is not type:
            return _checked_length(interpreter, call_special(interpreter, symbol, "__len__"))
    if arrays.is_number(symbol) and number_type(symbol) != "numpy":
        raise raise_error(TypeError, f"object of type '{number_type(symbol)}' has no len()")
    raise GraphBreak("operator", f"len of {described(symbol)}")


def _checked_length(interpreter: Interpreter, answer: Symbol) -> Symbol:
    """What a `__len__` written in Python returned, checked as `len` does."""
    answer = interpreter.trace.look(answer)
    expression = as_size(answer)
    if expression is None or (isinstance(answer, Constant) and type(answer.value) is not int):
        raise GraphBreak("operator", f"a length that is {described(answer)}")
    if interpreter.trace.sizes.decide("lt", expression, 0):
        raise GraphBreak("eager-raises", "ValueError: __len__() should return >= 0")
    return answer
