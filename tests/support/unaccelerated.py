"""Modules of the standard library without the C that stands in for their Python code."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

MISSING = object()


def unaccelerated(name: str, accelerator: str) -> ModuleType:
    """Import a second copy of a module, in which `accelerator` cannot be imported; `sys.modules` stays as it was."""
    kept = {key: sys.modules.get(key, MISSING) for key in (name, accelerator)}
    sys.modules.pop(name, None)
    sys.modules[accelerator] = None  # type: ignore[assignment]
    try:
        return importlib.import_module(name)
    finally:
        for key, module in kept.items():
            if module is MISSING:
                sys.modules.pop(key, None)
            else:
                sys.modules[key] = module  # type: ignore[assignment]
