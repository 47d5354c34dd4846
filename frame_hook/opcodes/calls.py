"""Calls of symbols: Python functions are inlined, NumPy's and Python's C functions have rules."""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.arrays import arrays, draws, some_arguments
from ufuse.frame_hook.arrays.overriders import refuse_overriders
from ufuse.frame_hook.code import markers
from ufuse.frame_hook.code.instructions import instructions, slot_names
from ufuse.frame_hook.code.places import full_name
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices import indexing as device_indexing
from ufuse.frame_hook.devices import kernels as device_kernels
from ufuse.frame_hook.devices import making as device_making
from ufuse.frame_hook.devices import methods as device_methods
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import (
    BUILTINS,
    INSTANCES,
    METHODS,
    SPECIAL,
    Positional,
    applied,
    blind_write_of,
)
from ufuse.frame_hook.library import device_memos
from ufuse.frame_hook.objects import classes, instances
from ufuse.frame_hook.objects.values import PURE, described, known_value, pure
from ufuse.frame_hook.operations import attributes, special, subscripts
from ufuse.frame_hook.trace.reasons import GraphBreak
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
    Iterator,
    List,
    Method,
    Number,
    Opaque,
    Range,
    Set,
    Slice,
    Source,
    Symbol,
    Tuple,
    Unread,
    View,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.types import ArrayType
from ufuse.graph.typing import infer
from ufuse.graph.typing.library import (
    device_rule,
    imported,
    is_device_function,
    is_device_fusion,
    is_device_gufunc,
    is_device_kernel,
    is_made_by_call,
    numpys_counterpart,
)

WITH_RULES = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType)
COROUTINE_FLAGS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE


