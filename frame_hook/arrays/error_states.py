"""The C parts of `np.errstate`, whose Python code is followed: what a trace does between entering and leaving one.

Nodes that are made there say what happens to their flags (`Draft.errors`). A graph never ends there: the frame that
goes on would have another error state than the program.
"""

from __future__ import annotations

import numpy as np

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import NotRebuilt
from ufuse.frame_hook.interpreter.rules import method, rule_for
from ufuse.frame_hook.objects.values import known_value
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, ErrorState, ErrorToken, Symbol
from ufuse.graph.semantics.effects import FLAGS

FOLLOWED = ("ignore", "warn")


@rule_for(np._core.umath._make_extobj)  # type: ignore[attr-defined]
def _make_extobj(
    interpreter: Interpreter,
    *,
    all: Symbol | None = None,  # noqa: A002  NumPy's name
    divide: Symbol | None = None,
    over: Symbol | None = None,
    under: Symbol | None = None,
    invalid: Symbol | None = None,
    call: Symbol | None = None,
    bufsize: Symbol | None = None,
) -> Symbol:
    if call is not None or bufsize is not None:
        raise GraphBreak("call", "np.errstate with `call`" if bufsize is None else "np.setbufsize")
    modes = {
        flag: None if given is None else known_value(interpreter, given)
        for flag, given in zip(FLAGS, (divide, over, under, invalid), strict=True)
    }
    every = None if all is None else known_value(interpreter, all)
    said = {flag: every if mode is None else mode for flag, mode in modes.items()}
    for mode in (every, *said.values()):
        if mode is not None and mode not in FOLLOWED:
            raise GraphBreak("call", f"np.errstate with {mode!r}")
    errors = tuple((flag, mode) for flag, mode in said.items() if mode is not None)
    return ErrorState(errors, interpreter.root_count)


@method("ContextVar.set")
def _set(interpreter: Interpreter, variable: Symbol, value: Symbol, /) -> Symbol:
    is_numpys = getattr(variable, "value", None) is np._core.umath._extobj_contextvar  # type: ignore[attr-defined]
    if not is_numpys or not isinstance(value, ErrorState):
        raise GraphBreak("call", "an error state from outside the graph")
    graph = interpreter.trace.graph
    token = ErrorToken(value, graph.entered)
    graph.entered = (*graph.entered, token)
    return token


@method("ContextVar.reset")
def _reset(interpreter: Interpreter, variable: Symbol, token: Symbol, /) -> Symbol:
    graph = interpreter.trace.graph
    if not isinstance(token, ErrorToken):
        raise GraphBreak("call", "leaving `np.errstate`, which was entered before the graph,")
    if not graph.entered or graph.entered[-1] is not token:
        raise GraphBreak("call", "leaving `np.errstate` while another one is entered")
    graph.entered = token.before
    return Constant(None)


def refuse_entered(interpreter: Interpreter) -> None:
    """End a trace before it entered a state that is not left where the trace ends."""
    entered = interpreter.trace.graph.entered
    if entered:
        what = "`with np.errstate(...)` around the end of a graph"
        raise NotRebuilt(entered[0].state.born, what)
