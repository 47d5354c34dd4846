"""What can be seen of pandas objects, as arrays and containers, which the judge knows how to compare."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.whole.packages.calls import Line


def is_of_pandas(value: object) -> bool:
    """Whether a value is an object of pandas's own: most of what it holds is in C, where the judge does not look."""
    return type(value).__module__.partition(".")[0] == "pandas"


def visible(value: Any) -> Any:
    """A value with everything of pandas in it opened; what holds nothing of pandas is left as it is."""
    if isinstance(value, (list, tuple)) and any(map(holds_pandas, value)):
        return [type(value).__name__, *map(visible, value)]
    if isinstance(value, dict) and any(map(holds_pandas, value.values())):
        return [type(value).__name__, *([key, visible(item)] for key, item in value.items())]
    return opened(value) if is_of_pandas(value) else value


def holds_pandas(value: object) -> bool:
    """Whether `visible` has something to open."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_pandas, value))
    if isinstance(value, dict):
        return any(map(holds_pandas, value.values()))
    return is_of_pandas(value)


def opened(value: Any) -> Any:
    """The parts of an object of pandas."""
    pandas = sys.modules["pandas"]
    kind = type(value).__qualname__
    match value:
        case pandas.DataFrame():
            blocks = [
                (block.mgr_locs.as_array, visible(block.values)) for block in value._mgr.blocks
            ]
            return [kind, blocks, visible(value.index), visible(value.columns), value.attrs, value.flags.allows_duplicate_labels]  # fmt: skip
        case pandas.Series():
            return [kind, visible(value._values), visible(value.index), value.name, value.attrs]
        case pandas.MultiIndex():
            return [kind, [visible(level) for level in value.levels], list(map(visible, value.codes)), list(value.names)]  # fmt: skip
        case pandas.RangeIndex():
            return [kind, value.start, value.stop, value.step, value.name]
        case pandas.Index():
            return [kind, visible(value._values), value.name]
        case pandas.Categorical():
            return [kind, value.codes, visible(value.categories), value.ordered]
        case pandas.api.extensions.ExtensionArray():
            return [kind, str(value.dtype), *(visible(getattr(value, name)) for name in ("_ndarray", "_data", "_mask") if isinstance(getattr(value, name, None), np.ndarray)), *extension_items(value)]  # fmt: skip
        case _:
            return [kind, repr(value)]


def extension_items(array: Any) -> list[str]:
    """The items of an array that NumPy does not hold, as text."""
    return (
        []
        if hasattr(array, "_ndarray") or hasattr(array, "_mask")
        else [repr(item) for item in array]
    )


def shown(function: Callable[..., Any], line: Line) -> Callable[..., Any]:
    """The function, giving what can be seen of its result and, where pandas is in them, of its arguments.

    Arguments of pandas are made inside: the judge would look into them.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return visible(result) if holds_pandas(result) else result

    @functools.wraps(function)
    def call_without() -> Any:
        given = line.arguments()
        result = function(*given.args, **given.kwargs)
        return visible([result, *given.args, *given.kwargs.values()])

    return call_without if has_pandas(line) else call


def has_pandas(line: Line) -> bool:
    """Whether a call is given something of pandas."""
    given = line.arguments()
    return any(map(holds_pandas, (*given.args, *given.kwargs.values())))
