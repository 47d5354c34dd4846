"""Which arrays of CuPy's guards can read in C."""

from __future__ import annotations

from typing import Any

from ufuse.frame_hook import _hook
from ufuse.graph.typing import device_layout
from ufuse.graph.typing.library import handles_of

_read: dict[type, bool] = {}


def why_not_read(kind: type, module: Any) -> str | None:
    """Why arrays of this class of CuPy's cannot be guarded, or None; learns how the first time."""
    if kind not in _read:
        _read[kind] = _learn(module)
    return None if _read[kind] else "an array of this version of CuPy"


def _learn(module: Any) -> bool:
    """Tell C how arrays are read; false where that is not certain, or does not give what the attributes give."""
    for handle in handles_of(module):
        _hook.die_unnoticed(handle)
    offsets = device_layout.offsets_in(module)
    if offsets is None:
        return False
    _hook.set_device_layout(module.ndarray, *offsets)
    arrays = device_layout.examples(module)
    return all(_hook.device_array(array) == device_layout.by_attributes(array) for array in arrays)
