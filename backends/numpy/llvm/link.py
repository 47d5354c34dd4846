"""Object code into memory, where it stays as long as the process lives: as it is made, or as it was kept."""

from __future__ import annotations

import logging
import platform
import re
import sys
from importlib import import_module
from typing import Any

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm import object_cache
from ufuse.backends.numpy.llvm.object_cache import Kept
from ufuse.backends.numpy.llvm.symbols import KINDS, PREFIX, ROW, address_of

# Elsewhere LLVM loads what it makes, and nothing is kept.
IS_OURS = sys.platform == "linux" and platform.machine() == "x86_64"
DEFINED = re.compile(r"^define \w+ @(\w+|\"[^\"]+\")\(", re.MULTILINE)
NEEDED = re.compile(r'^@"([^"]+)" = external', re.MULTILINE)

_rows: dict[str, int] = {}  # the addresses of functions for array statements, by name
_row_keys: dict[str, str] = {}  # and the keys under which they are kept
_loaded: dict[str, dict[str, int]] = {}  # functions by name, by the key under which they are kept


def _row(name: str) -> int:
    return _rows[name]


KINDS[ROW.rstrip(".")] = _row


def linked(code: bytes, text: str = "") -> dict[str, int]:
    """The addresses of the functions of object code; `text` is what it was made of.

    Raises:
        LookupError: it names what is not here.
        ValueError: it cannot be loaded.

    """
    if IS_OURS or not text:
        needed = {name: address_of(name) for name in _tiles.undefined_symbols(code)}
        made = _tiles.load_object(code, needed)
    else:
        made = _linked_by_llvm(code, text)
    begin = PREFIX + ROW
    _rows.update(
        (name.removeprefix(begin), at) for name, at in made.items() if name.startswith(begin)
    )
    return made


def _linked_by_llvm(code: bytes, text: str) -> dict[str, int]:
    binding: Any = import_module("llvmlite.binding")
    for name in NEEDED.findall(text):
        binding.add_symbol(name, address_of(name))
    if not _engine:
        machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        _engine.append(binding.create_mcjit_compiler(binding.parse_assembly(""), machine))
    _engine[0].add_object_file(binding.ObjectFileRef.from_data(code))
    _engine[0].finalize_object()
    names = [name.strip('"') for name in DEFINED.findall(text)]
    return {name: _engine[0].get_function_address(name) for name in names}


_engine: list[Any] = []


def leave() -> None:
    """Leave what LLVM holds to the end of the process."""
    for one in _engine:
        one.detach()


def keep(key: str | None, kept: Kept, functions: dict[str, int]) -> None:
    """Keep code that was linked."""
    if key is None or not IS_OURS:
        return
    object_cache.save(key, kept)
    _note(key, kept, functions)


def _note(key: str, kept: Kept, functions: dict[str, int]) -> None:
    own = {"": functions[kept.function]} if kept.function else {}
    _loaded[key] = functions | own
    begin = PREFIX + ROW
    _row_keys.update(
        (name.removeprefix(begin), key) for name in functions if name.startswith(begin)
    )


def finds_kept() -> bool:
    """Whether this process has found kept code, or is likely to; where some was missing, it has loaded LLVM as well."""
    if _loaded:
        return True
    cache = object_cache.cache_in_use()
    return cache is not None and cache.had_code


def is_linked(row: str) -> bool:
    """Whether the function of an array statement is here."""
    return row in _rows


def keys_of(rows: list[str]) -> tuple[str, ...] | None:
    """The keys under which functions of array statements are kept; None where one is not."""
    if any(name not in _row_keys for name in rows):
        return None
    return tuple(dict.fromkeys(_row_keys[name] for name in rows))


def kept_functions(key: str | None) -> dict[str, int] | None:
    """The functions that are kept under a key, with all that they need; None where not all are.

    The function that the code was made for, if there is one, is also there under the name "".
    """
    if key is None or key in _loaded:
        return None if key is None else _loaded[key]
    kept = object_cache.load(key)
    if kept is None or any(kept_functions(need) is None for need in kept.needs):
        return None
    try:
        _note(key, kept, linked(kept.code))
    except (LookupError, ValueError) as error:
        logging.getLogger("ufuse.kernels").info("kept code is not used: %s: %s", key, error)
        return None
    return _loaded[key]
