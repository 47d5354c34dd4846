"""Random numbers of NumPy's generators in graphs: drawn once, in order, whatever happens afterwards."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse import decorator
from ufuse.backends.protocol import backend_named
from ufuse.graph.semantics.check import check
from ufuse.graph.text import to_text
from ufuse.graph.typing.draws import DRAWING, PARAMETERS, WHOLE_PARAMETERS

pytestmark = pytest.mark.any_python

BITS = [np.random.PCG64, np.random.MT19937]


def generator(bits=np.random.PCG64):
    return np.random.Generator(bits(7))


def noisy(rng, x):
    y = x + rng.normal(size=len(x)) * 0.1
    z = rng.uniform(-1, 1, x.shape) * rng.random(size=(2, len(x)))
    k = rng.integers(0, 10, size=(len(x), 2)) + rng.integers(5, size=2)
    a, b = rng.random(), rng.integers(100)
    return (
        y * 2,
        z,
        k,
        a,
        b,
        rng.normal(x, 0.5),
        rng.permutation(len(x)),
        x[rng.permutation(len(x))],
    )


def legacy(rng, x):
    y = x * rng.rand(len(x)) + rng.randn(*x.shape)
    z = rng.normal(0, 2, size=(3, len(x))).sum(axis=1) + rng.uniform(size=3)
    return (
        y,
        z,
        rng.randint(0, 9, size=4),
        rng.rand(),
        rng.randn(),
        rng.randint(5),
        rng.choice(x, size=5),
    )


def chosen(rng, x):
    a = rng.choice(x, size=len(x)).mean() + rng.choice(len(x), 4, replace=False)
    return (
        a,
        rng.choice(x, size=(2, 3)),
        rng.permutation(x),
        rng.choice(5, size=3, p=[0.5, 0.5, 0, 0, 0]),
    )


def chosen_singly(rng, x):
    weights = x / x.sum()
    return (
        rng.choice([0, 1, 2]) + 1,
        rng.choice((0.5, 2.5), p=[0.25, 0.75]) * x,
        rng.choice(range(len(x))),
        rng.choice(len(x)),
        rng.choice(x),
        rng.choice(x, p=weights),
        rng.choice([True, False]),
        rng.choice([3, 4], size=3),
        rng.permutation([3, 1, 2]),
        x * 2,
    )


def successes(rng, x):
    counts = rng.binomial(5, x / 40)
    return (
        rng.binomial(1, 0.5) * 2,
        rng.binomial(20, 0.25, size=3) + counts.sum(),
        rng.binomial(len(x), 0.1),
        rng.binomial(counts, 0.5) + x,
        rng.hypergeometric(5, 4, 3),
        rng.triangular(0, 1, 2, size=2) * 2,
    )


PROGRAMS = [
    (noisy, np.random.Generator), (legacy, np.random.RandomState), (chosen, np.random.Generator),
    (chosen, np.random.RandomState), (chosen_singly, np.random.Generator), (chosen_singly, np.random.RandomState),
    (successes, np.random.Generator), (successes, np.random.RandomState),
]  # fmt: skip


def state(rng) -> Any:
    """What a generator gives next, among it a number that it may have kept."""
    return rng.normal(), rng.bytes(4000)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(("function", "kind"), PROGRAMS)
def test_programs(function: Callable[..., Any], kind: Any, bits: Any) -> None:
    """One graph; the numbers are eager's, and so is the state that is left."""

    def run(rng, x):
        return function(rng, x), state(rng)

    compiled = ufuse.compile(function, fullgraph=True)
    for length in (6, 6, 9, 40):
        x = np.arange(float(length))
        rng, other = kind(bits(3)), kind(bits(3))
        found, wanted = compiled(rng, x), function(other, x)
        assert repr(found) == repr(wanted)
        assert state(rng) == state(other)
    assert len(compiled.graphs) == 1
    check_same(run, ufuse.compile(run), lambda: (kind(bits(5)), np.arange(8.0)))


def of_the_module(x):
    np.random.seed(4)
    y = x + np.random.rand(len(x)) * np.random.normal(size=len(x))
    return y * 2 + np.random.randint(0, 3, len(x)), np.random.rand()


def test_functions_of_the_module() -> None:
    """They are methods of its own generator."""
    check_same(of_the_module, ufuse.compile(of_the_module), lambda: (np.arange(7.0),))


def warns(rng, x):
    y = rng.normal(size=len(x))
    return y / (x - x[0]), rng.random(3)


def raises(rng, x):
    y = rng.normal(size=len(x))
    return y, rng.normal(0.0, x[0] - 1.0, size=3), rng.random()