def call(
    interpreter: Interpreter,
    function: Symbol,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What `function(*arguments, **keywords)` gives."""
    function = inside_compiled(interpreter.trace, interpreter.trace.look(function))
    match function:
        case Method():
            return call(interpreter, function.function, (function.self, *arguments), keywords)
        case ArrayMethod():
            return _call_method(interpreter, function, arguments, keywords)
        case Function():
            return _inline_made(interpreter, function, arguments, keywords)
        case Constant(value=value):
            return _call_constant(interpreter, function, value, arguments, keywords)
        case Opaque(value=types.FunctionType() as value):
            if not all(isinstance(v, PURE) for v in _default_values(value)):
                raise GraphBreak("call", f"{value.__qualname__}, made anew with its defaults")
            return _inline(interpreter, function, value, arguments, keywords)
        case Instance():
            if (drawn := draws.name_of(function.value)) is not None:
                assert function.source is not None
                interpreter.trace.guards.check("IDENTITY", function.source, function.value)
                return draws.draw(interpreter, drawn, arguments, keywords)
            rule = INSTANCES.get(function.kind)
            if rule is not None:
                given = (function, *arguments)
                return applied(rule, function.kind, interpreter, given, keywords)
            is_known = function.source is not None and (
                is_device_gufunc(function.kind) or classes.is_cython_function(function.value)
            )
            if is_known and (name := device_rule(function.value)) is not None:
                interpreter.trace.guards.check("IDENTITY", function.source, function.value)
                return device_methods.call_function(interpreter, name, arguments, keywords)
            if is_device_kernel(function.kind):
                kernel = device_kernels.known_kernel(interpreter.trace, function)
                return device_kernels.call_kernel(interpreter, kernel, arguments, keywords)
            if function.source is not None and is_device_fusion(function.kind):
                return device_kernels.call_fused(interpreter, function, arguments, keywords)
            if device_memos.is_remembering(function.value):
                return device_memos.call(interpreter, function, arguments, keywords)
            if classes.is_cython_function(function.value):
                raise GraphBreak("call", full_name(function.value))
            method = classes.special_method(interpreter, function, "__call__")
            if method is not None:
                return call(interpreter, method, arguments, keywords)
    raise GraphBreak("call", described(function))


def inside_compiled(trace: Trace, function: Symbol) -> Symbol:
    """The function in a compiled one, which is to be inlined as any other; what else there is, as it is."""
    if not isinstance(function, Constant | Instance) or not issubclass(
        type(function.value), _hook.Dispatcher
    ):
        return function
    session = function.value.__ufuse_session__
    if session.check_arguments is not None:
        raise GraphBreak("call", f"{function.value.__qualname__}, whose arguments are checked,")
    if isinstance(function, Constant):
        return Constant(function.value.__ufuse_function__)
    source = function.source
    assert source is not None
    loaded = trace.guards.load(
        "LOAD_OWN", source, "__ufuse_session__", text=f"{source.text}'s options"
    )
    trace.guards.check("IDENTITY", loaded, session)
    loaded = trace.guards.load("LOAD_OWN", source, "__ufuse_function__", text=source.text)
    return trace.look(Unread(loaded, function.value.__ufuse_function__))


def _call_constant(
    interpreter: Interpreter,
    function: Constant,
    value: Any,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    if (drawn := draws.name_of(value)) is not None:
        return draws.draw(interpreter, drawn, arguments, keywords)
    if arguments and not isinstance(value, types.FunctionType):
        found = special.of_instance(interpreter, value, arguments, keywords)
        if found is not None:
            return found
    is_dispatcher = type(value).__name__ == "_ArrayFunctionDispatcher"
    if is_dispatcher and arguments and _is_of_device(interpreter, arguments[0]):
        return _call_cupys(interpreter, value, arguments, keywords)
    rule = BUILTINS.get(value) if _is_hashable(value) else None
    if rule is not None:
        return applied(rule, value, interpreter, arguments, keywords)
    if isinstance(value, np.ufunc):
        return call_ufunc(interpreter, value, arguments, keywords)
    if is_device_function(type(value)):
        return devices.call_function(interpreter.trace, value, arguments, keywords)
    is_known = isinstance(value, WITH_RULES) or is_device_gufunc(type(value))
    if is_known and (name := device_rule(value)) is not None:
        return device_methods.call_function(interpreter, name, arguments, keywords)
    if isinstance(value, types.FunctionType):
        return _inline(interpreter, function, value, arguments, keywords)
    if is_dispatcher:
        return _call_dispatcher(interpreter, value, value._implementation, arguments, keywords)
    if is_made_by_call(value):
        return device_making.make(interpreter, value, arguments, keywords)
    if isinstance(value, type):
        return instances.instantiate(interpreter, value, arguments, keywords)
    if isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType):
        method = _unbound(value, arguments, interpreter)
        if method is not None:
            return _call_method(interpreter, method, arguments[1:], keywords)
    if isinstance(value, types.BuiltinFunctionType):
        raise GraphBreak("call", full_name(value))
    is_named = isinstance(value, types.MethodDescriptorType | types.WrapperDescriptorType)
    name = full_name(value) if is_named else getattr(value, "__qualname__", None)
    raise GraphBreak("call", name or described(function))


def _default_values(function: types.FunctionType) -> tuple[Any, ...]:
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())


def _is_hashable(value: Any) -> bool:
    return type(value).__hash__ is not None


# Functions that raise, before anything else, for a first argument without `__getitem__`.
STACKING = frozenset(("vstack", "hstack", "stack", "dstack", "column_stack", "row_stack"))
# Functions whose results are named tuples, of these classes.
NAMED_RESULTS = {
    "numpy.linalg.eigh": "EighResult",
    "numpy.linalg.slogdet": "SlogdetResult",
    "numpy.linalg.svd": "SVDResult",
    "numpy.linalg.qr": "QRResult",
}


def _call_dispatcher(
    interpreter: Interpreter,
    function: Any,
    implementation: Any,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """A NumPy function behind `__array_function__`: its implementation runs, where no argument overrides it."""
    name = f"{function.__module__}.{function.__name__}"
    if name in infer.CALLS:
        made = arrays.call_whole(interpreter.trace, name, arguments, dict(keywords), may_raise=True)
        if name not in NAMED_RESULTS or not isinstance(made, Tuple):
            return made
        kind = implementation.__globals__[NAMED_RESULTS[name]]
        return instances.instantiate(interpreter, kind, made.items, {})
    given = (*arguments, *keywords.values())
    if function.__name__ in STACKING and not all(
        isinstance(interpreter.trace.look(a), Array | Tuple | List) for a in given[:1]
    ):
        raise GraphBreak("numpy-call", f"{name} of what may be no sequence")
    refuse_overriders(interpreter.trace, name, given)
    if isinstance(implementation, types.FunctionType):
        return _inline(interpreter, Constant(implementation), implementation, arguments, keywords)
    raise GraphBreak("numpy-call", name)


def _is_of_device(interpreter: Interpreter, symbol: Symbol) -> bool:
    """Whether it is an array of CuPy's, or a list that begins with one."""
    if imported() is None:
        return False  # nothing is read that the rules of NumPy's functions do not read
    symbol = interpreter.trace.look(symbol)
    if isinstance(symbol, Tuple | List) and symbol.items:
        symbol = interpreter.trace.look(symbol.items[0])
    return isinstance(symbol, DeviceArray)


def _call_cupys(
    interpreter: Interpreter,
    function: Any,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """A function of NumPy's with arrays of CuPy's, which call CuPy's function of the same name."""
    given = [interpreter.trace.look(one) for one in (*arguments, *keywords.values())]
    found = numpys_counterpart(function)
    if found is None or any(isinstance(one, Array) for one in given):
        raise GraphBreak("numpy-call", f"numpy.{function.__name__} of CuPy's arrays")
    return _call_constant(interpreter, Constant(found), found, arguments, keywords)


def _call_method(
    interpreter: Interpreter,
    method: ArrayMethod,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    given = (method.self, *arguments)
    if isinstance(method.self, DeviceArray):
        return device_methods.call_method(interpreter, method, arguments, keywords)
    if isinstance(method.self, Constant) and is_device_function(type(method.self.value)):
        if keywords:
            raise GraphBreak("numpy-call", f"cupy.ufunc.{method.name} with keywords")
        return device_indexing.call_at(interpreter.trace, method.self.value, arguments)
    if isinstance(method.self, Constant) and isinstance(method.self.value, np.ufunc):
        name = f"ufunc.{method.name}"
        if name not in METHODS:
            raise GraphBreak("numpy-call", f"numpy.{name}")
        return applied(METHODS[name], name, interpreter, given, keywords)
    if isinstance(method.self, Unread):
        return _write_blindly(interpreter, method.self, method.name, arguments, keywords)
    if isinstance(method.self, WITH_METHODS):
        name = f"{_kind_name(method.self)}.{method.name}"
        if name in METHODS:
            return applied(METHODS[name], name, interpreter, given, keywords)
        if isinstance(method.self, Constant | Range | Slice):
            return _pure_method(interpreter, method.self, method.name, arguments, keywords)
        if method.name in SPECIAL:
            return applied(SPECIAL[method.name], method.name, interpreter, given, keywords)
        raise GraphBreak("effect", f"{method.name} of {described(method.self)}")
    if method.name in METHODS:
        return applied(METHODS[method.name], method.name, interpreter, given, keywords)
    is_scalar = isinstance(method.self, Number) and isinstance(method.self.node.type, ArrayType)
    name = f"numpy.{'generic' if is_scalar else 'ndarray'}.{method.name}"
    if (is_scalar or isinstance(method.self, Array)) and name in infer.CALLS:
        if infer.CALLS[name].writes:
            raise GraphBreak("numpy-call", name)
        return arrays.call_whole(interpreter.trace, name, given, dict(keywords), may_raise=True)
    raise GraphBreak("numpy-call", name)


WITH_METHODS = (List, Deque, Dict, Tuple, Set, Generator, Iterator, View, Range, Slice, Constant)


def _unbound(value: Any, arguments: Positional, interpreter: Interpreter) -> ArrayMethod | None:
    """A method descriptor of a built-in class, bound to the first argument; None where that is of another class."""
    if not arguments:
        return None
    receiver = interpreter.trace.look(arguments[0])
    kind = BUILT_IN.get(type(receiver))
    if isinstance(receiver, Constant) and isinstance(receiver.value, (*PURE, frozenset, range)):
        kind = type(receiver.value)
    return ArrayMethod(receiver, value.__name__) if kind is value.__objclass__ else None


def _kind_name(symbol: Symbol) -> str:
    """The name of the built-in type whose methods a symbol has."""
    if isinstance(symbol, Constant):
        return type(symbol.value).__name__
    return type(symbol).__name__.lower()


def _pure_method(
    interpreter: Interpreter,
    receiver: Constant | Range | Slice,
    name: str,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """A method of a string, number or other immutable value, with arguments that are known: run now."""
    value = known_value(interpreter, receiver)
    given = [known_value(interpreter, a) for a in arguments]
    named = {key: known_value(interpreter, a) for key, a in keywords.items()}
    method = getattr(value, name)
    return pure(lambda: method(*given, **named))


def _write_blindly(
    interpreter: Interpreter,
    target: Unread,
    name: str,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """Call a method of an unread container of the frame: as a blind write if it can be one, else on what is read."""
    trace, kind = interpreter.trace, type(target.value)
    rule, write = blind_write_of(kind, name), None
    if rule is not None and not trace.changes.is_known(target.value):
        given = (target, *arguments)
        write = applied(rule, f"{kind.__name__}.{name}", interpreter, given, keywords)
    if kind is dict and name == "get" and not keywords and len(arguments) in (1, 2):
        found = subscripts.entry_of(interpreter, target, arguments[0])
        if found is not None:
            default = arguments[1] if len(arguments) > 1 else Constant(None)
            return default if found is subscripts.MISSING else found
    if write is None or trace.changes.is_known(target.value):
        method = attributes.attribute(interpreter, trace.look(target), name)
        return call(interpreter, method, arguments, keywords)
    trace.guards.check("TYPE", target.source, kind)
    function, operands = write
    trace.changes.blind_write(target.source, target.value, function, *operands)
    return Constant(None)


def call_ufunc(
    interpreter: Interpreter,
    ufunc: np.ufunc,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """A call of a ufunc; `out=` is a store, other keywords that ask for something are left to NumPy."""
    trace = interpreter.trace
    looked = [trace.look(a) for a in arguments]
    given = {name: trace.look(value) for name, value in keywords.items()}
    if any(isinstance(one, DeviceArray) for one in looked):
        return _call_cupys(interpreter, ufunc, looked, given)
    if ufunc is np.matmul and not given and len(looked) == 2:
        return arrays.matmul(trace, looked[0], looked[1], in_place=False)
    is_array = _asks_for_array(given.get("out"))
    out = None if is_array else _out_of(ufunc, looked, given)
    given = {name: value for name, value in given.items() if not _is_default(name, value)}
    if is_array:
        del given["out"]
    if (
        not given
        and len(looked) == ufunc.nin
        and f"numpy.{ufunc.__name__}" in infer.CALLS
        and ops.is_numpys(ufunc)
        and not is_array
    ):
        if any(isinstance(one, Array) for one in looked) and out is None:
            return arrays.call_whole(trace, f"numpy.{ufunc.__name__}", looked, may_raise=True)
    if (
        isinstance(mask := given.get("where"), Array)
        and len(given) == 1
        and len(looked) == ufunc.nin
    ):
        return some_arguments.store_where(
            trace, ufunc, looked, trace.look(out) if out is not None else None, mask
        )
    if given or len(looked) != ufunc.nin or ufunc.nout != 1:
        raise GraphBreak(
            "numpy-call", f"numpy.{ufunc.__name__} with {', '.join(given) or 'these arguments'}"
        )
    if all(isinstance(a, Constant) for a in looked) and out is None and not is_array:
        return pure(ufunc, *[a.value for a in looked if isinstance(a, Constant)])
    if out is None:
        made = arrays.elementwise(trace, ufunc, looked)
        if is_array and not isinstance(made, Array):
            return arrays.call_whole(trace, "numpy.array", (made,))
        return made
    out = trace.look(out)
    if not isinstance(out, Array):
        raise GraphBreak("numpy-call", f"numpy.{ufunc.__name__} with this out=")
    return arrays.store_result(trace, ufunc, looked, out)


# From NumPy 2.4 on these warn of a third positional argument.
WARN_OF_OUT = (np.maximum, np.minimum)
TAKES_ELLIPSIS = np.lib.NumpyVersion(np.__version__) >= "2.3.0"


def _asks_for_array(out: Symbol | None) -> bool:
    """Whether it is the `...` of `out=...`: the result is an array, whatever the operands are."""
    return TAKES_ELLIPSIS and isinstance(out, Constant) and out.value is Ellipsis


def _out_of(ufunc: np.ufunc, operands: list[Symbol], given: dict[str, Symbol]) -> Symbol | None:
    """The output array of a ufunc's arguments, which is taken out of them; None where NumPy makes one."""
    out = given.pop("out", None)
    if out is not None:
        if isinstance(out, Tuple) and len(out.items) == 1:
            out = out.items[0]
    elif len(operands) == ufunc.nin + 1 and ufunc.nout == 1:
        if ufunc in WARN_OF_OUT:
            raise GraphBreak("numpy-call", f"numpy.{ufunc.__name__} with a third argument")
        out = operands.pop()
    return None if isinstance(out, Constant) and out.value is None else out


def _is_default(name: str, symbol: Symbol) -> bool:
    """Whether a ufunc's keyword argument asks for what NumPy does without it; what is odd is left to NumPy."""
    value = symbol.value if isinstance(symbol, Constant) else None
    match name:
        case "casting":
            return type(value) is str and value == "same_kind"
        case "where":
            return value is True
        case "subok":
            return type(value) is bool
    return False


# Inlining --------------------------------------------------------------------------------------------------------


def _inline(
    interpreter: Interpreter,
    symbol: Constant | Opaque,
    function: types.FunctionType,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """Trace a Python function in its caller's graph."""
    made = guarded_function(interpreter.trace, symbol, function)
    return _inline_made(interpreter, made, arguments, keywords, symbol)


def guarded_function(
    trace: Trace, symbol: Constant | Opaque, function: types.FunctionType
) -> Function:
    """What a call of a Python function needs of it: its code, and that of it which may change, guarded."""
    code = function.__code__
    if code in markers.DISABLED:
        raise GraphBreak("disabled", code.co_qualname)
    refuse_namespaces(function)
    source = symbol.source or trace.guards.load("LOAD_CONST", function, text=code.co_name)
    if isinstance(symbol, Opaque):  # another function of the same code may have other globals
        text = f"{code.co_name}.__globals__"
        loaded = trace.guards.load("LOAD_ATTR", source, "__globals__", text=text)
        namespace, fields = function.__globals__, (code.co_name,)
        trace.guards.check("IDENTITY", loaded, namespace, says="IDENTITY globals", fields=fields)
    parts = function.__defaults__, function.__kwdefaults__
    trace.guards.check("FUNCTION", source, code, *parts, fields=(code.co_name,))
    defaults = [
        _default(trace, source, "LOAD_DEFAULT", i, value)
        for i, value in enumerate(function.__defaults__ or ())
    ]
    keyword_defaults = {
        name: _default(trace, source, "LOAD_KWDEFAULT", name, value)
        for name, value in (function.__kwdefaults__ or {}).copy().items()
    }
    cells = []
    for i, cell in enumerate(function.__closure__ or ()):
        loaded = trace.guards.load("LOAD_CLOSURE", source, i, text=code.co_freevars[i])
        cells.append(trace.reader.cell(loaded, cell))
    return Function(code, function.__globals__, tuple(defaults), keyword_defaults, tuple(cells))


def refuse_namespaces(function: types.FunctionType) -> None:
    """Break for functions whose globals are not a plain dict, or that may look up a name in builtins of their own."""
    own: Any = function.__builtins__  # type: ignore[attr-defined,unused-ignore]
    names = function.__globals__
    if type(names) is not dict or (own is not vars(builtins) and _needs_builtins(function)):
        raise GraphBreak("call", f"{function.__qualname__}, whose globals or builtins are its own,")


def _needs_builtins(function: types.FunctionType) -> bool:
    """Whether a function, or one made in it, may look for a name that its globals lack."""
    code = function.__code__
    if any(isinstance(one, types.CodeType) for one in code.co_consts):
        return True
    for one in instructions(code):
        if "GLOBAL" in one.opname and one.arg is not None:
            name = code.co_names[one.arg >> 1 if one.opname == "LOAD_GLOBAL" else one.arg]
            if name not in function.__globals__:
                return True
        elif one.opname in ("IMPORT_NAME", "LOAD_BUILD_CLASS", "LOAD_ASSERTION_ERROR"):
            return True
    return False


def _default(trace: Trace, source: Source, kind: str, which: int | str, value: Any) -> Symbol:
    if isinstance(value, (*PURE, type)) or type(value).__name__ == "_NoValueType":
        return Constant(value)  # the defaults' identity is guarded, and these cannot change
    loaded = trace.guards.load(kind, source, which, text=f"default {which}")
    return Unread(loaded, value)


def _inline_made(
    interpreter: Interpreter,
    function: Function,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
    symbol: Symbol | None = None,
) -> Symbol:
    """Trace the body of a function; `symbol` is what was called, where that is not the function made here."""
    code = function.code
    if code.co_flags & COROUTINE_FLAGS:
        raise GraphBreak("call", f"the coroutine {code.co_qualname}")
    slots: list[Symbol | None] = [None] * len(slot_names(code))
    bind(function, arguments, keywords, slots)
    first_free = len(slots) - len(code.co_freevars)
    for i, cell in enumerate(function.closure):
        slots[first_free + i] = cell
    frame = Frame(code, function.globals, slots, [], depth=len(interpreter.call_stack))
    if code.co_flags & inspect.CO_GENERATOR:
        made = (symbol or function, tuple(arguments), dict(keywords))
        return Generator(frame, made, interpreter.root_count)
    return interpreter.run_inlined(frame)


def bind(
    function: Function,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
    slots: list[Symbol | None],
) -> None:
    """Put arguments into slots by Python's rules.

    Raises:
        GraphBreak: they do not fit, which plain Python will say.

    """
    code = function.code
    wrong = GraphBreak(
        "eager-raises", f"TypeError: the arguments of {code.co_qualname}() do not fit"
    )
    count, only = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[: count + only]
    slots[: min(count, len(arguments))] = arguments[:count]
    extra = tuple(arguments[count:])
    position = count + only
    if code.co_flags & inspect.CO_VARARGS:
        slots[position] = Tuple(extra)
        position += 1
    elif extra:
        raise wrong
    rest: dict[Any, Symbol] = {}
    for name, value in keywords.items():
        if name in names[code.co_posonlyargcount :]:
            slot = names.index(name)
            if slots[slot] is not None:
                raise wrong
            slots[slot] = value
        elif code.co_flags & inspect.CO_VARKEYWORDS:
            rest[name] = value
        else:
            raise wrong
    if code.co_flags & inspect.CO_VARKEYWORDS:
        slots[position] = Dict(rest)
    _fill_defaults(function, slots, wrong)


def _fill_defaults(function: Function, slots: list[Symbol | None], wrong: GraphBreak) -> None:
    code = function.code
    first = code.co_argcount - len(function.defaults)
    for slot in range(code.co_argcount + code.co_kwonlyargcount):
        if slots[slot] is not None:
            continue
        if first <= slot < code.co_argcount:
            slots[slot] = function.defaults[slot - first]
        elif slot >= code.co_argcount and code.co_varnames[slot] in function.keyword_defaults:
            slots[slot] = function.keyword_defaults[code.co_varnames[slot]]
        else:
            raise wrong
