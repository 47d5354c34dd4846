"""The C layer: globals that are watched are as good as globals that are looked up, whoever changes them and how."""

from __future__ import annotations

import builtins
import dis
import gc
import subprocess
import sys
import types
import weakref
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.frames.hooking import K, Session, dispatcher, entry, growth

if TYPE_CHECKING:
    from collections.abc import Callable
WARM = 20  # calls after which the names of an entry are watched and no longer looked up


def namespace(**names: Any) -> dict[str, Any]:
    """The dict of a module with these names."""
    module = types.ModuleType("space")
    vars(module).update(names)
    return vars(module)


def watching(session: Session, space: dict[str, Any], **names: Any) -> Any:
    """A dispatcher whose entry holds while these names are what they are, and `hidden` is none."""
    rows: list[tuple[Any, ...]] = [(K.ABSENT, space, "hidden")]
    for position, (name, value) in enumerate(names.items()):
        rows += [(K.LOAD_KEY, space, name), (K.IDENTITY, position + 1, value)]
    made = entry(rows, recipe=[("const", "held")], ending=("return", len(names) + 1))
    compiled = dispatcher(lambda a: "plain", session, made)
    assert {compiled(0) for _ in range(WARM)} == {"held"}
    return compiled


def set_global(space: dict[str, Any]) -> None:
    exec("def change(v):\n global x\n x = v\nfor n in range(40): change(n)\ndel change, n", space)


def set_attribute(space: dict[str, Any]) -> None:
    module = types.ModuleType("other")
    for _ in range(40):
        space["module_itself"].x = module


def refill(space: dict[str, Any]) -> None:
    space.clear()
    space["x"] = 5


# fmt: off
CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "item":          lambda d: d.__setitem__("x", 2),
    "delete":        lambda d: d.__delitem__("x"),
    "pop":           lambda d: d.pop("x"),
    "popitem":       lambda d: d.popitem(),
    "clear":         lambda d: d.clear(),
    "update":        lambda d: d.update(x=2),
    "merge":         lambda d: d.__ior__({"x": 2}),
    "setdefault":    lambda d: d.setdefault("hidden", 1),
    "hide":          lambda d: d.update(hidden=1),
    "init":          lambda d: d.__init__(x=3),
    "global":        set_global,
    "attribute":     set_attribute,
    "exec":          lambda d: exec("x = 3", d),
    "delete global": lambda d: exec("del x", d),
    "import":        lambda d: exec("import math as x", d),
    "refill":        refill,
}
# fmt: on


@pytest.mark.parametrize("how", CHANGES)
def test_every_change_of_a_watched_name_is_noticed(session: Session, how: str) -> None:
    """However a dict is written to, the next call knows; once it is as before, the entry holds again."""
    module: Any = types.ModuleType("space")
    space = vars(module)
    first = object()
    space.update(module_itself=module, x=first)
    compiled = watching(session, space, x=first)
    for _ in range(3):
        CHANGES[how](space)
        assert compiled(0) == "plain"
        space.pop("hidden", None)
        space.pop("__builtins__", None)
        space.pop("x", None)
        space.update(module_itself=module, x=first)
        assert {compiled(0) for _ in range(WARM)} == {"held"}


def test_other_names_change_nothing(session: Session) -> None:
    """A name that no guard is about may change at every call."""
    space = namespace(x=1, counter=0)
    compiled = watching(session, space, x=1)
    for n in range(3000):
        space["counter"] = n
        assert compiled(0) == "held"
    space["x"] = 2
    assert compiled(0) == "plain"


def test_a_name_that_changes_at_every_call(session: Session) -> None:
    """It is looked up again instead of watched, and the answer is right every time."""
    first, second = object(), object()
    space = namespace(x=first)
    compiled = watching(session, space, x=first)
    for n in range(300):
        space["x"] = second if n % 3 else first
        assert compiled(0) == ("plain" if n % 3 else "held")
    again = watching(session, space | {"x": first}, x=first)
    assert again(0) == "held"


