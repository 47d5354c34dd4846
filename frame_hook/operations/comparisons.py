"""Python's comparisons on symbols: order, equality, identity."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices import numbers as device_numbers
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.classes import (
    call_special,
    guard_bases,
    guarded_lookup,
    inherits,
    is_not_implemented,
    special_method,
    static_lookup,
)
from ufuse.frame_hook.objects.contents import has_content, unwrapped
from ufuse.frame_hook.objects.values import (
    KNOWN,
    PURE,
    as_size,
    described,
    known_value,
    number_type,
    pure,
)
from ufuse.frame_hook.operations import containers, deques
from ufuse.frame_hook.operations.arithmetic import defers, is_of_numpy, kind_of, truth
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    AnyArray,
    Array,
    Cell,
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
    Opaque,
    Range,
    Set,
    Slice,
    Symbol,
    Tuple,
    Unread,
    View,
)
from ufuse.frame_hook.trace.trace import Trace

# fmt: off
COMPARE = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal,
}
# fmt: on


def compare(interpreter: Interpreter, name: str, left: Symbol, right: Symbol) -> Symbol:
    """The result of a rich comparison."""
    trace = interpreter.trace
    left, right = trace.look(left), trace.look(right)
    if isinstance(left, DeviceArray) or isinstance(right, DeviceArray):
        if not isinstance(left, DeviceArray):
            name, left, right = REFLECTED[name], right, left
        return devices.operator(trace, COMPARE[name].__name__, left, right)
    if device_numbers.is_device(left) or device_numbers.is_device(right):
        compared = device_numbers.compared(trace, name, left, right)
        if compared is not None:
            return compared
    if isinstance(left, Instance) or isinstance(right, Instance):
        if not has_content(left) and not has_content(right):
            return _compare_instances(interpreter, name, left, right)
        if _both_override(interpreter, name, left, right):
            return _compare_instances(interpreter, name, left, right)
        left, right = _contents(interpreter, name, left, right)
    if isinstance(left, Array) or isinstance(right, Array):
        if not is_of_numpy(left):
            name, left, right = REFLECTED[name], right, left  # the left one returns NotImplemented
        return arrays.elementwise(trace, COMPARE[name], (left, right))
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _compare_constants(name, left.value, right.value)
    a, b = as_size(left), as_size(right)
    if a is not None and b is not None:
        return Constant(trace.sizes.decide(name, a, b))
    if arrays.is_number(left) and arrays.is_number(right):
        return scalar(trace, name, left, right)
    return _compare_others(interpreter, name, left, right)


def _both_override(interpreter: Interpreter, name: str, left: Symbol, right: Symbol) -> bool:
    """Whether both are instances whose classes override this comparison in Python."""
    methods = [f"__{one}__" for one in (name, REFLECTED[name])]
    return all(
        isinstance(one, Instance)
        and all(isinstance(static_lookup(one.kind, method), FunctionType) for method in methods)
        for one in (left, right)
    )


REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _contents(
    interpreter: Interpreter, name: str, left: Symbol, right: Symbol
) -> tuple[Symbol, Symbol]:
    """The operands, those that inherit the comparison from a built-in type as their content."""
    methods = [f"__{name}__", f"__{REFLECTED[name]}__"]
    a, b = (unwrapped(interpreter.trace, symbol, *methods) for symbol in (left, right))
    if isinstance(a, Instance) or isinstance(b, Instance) or is_of_numpy(a) or is_of_numpy(b):
        raise GraphBreak("operator", f"comparing {described(left)} and {described(right)}")
    return a, b


def _compare_instances(interpreter: Interpreter, name: str, left: Symbol, right: Symbol) -> Symbol:
    tries = [(left, f"__{name}__", right), (right, f"__{REFLECTED[name]}__", left)]
    if _is_subclass_of(interpreter.trace, right, left):
        tries.reverse()
    for receiver, method_name, other in tries:
        if not isinstance(receiver, Instance):
            if is_of_numpy(receiver) and not defers(interpreter.trace, other):  # type: ignore[arg-type]
                raise GraphBreak("operator", f"comparing {described(left)} and {described(right)}")
            continue
        result = interpreter.trace.look(_rich_comparison(interpreter, receiver, method_name, other))
        if not is_not_implemented(result):
            return result
    if name in ("eq", "ne"):
        return Constant(identical(interpreter, left, right) == (name == "eq"))
    raise GraphBreak(
        "eager-raises", f"TypeError: comparing {described(left)} and {described(right)}"
    )


def _is_subclass_of(trace: Trace, right: Symbol, left: Symbol) -> bool:
    a, b = kind_of(left), kind_of(right)
    if a is None or b is None or b is a:
        return False
    guard_bases(trace, b)
    return inherits(b, a)


def _rich_comparison(
    interpreter: Interpreter, receiver: Instance, method_name: str, other: Symbol
) -> Symbol:
    found = static_lookup(receiver.kind, method_name)
    if found is getattr(object, method_name):
        equal = guarded_lookup(interpreter.trace, receiver.kind, "__eq__")
        if method_name == "__ne__" and equal is not object.__eq__:
            result = interpreter.trace.look(
                _rich_comparison(interpreter, receiver, "__eq__", other)
            )
            return (
                result if is_not_implemented(result) else Constant(not truth(interpreter, result))
            )
        special_method(interpreter, receiver, method_name)
        return Constant(NotImplemented)
    result = call_special(interpreter, receiver, method_name, (other,))
    return interpreter.trace.look(result)


def _compare_constants(name: str, left: Any, right: Any) -> Symbol:
    if isinstance(left, KNOWN) and isinstance(right, KNOWN):
        return pure(getattr(operator, name), left, right)
    if (
        name in ("eq", "ne")
        and isinstance(left, np.dtype)
        and isinstance(right, (type, np.dtype, str))
    ):
        return pure(getattr(operator, name), left, right)
    if name in ("eq", "ne") and isinstance(right, np.dtype) and type(left) is type:
        return pure(getattr(operator, name), right, left)
    if name in ("eq", "ne") and all(type(v) is BuiltinFunctionType for v in (left, right)):
        return Constant((left == right) == (name == "eq"))  # compares `__self__` and the C function
    by_identity = all(
        _is_compared_by_identity(value) or isinstance(value, PURE) for value in (left, right)
    )
    if name in ("eq", "ne") and by_identity:
        return Constant((left is right) == (name == "eq"))
    raise GraphBreak("operator", f"comparing {type(left).__name__} and {type(right).__name__}")


def _is_compared_by_identity(value: Any) -> bool:
    """Whether `==` of a value is `is`: of functions, modules, and classes whose metaclass does not override it."""
    if isinstance(value, type):
        return type(value).__eq__ is type.__eq__
    return isinstance(value, FunctionType | BuiltinFunctionType | ModuleType)


def _compare_others(interpreter: Interpreter, name: str, left: Symbol, right: Symbol) -> Symbol:
    is_equality = name in ("eq", "ne")
    match left, right:
        case (Tuple(items=some), Tuple(items=others)):
            return _compare_sequences(interpreter, name, some, others, by_length=False)
        case (List(items=some), List(items=others)):
            return _compare_sequences(interpreter, name, some, others)
        case (Deque(items=first), Deque(items=second)):
            with deques.unchanged(left, right):
                relation = _compare_sequences(interpreter, name, first, second)
                return Constant(truth(interpreter, relation))
        case Dict(items=a), Dict(items=b) if is_equality:
            return Constant(_dicts_are_equal(interpreter, a, b) == (name == "eq"))
        case ((Range() | Constant(value=range())), (Range() | Constant(value=range()))):
            values = [known_value(interpreter, side) for side in (left, right)]
            return pure(getattr(operator, name), *values)
        case Method(self=one, function=function), Method(self=other, function=second) if (
            is_equality
        ):
            alike = identical(interpreter, one, other) and identical(interpreter, function, second)
            return Constant(alike == (name == "eq"))
    if containers.is_set(left) and containers.is_set(right):
        values = [_set_value(interpreter, side) for side in (left, right)]
        return pure(getattr(operator, name), *values)
    if is_equality and _unrelated(left, right):
        return Constant(name == "ne")
    raise GraphBreak("operator", f"comparing {described(left)} and {described(right)}")


def _set_value(interpreter: Interpreter, symbol: Symbol) -> Any:
    if isinstance(symbol, View) and symbol.kind == "items":
        raise GraphBreak("operator", "comparing the items of a dict")
    return set(containers.operand(interpreter, symbol)[0])


def _unrelated(left: Symbol, right: Symbol) -> bool:
    """Whether both are of built-in types whose values never compare equal."""
    kinds = _built_in_kind(left), _built_in_kind(right)
    return "" not in kinds and kinds[0] != kinds[1]


def _built_in_kind(symbol: Symbol) -> str:
    """A name that built-in types share whose values may compare equal; "" for all else."""
    if isinstance(symbol, Constant | Number | Integer):
        kind = number_type(symbol)
        return "number" if kind in ("int", "float", "complex", "bool") else COMPARED.get(kind, "")
    return (
        type(symbol).__name__
        if isinstance(symbol, Tuple | List | Deque | Dict | Set | Range | Slice)
        else ""
    )


COMPARED = {
    "NoneType": "None", "str": "str", "bytes": "bytes", "ellipsis": "...", "frozenset": "Set", "range": "Range",
}  # fmt: skip


def _compare_sequences(
    interpreter: Interpreter, name: str, left: Any, right: Any, *, by_length: bool = True
) -> Symbol:
    """By the first items that differ, else by length; lists and deques of different lengths are never equal."""
    if by_length and name in ("eq", "ne") and len(left) != len(right):
        return Constant(name == "ne")
    place = 0
    while place < min(len(left), len(right)):  # a list may be changed by what compares its items
        if not equal_or_same(interpreter, left[place], right[place]):
            break
        place += 1
    if place < min(len(left), len(right)):
        if name in ("eq", "ne"):
            return Constant(name == "ne")
        return compare(interpreter, name, left[place], right[place])
    return Constant(getattr(operator, name)(len(left), len(right)))


def _refuse_objects(interpreter: Interpreter, values: Iterable[Symbol]) -> None:
    """Break for values with an `__eq__` in Python: CPython calls it in the order of the inner dict, unknown here."""
    looked = map(interpreter.trace.look, values)
    if any(not isinstance(value, Constant | Integer | Number) for value in looked):
        raise GraphBreak("operator", "comparing ordered dicts that hold objects")


def _dicts_are_equal(
    interpreter: Interpreter, left: dict[Any, Symbol], right: dict[Any, Symbol]
) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, OrderedDict) and isinstance(right, OrderedDict):
        _refuse_objects(interpreter, (*left.values(), *right.values()))
        if not _dicts_are_equal(interpreter, dict(left), dict(right)):
            return False
        return list(left) == list(right)
    return all(
        key in right and equal_or_same(interpreter, value, right[key])
        for key, value in list(left.items())
    )


HELD_ONCE = (
    List | Deque | Dict | Set | Instance | Tuple | Cell | Method
)  # one object of the frame is one symbol


def identical(interpreter: Interpreter, left: Symbol, right: Symbol) -> bool:
    """What `left is right` is."""
    trace = interpreter.trace
    if isinstance(left, Unread) and isinstance(right, Unread):
        return _same_values(trace, left, right)
    left, right = trace.look(left), trace.look(right)
    if left is right:
        return True
    if isinstance(left, Constant) and isinstance(right, Constant):
        if type(left.value) in (int, float, complex, str, bytes, tuple, frozenset) and type(
            left.value
        ) is type(right.value):
            raise GraphBreak("operator", "`is` between numbers or strings")
        return left.value is right.value
    if isinstance(left, Array) and isinstance(right, Array):
        if left.buffer is right.buffer and not left.path and not right.path:
            return True
        if not left.path and not right.path:
            if left.buffer.frozen is not None or right.buffer.frozen is not None:
                raise GraphBreak("operator", "`is` between arrays that may be one")
            return _same_inputs(trace, left, right)
        return False
    if (
        arrays.is_number(left)
        and arrays.is_number(right)
        and number_type(left) != number_type(right)
    ):
        return False
    if (arrays.is_number(left) and arrays.is_number(right)) or (
        isinstance(left, Tuple)
        and isinstance(right, Tuple)
        and (left.source is None or right.source is None)
    ):
        raise GraphBreak("operator", "`is` between numbers or tuples")
    if (
        type(left) is not type(right)
        and not isinstance(left, Opaque)
        and not isinstance(right, Opaque)
    ):
        return False
    if isinstance(left, HELD_ONCE) and type(left) is type(right):
        assert isinstance(right, HELD_ONCE)
        a, b = left.source, right.source
        if a is None or b is None:
            return False
        trace.guards.check("DIFFERENT", a, b)
        return False
    if isinstance(left, Slice | Generator | Iterator | Function):
        return False
    raise GraphBreak("operator", f"`is` between {described(left)} and {described(right)}")


def _same_values(trace: Trace, left: Unread, right: Unread) -> bool:
    """Whether two values of the frame are one object; the answer is guarded."""
    same = left.value is right.value
    if left.source.register != right.source.register:
        trace.guards.check("SAME" if same else "DIFFERENT", left.source, right.source)
    return same


def _same_inputs(trace: Trace, left: Array, right: Array) -> bool:
    a, b = left.buffer.source, right.buffer.source
    if a is not None and b is not None:
        trace.guards.check("DIFFERENT", a, b)
    return False


def equal_or_same(interpreter: Interpreter, item: Symbol, member: Symbol) -> bool:
    """Whether a container that holds `item` finds `member` there: it is the same object, or equal."""
    if _are_floats(item, member) and identical(interpreter, item, member):
        return True
    item, member = interpreter.trace.look(item), interpreter.trace.look(member)
    if item is member:
        return True
    if _surely_different(item, member):
        return False
    if isinstance(item, Constant) and isinstance(member, Constant) and item.value is member.value:
        return True
    if isinstance(item, AnyArray) or isinstance(member, AnyArray):
        raise GraphBreak("data-branch", "an array's value")
    return truth(interpreter, compare(interpreter, "eq", item, member))


def _are_floats(left: Symbol, right: Symbol) -> bool:
    """Whether both are floats of the frame: a NaN equals nothing, and is found if it is the same object."""
    both = (left, right)
    return all(isinstance(one, Unread) and type(one.value) in (float, complex) for one in both)


# Of two of these kinds, one of them the first three, no value equals another's; a dtype equals its name.
PLAIN_KINDS = frozenset((str, bytes, type(None), bool, int, float, complex, tuple, frozenset))


def _surely_different(left: Symbol, right: Symbol) -> bool:
    if isinstance(left, Constant) and isinstance(right, Constant):
        kinds = {type(left.value), type(right.value)}
        return len(kinds) == 2 and kinds <= PLAIN_KINDS and bool(kinds & {str, type(None), bytes})
    return False
