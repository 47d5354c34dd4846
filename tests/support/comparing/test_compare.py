"""The comparer sees every observable: for each, two functions that differ in nothing else."""

from __future__ import annotations

import contextvars
import ctypes
import types
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.comparing.compare import (
    MODES,
    Difference,
    Mode,
    arguments,
    check_lifetimes,
    check_same,
)
from tests.support.comparing.copying import independent_copy
from tests.support.comparing.modes import EVERY

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("VARIABLE", default=0)


class Box:
    """An object with an attribute."""

    def __init__(self, content: object = None) -> None:
        self.content = content


class Slotted:
    """An object with a slot."""

    __slots__ = ("content",)

    def __init__(self, content: object) -> None:
        self.content = content


def function(body: str) -> Callable[..., Any]:
    """Make `f(x, y)` of a body; all such functions claim the same file and lines."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    source = f"def f(x=None, y=None):\n{lines}\n"
    names = {
        "Box": Box,
        "LIBM": ctypes.PyDLL(None),
        "Slotted": Slotted,
        "VARIABLE": VARIABLE,
        "counter": 0,
        "np": np,
        "warnings": warnings,
    }
    exec(compile(source, "user.py", "exec"), names)
    made: Callable[..., Any] = names["f"]  # type: ignore[assignment]
    return made


def floats() -> tuple[Any, ...]:
    return (np.array([1.0, 2.0, 3.0]), 2.5)


def equal_floats() -> tuple[Any, ...]:
    return (np.ones(6), [np.ones(2), "text", 7])


def view() -> tuple[Any, ...]:
    return (np.arange(12.0).reshape(3, 4)[1:],)


def box() -> tuple[Any, ...]:
    return (Box([1, 2.0]), {"a": 1, "b": np.zeros(2)})


# fmt: off
CASES = {
    # name: (plain body, differing body, arguments, what the report must say)
    # values
    "a value": ("return x + 1", "return x + 2", floats, "result[0]: plain"),
    "one value of many": ("return x + 1", "y = x + 1\ny[2] = 0\nreturn y", floats, "result[2]: plain"),
    "the sign of zero": ("return x * 0.0", "return x * -0.0", floats, "result[0]: plain"),
    "the sign of zero of a float": ("return 0.0", "return -0.0", floats, "result: plain 0.0"),
    "the payload of a nan": ("return x * np.nan", "y = x * np.nan\ny.view('u8')[1] ^= 1\nreturn y", floats, "result[1]"),
    "a nan scalar's payload": ("return np.array([2**63 - 1], 'u8').view('f8')[0]", "return np.array([2**63 - 2], 'u8').view('f8')[0]", floats, "result: plain"),
    "a complex part": ("return x * 0j", "return x * -0j", floats, "result[0]: plain"),
    "a long double": ("return x.astype('g')", "return x.astype('g') + 1e-18", lambda: (np.ones(2),), "result[0]"),
    "a field": ("return np.zeros(2, 'i4,f8')", "y = np.zeros(2, 'i4,f8')\ny['f1'][1] = 1\nreturn y", floats, "result['f1'][1]"),
    "an object in an array": ("return np.array([1, 'a'], object)", "return np.array([1, 'b'], object)", floats, "result.flat[1]"),
    "a Python int": ("return 3", "return 4", floats, "result: plain 3"),
    "a string": ("return 'a'", "return 'b'", floats, "result: plain 'a'"),
    "nothing": ("return None", "return 0", floats, "type(result)"),
    # types
    "a scalar or a 0-d array": ("return x.sum()", "return np.array(x.sum())", floats, "type(result)"),
    "a NumPy or a Python float": ("return x.sum()", "return float(x.sum())", floats, "type(result)"),
    "a NumPy or a Python bool": ("return x.sum() > 0", "return bool(x.sum() > 0)", floats, "type(result)"),
    "an int or a bool": ("return 1", "return True", floats, "type(result)"),
    "a scalar's dtype": ("return x.sum()", "return x.sum().astype('f4')", floats, "type(result)"),
    "a scalar's byte order": ("return np.array([(1,)], '<i4,').view('<i4,')[0]", "return np.array([(1,)], '>i4,')[0]", floats, "dtype"),
    "a list or a tuple": ("return [x, y]", "return x, y", floats, "type(result)"),
    "a container's length": ("return [x, y]", "return [x]", floats, "parts of result"),
    "the order in a list": ("return ['a', 'b']", "return ['b', 'a']", floats, "result[0]"),
    "the order of keys": ("return {'a': 1, 'b': 2}", "return {'b': 2, 'a': 1}", floats, "parts of result"),
    "the type of a key": ("return {1: 0}", "return {True: 0}", floats, "parts of result"),
    "a value under a key": ("return {'a': 1}", "return {'a': 1.5}", floats, "type(result['a'])"),
    "a member of a set": ("return {1, 2}", "return {1, 3}", floats, "result<member 1>"),
    "a slice": ("return slice(1, 2)", "return slice(1, 3)", floats, "result.stop"),
    "a range": ("return range(3)", "return range(4)", floats, "result: plain range(0, 3)"),
    "an attribute of the result": ("return Box(1)", "return Box(2)", floats, "result.content"),
    "a slot of the result": ("return Slotted(1)", "return Slotted(2)", floats, "result.content"),
    "a missing attribute": ("return Box(1)", "b = Box(1)\nb.more = 1\nreturn b", floats, "parts of result"),
    "a cell of a function": ("k = 1\nreturn lambda: k", "k = 2\nreturn lambda: k", floats, "cell_contents"),
    "a default of a function": ("return lambda k=1: k", "return lambda k=2: k", floats, "__defaults__[0]"),
    "the code of a function": ("return lambda: 1", "return lambda: 2", floats, "result: plain <function"),
    "the object of a method": ("return [1].append", "return [2].append", floats, "result.__self__[0]"),
    "a class": ("return int", "return float", floats, "result: plain <class 'int'>"),
    "a dtype": ("return np.dtype('<i4')", "return np.dtype('>i4')", floats, "result: plain dtype"),
    "what an iterator still gives": ("return iter([1, 2])", "return iter([1, 3])", floats, "result[1]"),
    "how an iterator fails": ("return map(int, '1a')", "return map(int, '1b')", floats, "result[2]"),
    "what a generator still gives": ("return (i for i in [1, 2])", "return (i for i in [1])", floats, "parts of result"),
    "a generator's state": ("return np.random.default_rng(1)", "r = np.random.default_rng(1)\nr.random()\nreturn r", floats, "bit_generator.state"),
    # arrays
    "the dtype": ("return x + 1", "return (x + 1).astype('f4')", floats, "result.dtype"),
    "the byte order": ("return x + 1", "return (x + 1).astype('>f8')", floats, "result.dtype"),
    "a dtype's metadata": ("return x.astype(np.dtype('f8', metadata={'a': 1}))", "return x.astype(np.dtype('f8', metadata={'a': 2}))", floats, "result.dtype"),
    "the shape": ("return np.zeros((2, 3))", "return np.zeros((3, 2))", floats, "result.shape"),
    "the shape of nothing": ("return np.zeros((0, 3))", "return np.zeros((3, 0))", floats, "result.shape"),
    "strides": ("return np.zeros((1, 3))", "return np.zeros((1, 3), order='F')", floats, "result.strides"),
    "C order": ("return np.zeros((2, 3))", "return np.zeros((2, 3), order='F')", floats, "result.flags.C_CONTIGUOUS"),
    "Fortran order": ("return np.zeros((2, 3))", "return np.zeros((2, 3), order='F')", floats, "result.flags.F_CONTIGUOUS"),
    "read-only": ("return x + 1", "y = x + 1\ny.flags.writeable = False\nreturn y", floats, "result.flags.WRITEABLE"),
    "own data": ("return x + 1", "return (x + 1)[:]", floats, "result.flags.OWNDATA"),
    "alignment": ("return np.zeros(25, 'u1')[:24].view('f8')", "return np.zeros(25, 'u1')[1:].view('f8')", floats, "result.flags.ALIGNED"),
    "no base": ("return x + 1", "return (x + 1)[:]", floats, "result.base: plain 'None'"),
    "what the base is": ("return x[:]", "return x.copy()[:]", floats, "result.base: plain 'arguments[0]'"),
    "the shape of a base": ("return np.zeros(4)[:2]", "return np.zeros(8)[:2]", floats, "result.base: plain 'an array"),
    "the kind of a base": ("return np.frombuffer(bytes(8))", "return np.zeros(1)[:]", floats, "result.base: plain 'a bytes'"),
    # aliasing and identity
    "a view of an argument": ("return x[0:2]", "return x.copy()[0:2]", equal_floats, "does result share memory with arguments[0]"),
    "which part of an argument": ("return x[1:]", "return x[:-1]", equal_floats, "bytes from the start of arguments[0] to that of result"),
    "a view of a hidden base": ("return x.base[:4]", "return x.base.copy()[:4]", view, "does result share memory with arguments[0].base as it was given"),
    "results that share memory": ("a = x + 1\nreturn a[:1], a[:2]", "a = x + 1\nreturn a[:1], a.copy()[:2]", floats, "does result[1] share memory with result[0]"),
    "results that are one": ("a = x + 1\nreturn a, a", "a = x + 1\nreturn a, a.copy()", floats, "result[1]: plain is result[0], compiled is a new object"),
    "results that are two": ("a = x + 1\nreturn a, a.copy()", "a = x + 1\nreturn a, a", floats, "result[1]: plain is a new object"),
    "a result that is an argument": ("return x", "return x[:]", floats, "result: plain is arguments[0]"),
    "a float that is an argument": ("return y", "return y * 1.0", floats, "result: plain is arguments[1]"),
    "a list that is an argument": ("return y", "return list(y)", equal_floats, "result: plain is arguments[1]"),
    "an item that is an argument": ("return [y[0]]", "return [y[0].copy()]", equal_floats, "result[0]: plain is arguments[1][0]"),
    # mutated arguments
    "an argument written to": ("x += 1", "pass", floats, "arguments[0][0]: plain"),
    "an argument not written to": ("pass", "x[1] = -x[1]", floats, "arguments[0][1]: plain"),
    "memory around an argument": ("pass", "x.base[0, 0] = 9", lambda: (np.zeros((2, 2))[1:], np.zeros(1)), "arguments[0].base"),
    "an argument's flag": ("pass", "x.flags.writeable = False", floats, "arguments[0].flags.WRITEABLE"),
    "an argument's shape": ("pass", "x.resize(2, refcheck=False)", floats, "arguments[0].shape"),
    "an item replaced": ("y[0] += 1", "y[0] = y[0] + 1", equal_floats, "arguments[1][0]"),
    "an item appended": ("y.append(1)", "pass", equal_floats, "parts of arguments[1]"),
    "a key added": ("y['c'] = 1", "pass", box, "parts of arguments[1]"),
    "an attribute set": ("x.content = 1", "pass", box, "type(arguments[0].content)"),
    "an attribute mutated": ("x.content[1] = 5", "pass", box, "arguments[0].content[1]"),
    # warnings
    "no warning": ("return np.log(-x)", "with np.errstate(all='ignore'): return np.log(-x)", floats, "warnings[0]: plain ('RuntimeWarning', 'invalid value"),
    "a warning of its own": ("return 1", "warnings.warn('w')\nreturn 1", floats, "warnings[0]: plain <missing>"),
    "a warning's category": ("warnings.warn('w', UserWarning)", "warnings.warn('w', FutureWarning)", floats, "'UserWarning'"),
    "a warning's text": ("warnings.warn('w')", "warnings.warn('v')", floats, "'v'"),
    "a warning's count": ("for _ in range(2): warnings.warn('w')", "warnings.warn('w')", floats, "warnings[1]: plain"),
    "a warning's line": ("warnings.warn('w')", "pass\nwarnings.warn('w')", floats, "'user.py', 3"),
    "a warning's file": ("warnings.warn('w')", "warnings.warn('w', stacklevel=2)", floats, "recording.py"),
    "the order of warnings": ("warnings.warn('w'); warnings.warn('v')", "warnings.warn('v'); warnings.warn('w')", floats, "warnings[1]"),
    # exceptions
    "no exception": ("raise ValueError('a')", "return 1", floats, "raised[0]: plain"),
    "an exception's type": ("raise ValueError('a')", "raise TypeError('a')", floats, "builtins.TypeError"),
    "an exception's text": ("raise ValueError('a')", "raise ValueError('b')", floats, "'text': 'b'"),
    "an exception's arguments": ("raise ValueError(1)", "raise ValueError(True + 0.0)", floats, "error.args[0]"),
    "an exception's attribute": ("e = ValueError(); e.a = 1; raise e", "e = ValueError(); e.a = 2; raise e", floats, "error.a"),
    "an exception's cause": ("raise ValueError('a') from TypeError()", "raise ValueError('a') from KeyError()", floats, "raised.__cause__"),
    "an exception's context": ("try: 1 / 0\nexcept ArithmeticError: raise ValueError('a')", "try: 1.5 ** 10000\nexcept ArithmeticError: raise ValueError('a')", floats, "raised.__context__"),
    "a suppressed context": ("try: 1 / 0\nexcept ArithmeticError: raise ValueError('a')", "try: 1 / 0\nexcept ArithmeticError as e: raise ValueError('a') from None", floats, "'suppresses its context': True"),
    "an exception's notes": ("raise ValueError('a')", "e = ValueError('a'); e.add_note('n'); raise e", floats, "'notes': ['n']"),
    "an exception's line": ("raise ValueError('a')", "pass\nraise ValueError('a')", floats, "('user.py', 3, 'f')"),
    "a line on the way": ("def g(): raise ValueError\ng()", "def g(): raise ValueError\npass; (lambda: g())()", floats, "<lambda>"),
    "an effect before an exception": ("x += 1\nraise ValueError", "pass\nraise ValueError", floats, "arguments[0][0]"),
    # output and surroundings
    "a print": ("print('a')", "pass", floats, "stdout: plain 'a\\n'"),
    "the order of prints": ("print('a'); print('b')", "print('b'); print('a')", floats, "stdout: plain"),
    "numpy.seterr": ("pass", "np.seterr(all='ignore')", floats, "numpy.geterr()"),
    "numpy.seterrcall": ("pass", "np.seterrcall(lambda *a: None)", floats, "numpy.geterrcall()"),
    "numpy.setbufsize": ("pass", "np.setbufsize(4096)", floats, "numpy.getbufsize()"),
    "numpy.set_printoptions": ("pass", "np.set_printoptions(precision=3)", floats, "numpy.get_printoptions()"),
    "warnings.filters": ("pass", "warnings.simplefilter('ignore')", floats, "warnings.filters"),
    "a context variable": ("VARIABLE.set(1)", "VARIABLE.set(2)", floats, "context variables"),
    "random numbers drawn": ("np.random.rand(1)", "np.random.rand(2)", floats, "numpy.random's state"),
    "Python's random numbers drawn": ("import random; random.random()", "pass", floats, "random's state"),
    "the floating-point status": ("pass", "LIBM.feraiseexcept(1)", floats, "compiled left ['invalid']"),
    "the rounding mode": ("return 1", "LIBM.fesetround(0x400)\nreturn 1", floats, "rounding mode"),
}
# fmt: on


@pytest.fixture(autouse=True)
def rounding_to_nearest() -> Any:
    """Put back what one of the cases changes."""
    yield
    ctypes.PyDLL(None).fesetround(0)


@pytest.mark.parametrize("name", CASES)
def test_difference_is_reported(name: str) -> None:
    """Two functions that differ in one observable are told apart, at the right place."""
    plain, differing, make_args, report = CASES[name]
    with pytest.raises(Difference) as caught:
        check_same(function(plain), function(differing), make_args, modes=MODES[:1])
    assert report in str(caught.value)


@pytest.mark.parametrize("name", CASES)
def test_no_difference_is_made_up(name: str) -> None:
    """A function is the same as itself, in every mode."""
    plain, differing, make_args, _ = CASES[name]
    check_same(function(plain), function(plain), make_args)
    check_same(function(differing), function(differing), make_args)


# fmt: off
MODE_CASES = {
    # mode: (plain body, a body that is the same in the mode "always", what the report must say)
    "default": ("for _ in range(2): warnings.warn('w')", "for _ in range(2): warnings.warn_explicit('w', UserWarning, 'user.py', 2)", "warnings[1]"),
    "warnings are errors": ("warnings.warn('w')", "try: warnings.warn('w')\nexcept UserWarning: pass", "raised[0]"),
    "errstate raise": ("return 1 / (x - x)", "if np.geterr()['divide'] == 'raise': return x\nreturn 1 / (x - x)", "FloatingPointError"),
    "errstate ignore": ("return np.log(-x)", "if np.geterr()['invalid'] == 'ignore': np.seterr(all='warn')\nreturn np.log(-x)", "warnings[0]"),
    "errstate call": ("return 1 / (x - x)", "if np.geterr()['divide'] == 'call': return x + np.inf\nreturn 1 / (x - x)", "seterrcall[0]: plain ('divide by zero', 1)"),
}
# fmt: on


@pytest.mark.parametrize("name", MODE_CASES)
def test_mode_shows_what_others_hide(name: str) -> None:
    """Each treatment of warnings and floating-point errors is looked at."""
    plain, differing, report = MODE_CASES[name]
    (mode,) = [mode for mode in MODES if mode.name == name]
    with pytest.raises(Difference) as caught:
        check_same(function(plain), function(differing), floats, modes=[mode])
    assert f"mode {name}" in str(caught.value)
    assert report in str(caught.value)
    check_same(function(plain), function(plain), floats, modes=[mode])


def test_every_mode_has_a_case() -> None:
    """No mode is listed that nothing shows to matter."""
    assert [mode.name for mode in MODES] == ["always", *MODE_CASES]


class FromCall:
    """Becomes another function at its n-th call since the last reset."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.calls = 0
        self.resets = 0

    def __call__(self, x: Any, y: Any) -> Any:
        """Add one, or two."""
        self.calls += 1
        return x + (2 if self.calls == self.number else 1)

    def reset(self) -> None:
        """Start again."""
        self.calls = 0
        self.resets += 1


