"""CPython's test modules as a suite."""

from __future__ import annotations

from pathlib import Path

from tests.support.comparing.suites import Suite

SUITE = Suite(Path(__file__).resolve().parent, "traced")
MODULES = tuple(
    "grammar generators exceptions raise with scope dict list tuple set slice class descr super call extcall "
    "keywordonlyarg positional_only_arg unpack unpack_ex fstring iter itertools functools contextlib dataclasses enum "
    "patma compare bool int float complex range enumerate listcomps genexps setcomps dictcomps decorators "
    "named_expressions operator string bytes collections property richcmp weakref traceback coroutines asyncgen".split()
)
