"""The comparer: whether a compiled callable does what the plain function does, as far as one can see.

`check_same` is the fidelity contract as a function. Each call gets fresh copies of the same
arguments; the plain and the compiled run are recorded under the same conditions, and every
observable of the two is compared. What differs is reported at its path, as in
`result[0].strides: plain (8,), compiled (16,)`.
"""

from __future__ import annotations

import itertools
import random
import types
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tests.support.comparing.copying import address, independent_copy
from tests.support.comparing.device_arrays import face, is_array, is_device_array, on_host
from tests.support.comparing.modes import in_turn, shows
from tests.support.comparing.recording import (
    FLOAT_FLAG_NAMES,
    MODES,
    Call,
    Mode,
    Outcome,
    arguments,
    file_of,
    recorded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    AnyArray = NDArray[Any]

__all__ = [
    "MODES",
    "Difference",
    "Mode",
    "arguments",
    "check_in_turn",
    "check_lifetimes",
    "check_same",
]

ARRAY_FLAGS = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
DEVICE_FLAGS = ARRAY_FLAGS[:3]
PADDED = {np.dtype(np.longdouble), np.dtype(np.clongdouble)}
LONG_DOUBLE_BYTES = 10 if np.finfo(np.longdouble).nmant == 63 else np.dtype(np.longdouble).itemsize
MOST_ITEMS = 1000  # of an iterator, which is compared by what it still gives
MISSING = "<missing>"


class Difference(AssertionError):  # noqa: N818 - a finding, not an error of the program
    """The compiled callable did something that the plain function does not."""


def check_same(
    plain: Callable[..., Any],
    compiled: Callable[..., Any],
    make_args: Callable[[], tuple[Any, ...] | Call],
    *,
    calls: int = 2,
    modes: Sequence[Mode] = MODES,
    state: Callable[[], Any] | None = None,
    reset: Callable[[], object] | None = None,
    copies: bool = True,
    every_file: bool = False,
    atoms: bool = True,
) -> bool:
    """Raise `Difference` unless `compiled` is indistinguishable from `plain`; give whether modes matter to it.

    Args:
        plain: the function.
        compiled: what was made of it. If it has a method `reset`, that is called before each
            mode, so that a first call is seen under every mode.
        make_args: gives the positional arguments, or `arguments(...)` where some are named. It
            is called once per pair of runs, which get copies that share memory as the originals do.
        calls: how often each mode calls both: the first call captures, the next ones hit.
        modes: the treatments of warnings and floating-point errors to run under: all where `plain` does what they
            treat, else two (see `modes`).
        state: gives what else the call may have changed (globals, closures, objects).
        reset: puts that state back before each run.
        copies: false where arguments cannot be copied: `make_args` is then called for each run.
        every_file: whether the lines of a traceback are compared in all files, not only in the function's own.
        atoms: false where it does not matter which of equal numbers, strings and tuples of such are one object.
    """
    user_file = None if every_file else file_of(plain)
    shown: list[str] = []
    for mode in in_turn(modes, plain, shown):
        if callable(forget := getattr(compiled, "reset", None)):
            forget()
        for number in range(1, calls + 1):
            original = make_args() if copies else None
            pair = []
            for function in (plain, compiled):
                given = make_args() if original is None else independent_copy(original)
                call = given if isinstance(given, Call) else Call(tuple(given))
                if reset is not None:
                    reset()
                before = given_arrays(call)
                pair.append((recorded(function, call, mode, user_file, state), before))
            if found := outcome_differences(*pair, atoms=atoms):
                lines = "\n  ".join(found)
                message = f"call {number}, mode {mode.name}: {len(found)} differences\n  {lines}"
                raise Difference(message)
            shown += [mode.name] if shows(pair[0][0]) else []
            for outcome, _ in pair:
                outcome.let_go()
        if misfits := misfits_of(compiled):
            raise Difference(f"mode {mode.name}: made for nothing: {misfits}")
    return bool(shown)


def check_in_turn(
    plain: Callable[..., Any], compiled: Callable[..., Any], rows: Iterable[tuple[Any, ...]]
) -> None:
    """`check_same` with other arguments at each call, and nothing forgotten between the calls."""
    rows = list(rows)
    row = iter(rows)
    check_same(plain, compiled, lambda: next(row), calls=len(rows), modes=MODES[:1])


def misfits_of(compiled: Any) -> list[str]:
    """The new entries whose guards did not hold for the state they were made for."""
    return list(getattr(getattr(compiled, "__ufuse_session__", None), "misfits", []))


def check_lifetimes(
    plain: Callable[..., Any],
    compiled: Callable[..., Any],
    make_args: Callable[[], tuple[Any, ...] | Call],
    *,
    calls: int = 2,
    shorter: bool = False,
) -> None:
    """Raise `Difference` unless arrays die when the plain function's do; `shorter`: or before.

    Array arguments and results are dropped after each call; a weak reference to each tells
    which are still alive then. Nothing is collected: reference counts alone must free them.
    """
    for number in range(1, calls + 1):
        alive = [survivors(function, make_args) for function in (plain, compiled)]
        if not set(alive[1]) <= set(alive[0]) or (not shorter and alive[0] != alive[1]):
            message = f"call {number}: still alive after plain {alive[0]}, compiled {alive[1]}"
            raise Difference(message)


def survivors(function: Callable[..., Any], make_args: Callable[[], Any]) -> list[str]:
    """Name the arrays among arguments and results that outlive one call of `function`."""
    given = make_args()
    call = given if isinstance(given, Call) else Call(tuple(given))
    given = None
    watched = [
        (path, weakref.ref(array))
        for path, array in named_leaves("arguments", (call.args, call.kwargs))
    ]
    result = function(*call.args, **call.kwargs)
    watched += [(path, weakref.ref(array)) for path, array in named_leaves("result", result)]
    del call, result
    return [path for path, reference in watched if reference() is not None]


def named_leaves(path: str, value: object) -> list[tuple[str, AnyArray]]:
    """List the arrays inside containers and objects, each with the path to it."""
    found: list[tuple[str, AnyArray]] = []
    seen: dict[int, object] = {}
    waiting = [(path, value)]  # no recursion: a cycle of closures would keep the arrays alive
    while waiting:
        path, value = waiting.pop()
        if type(value) in LEAVES or id(value) in seen or is_flat(value):
            continue
        seen[id(value)] = value
        if is_array(value):
            found.append((path, value))
        waiting += [(path + step, part) for step, part in reversed(parts(value))]
    return found


def given_arrays(call: Call) -> list[tuple[str, AnyArray]]:
    """List the arrays that a call is given, and what they are views of.

    They are looked at after the call whatever becomes of the places where they were.
    """
    found = named_leaves("arguments", call.args) + named_leaves("arguments", call.kwargs)
    for path, array in found:
        if is_array(array.base):
            found.append((f"{path}.base", array.base))
    return found


def parts(value: object) -> list[tuple[str, Any]]:
    """List what `value` is made of, each with its step in a path; order is part of the value."""
    match value:
        case np.ndarray() if value.dtype.hasobject:
            return [(f".flat[{i}]", item) for i, item in enumerate(value.ravel().tolist())]
        case np.ndarray() | np.generic() | str() | bytes() | range():
            return attributes(value)
        case list() | tuple() | deque():
            return [(f"[{i}]", item) for i, item in enumerate(value)] + attributes(value)
        case dict():
            keys = [(f".keys()[{i}]", key) for i, key in enumerate(value)]
            return keys + [(f"[{k!r}]", item) for k, item in value.items()] + attributes(value)
        case set() | frozenset():
            members = sorted(value, key=lambda member: (type(member).__name__, repr(member)))
            return [(f"<member {i}>", member) for i, member in enumerate(members)]
        case slice():
            return [(f".{n}", getattr(value, n)) for n in ("start", "stop", "step")]
        case types.MethodType():
            return [(".__self__", value.__self__), (".__func__", value.__func__)]
        case types.BuiltinFunctionType():
            return [(".__self__", value.__self__), (".__name__", value.__name__)]
        case types.FunctionType():
            cells = enumerate(value.__closure__ or ())
            return [
                *((f".__closure__[{i}]", cell) for i, cell in cells),
                (".__defaults__", value.__defaults__),
                (".__kwdefaults__", value.__kwdefaults__),
                *attributes(value),
            ]
        case types.CellType():
            try:
                return [(".cell_contents", value.cell_contents)]
            except ValueError:
                return []
        case weakref.ref():
            return [("()", value())]
        case BaseException():
            return [(".args", value.args), *attributes(value)]
        case np.random.Generator():
            return [(".bit_generator.state", value.bit_generator.state)]
        case np.random.RandomState():
            return [(".get_state()", value.get_state(legacy=False))]
        case random.Random():
            return [(".getstate()", value.getstate()), *attributes(value)]
        case type() | types.ModuleType():
            return []
        case _:
            return attributes(value)


def attributes(value: object) -> list[tuple[str, Any]]:
    """List the attributes of an object, those in slots too."""
    named = dict(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in {"__dict__", "__weakref__"} and hasattr(value, name):
                named[name] = getattr(value, name)
    return [(f".{name}", item) for name, item in named.items()]


def outcome_differences(
    plain: tuple[Outcome, list[tuple[str, AnyArray]]],
    compiled: tuple[Outcome, list[tuple[str, AnyArray]]],
    *,
    atoms: bool = True,
) -> list[str]:
    """List every difference between two recorded calls."""
    (p, p_before), (c, c_before) = plain, compiled
    comparison = Comparison(atoms=atoms)
    comparison.visit("arguments", p.call.args, c.call.args)
    comparison.visit("arguments", p.call.kwargs, c.call.kwargs)
    for (path, p_array), (_, c_array) in zip(p_before, c_before, strict=True):
        comparison.visit(f"{path} as it was given", p_array, c_array)
    comparison.visit("result", p.result, c.result)
    comparison.visit("error", p.error, c.error)
    comparison.visit("state", p.state, c.state)
    comparison.compare_memory()
    found = comparison.found
    found += sequence_differences("raised", p.raised, c.raised)
    found += sequence_differences("warnings", p.warned, c.warned)
    found += sequence_differences("seterrcall", p.float_calls, c.float_calls)
    if p.printed != c.printed:
        found.append(f"stdout: plain {p.printed!r}, compiled {c.printed!r}")
    found += [
        f"after the call, {name}: plain {p.context[name]!r:.200}, compiled {c.context[name]!r:.200}"
        for name in p.context
        if p.context[name] != c.context[name]
    ]
    if p.rounding != c.rounding:
        found.append(f"after the call, rounding mode: plain {p.rounding}, compiled {c.rounding}")
    if left := c.float_flags & ~p.float_flags:
        names = [name for flag, name in FLOAT_FLAG_NAMES.items() if flag & left]
        found.append(f"after the call, floating-point status: compiled left {names}")
    return found


def sequence_differences(path: str, plain: Sequence[Any], compiled: Sequence[Any]) -> list[str]:
    """List the places where two records of events differ."""
    rows = itertools.zip_longest(plain, compiled, fillvalue=MISSING)
    return [f"{path}[{i}]: plain {p}, compiled {c}" for i, (p, c) in enumerate(rows) if p != c]


def rest_of(iterator: Iterator[Any]) -> list[Any]:
    """What an iterator has left, and the error that ends it, if one does."""
    items: list[Any] = []
    try:
        items.extend(itertools.islice(iterator, MOST_ITEMS))
    except Exception as error:  # noqa: BLE001  the user's
        items += [type(error), str(error)]
    return items


@dataclass(slots=True)
class Comparison:
    """Walks two values side by side; remembers where each object was met, to compare `is`."""

    found: list[str] = field(default_factory=list)
    met: tuple[dict[int, str], dict[int, str]] = field(default_factory=lambda: ({}, {}))
    arrays: list[tuple[str, Any, Any]] = field(default_factory=list)
    alive: list[Any] = field(default_factory=list)
    atoms: bool = True

    def differs(self, path: str, plain: object, compiled: object) -> bool:
        """Note a difference where the two are unequal."""
        if plain == compiled:
            return False
        self.found.append(f"{path}: plain {plain!r:.200}, compiled {compiled!r:.200}")
        return True

    def visit(self, path: str, plain: Any, compiled: Any) -> None:
        """Compare two values and all they hold."""
        known = self.met[0].get(id(plain)), self.met[1].get(id(compiled))
        if known != (None, None) and (self.atoms or not is_atom(plain)):
            if known[0] != known[1]:
                one, other = (f"is {k}" if k else "is a new object" for k in known)
                self.found.append(f"{path}: plain {one}, compiled {other}")
            return
        self.alive += [plain, compiled]  # so that no id is used twice
        kind = type(plain)
        if kind is not type(compiled):
            self.differs(f"type({path})", kind, type(compiled))
            return
        self.met[0][id(plain)] = self.met[1][id(compiled)] = path
        if kind in LEAVES:
            if plain is not compiled and (reason := leaf_difference(plain, compiled)):
                self.found.append(f"{path}: {reason}")
            return
        if is_array(plain):
            self.visit_array(path, plain, compiled)
        elif plain is compiled:
            return
        elif isinstance(plain, Iterator):
            plain, compiled = rest_of(plain), rest_of(compiled)
            self.alive += [plain, compiled]
        elif reason := leaf_difference(plain, compiled):
            self.found.append(f"{path}: {reason}")
        self.visit_parts(path, plain, compiled)

    def visit_parts(self, path: str, plain: Any, compiled: Any) -> None:
        """Compare what two values of one type are made of, in order."""
        if type(plain) in FLAT and len(plain) == len(compiled):
            self.visit_items(path, plain, compiled)
            return
        p_parts, c_parts = parts(plain), parts(compiled)
        p_steps, c_steps = ([step for step, _ in listed] for listed in (p_parts, c_parts))
        if self.differs(f"parts of {path}", p_steps, c_steps):
            return
        for (step, p), (_, c) in zip(p_parts, c_parts, strict=True):
            self.visit(path + step, p, c)

    def visit_items(self, path: str, plain: Sequence[Any], compiled: Sequence[Any]) -> None:
        """`visit` of each of many items; numbers and texts take no call, which would be most of what tests take."""
        met, compiled_met = self.met
        for i, (p, c) in enumerate(zip(plain, compiled, strict=True)):
            kind = type(p)
            one, other = met.get(id(p)), compiled_met.get(id(c))
            is_new = one is None and other is None
            if self.atoms and not is_new and one == other:
                continue
            if kind is not type(c) or kind not in LEAVES or (self.atoms and not is_new):
                self.visit(f"{path}[{i}]", p, c)
                continue
            met[id(p)] = compiled_met[id(c)] = f"{path}[{i}]"
            if p is not c and (reason := leaf_difference(p, c)):
                self.found.append(f"{path}[{i}]: {reason}")

    def visit_array(self, path: str, plain: Any, compiled: Any) -> None:
        """Compare two arrays, but for the objects in them."""
        self.arrays.append((path, plain, compiled))
        wrong = self.differs(f"{path}.dtype", described(plain.dtype), described(compiled.dtype))
        wrong |= self.differs(f"{path}.shape", plain.shape, compiled.shape)
        self.differs(f"{path}.strides", plain.strides, compiled.strides)
        for name in DEVICE_FLAGS if is_device_array(plain) else ARRAY_FLAGS:
            self.differs(f"{path}.flags.{name}", plain.flags[name], compiled.flags[name])
        self.differs(f"{path}.base", *map(self.base_of, (0, 1), (plain, compiled)))
        if wrong or plain.dtype.hasobject:
            return
        if text := bit_difference(on_host(plain), on_host(compiled)):
            self.found.append(f"{path}{text}")

    def base_of(self, side: int, array: Any) -> str:
        """Describe an array's base: none, an object met before, or what kind of new object."""
        base = array.base
        if base is None:
            return "None"
        if known := self.met[side].get(id(base)):
            return known
        if is_array(base):
            return f"an array of {base.dtype} and shape {base.shape}"
        return f"a {type(base).__name__}"

    def compare_memory(self) -> None:
        """Compare which arrays share memory, and how far apart they begin where they do."""
        places = [(path, face(plain), face(compiled)) for path, plain, compiled in self.arrays]
        near = {pair for side in (1, 2) for pair in overlapping([place[side] for place in places])}
        for one, two in sorted(near):
            (path, p, c), (other, p_other, c_other) = places[one], places[two]
            shared = [shares_memory(p, p_other), shares_memory(c, c_other)]
            if self.differs(f"does {other} share memory with {path}", *shared) or not shared[0]:
                continue
            apart = [address(p_other) - address(p), address(c_other) - address(c)]
            self.differs(f"bytes from the start of {path} to that of {other}", *apart)


def is_flat(value: object) -> bool:
    """Whether it is a list or tuple of numbers and texts alone."""
    return (
        isinstance(value, list | tuple)
        and type(value) in FLAT
        and LEAVES.issuperset(map(type, value))
    )


def is_atom(value: object) -> bool:
    """Whether it is a value that Python is free to keep once or many times."""
    if type(value) is tuple:
        return all(map(is_atom, value))
    return type(value) in ATOMS or isinstance(value, np.generic)


def overlapping(arrays: Sequence[AnyArray]) -> Iterator[tuple[int, int]]:
    """The pairs of arrays, by their numbers, between whose first and last bytes others lie: no other two share memory."""
    spans = sorted((*byte_bounds(a), number) for number, a in enumerate(arrays) if a.size)
    open_ones: list[tuple[int, int]] = []
    for start, end, number in spans:
        open_ones = [(last, one) for last, one in open_ones if last > start]
        yield from ((min(one, number), max(one, number)) for _, one in open_ones)
        open_ones.append((end, number))


def shares_memory(one: Any, other: Any) -> bool:
    """Tell whether two arrays have a byte in common (a bound, where the answer is too hard)."""
    try:
        # NumPy's stub for max_work knows its two special values only.
        return bool(np.shares_memory(one, other, max_work=100_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return bool(np.may_share_memory(one, other))


def described(dtype: np.dtype[Any]) -> str:
    """Write a dtype with its byte order, fields, alignment and metadata."""
    return f"{dtype.str} {dtype!r} {dtype.metadata or ''}"


def leaf_difference(plain: Any, compiled: Any) -> str:
    """Say how two values of one type differ, their parts aside; empty where they do not."""
    if type(plain) in REAL_OR_TEXT and plain == compiled and plain != 0:
        return ""  # zeros have signs, also as parts of complex numbers
    match plain:
        case np.generic():
            p, c = np.asarray(plain), np.asarray(compiled)
            if described(p.dtype) != described(c.dtype):
                return f"plain dtype {p.dtype!r}, compiled {c.dtype!r}"
            return bit_difference(p, c).removeprefix(": ")
        case float() | complex():
            same = np.array(plain).tobytes() == np.array(compiled).tobytes()
        case int() | str() | bytes() | bytearray() | memoryview() | range() | None:
            same = plain == compiled
        case np.dtype():
            same = described(plain) == described(compiled)
        case types.FunctionType():
            same = plain.__code__ == compiled.__code__
        case type() | types.ModuleType() | np.ufunc():
            same = plain is compiled
        case _ if type(plain) in STRUCTURE_ONLY or parts(plain):
            same = True
        case _ if "__eq__" in {name for kind in type(plain).__mro__[:-1] for name in vars(kind)}:
            same = bool(plain == compiled)
        case _:
            same = plain is compiled or is_bare(plain)
    return "" if same else f"plain {plain!r:.200}, compiled {compiled!r:.200}"


ATOMS = {int, float, complex, str, bytes, bool, type(None)}
SCALARS = {kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in "biufc"}
LEAVES = ATOMS | SCALARS  # of which no value has parts
FLAT = {list, tuple}  # of which the items are all parts
REAL_OR_TEXT = {kind for kind in LEAVES if not issubclass(kind, complex | np.complexfloating)}
STRUCTURE_ONLY = (
    list,
    tuple,
    dict,
    set,
    frozenset,
    types.CellType,
    np.random.Generator,
    np.random.RandomState,
)


def is_bare(value: object) -> bool:
    """Tell whether an object has no more state than `parts` sees; refuse it where it may have."""
    slotted = any("__slots__" in kind.__dict__ for kind in type(value).__mro__)
    if type(value) is object or slotted or hasattr(value, "__dict__"):
        return True
    message = f"a {type(value).__name__} cannot be compared: let the function return what it holds"
    raise TypeError(message)


def bit_difference(plain: AnyArray, compiled: AnyArray) -> str:
    """Say where two arrays of one dtype and shape first differ in a bit; empty where nowhere."""
    if plain.dtype.names:
        for name in plain.dtype.names:
            if text := bit_difference(plain[name], compiled[name]):
                return f"[{name!r}]{text}"
        return ""
    p, c = bit_rows(plain), bit_rows(compiled)
    if np.array_equal(p, c):
        return ""
    wrong = (p != c).any(axis=1)
    first = int(np.argmax(wrong))
    index = tuple(map(int, np.unravel_index(first, plain.shape))) if plain.ndim else ()
    return (
        f"{list(index) if index else ''}: plain {plain[index]!r} ({p[first].tobytes().hex()}), compiled "
        f"{compiled[index]!r} ({c[first].tobytes().hex()}); {int(wrong.sum())} of {wrong.size} differ"
    )


def bit_rows(array: AnyArray) -> AnyArray:
    """Give the bytes of each element as a row, without the padding of a long double."""
    flat = np.frombuffer(np.ndarray.tobytes(array), "u1").reshape(array.size, array.dtype.itemsize)
    if array.dtype in PADDED:
        whole = np.dtype(np.longdouble).itemsize
        parts = array.dtype.itemsize // whole
        bare = flat.reshape(array.size * parts, whole)[:, :LONG_DOUBLE_BYTES]
        return bare.reshape(array.size, parts * LONG_DOUBLE_BYTES)
    return flat