@pytest.mark.parametrize("number", [1, 2])
def test_each_call_is_compared(number: int) -> None:
    """A difference at the first call only, or at the second only, is found."""
    with pytest.raises(Difference, match=f"call {number}, mode always"):
        check_same(function("return x + 1"), FromCall(number), floats)


@pytest.mark.parametrize(
    ("body", "count"),
    [("return x / y", len(MODES)), ("return x + 1", 2), ("y += 1.0 / y", len(MODES))],
)
def test_compiled_is_reset_before_each_mode(body: str, count: int) -> None:
    """Each mode sees a first call; where none matters, the first mode and another do."""
    resets: list[None] = []
    compiled = Resetting(function(body), resets)
    matter = check_same(function(body), compiled, lambda: (np.ones(2), np.zeros(2)), calls=3)
    assert len(resets) == (len(MODES) if EVERY else count)
    assert matter == (count > 2)


class Resetting:
    """A function with a method `reset` that is counted."""

    def __init__(self, own: Any, resets: list[None]) -> None:
        self.own = own
        self.resets = resets

    def __call__(self, *given: Any) -> Any:
        """What the function gives."""
        return self.own(*given)

    def reset(self) -> None:
        """Count."""
        self.resets.append(None)


def modes_seen(body: str, times: int) -> set[str]:
    """The modes of some comparisons that nothing shows to matter."""
    seen: set[str] = set()
    plain = function(body)

    def compiled(*given: Any) -> Any:
        settings = np.geterr()["divide"]
        seen.add(f"{settings} {warnings.filters[0][0]}")
        return plain(*given)

    for _ in range(times):
        check_same(plain, compiled, floats)
    return seen