def test_keys_that_are_no_names_end_the_watch(session: Session) -> None:
    """A dict in which anything may be compared is looked up with care."""
    space = namespace(x=1)
    compiled = watching(session, space, x=1)
    space[5] = 1  # type: ignore[index]
    assert {compiled(0) for _ in range(WARM)} == {"held"}
    space["x"] = 2
    assert compiled(0) == "plain"


def test_the_dict_of_an_object_may_be_watched(session: Session) -> None:
    """Also where CPython writes to an attribute without the functions of dicts."""

    class Many:
        pass

    made: Any = Many()
    for n in range(60):
        setattr(made, f"a{n}", n)
    first = object()
    made.x = first

    def change(value: Any) -> None:
        made.x = value

    space = vars(made)
    for _ in range(100):
        change(first)
    if sys.version_info < (3, 12):
        ran = {one.opname for one in dis.get_instructions(change, adaptive=True)}
        assert "STORE_ATTR_WITH_HINT" in ran
    compiled = watching(session, space, x=first)
    for _ in range(3):
        change(7)
        assert compiled(0) == "plain"
        change(first)
        assert {compiled(0) for _ in range(WARM)} == {"held"}


def test_what_is_read_is_loaded_at_every_call(session: Session) -> None:
    """Inputs, rows that are checked, recipes, relations and endings have the registers they read."""
    scale = 2.5
    space = namespace(scale=scale, count=3, label="label", other=[], last="last")
    loads = [(K.LOAD_KEY, space, name) for name in ("scale", "count", "label", "other", "last")]
    checks = [(K.TYPE, 1, float), (K.INT, 2, 3), (K.STR, 3, "label"), (K.LENGTH, 4, 0)]
    relation = (K.RELATION, (("int", 2), ("const", 3), ("eq",)))
    made = entry(
        [*loads, *checks, relation], (1, 0), divmod, 2, [("int", (("int", 2),)), ("tuple", (3, 4, 6, 7, 8))],
        ("return", 9),
    )  # fmt: skip
    compiled = dispatcher(lambda a: "plain", session, made)
    for _ in range(WARM):
        assert compiled(2.0) == ("label", [], 1.0, 0.5, 3)
        assert compiled(2.0)[1] is space["other"]
    going = entry([(K.LOAD_KEY, space, "last")], ending=("return", 1))
    assert {dispatcher(lambda a: "plain", session, going)(0) for _ in range(WARM)} == {"last"}
    space["other"].append(1)
    assert compiled(2.0) == "plain"
    space["other"].clear()
    space["scale"] = 3.5
    assert compiled(2.0) == ("label", [], 1.0, 1.5, 3)
    space["scale"] = 3
    assert compiled(2.0) == "plain"


def test_what_can_change_in_its_place_is_checked(session: Session) -> None:
    """The class of an object, the code and defaults of a function, the attributes of a class."""

    class One:
        value = 1

    class Two:
        value = 1

    def function(a: int = 1) -> int:
        return a

    made = One()
    space = namespace(made=made, function=function, module=builtins)
    rows = [
        (K.LOAD_KEY, space, "made"), (K.TYPE, 1, One), (K.LOAD_KEY, space, "function"),
        (K.FUNCTION, 2, function.__code__, function.__defaults__, None), (K.LOAD_CLASS, One, "value"), (K.INT, 3, 1),
    ]  # fmt: skip
    compiled = dispatcher(
        lambda a: "plain", session, entry(rows, recipe=[("const", "held")], ending=("return", 4))
    )

    def check(expected: str) -> None:
        assert {compiled(0) for _ in range(WARM)} == {expected}

    check("held")
    made.__class__ = Two  # type: ignore[assignment]
    check("plain")
    made.__class__ = One
    check("held")
    function.__defaults__ = (2,)
    check("plain")
    function.__defaults__ = (1,)
    check("held")
    One.value = 2
    check("plain")
    One.value = 1
    check("held")


