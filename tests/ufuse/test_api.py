"""What `import ufuse` promises: everything that can be compiled, every option, every attribute of the result."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle
import re
import sys
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends import reference
from ufuse.graph.node import Graph as Captured

X = np.arange(6.0).reshape(2, 3)


@ufuse.compile
def halved(x: Any, *, by: float = 2.0) -> Any:
    """Divide."""
    return x / by


class Model:
    """Methods of every kind, compiled."""

    def __init__(self) -> None:
        self.weight = np.ones(3)

    @ufuse.compile
    def step(self, x: Any) -> Any:
        """A plain method."""
        return x * self.weight + 1

    @classmethod
    @ufuse.compile
    def named(cls, x: Any) -> Any:
        """A class method."""
        return cls.__name__, x + 1

    @staticmethod
    @ufuse.compile
    def fixed(x: Any) -> Any:
        """A static method."""
        return x - 1

    @ufuse.compile(dynamic=False)
    def __call__(self, x: Any) -> Any:
        """A callable object."""
        return x @ self.weight


def same(plain: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Compile with the options, compare with plain Python, and hand back the compiled function."""
    compiled = ufuse.compile(plain, **options)
    check_same(plain, compiled, lambda: args)
    return compiled


# What can be compiled


def test_decorator_with_and_without_arguments() -> None:
    """Both spellings of the decorator compile."""

    @ufuse.compile
    def bare(x: Any) -> Any:
        return x + 1

    @ufuse.compile(backend="reference")
    def called(x: Any) -> Any:
        return x + 1

    for compiled in (bare, called):
        assert isinstance(compiled, ufuse.CompiledFunction)
        np.testing.assert_array_equal(compiled(X), X + 1)
        assert len(compiled.graphs) == 1


def test_lambda() -> None:
    """A lambda compiles as any function does."""
    assert len(same(lambda x: x * 2 - x, X).graphs) == 1


def test_function_made_by_exec() -> None:
    """A function without a source file compiles."""
    names: dict[str, Any] = {}
    exec("def made(x, y=3):\n    return x * y + 1", names)
    assert len(same(names["made"], X).graphs) == 1


def test_nested_function_sees_its_closure() -> None:
    """A closure variable may change between calls."""

    def outer(factor: float) -> tuple[Callable[..., Any], Callable[[float], None]]:
        def inner(x: Any) -> Any:
            return x * factor

        def change(value: float) -> None:
            nonlocal factor
            factor = value

        return inner, change

    inner, change = outer(2.0)
    compiled = ufuse.compile(inner)
    np.testing.assert_array_equal(compiled(X), X * 2)
    change(5.0)
    np.testing.assert_array_equal(compiled(X), X * 5)


SIGNATURES: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (lambda x, y=2.0: x + y, (X,), {}),
    (lambda x, y=2.0: x + y, (X, 3.0), {}),
    (lambda x, y=2.0: x + y, (), {"y": 1.0, "x": X}),
    (lambda x, *, y: x + y, (X,), {"y": X}),
    (lambda x, *, y=X: x + y, (X,), {}),
    (lambda x, /, y: x + y, (X,), {"y": 4}),
    (lambda *parts: parts[0] + parts[-1], (X, 1.0, X), {}),
    (lambda *parts: len(parts), (), {}),
    (lambda **named: named["a"] * named["b"], (), {"a": X, "b": 3.0}),
    (lambda x, *rest, y=1, **named: (x + y, rest, named), (X, 2), {"z": X}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), SIGNATURES)