def test_every_mode_has_its_turn() -> None:
    """Comparisons that no mode matters to are made under another mode each; those of who asks for it, under each."""
    assert len(modes_seen("return x + 1", 1)) == (len(MODES) if EVERY else 2)
    assert len(modes_seen("return x + 1", len(MODES))) == len(MODES)
    assert len(modes_seen("return (lambda: np.geterr)().__name__", 1)) == len(MODES)


def test_state_outside_the_arguments_is_compared() -> None:
    """Globals and whatever else `state` gives are compared, and `reset` is called before each."""
    counts = {"counter": 0}

    def reset() -> None:
        counts["counter"] = 0

    def once(x: Any, y: Any) -> None:
        counts["counter"] += 1

    def twice(x: Any, y: Any) -> None:
        counts["counter"] += 2

    check_same(once, once, floats, state=lambda: dict(counts), reset=reset)
    with pytest.raises(Difference, match=r"state\['counter'\]: plain 1, compiled 2"):
        check_same(once, twice, floats, state=lambda: dict(counts), reset=reset)


def test_named_arguments_reach_the_function() -> None:
    """`arguments` passes names, and what they name is compared afterwards."""

    def make_args() -> Any:
        return arguments(np.ones(1), y=np.ones(2))

    check_same(function("y += x"), function("y += x"), make_args)
    with pytest.raises(Difference, match=r"arguments\['y'\]\[0\]"):
        check_same(function("y += x"), function("y -= x"), make_args)