def test_watched_dicts_and_entries_die(session: Session) -> None:
    """In any order, and thousands of them leave nothing."""

    class Held:
        pass

    def action() -> None:
        space = namespace(x=1, held=Held())
        space["self"] = compiled = watching(session, space, x=1)
        other = watching(session, space, x=1)
        session.asked.clear()
        alive.append(weakref.ref(space["held"]))
        if len(alive) % 2:
            compiled.__ufuse_cache__.clear()
            space["x"] = 2
            assert other(0) == "plain"
        if len(alive) % 50 == 0:
            gc.collect()
            assert {each() for each in alive[:-1]} == {None}
            alive.clear()

    alive: list[Any] = []
    assert growth(action, 1000) < 100


def test_a_change_during_the_destruction_of_an_entry(session: Session) -> None:
    """Finalizers that write to a watched dict and call what is being dropped find nothing stale."""
    answers: list[Any] = []

    class Writes:
        def __init__(self, space: dict[str, Any], compiled: Any) -> None:
            self.space, self.compiled = space, compiled

        def __del__(self) -> None:
            self.space["x"] = 3
            answers.append(self.compiled(0))

    for turn in range(100):
        space = namespace(x=1)
        compiled = watching(session, space, x=1)
        writer = Writes(space, compiled)
        doomed = entry([(K.LOAD_KEY, space, "x")], recipe=[("const", writer)])
        doomed.data = writer
        compiled.__ufuse_cache__.add(0, doomed)
        del writer, doomed
        if turn % 2:
            compiled.__ufuse_cache__.clear()
        else:
            compiled.__ufuse_cache__.remove(0, compiled.__ufuse_cache__.entries(0)[0])
        assert answers.pop() == "plain"
        assert compiled(0) == "plain"


def test_a_value_that_dies_when_it_is_replaced(session: Session) -> None:
    """Its finalizer comes behind the change and sees the new value."""
    answers: list[Any] = []

    class Last:
        def __del__(self) -> None:
            answers.append(compiled(0))

    space = namespace(x=1, y=None)
    space["y"] = Last()
    loads = [(K.LOAD_KEY, space, "x"), (K.INT, 1, 1), (K.LOAD_KEY, space, "y"), (K.BOUND, 2)]
    compiled = dispatcher(
        lambda a: "plain", session, entry(loads, recipe=[("const", "held")], ending=("return", 3))
    )
    assert {compiled(0) for _ in range(WARM)} == {"held"}
    space["y"] = None
    assert answers == ["held"]
    space["y"] = Last()
    space.pop("y")
    assert answers == ["held", "plain"]


SHUTDOWN = """
import types
import numpy as np
import ufuse
SCALE = 2.0

@ufuse.compile
def f(x):
    return np.sin(x) * SCALE

class Last:
    def __del__(self):
        global SCALE
        SCALE = 3.0
        globals()["other"] = 1

for _ in range(50):
    f(np.ones(3))
last = Last()
types.keep = [f, last, globals()]
print("done")
"""

EXHAUSTED = """
import ctypes
import numpy as np
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
callback = kind(lambda *_: 0)
add = ctypes.pythonapi.PyDict_AddWatcher
add.argtypes = [kind]
add.restype = ctypes.c_int
try:
    while True:
        add(callback)
except RuntimeError:
    pass
import ufuse
SCALE = 2.0
f = ufuse.compile(lambda x: x * SCALE)
for _ in range(50):
    assert f(np.ones(1)).tolist() == [2.0]
SCALE = 3.0
assert f(np.ones(1)).tolist() == [3.0]
print("done")
"""


@pytest.mark.parametrize("script", [SHUTDOWN, EXHAUSTED], ids=["shutdown", "exhausted"])
def test_in_an_interpreter_of_its_own(script: str) -> None:
    """It ends while names are watched, or has no watcher left for us."""
    if script is EXHAUSTED and sys.version_info < (3, 12):
        script = script[script.index("import ufuse") :]
        script = f"import numpy as np\n{script}"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("done", "", 0)
