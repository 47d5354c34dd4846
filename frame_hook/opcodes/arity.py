"""How many arguments the built-in functions that have a rule take: what does not fit is left to plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

ANY = 1 << 30

# fmt: off
#                      least  most  keywords
ARITY: dict[Any, tuple[int,   int,  Collection[str] | None]] = {
    len:                  (1, 1,    ()),
    range:                (1, 3,    ()),
    slice:                (1, 3,    ()),
    tuple:                (0, 1,    ()),
    list:                 (0, 1,    ()),
    dict:                 (0, 1,    None),
    enumerate:            (1, 2,    ("start",)),
    zip:                  (0, ANY,  ("strict",)),
    map:                  (2, ANY,  ("strict",)),
    reversed:             (1, 1,    ()),
    isinstance:           (2, 2,    ()),
    issubclass:           (2, 2,    ()),
    type:                 (1, 3,    None),
    getattr:              (2, 3,    ()),
    hasattr:              (2, 2,    ()),
    setattr:              (3, 3,    ()),
    iter:                 (1, 2,    ()),
    next:                 (1, 2,    ()),
    super:                (0, 2,    ()),
    format:               (1, 2,    ()),
    abs:                  (1, 1,    ()),
    bool:                 (0, 1,    ()),
    int:                  (0, 2,    ()),
    float:                (0, 1,    ()),
    complex:              (0, 2,    ()),
    sum:                  (1, 2,    ("start",)),
    max:                  (1, ANY,  None),
    min:                  (1, ANY,  None),
    object.__setattr__:   (3, 3,    ()),
    object.__init__:      (1, 1,    ()),
    object.__new__:       (1, 1,    ()),
    tuple.__new__:        (1, 2,    ()),
    operator.index:       (1, 1,    ()),
    np.shape:             (1, 1,    ()),
    np.ndim:              (1, 1,    ()),
    np.ravel:             (1, 2,    None),
    np.reshape:           (1, 3,    None),
    np.transpose:         (1, 2,    None),
    np.ascontiguousarray: (1, 2,    None),
}
# fmt: on


def why_not_arguments(
    function: Callable[..., Any], count: int, keywords: Collection[str]
) -> str | None:
    """Why a built-in function does not take so many arguments and these keywords, or None if it may."""
    if function not in ARITY:
        return None
    least, most, names = ARITY[function]
    if names is not None and not set(keywords) <= set(names):
        return f"{function.__qualname__}() with the keyword arguments {', '.join(keywords)}"
    if not least <= count <= most:
        return f"{function.__qualname__}() with {count} arguments"
    return None
