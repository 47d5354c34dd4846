"""Calls of functions whose results CuPy remembers: what `cupy.memoize` gives.

The call stays in the graph, for CuPy may have been told to forget; where another object comes back, plain Python runs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.library.caches import part_of_key
from ufuse.frame_hook.objects.classes import is_cython_function
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Instance, Symbol
from ufuse.graph.typing.device_streams import IS_REMEMBERED, OBJECT
from ufuse.graph.typing.library import CUDA, cupy, imported

WRAPPER, FILE = "ret", "_util.pyx"  # how CuPy calls the function that remembers
DEEPEST = 3  # scopes of functions within one another


def is_remembering(value: Any) -> bool:
    """Whether this is a function whose results CuPy remembers."""
    if not is_cython_function(value) or not hasattr(value, "__wrapped__") or imported() is None:
        return False
    code = value.__code__
    return code.co_name == WRAPPER and str(code.co_filename).endswith(FILE)


def _dicts(owner: Any, depth: int = DEEPEST) -> Iterator[dict[Any, Any]]:
    """The dicts that the scopes of a function hold: what it remembers is the only one."""
    for one in gc.get_referents(owner):
        if type(one).__name__.startswith("__pyx_scope"):
            yield from (found for found in gc.get_referents(one) if type(found) is dict)
            if depth:
                yield from _dicts(one, depth - 1)


def call(
    interpreter: Interpreter,
    function: Instance,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What is remembered for these arguments; plain Python makes the first call."""
    trace, wrapper = interpreter.trace, function.value
    what = f"{wrapper.__qualname__}, which does not remember a result for this,"
    given = tuple(part_of_key(interpreter, one) for one in arguments)
    named = {key: part_of_key(interpreter, one) for key, one in keywords.items()}
    number = cupy().module.cuda.runtime.getDevice()
    found = {id(one): one for one in _dicts(wrapper)}
    if len(found) != 1 or trace.graph.in_side or function.source is None:
        raise GraphBreak("call", what)
    (memo,) = found.values()
    for first in (-1, number):
        key = (first, given, frozenset(named.items())) if named else (first, given)
        if key in memo:
            break
    else:
        raise GraphBreak("call", what)
    result = trace.reader.object(memo[key])
    inputs = (
        trace.graph.generator(OBJECT, function.source),
        trace.graph.generator(OBJECT, result.source),
    )
    attributes = {
        "function": IS_REMEMBERED,
        "arguments": (0, 1, ("const", given), ("const", tuple(named.items()))),
        "keywords": (),
        "device": CUDA,
    }
    trace.graph.about_streams(inputs, attributes, may_raise=True)
    return result
