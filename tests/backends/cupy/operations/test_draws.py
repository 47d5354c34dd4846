"""Random numbers of CuPy's: each draw of a graph is made once, in the program's order, by CuPy's own call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import why_different

X = np.arange(12.0).reshape(4, 3)


def elementwise(cp: Any, rs: Any, x: Any) -> Any:
    return x + cp.random.rand(4, 3) * 2, cp.exp(-cp.random.random(x.shape[0]))


def distributions(cp: Any, rs: Any, x: Any) -> Any:
    return (
        cp.random.normal(0, 2.0, x.shape) + x,
        cp.random.normal(size=3),
        cp.random.uniform(-1, 1, size=(2, 3)) * 2,
        cp.random.standard_normal(5, dtype="f4"),
        cp.random.lognormal(0.0, 0.5, 4),
        cp.random.gumbel(size=3),
        cp.random.laplace(1.0, 2.0, (2, 2)),
        cp.random.exponential(2.0, 3),
        cp.random.gamma(2.0, 3.0, 3),
        cp.random.random(),
    )


def whole_numbers(cp: Any, rs: Any, x: Any) -> Any:
    return (
        cp.random.randint(0, 16, (2, 2)) * 2,
        cp.random.randint(8, size=3),
        cp.random.randint(-4, 4, x.shape[0], dtype="i4"),
        cp.random.randint(x.shape[0], size=x.shape),
    )


def in_order(cp: Any, rs: Any, x: Any) -> Any:
    first, second = cp.random.randn(4), cp.random.randn(4)
    third = cp.random.rand(4)
    return second - first, third, first


def seeded(cp: Any, rs: Any, x: Any) -> Any:
    before = cp.random.rand(2)
    cp.random.seed(7)
    return before, cp.random.rand(2) + x[0, 0], cp.random.rand(2)


def unused(cp: Any, rs: Any, x: Any) -> Any:
    cp.random.rand(3)
    return cp.random.rand(3) + cp.random.rand(3)


def permuted(cp: Any, rs: Any, x: Any) -> Any:
    return cp.random.permutation(5), cp.random.permutation(x) * 2, cp.random.permutation(len(x))


def shuffled(cp: Any, rs: Any, x: Any) -> Any:
    y = x * 2
    cp.random.shuffle(y)
    cp.random.shuffle(x)
    return y + 1, x


def chosen(cp: Any, rs: Any, x: Any) -> Any:
    return cp.random.choice(8, 4), cp.random.choice(x[:, 0], (2, 3)) + 1


def own_state(cp: Any, rs: Any, x: Any) -> Any:
    first = rs.rand(4) + rs.normal(1, 2, 4)
    return first, cp.random.rand(4), rs.randint(0, 4, 3), rs.permutation(x), rs.standard_normal(3)


def estimated(cp: Any, rs: Any, x: Any) -> Any:
    points = cp.random.rand(1000, 2)
    inside = (points**2).sum(axis=1) < 1
    return float(inside.sum()) / 250, points.mean(), points.std(axis=0)


def branched(cp: Any, rs: Any, x: Any) -> Any:
    z = cp.random.rand(4)
    if z.sum() > 2:
        return z + cp.random.rand(4)
    return z


def behind_a_solver(cp: Any, rs: Any, x: Any) -> Any:
    z = cp.random.rand(3)
    y = cp.linalg.inv(x[:3] + cp.eye(3)) @ z
    return y, cp.random.rand(2)


def looped(cp: Any, rs: Any, x: Any) -> Any:
    for _ in range(3):
        x = x + cp.random.standard_normal(x.shape) * 0.1
    return x


def dropped(cp: Any, rs: Any, x: Any) -> Any:
    kept = (cp.random.rand(*x.shape) < 0.8) * x / 0.8
    weights = cp.random.standard_normal((3, 2))
    y = kept @ weights
    return y.T, cp.dot(y[:, 0], kept[:, 1]), y.mean(axis=0)


def more_distributions(cp: Any, rs: Any, x: Any) -> Any:
    return (
        cp.random.standard_gamma(2.0, 3) + 1,
        cp.random.standard_t(4, size=3),
        cp.random.rayleigh(size=2) * x[0, 1],
        cp.random.weibull(1.5, (2, 2)),
        rs.pareto(3.0, 4, dtype="f4"),
        rs.power(2, 3),
        rs.chisquare(3.0),
    )


def counts(cp: Any, rs: Any, x: Any) -> Any:
    return (
        cp.random.poisson(3.0, (2, 2)) * 2,
        cp.random.poisson(size=3),
        cp.random.poisson(x + 1),
        rs.poisson(lam=x[0] * 2) - x[0],
        cp.random.binomial(10, 0.5, 4),
        rs.geometric(0.3, size=x.shape),
    )


def summarised(cp: Any, rs: Any, x: Any) -> Any:
    y = cp.random.rand(*x.shape) + x
    first = cp.percentile(y, 50), cp.percentile(y, [5, 95.0], axis=0), cp.quantile(y, 0.25, 1)
    paths = cp.cumsum(y, axis=0) + y.cumprod().reshape(y.shape)
    return first, cp.median(y, axis=0), cp.median(y), cp.ptp(y, axis=1), paths, rs.rand(2)


def chosen_once(cp: Any, rs: Any, x: Any) -> Any:
    places = cp.random.choice(len(x), 3, replace=False)
    return (
        x[places],
        cp.random.choice(20, size=(2, 3), replace=False) + 1,
        rs.choice(x[:, 0], 2, False),
        rs.choice(x.shape[0], len(x), replace=False),
    )


ONE_GRAPH = [
    more_distributions, counts, summarised, chosen_once, elementwise, distributions, whole_numbers, in_order, seeded, unused, permuted, shuffled, chosen, own_state,
    estimated, looped, dropped,
]  # fmt: skip
FUNCTIONS = [*ONE_GRAPH, branched, behind_a_solver]


def bits(found: Any) -> Any:
    """What is compared: of arrays all that a program may see."""
    if isinstance(found, tuple):
        return [bits(one) for one in found]
    if isinstance(found, float):
        return found
    return type(found), found.dtype, found.shape, found.strides, found.get().tobytes()


def run(cp: Any, rs: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """What calls give that begin with the same states, and what is drawn behind them."""
    cp.random.seed(11)
    rs.seed(12)
    found = [bits(function(cp, rs, array.copy(order="K"))) for array in arrays]
    return found, bits((cp.random.rand(3), rs.rand(3)))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_draws(host: Host, function: Callable[..., Any]) -> None:
    """As many as eager draws, in its order: on the first call and the next ones, after a retrace, and behind them."""
    cp = host.cupy
    rs = cp.random.RandomState(0)
    x = cp.asarray(X)
    compiled = ufuse.compile(function)
    for arrays in ([x] * 4, [x, x[::-1], x[::-1], x], [x.T.copy().T, x]):
        assert run(cp, rs, compiled, arrays) == run(cp, rs, function, arrays)
    assert compiled.stats.hits
    if function in ONE_GRAPH:
        assert not compiled.breaks


def test_they_are_nodes_of_a_graph(host: Host) -> None:
    """None is left out, none is made twice, and none is computed with in front of what may fail."""
    cp = host.cupy
    compiled = ufuse.compile(unused)
    for _ in range(2):
        compiled(cp, None, cp.asarray(X))
    assert str(compiled.graphs[0]).count("cupy.random.rand") == 3


def test_what_may_fail_stands_in_front(host: Host) -> None:
    """A number that does not fit leaves the call to plain Python before anything was drawn."""
    cp = host.cupy

    def scaled(x: Any, by: float) -> Any:
        return cp.random.rand(3), x * by

    compiled = ufuse.compile(scaled)
    x = cp.ones(3, "f4")
    for by in (2.0, 2.0, 1e300, 3.0):
        with np.errstate(all="ignore"):
            found = []
            for one in (scaled, compiled):
                cp.random.seed(5)
                found.append((bits(one(x, by)), bits(cp.random.rand(2))))
        assert found[0] == found[1]


@pytest.mark.parametrize("numpys_first", [False, True])
def test_beside_numpys(host: Host, numpys_first: bool) -> None:
    """A graph draws from generators of one library; the next one goes on."""
    cp = host.cupy
    generator = np.random.default_rng(3)

    def both() -> Any:
        one = generator.random(3) if numpys_first else cp.random.rand(3)
        return one, cp.random.rand(3) if numpys_first else generator.random(3), cp.random.rand(2)

    compiled = ufuse.compile(both)
    found = []
    for function in (both, compiled):
        cp.random.seed(5)
        generator = np.random.default_rng(3)
        drawn = [function() for _ in range(4)]
        found.append([[cp.asarray(one).get().tobytes() for one in each] for each in drawn])
    assert found[0] == found[1]
    assert "NumPy's and of CuPy's" in str(compiled.breaks[0]) or not numpys_first
    assert compiled.stats.hits


def test_the_seed_of_the_program(host: Host) -> None:
    """A seed that is no known number ends no graph; one that is wrong raises as in eager CuPy."""
    cp = host.cupy

    def drawn(seed: Any) -> Any:
        cp.random.seed(seed)
        return cp.random.rand(3) * 2

    compiled = ufuse.compile(drawn)
    for seed in (1, 2, 3, 2**40, 0):
        assert bits(compiled(seed)) == bits(drawn(seed))
    for seed in (-1, 2**64, 1.5):
        with pytest.raises((ValueError, TypeError, OverflowError)) as plain:
            drawn(seed)
        with pytest.raises(type(plain.value)) as ours:
            compiled(seed)
        assert str(ours.value) == str(plain.value)


ERRORS: list[Callable[[Any, Any], Any]] = [
    lambda cp, n: cp.random.randint(n, 2, 3),
    lambda cp, n: cp.random.rand(-n),
    lambda cp, n: cp.random.choice(n),
    lambda cp, n: cp.random.normal(0, 1, 3, dtype="i4"),
    lambda cp, n: cp.random.shuffle(n),
    lambda cp, n: cp.random.choice(n, n + 1, replace=False),
    lambda cp, n: cp.random.gamma(size=n),
    lambda cp, n: cp.random.default_rng(1).binomial(n, 1, 3),
    lambda cp, n: cp.random.Generator(cp.random.XORWOW(-n)),
]


@pytest.mark.parametrize("function", ERRORS)
def test_errors(host: Host, function: Callable[[Any, Any], Any]) -> None:
    """What CuPy refuses is refused in its words."""
    cp = host.cupy
    compiled = ufuse.compile(function)
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, NotImplementedError)) as plain:
            function(cp, 4)
        with pytest.raises(type(plain.value)) as ours:
            compiled(cp, 4)
        assert str(ours.value) == str(plain.value)


def test_a_seed_from_which_streams_follow(host: Host) -> None:
    """Draws stand behind the work of the device that writes what they take, however late that is done."""
    cp = host.cupy

    def several(x: Any) -> Any:
        y = x * 2
        y[0] = 5
        cp.random.shuffle(y)
        return y + cp.random.rand(4, 3), y

    compiled = ufuse.compile(several)
    for late in (False, False, True):
        with host.device.working_late() if late else nullcontext():
            found = []
            for one in (several, compiled):
                cp.random.seed(5)
                found.append(one(cp.asarray(X)))
        assert bits(found[0]) == bits(found[1])


def generated(rng: Any, x: Any) -> Any:
    """Floats of each distribution, one after the other, of several shapes."""
    return (
        x + rng.random(x.shape) * 2,
        rng.random(),
        rng.random(3, dtype="f4") - 1,
        rng.standard_normal((2, x.shape[0])) * x[:2, :1],
        rng.standard_normal(dtype="f4", size=2),
        rng.standard_exponential(4),
        rng.exponential(2.0, 3) + 1,
        rng.exponential(),
        rng.uniform(-1, 1, (2, 2)),
        rng.uniform(high=3.5, size=2, dtype="f4"),
    )


def generated_more(rng: Any, x: Any) -> Any:
    """Other distributions, of numbers and of arrays."""
    return (
        rng.poisson(3.0, (2, 2)) * 2,
        rng.poisson(x + 1) - x,
        rng.poisson(),
        rng.gamma(2.0, 1.5, 3),
        rng.standard_gamma(2.0, size=(2, 3), dtype="f4"),
        rng.beta(2.0, 5, x.shape[0]) + 1,
        rng.chisquare(3.0, 2),
        rng.power(2.0, 4),
        rng.binomial(10, 0.25, 3),
        rng.geometric(0.5, size=3),
    )


def generated_integers(rng: Any, x: Any) -> Any:
    """Whole numbers, and elements that they pick."""
    i = rng.integers(0, 4, 5)
    return (
        i * 2,
        x[i],
        rng.integers(7),
        rng.integers(-3, 3, (2, 2), endpoint=True),
        rng.integers(x.shape[0], size=2),
        *[rng.integers(0, 5, 3, dtype) * 2 for dtype in "bBhHiIlL"],
        rng.integers(-3, 3, dtype=np.int8, size=(2, 2)),
    )


def dropped_out(rng: Any, x: Any) -> Any:
    """The usual one, in a loop."""
    for _ in range(2):
        x = (rng.random(x.shape) < 0.8) * x / 0.8 + rng.standard_normal(x.shape) * 0.1
    return x


def test_generators_of_bits(host: Host) -> None:
    """A Generator of each kind of bits, which the function makes; of bits from elsewhere plain Python makes one."""
    cp = host.cupy

    def made(x: Any, seed: int) -> Any:
        rng = cp.random.Generator(cp.random.XORWOW(seed))
        other = cp.random.Generator(cp.random.Philox4x3210(seed=seed))
        bits_of_two = cp.random.MRG32k3a(3)
        first, second = (cp.random.Generator(bits_of_two) for _ in range(2))
        return x + rng.random(x.shape), other.poisson(2.0, 3), first.random(2), second.random(2)

    def shared(x: Any, of: Any) -> Any:
        return cp.random.Generator(of).random(3) + x[0]

    x = cp.asarray(X)
    compiled = ufuse.compile(made)
    for seed in (1, 1, 2, 3):
        assert bits(compiled(x, seed)) == bits(made(x, seed))
    assert not compiled.breaks
    compiled = ufuse.compile(shared)
    one, other = cp.random.XORWOW(1), cp.random.XORWOW(1)
    for _ in range(3):
        assert bits(compiled(x, one)) == bits(shared(x, other))
    assert [found.code for found in compiled.breaks] == ["call"]
    kept = ufuse.compile(lambda: cp.random.Generator(cp.random.XORWOW(5)))
    drawn = [bits(kept().random(2)) for _ in range(3)]
    assert drawn == [bits(cp.random.Generator(cp.random.XORWOW(5)).random(2))] * 3


def of_two(rng: Any, x: Any) -> Any:
    """A state of the program's and CuPy's own, in turn."""
    cp_random = OTHERS["random"]
    return rng.random(3), cp_random.rand(3), rng.random(3), OTHERS["rng"].random(3) + x[0]


OTHERS: dict[str, Any] = {}
GENERATED = [generated, generated_more, generated_integers, dropped_out, of_two]


@pytest.mark.parametrize("function", GENERATED, ids=lambda one: one.__name__)
def test_draws_of_a_generator(host: Host, function: Callable[..., Any]) -> None:
    """As many as eager draws, in its order: at the first call and the next ones, after a retrace, and behind them."""
    cp = host.cupy
    x = cp.asarray(X)

    def drawn(called: Callable[..., Any]) -> Any:
        cp.random.seed(11)
        rng, other = cp.random.default_rng(5), cp.random.default_rng(6)
        OTHERS.update(random=cp.random, rng=other)
        found = [
            bits(called(rng, one.copy(order="K"))) for one in (x, x, x[::-1], x, x.T.copy().T, x)
        ]
        return found, bits((rng.random(3), cp.random.rand(3), other.integers(0, 9, 3)))

    compiled = ufuse.compile(function)
    assert drawn(compiled) == drawn(function)
    assert compiled.stats.hits
    assert not compiled.breaks
    assert "cupy.random.Generator" in str(compiled.graphs[0])


REFUSED: list[Callable[[Any, Any], Any]] = [
    lambda rng, x: rng.random(3, "i4"),
    lambda rng, x: rng.standard_normal(3, "i4"),
    lambda rng, x: rng.standard_exponential(3, method="zig"),
    lambda rng, x: rng.standard_normal(out=x[0]),
    lambda rng, x: rng.random(out=x[:, ::2]),
    lambda rng, x: rng.exponential(x, x.shape),
    lambda rng, x: rng.uniform(x, 2),
    lambda rng, x: rng.integers(4, 2, 3),
    lambda rng, x: rng.integers(0, 300, 3, "i1"),
    lambda rng, x: rng.integers(-1, 3, 3, np.uint8),
    lambda rng, x: rng.integers(0, 3, 3, "f4"),
    lambda rng, x: rng.integers(2.5, size=3),
    lambda rng, x: rng.random(-3),
    lambda rng, x: rng.integers(0, 2**40, 3),
]


@pytest.mark.parametrize("function", REFUSED)
def test_what_a_generator_leaves_to_cupy(host: Host, function: Callable[[Any, Any], Any]) -> None:
    """Results and errors are its own, and other draws go on behind them."""
    cp = host.cupy

    def outcomes(called: Callable[[Any, Any], Any]) -> list[Any]:
        rng, found = cp.random.default_rng(5), []
        for _ in range(3):
            try:
                found.append(bits(called(rng, cp.asarray(X))))
            except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
                found.append((type(error), str(error)))
            found.append(bits(rng.random(2)))
        return found

    assert outcomes(ufuse.compile(function)) == outcomes(function)


def test_a_class_of_the_programs_own(host: Host) -> None:
    """Its methods are what they are."""
    cp = host.cupy

    class Constant(cp.random.Generator):  # type: ignore[misc, name-defined]
        def random(self, size: Any) -> Any:
            return cp.full(size, 0.25) + super().random(size) * 0

    rng = Constant(cp.random.XORWOW(3))
    compiled = ufuse.compile(lambda x: x + rng.random(3))
    for _ in range(3):
        assert (compiled(cp.ones(3)).get() == 1.25).all()


def test_generators_that_a_function_makes(host: Host) -> None:
    """Of a seed that is known, of a length, of none; drawn from, returned, made by the class: one graph each call anew."""
    cp = host.cupy

    def made(x: Any) -> Any:
        rng, state = cp.random.default_rng(3), cp.random.RandomState(seed=len(x))
        y = x[0] + rng.standard_normal(3), rng.random((2, 3)), rng.integers(0, 9, size=4)
        z = state.normal(size=3) * 2, state.permutation(5), state.rand(2)
        return y, z, rng, state, cp.random.RandomState(), cp.random.default_rng(None)

    compiled = ufuse.compile(made)
    wanted = made(cp.asarray(X))
    seen = set()
    for _ in range(4):
        found = compiled(cp.asarray(X))
        assert list(map(type, found)) == list(map(type, wanted))
        for pair in zip(found[0] + found[1], wanted[0] + wanted[1], strict=True):
            assert why_different(*pair) is None
        seen.update(map(id, found[2:]))
        rngs = [one[2].random(3) for one in (found, made(cp.asarray(X)))]
        states = [one[3].rand(3) for one in (found, made(cp.asarray(X)))]
        assert why_different(*rngs) is None
        assert why_different(*states) is None
    assert not compiled.breaks
    assert compiled.stats.hits


@pytest.mark.parametrize("seed", [-1, 1.5, "one", [1, 2]])
def test_seeds_that_are_cupys_to_take(host: Host, seed: Any) -> None:
    """What is no whole number is CuPy's own to refuse, or to take."""
    cp = host.cupy

    def made(x: Any) -> Any:
        return x + cp.random.default_rng(seed).random(3)

    compiled = ufuse.compile(made)
    for _ in range(3):
        outcomes = []
        for one in (made, compiled):
            try:
                outcomes.append(one(cp.arange(3.0)).tolist())
            except (TypeError, ValueError) as error:
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]


