"""Whether results of NumPy's code on a GPU are near to NumPy's: numbers nearly, all else the same."""

from __future__ import annotations

from typing import Any

import numpy as np

DEEPEST = 6
CLOSE = {"e": 1e-2, "f": 1e-4, "F": 1e-4}  # by dtype; else
DOUBLE = 1e-8


def unlike(result: Any, wanted: Any, where: str = "result", depth: int = 0) -> str | None:
    """What is not near to what is wanted, and where; None where all is."""
    if depth > DEEPEST:
        return None
    if isinstance(wanted, (np.ndarray, np.generic)):
        return _unlike_array(result, wanted, where)
    if type(result) is not type(wanted):
        return f"{where}: {type(result).__name__} in place of {type(wanted).__name__}"
    if isinstance(wanted, (float, complex)):
        return _unlike_array(np.asarray(result), np.asarray(wanted), where)
    if isinstance(wanted, (tuple, list)):
        pairs = [
            (f"[{place}]", *pair) for place, pair in enumerate(zip(result, wanted, strict=False))
        ]
        is_as_long = len(result) == len(wanted)
    elif isinstance(wanted, dict):
        pairs = [(f"[{key!r}]", dict.get(result, key), value) for key, value in wanted.items()]
        is_as_long = list(map(repr, result)) == list(map(repr, wanted))
    elif isinstance(wanted, (int, str, bytes)):
        return None if result == wanted else f"{where}: {result!r} in place of {wanted!r}"
    else:
        return None
    if not is_as_long:
        return f"{where}: {len(result)} in place of {len(wanted)}"
    found = (unlike(one, other, where + key, depth + 1) for key, one, other in pairs)
    return next(filter(None, found), None)


def _unlike_array(result: Any, wanted: Any, where: str) -> str | None:
    if type(result) is not type(wanted):
        return f"{where}: {type(result).__name__} in place of {type(wanted).__name__}"
    kinds = [f"{one.dtype}{one.shape} with steps {one.strides}" for one in (result, wanted)]
    if kinds[0] != kinds[1]:
        return f"{where}: {kinds[0]} in place of {kinds[1]}"
    if wanted.dtype.kind == "O":
        return None
    if wanted.dtype.kind in "fc":
        close = CLOSE.get(wanted.dtype.char, DOUBLE)
        is_same = _is_near(result, wanted, close)
    else:
        is_same = result.tobytes() == wanted.tobytes()
    return None if is_same else f"{where}: {result} in place of {wanted}"


def _is_near(result: Any, wanted: Any, close: float) -> bool:
    """Whether numbers differ by little of the largest of them: sums of large ones may cancel."""
    with np.errstate(all="ignore"):
        finite = np.abs(np.where(np.isfinite(wanted), wanted, 0))
        largest = float(finite.max(initial=0))
        return bool(
            np.allclose(result, wanted, close, close * min(max(largest, 1.0), 1e12), equal_nan=True)
        )
