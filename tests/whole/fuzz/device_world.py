"""Where random programs of CuPy's arrays run: on the test device, or on a GPU."""

from __future__ import annotations

import random
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import patch

import numpy as np

import ufuse
from tests.support.comparing.compare import MODES, Difference, Mode, check_same
from tests.support.cupy_host import Host, install
from tests.support.cupy_host.driver import ORDERS
from tests.support.real_device import RealDevice, real_device
from tests.support.restated import import_late_modules, sent
from tests.whole.fuzz.check import Tried, World, without_reset
from tests.whole.fuzz.values import Given, made

TURNS = 4  # launches are replayed as a graph of CUDA's from the third call on


def device() -> Host | RealDevice:
    """The test device; a GPU where CuPy was imported without it, as by `pytest --gpu`."""
    if "cupy" in sys.modules and not install.cache_info().currsize:
        return real_device()
    return install()


@contextmanager
def few_are_many() -> Iterator[None]:
    """Have threads take several elements, and warps go down several rows, of arrays as small as these."""
    from ufuse.backends.cupy.launching import launch  # noqa: PLC0415  only where CuPy is
    from ufuse.backends.cupy.texts import tiles  # noqa: PLC0415  only where CuPy is

    with patch.object(launch, "TAKES_FEW", 1), patch.object(tiles, "WARPS", 3):
        yield


class DeviceWorld(World):
    """The module of a program of CuPy's arrays."""

    atoms = False
    is_brief = True

    def __init__(self, source: str) -> None:
        self.host = device()
        import_late_modules()
        self.thresholds = ExitStack()
        if zlib.crc32(source.encode()) % 2:
            self.thresholds.enter_context(few_are_many())
        super().__init__(source)

    def forget(self) -> None:
        """Drop the source."""
        super().forget()
        self.thresholds.close()

    def modes(self, seed: int) -> list[Mode]:
        """CuPy warns of no numbers."""
        return [MODES[0]]

    def reset(self) -> None:
        """Put the globals back."""
        super().reset()
        self.module.MEMORY = None

    def made(self, given: tuple[Given, ...]) -> tuple[Any, ...]:
        """Arguments for a call, sent to the device."""
        return tuple(sent([for_every_device(one) for one in made(given)], self.host.cupy, {}))

    def sequence(self, program: Tried, compiled: Any) -> str:
        """What differs where launches come again: in other orders of threads, done late, with memory that is used again."""
        kept, plain = without_reset(compiled), without_reset(self.function)
        rng = random.Random(program.seed)  # noqa: S311  not for secrets
        for number, given in enumerate((*program.sets, program.sets[0])):
            if isinstance(self.host, Host):
                found = self.memory_difference(kept, given)
                if found:
                    return f"arguments {number}: {found}"
            order = rng.choice(tuple(ORDERS))
            with ExitStack() as opened:
                if isinstance(self.host, Host):
                    opened.enter_context(self.host.driver.running(order))
                    if rng.random() < 0.5:
                        order += ", done late"
                        opened.enter_context(self.host.device.working_late())
                    self.host.device.check_margins()
                try:
                    check_same(
                        plain, kept, lambda given=given: self.made(given), calls=TURNS, modes=MODES[:1],
                        state=self.state, reset=self.reset, copies=False, atoms=False,
                    )  # fmt: skip
                except Difference as error:
                    return f"in a row, arguments {number}, threads {order}, {error}"
        return ""

    def memory_difference(self, kept: Callable[..., Any], given: tuple[Given, ...]) -> str:
        """How many bytes are in use behind a call, while its results live and when they are dropped."""
        rows = [self.bytes_in_use(function, given) for function in (self.function, kept)]
        return "" if rows[0] == rows[1] else f"bytes in use: plain {rows[0]}, compiled {rows[1]}"

    def bytes_in_use(self, function: Callable[..., Any], given: tuple[Given, ...]) -> Any:
        """Bytes of the pool's: with arguments and results, with results alone, and with neither."""
        pool = self.host.cupy.get_default_memory_pool()
        self.reset()
        before = pool.used_bytes()
        arguments = self.made(given)
        result = None
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*arguments)
        seen = [pool.used_bytes() - before]
        del arguments
        seen.append(pool.used_bytes() - before)
        del result
        self.reset()
        return [*seen, pool.used_bytes() - before]


def for_every_device(value: Any) -> Any:
    """An array without what the test device does otherwise than a GPU.

    It flushes denormal numbers elsewhere, and the host's processor refuses to divide the least whole number by -1.
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "fc" and value.dtype.char != "e":
        for part in (value.real, value.imag) if value.dtype.kind == "c" else (value,):
            part[abs(part) < np.finfo(part.dtype).tiny] = 0
    elif value.dtype.kind == "i":
        value[value == np.iinfo(value.dtype).min] += 1
    return value


def prepare(programs: Iterable[Tried]) -> None:
    """Compile the kernels of some programs together, which takes the host's compiler far less time than one by one."""
    host = device()
    if not isinstance(host, Host):
        return
    with host.compiler.gathering():
        for program in programs:
            world = DeviceWorld(program.source)
            compiled = ufuse.compile(world.function)
            for given in program.sets:
                for function in (world.function, compiled, compiled):
                    world.reset()
                    with suppress(Exception), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        function(*world.made(given))
            world.forget()
    host.cupy.get_default_memory_pool().free_all_blocks()  # lengths that nothing has computed may be large