def test_arguments_are_bound_as_python_binds_them(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Defaults, keyword-only, positional-only, *args and **kwargs."""
    compiled = ufuse.compile(function)
    for _ in range(3):
        np.testing.assert_equal(compiled(*args, **kwargs), function(*args, **kwargs))


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((X, 1, 2), {}), ((X,), {"x": X}), ((X,), {"nothing": 1})]
)
def test_wrong_arguments_raise_what_python_raises(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """The TypeError of a call that does not fit is CPython's own, word for word."""

    def function(x: Any, y: Any = 1) -> Any:
        return x + y

    with pytest.raises(TypeError) as plain:
        function(*args, **kwargs)
    with pytest.raises(TypeError) as compiled:
        ufuse.compile(function)(*args, **kwargs)
    assert str(compiled.value) == str(plain.value)


def test_methods() -> None:
    """Methods, class methods, static methods and `__call__` bind as they do plain."""
    model = Model()
    for _ in range(2):
        np.testing.assert_array_equal(model.step(X), X + 1)
        np.testing.assert_array_equal(Model.step(model, X), X + 1)
        np.testing.assert_equal(model.named(X), ("Model", X + 1))
        np.testing.assert_equal(Model.named(X), ("Model", X + 1))
        np.testing.assert_array_equal(model.fixed(X), X - 1)
        np.testing.assert_array_equal(Model.fixed(X), X - 1)
        np.testing.assert_array_equal(model(X), X @ np.ones(3))
    assert isinstance(Model.__dict__["step"], ufuse.CompiledFunction)
    assert inspect.ismethod(model.step)
    assert model.step.__self__ is model
    assert Model.step.stats.calls >= 4


class Base:
    """Has what `super()` finds."""

    def start(self) -> float:
        """Three."""
        return 3.0


class Derived(Base):
    """Its methods are compiled."""

    @ufuse.compile
    def start(self) -> Any:
        """Calls the base class as methods do."""
        return X * super().start() + 1

    @ufuse.compile
    def again(self, x: Any) -> Any:
        """Has `super()` behind array work and a break."""
        y = x + 1
        print(end="")
        return y * super().start()


def test_super_in_a_method() -> None:
    """`super()` without arguments finds its frame's own self."""
    derived = Derived()
    for _ in range(3):
        np.testing.assert_array_equal(derived.start(), X * 3 + 1)
        np.testing.assert_array_equal(derived.again(X), (X + 1) * 3)


def test_bound_method_and_callable_object() -> None:
    """What is bound already stays bound to the same object."""

    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def __call__(self, x: Any) -> Any:
            return x * self.factor

        def scaled(self, x: Any) -> Any:
            return x * self.factor

        @classmethod
        def kind(cls, x: Any) -> Any:
            return cls.__name__, x

    scale = Scale(3.0)
    for compiled in (ufuse.compile(scale), ufuse.compile(scale.scaled)):
        np.testing.assert_array_equal(compiled(X), X * 3)
        assert compiled.__self__ is scale
        assert len(compiled.graphs) == 1
    assert ufuse.compile(Scale.kind)(1) == ("Scale", 1)
    assert ufuse.compile(Scale.__dict__["kind"]).__get__(None, Scale)(1) == ("Scale", 1)


def test_partial() -> None:
    """The function inside a `functools.partial` is compiled, and the arguments stay."""
    compiled = ufuse.compile(functools.partial(lambda x, y, z: x * y + z, z=1.0))
    np.testing.assert_array_equal(compiled(X, 2.0), X * 2 + 1)
    assert len(compiled.func.graphs) == 1


def test_generators_and_coroutines_run_as_they_are() -> None:
    """A frame that lives on is left to plain Python."""

    def rows(x: Any) -> Iterator[Any]:
        for row in x:
            yield row * 2

    async def later(x: Any) -> Any:
        return x + 1

    compiled = ufuse.compile(rows)
    assert [row.tolist() for row in compiled(X)] == [row.tolist() for row in rows(X)]
    assert compiled.graphs == ()
    np.testing.assert_array_equal(asyncio.run(ufuse.compile(later)(X)), X + 1)


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (3, "not int"),
        (np.sin, "ufunc sin, which is not written in Python"),
        (len, "not built-in len, which is not written in Python"),
        (Model, "the class Model: compile its methods"),
        (np.linalg.norm, "NumPy's own norm: compile a function that calls it"),
    ],
)
def test_what_cannot_be_compiled_is_named(fn: Any, words: str) -> None:
    """The TypeError names the argument and says what it got."""
    with pytest.raises(TypeError, match=r"^fn must be .*" + words):
        ufuse.compile(fn)


# What the result is


def test_it_looks_like_the_function() -> None:
    """Name, documentation, signature, module and the function itself are there."""
    assert halved.__name__ == "halved"
    assert halved.__qualname__ == "halved"
    assert halved.__doc__ == "Divide."
    assert halved.__module__ == __name__
    assert halved.__wrapped__ is halved.__ufuse_function__
    assert halved.__kwdefaults__ == {"by": 2.0}
    assert halved.__globals__ is globals()
    assert halved.__closure__ is None
    assert str(inspect.signature(halved)) == "(x: 'Any', *, by: 'float' = 2.0) -> 'Any'"
    assert repr(halved) == "<compiled function halved>"


