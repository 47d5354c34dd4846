"""What a call does at a glance: for tests of thousands of calls, where `check_same` would take too long.

Left out: traceback lines, shared memory, floating-point status, and modes other than the first.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

ADDRESS = re.compile("0x[0-9a-f]+")


def glance(value: Any) -> Any:
    """What can be noticed of a value, and of its dtype beyond that it is equal; no addresses."""
    if isinstance(value, tuple):
        return tuple(map(glance, value))
    if not isinstance(value, np.ndarray | np.generic):
        return type(value), ADDRESS.sub("", repr(value))
    dtype = value.dtype.char, value.dtype, value.dtype.type, value.dtype.metadata
    own = value.base is None, value.flags.owndata
    items = ADDRESS.sub("", repr(value.tolist()))
    return type(value), dtype, value.shape, value.strides, own, items


def outcome(function: Callable[..., Any], *given: Any) -> Any:
    """What a call gives or raises, what becomes of its arguments, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*given)
            ending: Any = glance(result), [result is one for one in given]
        except Exception as error:  # noqa: BLE001  whatever it is, it has to be the same
            ending = type(error), ADDRESS.sub("", str(error))
    warned = [(each.category, str(each.message), each.lineno) for each in caught]
    return ending, [glance(one) for one in given], warned
