"""Better machine code of nests: bits, and no flag or doubt too few."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nest_code import RANGE, Code, Machine, array
from tests.support.random_nests import Draw
from ufuse.backends.numpy.llvm.background import finish
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.semantics.nest_reference import DoubtError, UnlikeNansError, bits, follow


def check(machine: Machine, arrays: Sequence[np.ndarray], cells: dict[str, Any]) -> bool:
    """Whether better code left the nest: as the reference did, with all of its flags."""
    copies = [one.copy() for one in arrays]
    wanted, found = dict(cells), dict(cells)
    logged: set[str] = set()
    is_left = is_open = False
    with np.errstate(all="call", call=lambda kind, _: logged.add(kind.split()[0])):
        try:
            follow(machine.nest, copies, wanted)
            is_left = True
        except UnlikeNansError:
            is_open = True
        except DoubtError:
            pass
    machine_left, flags = machine.execute(arrays, found)
    if not machine_left or is_open:
        return machine_left
    assert is_left
    assert flags >= logged
    for one, copy in zip(arrays, copies, strict=True):
        assert one.tobytes() == copy.tobytes()
    assert {name: exact(value) for name, value in found.items()} == {
        name: exact(value) for name, value in wanted.items()
    }
    return True


def exact(value: Any) -> Any:
    """What tells numbers apart."""
    return bits(value) if isinstance(value, float | np.float32) else value


@pytest.mark.parametrize("seed", range(30))
def test_nests_drawn_by_chance(seed: int) -> None:
    """Every op, in blocks, branches and loops drawn by chance, on special values."""
    draw = Draw(1000 + seed, wildness=0.1 if seed % 4 == 0 else 0.01)
    machine = Machine(draw.nest(), is_improved=True)
    for _ in range(4):
        arrays, cells = draw.objects()
        check(machine, [one.copy() for one in arrays], cells)


def test_it_is_made_while_the_nest_runs() -> None:
    """In a thread, once the nest has worked for some time."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("sqrt", code.op("add", code.load(0, i), code.real(1.0))))
    code.end("jump", "header")
    made: Any = nest_object(code.nest())
    a, b, calls = np.zeros(1000), np.zeros(1000), 0
    while made.improver is not None or calls % 100:
        made(a, iter(range(1000)))
        calls += 1
    for _ in range(5):
        time.sleep(0.02)
        finish()
        made(a, iter(range(1000)))
        calls += 1
    for _ in range(calls):
        b = np.sqrt(b + 1.0)
    assert a.tobytes() == b.tobytes()
