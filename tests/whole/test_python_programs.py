"""Small Python programs that once differed when compiled, most of them found by tests/whole/fuzz; each row of the table is one."""

from __future__ import annotations

import pytest

from tests.whole.fuzz.check import difference
from tests.whole.fuzz.python.programs import PRELUDE, RESET, PythonProgram
from tests.whole.fuzz.python.world import PythonWorld
from tests.whole.fuzz.values import Given

VECTOR = "array('f8', (3,))"
REVERSED = "array('f8', (3,), 'reversed')"

# What differed, the module behind the fuzzer's prelude, and the arguments of several calls as expressions.
PROGRAMS: dict[str, tuple[str, tuple[dict[str, str], ...]]] = {
    "an attribute that a tuple lacks has a traceback": (
        """
def program(d):
    return d.copy()
""",
        ({"d": "(1, 2)"},),
    ),
    "an attribute that a list lacks, behind a store that fails": (
        """
def program(a, e):
    for _, x in enumerate(a):
        e['x'] = x.reshape
""",
        ({"a": "[[1.0]]", "e": "1"},),
    ),
    "object.__setattr__ in a __setattr__ runs once": (
        """
class C0:
    def __init__(self, v):
        self.w = np.arange(3.0)
    def __setattr__(self, name, value):
        LOG.append(name)
        object.__setattr__(self, name, value)

def program(a):
    x, y = C0(a)
""",
        ({"a": "1"},),
    ),
    "an operator that only declines is a TypeError": (
        """
class C0:
    def __mul__(self, other):
        return NotImplemented

def program(b, c):
    x = C0() * c
    b.sort()
    return x
""",
        ({"b": REVERSED, "c": "1"},),
    ),
    "an operator that declines falls back on the reflected one": (
        """
class C0:
    def __add__(self, other):
        LOG.append('add')
        return NotImplemented

class C1:
    def __radd__(self, other):
        return other, 1

def program(a):
    return (C0() + C1())[1] * a
""",
        ({"a": VECTOR},),
    ),
    "a dict that grows while it is iterated": (
        """
def program(d):
    for k in d:
        d[k + 'q'] = 1
""",
        ({"d": "{'a': 5}"},),
    ),
    "a variable deleted in a loop is unbound at the next turn": (
        """
def program(a, b):
    for i in (1, 2):
        print(i)
        del a
        b = np.sqrt(b)
    return b
""",
        ({"a": VECTOR, "b": VECTOR},),
    ),
    "a number beyond 64 bits in a result": (
        """
class C0:
    def __init__(self, v):
        self.v = v

def program(c):
    return C0(False + c).v
""",
        ({"c": "1"}, {"c": "5"}, {"c": "10**20"}),
    ),
    "the traceback of an exception that is being handled": (
        """
class C0:
    def __init__(self, v):
        self.w = np()

def program(b):
    try:
        x = missing
    finally:
        C0(b)
""",
        ({"b": VECTOR},),
    ),
    "the traceback of an exception thrown into a generator": (
        """
def fails(x):
    raise TypeError

def program(a):
    def g():
        try:
            yield a
        except LookupError:
            fails(a)
    h = g()
    return [next(h), h.throw(IndexError)]
""",
        ({"a": VECTOR},),
    ),
    "an object with a finalizer dies before what follows": (
        """
class C0:
    def __init__(self, w):
        self.w = w
        self.log = LOG
    def __del__(self):
        self.log.append('died')

def program(a):
    note(C0(a).w)
    x = C0(a)
    x = x.w + 1
    note('end')
    return x
""",
        ({"a": VECTOR},),
    ),
    "np.float64 of a Python float is a NumPy scalar": (
        """
def program(d):
    return np.float64(d)
""",
        ({"d": "1.5"}, {"d": "2.5"}),
    ),
    "ravel copies what runs backwards, and views what does not": (
        """
def program(a):
    b = a.ravel()
    b += 1
    return b
""",
        ({"a": REVERSED}, {"a": VECTOR}),
    ),
    "a partial that another function made": (
        """
def program(a):
    @functools.wraps(abs)
    def f(x):
        pass
    return functools.wraps(note)(f) is f
""",
        ({"a": "1"},),
    ),
    "what a loop's slot holds dies where the next turn writes it": (
        """
class C0:
    def __init__(self):
        self.log = LOG
    def __del__(self):
        self.log.append('died')

def program(c):
    while c:
        c -= 1
        note(2.0)
        x = C0()
""",
        ({"c": "3"},),
    ),
    "what a frame holds that raises behind a handler lives with the traceback": (
        """
class C0:
    def __init__(self):
        self.log = LOG
    def __del__(self):
        self.log.append('died')

def program(e):
    x = C0()
    e['x'] = np
    try:
        raise TypeError from None
    except KeyError as error:
        pass
""",
        ({"e": "{}"},),
    ),
    "what a frame made in a handler lives with the traceback": (
        """
class C0:
    def __init__(self):
        self.log = LOG
    def __del__(self):
        self.log.append('died')

def fails(b):
    try:
        b -= 7 / 0
    finally:
        x = C0()

def program(b):
    fails(b)
""",
        (
            {"b": "1"},
            {"b": VECTOR},
        ),
    ),
    "slices of lists and tuples that are none": (
        """
def program(a, k):
    note([][k:])
""",
        (
            {"a": "1", "k": "1.5"},
            {"a": "1", "k": "[1]"},
            {"a": "1", "k": "None"},
            {"a": "1", "k": "True"},
        ),
    ),
    "slices of a list that are none": (
        """
def program(k):
    l = [1, 2, 3]
    for change in (
        lambda: l[slice([1])],
        lambda: (1, 2)[slice('a', 2)],
        lambda: l[::0],
        lambda: l.__setitem__(slice(k, None), 1),
        lambda: l.__delitem__(slice(None, k)),
        lambda: l.__setitem__(slice(None, None, 0), [4]),
    ):
        try:
            note(change())
        except (TypeError, ValueError) as error:
            note(str(error))
    l[k:] = [4, 5]
    return l
""",
        (
            {"k": "1.5"},
            {"k": "np.array([1])"},
            {"k": "np.int64(1)"},
            {"k": "2"},
        ),
    ),
    "a frozenset is another one at every call": (
        """
def program(a):
    made = frozenset(sorted([4, a]))
    return frozenset(), made, frozenset(made) is made, made | {5}, made.copy(), frozenset({a}), made & {9}
""",
        (
            {"a": "1"},
            {"a": "2"},
            {"a": "1"},
        ),
    ),
    "a frozenset of a frozenset is that frozenset": (
        """
def program(a, s):
    return frozenset(s), s.copy(), s | {1}, frozenset(s) is s
""",
        (
            {"a": "1", "s": "frozenset({1, 2})"},
            {"a": "1", "s": "frozenset({2, 1})"},
        ),
    ),
}


@pytest.mark.parametrize("backend", ["numpy", "reference"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_the_same_compiled(name: str, backend: str) -> None:
    """Nothing that can be observed tells the compiled program from the plain one."""
    source, sets = PROGRAMS[name]
    given = tuple(tuple(Given(*item) for item in arguments.items()) for arguments in sets)
    program = PythonProgram(PRELUDE + source + RESET, given)
    assert not difference(program, backend, PythonWorld)
