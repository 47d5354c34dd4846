"""CuPy's objects that programs make as they run: kernels and modules of texts.

A kernel that a function makes is of the same texts each time, so the graph launches one that the library keeps. Where
something else wants the object, the same call makes a new one for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.devices import draws, numbers, streams, views
from ufuse.frame_hook.devices.rules import function
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Dict, Instance, List, Symbol, Tuple
from ufuse.graph import signals
from ufuse.graph.typing.device_draws import BIT_GENERATORS
from ufuse.graph.typing.library import cupy

Given = Mapping[str, Symbol]
# What of a text lives on between launches, in a module that is another one once CuPy has forgotten the first.
LASTING = re.compile(
    r"__(?:constant|managed)__|__device__[^(){}=;]*(?:=|;|\[)|\bstatic\b[^(){}=;]*(?:=|;|\[)"
)
# Arguments of which the texts do not say all: words of another compiler that warns, and names of files.
UNKNOWN = {"jitify", "path"}
INSTANCES = "name_expressions"  # of templates of a module


def make(
    interpreter: Interpreter, kind: type, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """What calling a class of CuPy's gives."""
    keywords = dict(keywords)
    if isinstance(listed := keywords.get(INSTANCES), List):
        keywords[INSTANCES] = Tuple(tuple(listed.items))  # as CuPy keeps it
    if kind is cupy().module.cuda.Device:
        return numbers.make(interpreter, arguments, keywords)
    if kind is cupy().module.broadcast:
        return views.broadcast_of(interpreter.trace, arguments, keywords)
    if kind is cupy().module.random.Generator:
        return draws.make_of_bits(interpreter, arguments, keywords)
    if kind is cupy().module.random.RandomState or kind.__name__ in BIT_GENERATORS:
        return draws.make(interpreter, kind.__name__, arguments, keywords)
    if kind in (cupy().module.cuda.Stream, cupy().module.cuda.Event):
        return streams.make(interpreter, kind, arguments, keywords)
    content = Tuple((Tuple(tuple(arguments)), Dict(keywords)))
    trace, what = interpreter.trace, f"making a {kind.__name__}"
    given = tuple(arrays.plain(trace, one) for one in arguments)
    named = {key: arrays.plain(trace, one) for key, one in keywords.items()}
    parts = (*given, *named.values())
    if not all(map(_is_text, parts)) or UNKNOWN & set(named):
        raise GraphBreak("call", f"{what} of such arguments")
    _check_nothing_lasts(what, *parts)
    return Instance(
        kind, value=_made(what, lambda: cupy().made_kernel(kind, given, named)), content=content
    )


def _is_text(value: Any) -> bool:
    """Whether an argument is text, a number or None, or a tuple of these: `repr` tells all of them apart."""
    if type(value) is tuple:
        return all(map(_is_text, value))
    return type(value) in (str, int, float, bool, type(None))


def _check_nothing_lasts(what: str, *parts: Any) -> None:
    if any(isinstance(one, str) and LASTING.search(one) for one in parts):
        raise GraphBreak("call", f"{what} with variables that outlive a launch")


def _made(what: str, make: Callable[[], Any]) -> Any:
    """What the library makes and keeps."""
    try:
        made = make()
    except Exception as error:  # noqa: BLE001  plain Python says so
        signals.pass_on(error)
        raise GraphBreak("eager-raises", f"{type(error).__name__}: {error}") from None
    if made is None:
        raise GraphBreak("call", f"{what} beside so many others")
    return made


@function("RawModule.get_function")
def _kernel_of_module(interpreter: Interpreter, /, module: Symbol, name: Symbol) -> Symbol:
    """A kernel of a module, which compiles it."""
    trace, read = interpreter.trace, interpreter.trace.look(module)
    known = arrays.plain(trace, name)
    what = f"getting {known} of a RawModule"
    if not isinstance(read, Instance) or read.kind is not cupy().raw_module:
        raise GraphBreak("call", f"RawModule.get_function of {described(read)}")
    if type(known) is not str or read.value.code is None:
        raise GraphBreak("call", f"{what}, which is a file")
    if read.source is not None:
        trace.guards.check("IDENTITY", read.source, read.value)
    _check_nothing_lasts(what, read.value.code)
    kernel = _made(what, lambda: cupy().kernel_of_module(read.value, known))
    maker = Constant(cupy().raw_module.get_function)
    content = Tuple((Tuple((read, name)), Dict({}), maker))
    return Instance(cupy().raw, value=kernel, content=content)
