"""Which compiled functions share what was captured: those made from one code object, with equal options.

A factory makes a function anew at every call, from the same code. Its closure is guarded as its arguments are, so one
session serves them all.
"""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace
from types import ModuleType
from typing import Any

from ufuse.compiled import CompiledFunction
from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.session import Session
from ufuse.graph.records import individual

MOST_KEPT = 8  # sessions of one code object that outlive the functions that share them
ROOM = 64  # sessions that may be kept of modules that are imported no longer

Options = tuple[Any, ...]


@individual
class Shared:
    """A session for functions that run in one namespace and are compiled with equal options: its cache says which.

    `kept` is that session where it outlives its functions, so that the next one finds what was captured for those
    before. It is None where the namespace is no module's, which may be dropped with everything in it, and where the
    options are objects that may be others each time.
    """

    cache: weakref.ref[Any]
    kept: Session | None


class Table(ByCode[list[Shared]]):
    """Sessions by code object; those of modules that are imported no longer are let go now and then."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        super().__init__()
        self._room = ROOM  # for so many more, until it is looked through

    def make_room(self) -> None:
        """Make room for one more."""
        self._room -= 1
        if self._room > 0:
            return
        left = 0
        for known in self.values():
            known[:] = [
                one if one.kept is None or is_of_module(one.kept.cache) else replace(one, kept=None)
                for one in known
            ]
            left += any(one.kept is not None for one in known)
        self._room = left + ROOM


_SHARED = Table()


def share(compiled: CompiledFunction, options: Options, *, may_keep: bool) -> None:
    """Let functions that will be compiled have the session of this one.

    `may_keep`: the session may outlive its functions, because the options are few values.
    """
    function: Any = compiled.__ufuse_function__
    session: Session = compiled.__ufuse_session__
    cache = compiled.__ufuse_cache__
    cache.shared = options, function.__globals__, function.__builtins__
    _SHARED.make_room()
    known = _SHARED.first(function.__code__, [])
    living = [one for one in known if one.cache() is not None]
    kept = sum(one.kept is not None for one in living)
    if may_keep and kept < MOST_KEPT and is_of_module(cache):
        session.cache = cache
        living.append(Shared(weakref.ref(cache), session))
    else:
        living.append(Shared(weakref.ref(cache), None))
    known[:] = living


def is_of_module(cache: Any) -> bool:
    """Whether functions of a cache look names up in a module that is imported."""
    _, names, _ = cache.shared
    module = sys.modules.get(names.get("__name__", ""))
    return isinstance(module, ModuleType) and vars(module) is names


def forget() -> None:
    """Let functions that are compiled from now on share nothing with those before."""
    for known in _SHARED.values():
        for cache in (one.cache() for one in known):
            if cache is not None:
                cache.shared = None
    _SHARED.clear()