def raises_late(rng, x):
    y = rng.random(len(x))
    return np.linalg.inv(np.outer(x, x) * 0) + y


def decides(rng, x):
    y = rng.random(len(x))
    if y.sum() > len(x) / 2:
        return y * x
    return y - x + rng.random(len(x))


def writes(rng, x):
    x[1:] += rng.random(len(x) - 1)
    x *= rng.normal(size=len(x))
    x[0] = rng.random()
    return rng.integers(3, size=2)


def fails_behind_a_write(rng, x):
    x[0] = 5.0
    y = rng.normal(size=3)
    x[1] = 7.0
    return y, rng.normal(0.0, x[2] - 9, size=2)


def listed(rng, x):
    found = []
    for _ in range(4):
        found.append(rng.normal(size=2))
        found.append(rng.random())
    return found, x * 2


def dropped(rng, x):
    rng.random(5)
    a, b = rng.random(3), rng.random(3)
    return x + 1, (a == b).any(), (a - b) * 2


def suspended(rng, x):
    a = rng.random(len(x))
    print(end="")
    b = rng.random(len(x)) * a
    return a, b + x


EFFECTS = (
    warns, raises, raises_late, decides, writes, fails_behind_a_write, listed, dropped, suspended,
)  # fmt: skip


@pytest.mark.parametrize("function", EFFECTS)
@pytest.mark.parametrize("bits", BITS)
def test_what_is_undone_is_drawn_again(function: Callable[..., Any], bits: Any) -> None:
    """What a graph drew that gave up plain Python draws, once."""
    compiled = ufuse.compile(function)
    states: list[list[Any]] = [[], []]
    for seed in range(5):
        for one, found in zip((function, compiled), states, strict=True):
            rng, x = np.random.Generator(bits(seed)), np.arange(4.0)
            try:
                with np.errstate(all="warn"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.append(repr(one(rng, x)))
            except Exception as error:  # noqa: BLE001
                found.append(repr(error))
            found.append((state(rng), x.tobytes()))
    assert states[0] == states[1]

    def run(rng, x):
        return function(rng, x), state(rng)

    check_same(run, ufuse.compile(run), lambda: (generator(bits), np.arange(4.0)))


def shared(one, other, x):
    y = one.random(len(x)) - other.random(len(x))
    return y * 2 + one.normal(size=len(x)), other.integers(9, size=3)


def test_two_generators_of_one_source() -> None:
    """They draw in turns, by two names or as two objects."""

    def twice() -> tuple[object, ...]:
        rng = generator()
        return rng, rng, np.arange(5.0)

    def two() -> tuple[object, ...]:
        bits = np.random.PCG64(3)
        return np.random.Generator(bits), np.random.Generator(bits), np.arange(5.0)

    for make in (twice, two, lambda: (generator(), generator(), np.arange(5.0))):
        check_same(shared, ufuse.compile(shared), make)


def test_a_generator_that_another_thread_uses() -> None:
    """Its lock is held: plain Python waits for it."""

    def draw(rng, x):
        return x + rng.random(len(x))

    compiled = ufuse.compile(draw)
    x = np.zeros(5)
    for _ in range(3):
        compiled(generator(), x)
    rng = generator()
    rng.bit_generator.lock.acquire()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(compiled(rng, x)))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    rng.bit_generator.lock.release()
    thread.join()
    assert np.array_equal(found[0], draw(generator(), x))
    assert rng.bit_generator.lock.acquire(blocking=False)
    rng.bit_generator.lock.release()


class Loaded(np.random.Generator):
    """Whose numbers are others."""

    def random(self, *args: Any, **keywords: Any) -> Any:
        """Less often small."""
        return np.sqrt(super().random(*args, **keywords))


def test_other_kinds() -> None:
    """Subclasses, and bit generators whose state is not followed, are plain Python's; also where one comes later."""

    def draw(rng, x):
        return x + rng.random(len(x)) * 2

    compiled = ufuse.compile(draw)
    x = np.ones(6)
    kinds: list[Callable[[], Any]] = [
        lambda: np.random.Generator(np.random.Philox(1)),
        generator,
        lambda: Loaded(np.random.PCG64(3)),
        lambda: np.random.Generator(np.random.SFC64(1)),
        generator,
    ]
    for make in kinds * 2:
        assert np.array_equal(compiled(make(), x), draw(make(), x))


