"""The errors that are ufuse's own; everything else a user sees is what plain Python would have raised."""

from __future__ import annotations

from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.places import source_line
from ufuse.frame_hook.trace.reasons import Break

__builtins__ = KEPT


# What to do where one graph is wanted, and the hint of the break says that nothing has to be done.
ONE_GRAPH = {
    "data-branch": "one graph has both sides where they give values of the same types and change the same objects"
}


class UfuseError(Exception):
    """The base of ufuse's own errors.

    Example:
        >>> issubclass(GraphBreakError, UfuseError)
        True

    """


class SettingError(SystemExit, UfuseError):
    """An environment variable of ours has a value that means nothing.

    Where nobody catches it Python shows the sentence alone, without a traceback, and ends with status 1.
    """


class GraphBreakError(UfuseError):
    """A graph ended although `fullgraph=True` asked for one graph.

    Attributes:
        graph_break: the `Break`; its `code`, `reason`, `file` and `line` are attributes of the error too.
        hint: what to do to have one graph.

    Example:
        >>> import numpy as np, ufuse
        >>> f = ufuse.compile(lambda x: print(x.sum()), fullgraph=True)
        >>> try:
        ...     f(np.ones(3))
        ... except ufuse.GraphBreakError as error:
        ...     error.reason
        'print cannot be part of a graph'

    """

    for_user = True

    def __init__(self, graph_break: Break) -> None:
        self.graph_break = graph_break
        self.code = graph_break.code
        self.reason = graph_break.reason
        self.file = graph_break.file
        self.line = graph_break.line
        self.hint = ONE_GRAPH.get(graph_break.code, graph_break.hint)
        text = source_line(graph_break.file, graph_break.line)
        super().__init__(
            f"fullgraph=True, but {graph_break}"
            + (f"\n    {text}" if text else "")
            + f"\n  {self.hint}\n  without fullgraph=True it runs in several graphs, or as plain Python"
        )

    def __reduce__(self) -> tuple[type[GraphBreakError], tuple[Break]]:
        return type(self), (self.graph_break,)


class BackendUnavailable(UfuseError, ImportError):  # noqa: N818  named in the public API
    """A backend needs a package that is not installed; the message has the command that installs it."""