def test_it_is_annotated_like_the_function() -> None:
    """Annotations are the function's; from 3.14 on they are evaluated when they are asked for."""
    wanted = {"x": "Any", "by": "float", "return": "Any"}
    assert halved.__annotations__ == inspect.get_annotations(halved) == wanted
    assert typing.get_type_hints(halved) == {"x": Any, "by": float, "return": Any}
    assert typing.get_type_hints(Model().step) == {"x": Any, "return": Any}
    anew = ufuse.compile(lambda x: x)
    anew.__annotations__ = {"x": "int"}
    assert anew.__annotations__ == anew.__wrapped__.__annotations__ == {"x": "int"}
    assert inspect.get_annotations(ufuse.CompiledFunction) == {}


def made_by(source: str) -> dict[str, Any]:
    """What a source defines, whose annotations are no text."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "<source>", "exec", dont_inherit=True), namespace)
    return namespace


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated with the `def`")
def test_annotations_that_cannot_be_evaluated_yet() -> None:
    """Compiling asks for no annotation; one that has no value raises what it raises of the function."""
    namespace = made_by("def later(x: Later): return x")
    compiled = ufuse.compile(namespace["later"])
    with pytest.raises(NameError, match="'Later'"):
        _ = compiled.__annotations__
    namespace["Later"] = int
    assert compiled.__annotations__ == typing.get_type_hints(compiled) == {"x": int}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="functions have no type parameters")
def test_type_parameters_are_the_functions() -> None:
    """A generic function stays one."""
    namespace = made_by("def generic[T](x: T) -> T: return x")
    compiled = ufuse.compile(namespace["generic"])
    assert compiled.__type_params__ == namespace["generic"].__type_params__
    assert typing.get_type_hints(compiled)["x"] is compiled.__type_params__[0]


def test_it_pickles_by_reference_and_copies_to_itself() -> None:
    """As functions do."""
    assert pickle.loads(pickle.dumps(halved)) is halved
    assert copy.copy(halved) is halved
    assert copy.deepcopy([halved])[0] is halved


def test_it_takes_attributes() -> None:
    """Attributes of the function are carried over, and new ones can be set."""

    def function(x: Any) -> Any:
        return x

    function.unit = "metre"  # type: ignore[attr-defined]
    compiled = ufuse.compile(function)
    compiled.author = "me"
    assert (compiled.unit, compiled.author) == ("metre", "me")


def test_compiling_twice_compiles_the_function() -> None:
    """A compiled function compiled again starts anew, with the new options."""
    again = ufuse.compile(halved, backend="eager")
    assert again.__wrapped__ is halved.__wrapped__
    np.testing.assert_array_equal(again(X), X / 2)
    assert again.graphs == ()


# Options


class Counting:
    """A backend of the user's own."""

    name = "counting"

    def __init__(self) -> None:
        self.compiled = 0

    def compile(self, graph: Captured) -> Callable[..., object]:
        """Count, and let the reference executor do the work."""
        self.compiled += 1
        return reference.BACKEND.compile(graph)


@pytest.mark.parametrize("backend", ["numpy", "reference", "eager"])
def test_backend_names(backend: str) -> None:
    """Each gives the same result; "eager" captures nothing."""
    compiled = same(lambda x: np.sqrt(x) + 1, X, backend=backend)
    assert len(compiled.graphs) == (backend != "eager")


def test_backend_object() -> None:
    """Anything with a `compile` method is a backend."""
    backend = Counting()
    same(lambda x: x + 1, X, backend=backend)
    assert backend.compiled > 0


def test_unknown_backend() -> None:
    """The ValueError names the argument and lists the names."""
    with pytest.raises(
        ValueError, match=r"backend must be one of cupy, eager, numpy, reference.*not 'fast'"
    ):
        ufuse.compile(halved, backend="fast")
    with pytest.raises(ValueError, match=r"not 'cuda'; that for GPUs is \"cupy\""):
        ufuse.compile(halved, backend="cuda")


