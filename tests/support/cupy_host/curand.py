"""NumPy in place of cuRAND's generators: each has a state, from which numbers are drawn in the order of the calls.

CuPy's Generator calls compiled CUDA: methods of the same names and arguments stand in their places.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from tests.support.cupy_host.libraries import Blas, at

METHODS = "DEFAULT XORWOW MRG32K3A MTGP32 MT19937 PHILOX4_32_10".split()


class Curand(types.ModuleType):
    """cuRAND as CuPy's Python module has it."""

    def __init__(self, blas: Blas) -> None:
        super().__init__("cupy_backends.cuda.libs.curand")
        for number, name in enumerate(METHODS, 100):
            self.__dict__[f"CURAND_RNG_PSEUDO_{name}"] = number
        self.blas = blas
        self.states: dict[int, np.random.RandomState] = {}

    def createGenerator(self, method: int) -> int:
        """A new generator."""
        del method
        number = len(self.states) + 1
        self.states[number] = np.random.RandomState(0)
        return number

    def destroyGenerator(self, generator: int) -> None:
        """Its number is not given again."""

    def setPseudoRandomGeneratorSeed(self, generator: int, seed: int) -> None:
        """Begin anew."""
        self.states[generator].seed(int(seed) % 2**32)

    def setGeneratorOffset(self, generator: int, offset: int) -> None:
        """It is 0, where the seed has set the state."""

    def _write(self, address: int, drawn: np.ndarray) -> None:
        def work() -> None:
            at(address, drawn.dtype.str, drawn.shape)[...] = drawn

        self.blas.submit(work)

    def generate(self, generator: int, address: int, count: int) -> None:
        """Whole numbers of 32 bits."""
        self._write(address, self.states[generator].randint(0, 2**32, count, np.uint32))

    def generateUniform(self, generator: int, address: int, count: int) -> None:
        """Numbers between 0 and 1."""
        self._write(address, self.states[generator].random_sample(count).astype("f4"))

    def generateUniformDouble(self, generator: int, address: int, count: int) -> None:
        """The same in double precision."""
        self._write(address, self.states[generator].random_sample(count))

    def generateNormal(
        self, generator: int, address: int, count: int, mean: float, deviation: float
    ) -> None:
        """Normally distributed numbers, an even number of them."""
        self._write(address, self._normal(generator, count, mean, deviation).astype("f4"))

    def generateNormalDouble(
        self, generator: int, address: int, count: int, mean: float, deviation: float
    ) -> None:
        """The same in double precision."""
        self._write(address, self._normal(generator, count, mean, deviation))

    def generateLogNormalDouble(
        self, generator: int, address: int, count: int, mean: float, deviation: float
    ) -> None:
        """Numbers whose logarithms are normally distributed."""
        self._write(address, np.exp(self._normal(generator, count, mean, deviation)))

    def _normal(self, generator: int, count: int, mean: float, deviation: float) -> np.ndarray:
        if count % 2:
            raise ValueError("cuRAND draws an even number")
        found: np.ndarray = mean + deviation * self.states[generator].standard_normal(count)
        return found


class Generators:
    """What draws for CuPy's Generators, each of which has a state of NumPy's beside its own."""

    def __init__(self, cupy: Any, blas: Blas) -> None:
        self.cupy = cupy
        self.blas = blas

    def drawn(self, generator: Any, size: Any, dtype: Any, name: str, *given: Any) -> Any:
        """New memory with what NumPy draws now, written in the order of the stream."""
        bits = generator.bit_generator
        bits._check_device()
        bits.drawing = getattr(bits, "drawing", None) or np.random.RandomState(int(bits._seed))
        made = self.cupy.ndarray(() if size is None else size, dtype)
        values = np.asarray(getattr(bits.drawing, name)(*given, size=made.shape)).astype(dtype)
        address = made.data.ptr

        def work() -> None:
            at(address, values.dtype.str, values.shape)[...] = values

        self.blas.submit(work)
        return made

    def sized(self, size: Any, *given: Any) -> tuple[list[Any], Any]:
        """Parameters as NumPy takes them, and the shape of what they give."""
        on_host = [
            self.cupy.asnumpy(one) if isinstance(one, self.cupy.ndarray) else one for one in given
        ]
        shape = np.broadcast_shapes(*map(np.shape, on_host))
        return on_host, shape if size is None else size

    def counts(self, generator: Any, size: Any, name: str, *given: Any) -> Any:
        """Whole numbers of a distribution."""
        on_host, size = self.sized(size, *given)
        return self.drawn(generator, size, "q", name, *on_host)

    def floats(self, generator: Any, size: Any, dtype: Any, out: Any, name: str) -> Any:
        """Floats of a distribution without parameters, perhaps in memory that is given."""
        if out is not None:
            generator._check_output_array(dtype, size, out)
            size = out.shape
        kept = np.dtype(dtype) if np.dtype(dtype).char in "fd" else np.dtype("d")
        made = self.drawn(generator, size, kept, name).astype(dtype, copy=False)
        if out is None:
            return made
        self.cupy._core.elementwise_copy(made, out)
        return out


