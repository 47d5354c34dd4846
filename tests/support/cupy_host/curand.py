"""NumPy in place of cuRAND's generators: each has a state, from which numbers are drawn in the order of the calls."""

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


def install(blas: Blas) -> None:
    """Put the stand-in in cuRAND's place."""
    from cupy_backends.cuda import libs  # noqa: PLC0415 - only where CuPy is installed

    made: Any = Curand(blas)
    sys.modules[made.__name__] = libs.curand = made