def test_the_result_of_a_call_is_no_function() -> None:
    """Where a call is passed in place of the function, the TypeError says so."""
    for take in (ufuse.compile, ufuse.explain):
        with pytest.raises(TypeError, match="not ndarray: give the function itself"):
            take(halved(X))


def test_names_of_other_compilers() -> None:
    """What they call `compile` says what it is here; other names are as unknown as ever."""
    with pytest.raises(AttributeError, match=r"has no attribute 'jit': ufuse\.compile is"):
        _ = ufuse.jit  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = ufuse.nothing  # type: ignore[attr-defined]


def test_backend_that_is_none() -> None:
    """An object that cannot compile is a TypeError."""
    with pytest.raises(TypeError, match=r"backend must be a name or an object.*not 3"):
        ufuse.compile(halved, backend=3)  # type: ignore[arg-type]


def test_backend_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is ours and an ImportError, and has the command that installs what is missing."""
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "ufuse.backends.cupy", raising=False)
    with pytest.raises(ufuse.BackendUnavailable) as found:
        ufuse.compile(halved, backend="cupy")
    missing = found.value
    assert isinstance(missing, ImportError)
    assert isinstance(missing, ufuse.UfuseError)
    assert "pip install ufuse[cuda12]" in str(missing)
    assert "'cupy'" in str(missing)


def test_options_are_checked_before_there_is_a_function() -> None:
    """A decorator with a wrong argument fails where it is written."""
    with pytest.raises(ValueError, match="backend"):
        ufuse.compile(backend="fast")
    with pytest.raises(TypeError, match="fullgraph must be True or False, not 1"):
        ufuse.compile(fullgraph=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dynamic must be True, False or None, not 'yes'"):
        ufuse.compile(dynamic="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="exact must be True or False, not None"):
        ufuse.compile(exact=None)  # type: ignore[arg-type]
    for exact in (0, "no"):
        with pytest.raises(TypeError, match="exact must be True or False"):
            ufuse.compile(abs, exact=exact)  # type: ignore[arg-type]


def test_numpys_bits_stay_without_exact() -> None:
    """On the CPU `exact=False` changes no bit."""

    def normalised(x: Any) -> Any:
        return (x - x.mean()) / x.std(), (x * 0.1).sum(axis=-1)

    compiled = ufuse.compile(normalised, exact=False)
    for size in (7, 1000, 4099):
        x = np.random.default_rng(size).normal(size=(3, size)).astype("f4")
        for found, wanted in zip(compiled(x), normalised(x), strict=True):
            assert found.tobytes() == wanted.tobytes()
    graph = compiled.graphs[0]
    assert graph.source(exact=False) == graph.source()


def broken(x: Any) -> Any:
    """Ends its graph at a call that cannot be captured."""
    y = x + 1
    print(end="")
    return y * 2


def test_fullgraph_refuses_a_break() -> None:
    """The error says why, where and what to do."""
    compiled = ufuse.compile(broken, fullgraph=True)
    with pytest.raises(ufuse.GraphBreakError) as caught:
        compiled(X)
    error = caught.value
    line = broken.__code__.co_firstlineno + 3
    assert (error.code, error.line, error.file) == ("call", line, broken.__code__.co_filename)
    assert error.reason == "print cannot be part of a graph"
    assert "before or after" in error.hint
    text = str(error)
    assert f"test_api.py:{line} in broken()" in text
    assert 'print(end="")' in text
    assert error.hint in text
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.graph_break) == (text, error.graph_break)


def test_fullgraph_says_what_a_branch_needs() -> None:
    """Not that nothing has to be changed."""
    compiled = ufuse.compile(lambda x: 1 if x.sum() > 0 else "none", fullgraph=True)
    with pytest.raises(
        ufuse.GraphBreakError, match="the sides give a value whole numbers"
    ) as caught:
        compiled(X)
    assert caught.value.code == "sides"
    assert "no need to change it" not in str(caught.value)


def rows(x: Any) -> Iterator[Any]:
    yield x + 1


async def later(x: Any) -> Any:
    return x + 1


async def rows_later(x: Any) -> Any:
    yield x + 1


@pytest.mark.parametrize("function", [rows, later, rows_later])
def test_fullgraph_refuses_generators_and_coroutines(function: Any) -> None:
    """Nothing of them is captured, which is said when they are compiled; not where nothing is captured anyway."""
    with pytest.raises(ufuse.GraphBreakError) as caught:
        ufuse.compile(function, fullgraph=True)
    error, name = caught.value, function.__name__
    assert error.reason == (
        f"{name}() (a generator or coroutine lives in its frame) cannot be part of a graph"
    )
    assert (error.code, error.line) == ("call", function.__code__.co_firstlineno)
    assert "or as plain Python" in str(error)
    for options in ({"backend": "eager", "fullgraph": True}, {}):
        assert ufuse.compile(function, **options).__wrapped__ is function


def test_fullgraph_refuses_what_asks_for_its_frame() -> None:
    """Nothing of such a function is captured, which is said at each call."""

    def function(x: Any) -> Any:
        return x + 1, sys._getframe().f_lineno

    compiled = ufuse.compile(function, fullgraph=True)
    for _ in range(2):
        with pytest.raises(ufuse.GraphBreakError, match="it asks for the frame it runs in"):
            compiled(X)
    assert ufuse.compile(function)(X)[1] == function(X)[1]


def test_fullgraph_of_a_whole_function() -> None:
    """One graph from start to end raises nothing."""
    assert len(same(lambda x: (x + 1).sum(), X, fullgraph=True).graphs) == 1


def test_sizes_cost_nothing_unless_they_are_guarded() -> None:
    """By default one graph serves all sizes; `dynamic=False` makes one for each."""
    for dynamic, graphs in ((None, 1), (True, 1), (False, 3)):
        compiled = ufuse.compile(lambda x: x * 2 + 1, dynamic=dynamic)
        for length in (4, 5, 6, 4):
            np.testing.assert_array_equal(compiled(np.ones(length)), np.full(length, 3.0))
        assert len(compiled.graphs) == graphs


def test_signature_pins_what_is_accepted() -> None:
    """Other dtypes, ranks and fixed lengths are a TypeError that names the argument."""
    compiled = ufuse.compile(
        lambda x, y: x + y, signature=[ufuse.Spec((None, 3), "f8"), ufuse.Spec((), "f4")]
    )
    one = np.array(1, np.float32)
    for rows in (2, 7, 9):
        np.testing.assert_array_equal(compiled(np.ones((rows, 3)), one), np.full((rows, 3), 2.0))
    assert len(compiled.graphs) == 1
    wrong: list[tuple[Any, str]] = [
        (np.ones((2, 3), np.float32), "float32"),
        (np.ones(3), "1 dimension$"),
        (np.ones((2, 4)), "length 4 along axis 1"),
        ([[1.0, 2.0, 3.0]], "a list"),
    ]
    for value, words in wrong:
        with pytest.raises(TypeError, match=rf"^argument x of <lambda>\(\) must be .*{words}"):
            compiled(value, one)


def test_signature_of_a_method_begins_behind_self() -> None:
    """`self` needs no entry, and functions that the method calls are not checked."""

    def helper(x: Any) -> Any:
        print(end="")
        return x + 1

    class Pinned:
        @ufuse.compile(signature=[ufuse.Spec((None,), "f8")])
        def run(self, x: Any) -> Any:
            return helper((x > 0).astype("i4")) + 1

    np.testing.assert_array_equal(Pinned().run(np.ones(3)), np.full(3, 3))
    with pytest.raises(TypeError, match="argument x of run"):
        Pinned().run(np.ones((3, 3)))


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        (ufuse.Spec((), "f8"), "signature must be a list of ufuse.Spec"),
        (["f8"], r"signature\[0\] must be a ufuse.Spec, not str"),
        ([ufuse.Spec((), "f8")] * 3, "signature has 3 entries, but <lambda>.. takes 1"),
    ],
)
def test_signature_that_is_wrong(signature: Any, words: str) -> None:
    """The TypeError names the entry."""
    with pytest.raises(TypeError, match=words):
        ufuse.compile(lambda x: x, signature=signature)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ufuse.Spec(3, "f8"), TypeError, "shape must be a tuple"),
        (lambda: ufuse.Spec("ab", "f8"), TypeError, "shape must be a tuple"),
        (lambda: ufuse.Spec((2.5,), "f8"), TypeError, "shape must hold whole numbers.*2.5"),
        (lambda: ufuse.Spec((True,), "f8"), TypeError, "shape must hold whole numbers.*True"),
        (lambda: ufuse.Spec((-1,), "f8"), ValueError, "shape must not hold negative numbers"),
        (lambda: ufuse.Spec((1,) * 65, "f8"), ValueError, "at most 64 dimensions.*not 65"),
        (lambda: ufuse.Spec((3,), "float99"), TypeError, "dtype must be a NumPy dtype"),
        (lambda: ufuse.Spec((3,), "O"), TypeError, r"dtype must be bool, int, .*not dtype\('O'\)"),
        (lambda: ufuse.Spec((3,), "M8[s]"), TypeError, "dtype must be bool, int, "),
        (lambda: ufuse.Spec((3,), ">f8"), TypeError, "dtype must be bool, int, .*byte order"),
        (lambda: ufuse.Spec((3,), "f8", device="tpu"), ValueError, "device must be 'cpu'.*'tpu'"),
    ],
)
def test_spec_that_is_wrong(make: Callable[[], Any], error: type[Exception], words: str) -> None:
    """The error names the argument and what it got."""
    with pytest.raises(error, match=words):
        make()


def test_spec() -> None:
    """Specs are values: they compare, hash and print."""
    assert ufuse.Spec([None, 3], float) == ufuse.Spec((None, np.int64(3)), "f8")
    assert len({ufuse.Spec((2,), "f8"), ufuse.Spec((2,), "f8")}) == 1
    assert repr(ufuse.Spec((None, 3), "f8")) == "Spec((None, 3), 'float64')"
    assert ufuse.Spec((1,) * 64, "f8").example().ndim == 64


# What a compiled function tells


def test_trace_runs_nothing() -> None:
    """`trace` gives the graph of arrays or Specs, calls nothing and leaves the function as it was."""
    compiled = ufuse.compile(lambda x, y=2.0: x * y + 1)
    for args in ((X,), (ufuse.Spec((None, 3), "f8"),), (ufuse.Spec((2, 3), "f8"), 3.0)):
        graph = compiled.trace(*args)
        assert isinstance(graph, ufuse.Graph)
        assert [n.op.name for n in graph.nodes if n.op.name in {"multiply", "add"}] == [
            "multiply",
            "add",
        ]
    assert compiled.stats.calls == compiled.stats.traces == 0
    assert compiled.graphs == ()
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        compiled.trace()
    with pytest.raises(ValueError, match=r"nothing of <lambda>\(\) can be captured .*broadcast"):
        ufuse.compile(lambda x, y: x + y).trace(np.ones(2), np.ones(3))
    with pytest.raises(TypeError, match="generator or coroutine"):
        ufuse.compile(lambda x: (yield x)).trace(X)


def test_trace_writes_nothing() -> None:
    """An in-place program is traced without touching the array."""

    def doubled(x: Any) -> Any:
        x *= 2
        return x

    x = np.ones(3)
    graph = ufuse.compile(doubled).trace(x)
    np.testing.assert_array_equal(x, np.ones(3))
    graph.run(x)
    np.testing.assert_array_equal(x, np.full(3, 2.0))


def test_graphs_breaks_and_stats() -> None:
    """A broken function has two graphs, one break with all that is known of it, and counters."""
    compiled = ufuse.compile(broken)
    for _ in range(3):
        compiled(X)
    assert len(compiled.graphs) == 2
    (found,) = compiled.breaks
    assert (found.code, found.file, found.function) == (
        "call",
        broken.__code__.co_filename,
        "broken",
    )
    assert found.line == broken.__code__.co_firstlineno + 3
    assert found.reason
    assert found.hint
    stats = compiled.stats
    assert (stats.calls, stats.traces, stats.retraces, stats.breaks) == (3, 2, 0, 1)
    assert stats.hits == 2
    assert 0 < stats.compile_seconds < stats.trace_seconds < 60
    compiled(X)
    assert stats.calls == 3, "stats are of the moment"
    assert re.search(r"Stats\(calls=3, .*, trace_seconds=[\d.e-]{1,10}, ", repr(stats))
    assert compiled.stats.calls == 4


def test_retraces_say_why() -> None:
    """Each names the fact that no longer held, what it was and what it is."""
    compiled = ufuse.compile(lambda x, k: x * k)
    compiled(X, 2)
    compiled(X.astype("f4"), 2)
    compiled(X.ravel(), 2)
    compiled(X, 3)
    first, second, third = compiled.retraces
    assert (first.was, first.now) == ("a 2-d float64 array", "a 2-d float32 array")
    assert second.now == "a 1-d float64 array"
    assert (third.guard, third.was, third.now) == ("k is no longer 2", "2", "3")
    assert first.file == __file__
    assert first.line == test_retraces_say_why.__code__.co_firstlineno + 2
    why = "traced again, because k is no longer 2; now 3"
    assert str(third) == f"{__file__}:{third.line}: {why}"
    compiled(X, 4)
    assert compiled.stats.retraces == 3, "a number that has changed once is no longer guarded"


def test_signatures() -> None:
    """Every specialisation is listed with its arguments and what comes back."""
    compiled = ufuse.compile(lambda x, axis: x.sum(axis) + 1)
    assert compiled.signatures() == "<lambda>() has not been called yet"
    assert repr(compiled.signatures()) == compiled.signatures(), (
        "which is what a Python prompt shows"
    )
    compiled(X, 0)
    compiled(X.astype("f4"), None)
    text = compiled.signatures()
    line = test_signatures.__code__.co_firstlineno + 2
    assert text.splitlines() == [
        f"<lambda>(), line {line}",
        "  x: float64[n, m]",
        "  axis == 0",
        "  -> float64[m]",
        f"<lambda>(), line {line}",
        "  x: float32[n, m]",
        "  axis is None",
        "  -> np.float32",
    ]
    (one, *_) = compiled.specialisations
    assert repr(one).startswith(f"<Specialisation of line {line}: <Graph <lambda>: 1 input")


def test_signatures_of_a_function_that_breaks() -> None:
    """What a graph gives is not what the function returns, where it goes on behind it."""
    compiled = ufuse.compile(broken)
    compiled(X)
    line = broken.__code__.co_firstlineno
    texts = [text for text in compiled.signatures().splitlines() if "->" in text]
    assert texts == [
        f"  -> float64[n, m], and goes on at line {line + 3}",
        "  -> float64[n, m]",
    ]


def test_reset_forgets() -> None:
    """After `reset` all is as before the first call."""
    compiled = ufuse.compile(broken)
    compiled(X)
    compiled(X)
    compiled.reset()
    assert compiled.graphs == compiled.breaks == compiled.retraces == ()
    assert compiled.stats == type(compiled.stats)()
    np.testing.assert_array_equal(compiled(X), (X + 1) * 2)
    assert (compiled.stats.calls, compiled.stats.hits, compiled.stats.traces) == (1, 0, 2)


# Graph


def traced() -> ufuse.Graph:
    return ufuse.compile(lambda x, y: np.exp(x - y).sum(axis=1)).trace(  # type: ignore[no-any-return]
        ufuse.Spec((None, None), "f8"), ufuse.Spec((None,), "f8")
    )


def test_graph_text_reads_back() -> None:
    """`Graph.parse(str(graph))` is the same graph."""
    graph = traced()
    again = ufuse.Graph.parse(str(graph))
    assert str(again) == str(graph)
    x, y = np.ones((2, 3)), np.ones(3)
    np.testing.assert_array_equal(again.run(x, y), np.exp(x - y).sum(axis=1))
    with pytest.raises(ValueError, match="not a statement: 'no graph at all'"):
        ufuse.Graph.parse("no graph at all")
    with pytest.raises(TypeError, match=r"source must be a str, such as str\(graph\), not Graph"):
        ufuse.Graph.parse(graph)


def test_graph_runs() -> None:
    """`run` computes with plain NumPy; the arguments are checked, and named where they do not fit."""
    graph = traced()
    assert len(graph.inputs) == 2
    assert len(graph.outputs) == 1
    assert set(graph.inputs) < set(graph.nodes)
    with pytest.raises(TypeError, match="takes 2 arguments, not 1"):
        graph.run(X)
    for given, what in (
        (X, "an array with 2 dimensions"),
        (np.ones(3, int), "an array of int64"),
        ([], "a list"),
    ):
        wanted = re.escape("argument y of this graph must be float64[m], not ") + what
        with pytest.raises(TypeError, match=wanted):
            graph.run(np.ones((2, 3)), given)
    with pytest.raises(ValueError, match="a size is 4, and"):
        graph.run(np.ones((2, 3)), np.ones(4))


def test_graph_is_shown() -> None:
    """As DOT, as HTML, as generated code, as one line."""
    graph = traced()
    assert graph.to_dot().startswith('digraph "<lambda>"')
    assert "<svg" in graph._repr_html_()
    assert "exp" in graph._repr_html_()
    assert "exp" in graph.source()
    assert "exp" in graph.source("reference")
    assert repr(graph) == "<Graph <lambda>: 2 inputs, 3 operations, 1 output>"
    constants = ufuse.compile(lambda x: x * 2 + 1).trace(X)
    assert repr(constants) == "<Graph <lambda>: 1 input, 2 operations, 1 output>", "as reports say"
    with pytest.raises(TypeError, match=r"what ufuse\.compile"):
        ufuse.Graph("x: f8[n]; return x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fast"):
        graph.source("fast")


# Switches


def test_eager_context() -> None:
    """Inside `ufuse.eager()` nothing is captured; it nests, and ends with the block."""
    compiled = ufuse.compile(lambda x: x + 1)
    with ufuse.eager():
        with ufuse.eager():
            np.testing.assert_array_equal(compiled(X), X + 1)
        compiled(X)
        assert compiled.graphs == ()
    compiled(X)
    assert len(compiled.graphs) == 1
    with pytest.raises(KeyError), ufuse.eager():
        raise KeyError
    compiled(X)
    assert compiled.stats.hits == 1


def test_set_eager() -> None:
    """Process-wide, until it is taken back."""
    compiled = ufuse.compile(lambda x: x + 1)
    ufuse.set_eager(True)
    try:
        compiled(X)
        assert compiled.graphs == ()
    finally:
        ufuse.set_eager(False)
    compiled(X)
    assert len(compiled.graphs) == 1
    with pytest.raises(TypeError, match="on must be True or False, not 1"):
        ufuse.set_eager(1)  # type: ignore[arg-type]


def test_disabled_function_is_called_as_it_is() -> None:
    """`ufuse.disable` ends the caller's graph, and holds when the function itself is compiled."""
    calls: list[bool] = []

    @ufuse.disable
    def checkpoint(x: Any) -> Any:
        calls.append(ufuse.is_tracing())
        return x * 2

    compiled = ufuse.compile(lambda x: checkpoint(x + 1) + 1)
    np.testing.assert_array_equal(compiled(X), (X + 1) * 2 + 1)
    assert [found.code for found in compiled.breaks] == ["disabled"]
    alone = ufuse.compile(checkpoint)
    np.testing.assert_array_equal(alone(X), X * 2)
    assert alone.graphs == ()
    assert calls == [False, False]
    with pytest.raises(TypeError, match="fn must be a Python function, not ufunc"):
        ufuse.disable(np.sin)


