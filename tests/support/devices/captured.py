"""What was captured, and how it runs."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.comparing import same


def source_of(compiled: Any) -> str:
    """The text of what was captured."""
    text: str = compiled.graphs[0].source("cupy")
    return text


def launched(host: Host, function: Callable[..., Any], *arguments: Any) -> int:
    """How many kernels a call launches."""
    host.device.counts.clear()
    function(*arguments)
    return int(host.device.counts["launch"])


def function_of(lines: list[str], results: list[str], module: str, library: Any) -> Any:
    """A function of three arrays."""
    source = "def made(x, y, w):\n    " + "\n    ".join(lines)
    source += f"\n    return {', '.join(results)},\n"
    name = f"<{hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {module: library}
    exec(compile(source, name, "exec"), names)
    return names["made"]


RNG = np.random.default_rng(77)


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of many sizes, some equal but for the sign of zero."""
    made = RNG.normal(size=shape) * 10.0 ** RNG.integers(-3, 4, shape)
    made[RNG.random(shape) < 0.1] *= 0
    if len(shape) > 1:
        made[-1:] *= 0
    return made.astype(dtype)


def check_in_every_order(host: Host, compiled: Any, x: Any, wanted: Any) -> None:
    """Two calls have these results, whatever thread is first."""
    for order in ORDERS:
        with host.driver.running(order):
            for result in (compiled(x), compiled(x)):
                assert all(map(same, result, wanted)), (x.shape, order)