def test_arguments_that_cannot_be_copied() -> None:
    """Without copies, `make_args` is called for each run."""
    made: list[object] = []

    def make_args() -> tuple[Any, ...]:
        made.append(None)
        return ((i for i in range(3)), np.ones(1))

    check_same(
        function("return list(x)"),
        function("return list(x)"),
        make_args,
        calls=1,
        copies=False,
        modes=MODES[:1],
    )
    assert len(made) == 2


@pytest.mark.parametrize(
    "body", ["import _thread; return _thread.allocate_lock()", "import sys; return sys._getframe()"]
)
def test_what_cannot_be_compared_is_refused(body: str) -> None:
    """What hides its state is not silently taken for the same."""
    with pytest.raises(TypeError, match="cannot be compared"):
        check_same(function(body), function(body), equal_floats)


def test_padding_of_long_doubles_is_not_compared() -> None:
    """The six bytes that no operation sets may differ."""

    def padded(byte: int) -> Callable[[], Any]:
        def f() -> Any:
            value = np.ones(2, "g")
            if value.itemsize == 16 and np.finfo("g").nmant == 63:
                value.view("u1").reshape(2, 16)[:, 10:] = byte
            return value

        return f

    check_same(padded(1), padded(2), tuple)


def test_lifetimes_are_compared() -> None:
    """A callable that keeps an argument or a result alive is told apart."""
    kept: list[object] = []

    def keeps(part: int) -> Callable[..., Any]:
        def f(x: Any, y: Any) -> Any:
            result = [x + 1]
            kept.append((x, result[0], y)[part])
            return result

        return f

    plain = function("return [x + 1]")
    check_lifetimes(plain, keeps(2), floats)
    with pytest.raises(Difference, match=r"plain \[\], compiled \['arguments\[0\]\[0\]'\]"):
        check_lifetimes(plain, keeps(0), floats)
    with pytest.raises(Difference, match=r"plain \[\], compiled \['result\[0\]'\]"):
        check_lifetimes(plain, keeps(1), floats)