_drawing: list[Generators] = []


# Methods for the class: functions of a module, as those of CuPy's are. `exponential` stays CuPy's, which calls one.
def random(self: Any, size: Any = None, dtype: Any = float, out: Any = None) -> Any:
    """Floats between 0 and 1."""
    return _drawing[0].floats(self, size, dtype, out, "random_sample")


def standard_normal(self: Any, size: Any = None, dtype: Any = float, out: Any = None) -> Any:
    """Normally distributed numbers."""
    if np.dtype(dtype).char not in "fd":
        raise TypeError(f"Unsupported dtype {np.dtype(dtype).name} for standard_normal")
    return _drawing[0].floats(self, size, dtype, out, "standard_normal")


def standard_exponential(
    self: Any, size: Any = None, dtype: Any = float, method: str = "inv", out: Any = None
) -> Any:
    """Exponentially distributed numbers."""
    if method == "zig":
        raise NotImplementedError("Ziggurat method is not supported")
    return _drawing[0].floats(self, size, dtype, out, "standard_exponential")


def uniform(
    self: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = float
) -> Any:
    """Floats between two numbers, or elements of arrays."""
    drawing = _drawing[0]
    low, high = drawing.cupy.asarray(low), drawing.cupy.asarray(high)
    if size is None:
        size = drawing.cupy.broadcast(low, high).shape
    made = drawing.drawn(self, size, "d" if np.dtype(dtype) == "d" else "f", "random_sample")
    return (low + (high - low) * made).astype(dtype, copy=False)


def integers(
    self: Any, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
) -> Any:  # fmt: skip
    """Whole numbers between two others."""
    low, high = (0, int(low)) if high is None else (int(low), int(high))
    high -= not endpoint
    if low > high:
        raise ValueError("low >= high")
    made = _drawing[0].drawn(self, size, "u4" if high - low < 2**32 else "u8", "randint", 0, high - low + 1)  # fmt: skip
    return _drawing[0].cupy.add(low, made, dtype=dtype)


def poisson(self: Any, lam: Any = 1.0, size: Any = None) -> Any:
    """Counts of events, of a mean or of one for each element."""
    return _drawing[0].counts(self, size, "poisson", lam)


def binomial(self: Any, n: Any, p: Any, size: Any = None) -> Any:
    """Counts of successes."""
    if type(p) not in (float, _drawing[0].cupy.ndarray):
        raise TypeError("p is required to be a cupy.ndarray or a scalar")
    return _drawing[0].counts(self, size, "binomial", n, p)


def geometric(self: Any, p: Any, size: Any = None) -> Any:
    """Counts of trials."""
    return _drawing[0].counts(self, size, "geometric", p)


def standard_gamma(
    self: Any, shape: Any, size: Any = None, dtype: Any = float, out: Any = None
) -> Any:
    """The gamma distribution without a scale, on which CuPy's `gamma` and `chisquare` build."""
    drawing = _drawing[0]
    (shape,), size = drawing.sized(size, shape)
    made = drawing.drawn(self, size, "d", "standard_gamma", shape).astype(dtype, copy=False)
    if out is None:
        return made
    drawing.cupy._core.elementwise_copy(made, out)
    return out


def beta(self: Any, a: Any, b: Any, size: Any = None, dtype: Any = float) -> Any:
    """The beta distribution."""
    given, size = _drawing[0].sized(size, a, b)
    return _drawing[0].drawn(self, size, "d", "beta", *given).astype(dtype, copy=False)


def install(cupy: Any, blas: Blas) -> None:
    """Put the stand-ins in cuRAND's place, and in that of a Generator's methods."""
    from cupy.random import _generator_api  # noqa: PLC0415 - only where CuPy is installed
    from cupy_backends.cuda import libs  # noqa: PLC0415 - the same

    _generator_api.init_curand = lambda *_: None
    _drawing[:] = [Generators(cupy, blas)]
    counting = poisson, binomial, geometric
    for method in (
        random, standard_normal, standard_exponential, uniform, integers, standard_gamma, beta, *counting,
    ):  # fmt: skip
        setattr(_generator_api.Generator, method.__name__, method)

    made: Any = Curand(blas)
    sys.modules[made.__name__] = libs.curand = made
