"""Machine code of a nest against the reference: bits, doubts, what is written back, and floating-point flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.nests.nest_code import Machine
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import TURNS
from ufuse.graph.semantics.nest_arithmetic import DoubtError, UnlikeNansError, bits
from ufuse.graph.semantics.nest_reference import follow


def check(
    nest: Nest,
    arrays: Sequence[np.ndarray],
    cells: dict[str, Any],
    machine: Machine | None = None,
) -> bool | None:
    """Whether the nest was left: by the machine code, which must do all that the reference does.

    None where unlike NaNs met: then the machine code may doubt or not.
    """
    copies = [one.copy() for one in arrays]
    wanted, found = dict(cells), dict(cells)
    logged: set[str] = set()
    is_left, is_open = True, False
    with np.errstate(all="call", call=lambda kind, _: logged.add(kind.split()[0])):
        try:
            follow(nest, copies, wanted)
        except DoubtError as doubt:
            is_left, is_open = False, isinstance(doubt, UnlikeNansError)
    machine_left, flags = (machine or Machine(nest)).execute(arrays, found)
    if is_open:
        return None
    assert machine_left == is_left, nest
    if is_left:
        has_calls = any(one.op == "call" for block in nest.blocks for one in block.instructions)
        assert has_calls or flags == logged, nest
        for one, copy in zip(arrays, copies, strict=True):
            assert one.tobytes() == copy.tobytes(), nest
    assert {name: exact(value) for name, value in found.items()} == {
        name: exact(value) for name, value in wanted.items()
    }, nest
    return is_left


def check_improved(machine: Machine, arrays: Sequence[np.ndarray], cells: dict[str, Any]) -> bool:
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
    """What two equal values have in common, bits included."""
    return bits(value) if isinstance(value, float | np.float32) else value


def over(rest: range, turns: int | None = None, **cells: Any) -> dict[str, Any]:
    """Cells at the header of a loop over a range."""
    start = {"i.next": rest.start, "i.step": rest.step, "i.left": len(rest)}
    return {**cells, **start, TURNS: len(rest) if turns is None else turns}