def test_surroundings_are_put_back() -> None:
    """What a run changes around itself is gone when the comparer returns."""
    before = (np.geterr(), np.get_printoptions(), str(np.random.get_state()))
    body = "np.seterr(all='ignore'); np.set_printoptions(precision=2); np.random.rand(999)"
    check_same(function(body), function(body), floats)
    after = (np.geterr(), np.get_printoptions(), str(np.random.get_state()))
    assert before == after


def arrays_to_copy() -> dict[str, np.ndarray[Any, Any]]:
    base = np.arange(24.0).reshape(2, 3, 4)
    locked = np.arange(3.0)
    writer = locked[:2]
    locked.flags.writeable = False
    return {
        "owner": base,
        "view": base[:, 1:],
        "reversed": base[::-1, :, ::-2],
        "transposed": base.T,
        "broadcast": np.broadcast_to(base[0, 0], (5, 4)),
        "fortran": np.asfortranarray(base),
        "one row": np.zeros((1, 3), order="F"),
        "permuted": np.zeros((2, 3, 4)).transpose(1, 0, 2).copy(order="K"),
        "other dtype": base.view("i4"),
        "misaligned": np.zeros(25, "u1")[1:].view("f8"),
        "swapped": np.arange(3, dtype=">f8"),
        "read-only": locked,
        "writeable view of it": writer,
        "of bytes": np.frombuffer(b"12345678"),
        "of a bytearray": np.frombuffer(bytearray(b"12345678")),
        "0-d": np.array(1.5),
        "empty": np.zeros((0, 3)),
        "bool": np.array([True, False]),
        "record": np.zeros(2, "i4,f8"),
        "objects": np.array([[1], "a"], dtype=object),
    }