def test_break_on_purpose() -> None:
    """`ufuse.graph_break` ends the graph with the reason given."""

    def stepped(x: Any) -> Any:
        y = x + 1
        ufuse.graph_break("a checkpoint")
        return y * 2

    compiled = same(stepped, X)
    assert len(compiled.graphs) == 2
    assert compiled.breaks[0].reason == "ufuse.graph_break('a checkpoint') asks for it"
    with pytest.raises(TypeError, match="reason must be a str, not int"):
        ufuse.graph_break(3)  # type: ignore[arg-type]


def test_is_tracing() -> None:
    """True while a frame is traced, so that its branch is the one captured; False in plain Python."""

    def function(x: Any) -> Any:
        return x + 1 if ufuse.is_tracing() else x - 1

    np.testing.assert_array_equal(ufuse.compile(function)(X), X + 1)
    np.testing.assert_array_equal(ufuse.compile(function, backend="eager")(X), X - 1)


def test_public_names_are_documented() -> None:
    """Every public name has a docstring, and functions, classes and methods have an example."""
    for name in ufuse.__all__:
        value = getattr(ufuse, name)
        assert value.__doc__, name
    for name in ("compile", "explain", "eager", "set_eager", "set_log", "disable", "graph_break"):
        assert ">>>" in getattr(ufuse, name).__doc__, name
    for name in ("Break", "CompiledFunction", "Graph", "GraphBreakError", "Report", "Spec"):
        assert ">>>" in getattr(ufuse, name).__doc__, name