@pytest.mark.parametrize("name", sorted(DRAWING))
def test_every_method(name: str) -> None:
    """Types and shapes are as they are predicted, for numbers, arrays and shapes."""
    _, _, kind, method = name.split(".")
    count = len((PARAMETERS | WHOLE_PARAMETERS).get(method, "").split())
    calls = {
        "permutation": ("(n)", "(x)"),
        "binomial": ("(n, 0.5)", "(n, 0.5, size=n)", "(n, p=x / 9)", "(np.arange(6), 0.5, (2, 6))"),
        "hypergeometric": ("(n, 4, 5)", "(n, 4, 5, size=n)"),
        "triangular": ("(0.5, 1.0, 2.5)", "(x - 1, x, x + 1)", "(0, 1, 2, size=(2, n))"),
        "zipf": ("(2.5)", "(x + 1)", "(2.5, size=(2, n))"),
        "choice": ("(n)", "(x)", "(n, 3)", "(x, size=(2, n))", "(x, size=n, replace=True)"),
        "integers": ("(n)", "(0, n)", "(2, high=n, size=(2, 3))", "(n, size=n, endpoint=True)", "(3, size=4, dtype='i1')"),
        "randint": ("(n)", "(0, n)", "(2, high=n, size=(2, 3))"),
        "rand": ("()", "(n)", "(2, n)"),
        "randn": ("()", "(n)", "(2, n)"),
    }.get(
        method,
        (
            f"({'0.5, ' * count})", f"({'0.5, ' * count}size=n)", f"({'0.5, ' * count}(2, n))",
            f"({'x, ' * count})", f"({'x / 9, ' * count}size=(3, n))",
        ),
    )  # fmt: skip
    for call in calls:
        space: dict[str, Any] = {"np": np}
        exec(f"def draw(rng, x, n): return rng.{method}{call}", space)
        compiled = ufuse.compile(space["draw"], fullgraph=count > 0 or "x," not in call)
        for seed in range(2):
            made = [getattr(np.random, kind)(np.random.MT19937(seed)) for _ in range(2)]
            given = np.arange(1.0, 7.0) / 8, 6
            found, wanted = compiled(made[0], *given), space["draw"](made[1], *given)
            assert repr(found) == repr(wanted)
            assert type(found) is type(wanted)
            assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)
            assert getattr(found, "strides", None) == getattr(wanted, "strides", None)
        assert compiled.graphs, call


def test_text_laws_and_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are printed and read again; the definition draws the same; two equal draws stay two."""
    monkeypatch.setattr(decorator, "CHECKING", True)
    compiled = ufuse.compile(dropped, fullgraph=True)
    for seed in range(3):
        made = [np.random.default_rng(seed) for _ in range(2)]
        assert repr(compiled(made[0], np.ones(3))) == repr(dropped(made[1], np.ones(3)))
    captured = compiled.graphs[0].captured
    check(captured)
    assert "rng: Generator" in to_text(captured)
    for name in ("numpy", "reference"):
        program = backend_named(name).compile(captured)
        rng, other = np.random.default_rng(5), np.random.default_rng(5)
        found: Any = program(rng, np.ones(3))
        assert np.array_equal(found[2], dropped(other, np.ones(3))[2])
        assert state(rng) == state(other)


@pytest.mark.parametrize("given", [np.random.RandomState(3), np.ones(3), 5, None])
def test_a_graph_draws_from_generators_of_its_class_alone(given) -> None:
    """NumPy's methods do not ask what they are called of, and crash."""
    x = np.arange(4.0)
    graph = ufuse.compile(lambda rng, x: x + rng.normal(size=3)[0]).trace(
        np.random.default_rng(0), x
    )
    again = type(graph).parse(str(graph))
    assert again.run(np.random.default_rng(3), x).tobytes() == (
        (x + np.random.default_rng(3).normal(size=3)[0]).tobytes()
    )
    with pytest.raises(TypeError, match=r"normal draws from a np\.random\.Generator, not from"):
        again.run(given, x)
    written = (
        "graph f\nx: f8[n]\nt0: f8[3] = call numpy.random.Generator.normal(x, size=3)\nreturn t0"
    )
    with pytest.raises(TypeError, match="not from ndarray"):
        type(graph).parse(written).run(x)
    with pytest.raises(ValueError, match="normal of what is no Generator"):
        type(graph).parse(written.replace(": f8[3]", ""))


@pytest.mark.parametrize("parameter", [np.complex128(1 + 1j), np.full(3, 2 + 1j), np.ones(3, "g")])
@pytest.mark.filterwarnings("ignore")
def test_parameters_that_are_made_floats_with_a_warning(parameter) -> None:
    """The warning names the line of the call."""

    def program(rng, x, of):
        y = x + 1
        return y, rng.normal(of, 1)

    check_same(program, ufuse.compile(program), lambda: (generator(), np.arange(3.0), parameter))