def test_results_that_cupy_remembers(host: Host) -> None:
    """A kernel, an array and a number of `cupy.memoize` are part of a graph; what is forgotten is made again."""
    cp = host.cupy
    calls: list[Any] = []

    @cp.memoize()
    def kernel(factor: int, name: str = "times") -> Any:
        calls.append(factor)
        return cp.ElementwiseKernel("T x", "T y", f"y = x * {factor}", name)

    @cp.memoize(for_each_device=True)
    def window(length: int) -> Any:
        calls.append(length)
        return cp.arange(float(length)), length * 2.5

    def used(x: Any, factor: int) -> Any:
        values, number = window(4)
        return kernel(factor)(x) + values * number, kernel(5, name="other")(x)

    compiled = ufuse.compile(used)

    def check(factor: int) -> None:
        found, wanted = (one(cp.arange(4.0), factor) for one in (compiled, used))
        assert all(why_different(*pair) is None for pair in zip(found, wanted, strict=True))

    for _ in range(5):
        check(2)
    assert calls == [4, 2, 5]
    assert compiled.stats.hits
    graphs = len(compiled.graphs)
    cp.clear_memo()
    for _ in range(5):
        check(2)
    assert calls == [4, 2, 5] * 2
    check(3)
    check(3)
    assert calls[6:] == [3]
    assert len(compiled.graphs) > graphs or compiled.stats.eager_calls