@pytest.mark.parametrize("name", arrays_to_copy())
def test_copy_keeps_what_an_array_is(name: str) -> None:
    """dtype, shape, strides, flags, kind of base and bits stay; memory does not."""
    array = arrays_to_copy()[name]
    copied = independent_copy(array)
    assert type(copied) is np.ndarray
    assert (copied.dtype, copied.shape, copied.strides) == (array.dtype, array.shape, array.strides)
    assert str(copied.flags) == str(array.flags)
    assert type(copied.base) is type(array.base)
    assert copied.tobytes() == array.tobytes() or array.dtype.hasobject
    assert not np.shares_memory(copied, array)


def test_copies_share_what_the_originals_share() -> None:
    """Views of one array stay views of one array, wherever they are."""
    base = np.arange(12.0)
    box = Box(base[6:])
    original = [base[:8], {"k": base}, box, box, np.frombuffer(b"12345678")]
    first, named, left, right, _ = copied = independent_copy(original)
    assert first.base is named["k"]
    assert left is right
    assert left.content.base is named["k"]
    first[7] = -1
    assert left.content[1] == -1
    assert base[7] == 7
    assert copied is not original


def test_copies_of_windows_overlap_as_the_originals_do() -> None:
    """What as_strided made stays a view, with the same steps into the same memory."""
    base = np.arange(5.0)
    windows = np.lib.stride_tricks.sliding_window_view(base, 3)
    copied_base, copied = independent_copy((base, windows))
    assert copied.strides == windows.strides == (8, 8)
    copied_base[2] = -1
    assert np.argwhere(copied == -1).tolist() == [[0, 2], [1, 1], [2, 0]]
    assert base[2] == 2


def test_copies_share_objects_in_arrays() -> None:
    """An object array's elements are copied, once each."""
    shared = [1]
    array = np.array([shared, shared, None], dtype=object)
    copied_array, copied_list = independent_copy((array, shared))
    assert copied_array[0] is copied_array[1] is copied_list
    assert copied_list is not shared


def test_functions_and_modules_are_not_copied() -> None:
    """What a program is made of stays as it is."""
    weak = weakref.ref(Box)
    values = (np, len, test_functions_and_modules_are_not_copied, Box, np.add, weak)
    assert all(a is b for a, b in zip(independent_copy(values), values, strict=True))
    assert isinstance(values[0], types.ModuleType)


def test_modes_have_names() -> None:
    """A report says under which mode it arose."""
    with pytest.raises(Difference, match="call 1, mode mine: 1 differences"):
        check_same(function("return 1"), function("return 2"), floats, modes=[Mode("mine")])


@pytest.mark.parametrize("dtype", ["g", "G", "d"])
def test_arrays_without_elements_are_compared(dtype: str) -> None:
    """Nothing differs in the bits of empty arrays, padded dtypes too."""
    check_same(lambda: np.zeros((0, 2), dtype), lambda: np.empty((0, 2), dtype), lambda: ())
