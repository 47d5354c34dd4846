"""Python's builtins as they were at import, for code of ours that runs while a program has replaced some of them.

Modules that a suspended frame needs to run to its end set `__builtins__ = KEPT` behind their imports, so that their
functions find these. Everything else of ours runs only while no builtin is replaced.
"""

from __future__ import annotations

import builtins
from typing import Any

from ufuse.frame_hook import _hook

KEPT: Any = dict(vars(builtins))  # as `__builtins__` a module or a dict

# Names that programs replace for reasons of their own, and that no code of ours calls.
NOT_OURS = frozenset({
    "_", "__build_class__", "__doc__", "__import__", "__loader__", "__name__", "__package__", "__spec__", "breakpoint",
    "copyright", "credits", "exit", "help", "input", "license", "open", "print", "quit",
})  # fmt: skip

_hook.keep_builtins(vars(builtins), tuple(sorted(KEPT.keys() - NOT_OURS)))
