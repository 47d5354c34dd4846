"""LLVM text to machine code, or what was kept. llvmlite is imported at the first use; without it nothing is native."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import lru_cache, partial
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

import numpy as np

from ufuse.backends.numpy.llvm import object_cache
from ufuse.backends.numpy.llvm.background import Work, at_end
from ufuse.backends.numpy.llvm.functions import Native, function_text
from ufuse.backends.numpy.llvm.link import (
    is_linked,
    keep,
    kept_functions,
    keys_of,
    leave,
    linked,
)
from ufuse.backends.numpy.llvm.object_cache import Kept
from ufuse.backends.numpy.llvm.rows import rows_text
from ufuse.backends.numpy.llvm.symbols import PREFIX, ROW

# What a machine with masks for vectors of any elements has.
WITH_MASKS = ("avx512bw", "avx512vl", "avx512dq")


class Effort(Enum):
    """What is done to make code better."""

    QUICK = auto()  # nothing, in a fifth of the time
    LITTLE = auto()  # variables become registers, else nothing
    NONE = auto()  # the text is good, and its code is to be


class Compiler:
    """The process's LLVM, for code that is wanted at once."""

    def __init__(self) -> None:
        binding: Any = import_module(
            "llvmlite.binding"
        )  # a tenth of a second, only where it is needed

        self._binding = binding
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self._features = binding.get_host_cpu_features()
        self._machine = self._new_machine(2)
        # Compiles at once, into code that is good where the text is.
        self._quick = self._new_machine(0)

    def leave(self) -> None:
        """Leave what LLVM holds to the end of the process: llvmlite does so only where it was imported early enough."""
        for reference in (self._machine, self._quick):
            reference.detach()

    def _new_machine(self, level: int) -> Any:
        return self._binding.Target.from_default_triple().create_target_machine(
            cpu=self._binding.get_host_cpu_name(),
            features=self._features.flatten(),
            opt=level,
            jit=True,
        )

    def has_masks(self) -> bool:
        """Whether the machine has vectors with masks."""
        return all(self._features.get(name) for name in WITH_MASKS)

    def object_code(self, text: str, effort: Effort) -> bytes:
        """The object code of a module."""
        module = self._binding.parse_assembly(text)
        if effort is Effort.LITTLE:
            self._make_registers(module)
        machine = self._machine if effort is Effort.NONE else self._quick
        code: bytes = machine.emit_object(module)
        module.close()
        return code

    def _make_registers(self, module: Any) -> None:
        passes = self._binding.create_new_module_pass_manager()
        passes.add_sroa_pass()
        options = self._binding.create_pipeline_tuning_options(speed_level=0)
        passes.run(module, self._binding.create_pass_builder(self._quick, options))

    def assembly(self, native: Native) -> str:
        """The segment in the machine's assembly language, for people."""
        return str(
            self._machine.emit_assembly(
                self._binding.parse_assembly(function_text(native, "segment"))
            )
        )


# Looked up once, at import: an interrupt that hits the import system's lock leaves it locked for ever.
IS_INSTALLED = find_spec("llvmlite") is not None
_lock = Lock()
_compiler: list[Compiler] = []


def _leave() -> None:
    for one in _compiler:
        one.leave()
    leave()


at_end.append(_leave)


def is_loaded() -> bool:
    """Whether compiling takes milliseconds now: LLVM is in memory."""
    return bool(_compiler) or "llvmlite.binding" in sys.modules


def why_unavailable() -> str | None:
    """Why nothing can be compiled, or None."""
    return None if IS_INSTALLED else "llvmlite is not installed"


def _the_compiler() -> Compiler:
    """Made at the first use; called with the lock taken."""
    if not _compiler:
        _compiler.append(Compiler())
    return _compiler[0]


def compiled(segments: list[Native]) -> list[int]:
    """The addresses of segments; called in `Work`, as a signal handler that raises could leave the lock taken."""
    with _lock:
        return [_segment(native) for native in segments]


def _segment(native: Native) -> int:
    text = function_text(native, "NAME")
    return _function(text, Effort.NONE, object_cache.key_of("segment", text.encode()), ())


def compiled_text(
    text: str, effort: Effort, key: str | None = None, needs: tuple[str, ...] | None = ()
) -> int:
    """The address of a module's only function, NAME in the text; called in `Work`, as `compiled` is.

    It is kept under a key, unless what it `needs` is not.
    """
    with _lock:
        return _function(text, effort, None if needs is None else key, needs or ())


def _function(text: str, effort: Effort, key: str | None, needs: tuple[str, ...]) -> int:
    name = "ufuse_" + blake2b(text.encode(), digest_size=12).hexdigest()
    if name not in _made:
        found = kept_functions(key)
        if found is None:
            text = text.replace("@NAME(", f"@{name}(", 1)
            code = _the_compiler().object_code(text, effort)
            found = linked(code, text)
            keep(key, Kept(code, name, needs), found)
        _made[name] = found.get("", 0) or found[name]
    return _made[name]


_made: dict[str, int] = {}
BETTER = "better."  # begins the names of rows for better code


def row_name(native: Native, *, is_better: bool = False) -> str:
    """The symbol of a segment of an array statement."""
    return ROW + _row(native, is_better=is_better)


def _row(native: Native, *, is_better: bool) -> str:
    return BETTER + _row_digest(native) if is_better else _row_digest(native)


@lru_cache(maxsize=1024)
def _row_digest(native: Native) -> str:
    operations = [
        (one.loop.kind, one.loop.name, _chars(one.loop.dtypes), one.inputs, one.output)
        for one in native.operations
    ]
    inputs = [(dtype.char, is_single) for dtype, is_single in native.inputs]
    whole = repr((inputs, operations, native.outputs, native.apart))
    return blake2b(whole.encode(), digest_size=12).hexdigest()


def _chars(dtypes: Iterable[np.dtype]) -> str:
    return "".join(dtype.char for dtype in dtypes)


def compiled_rows(natives: Sequence[Native], *, is_better: bool = False) -> tuple[str, ...] | None:
    """Compile segments of array statements; one module for all that are new. Called in `Work`, as `compiled` is.

    The keys under which they are kept; None where one is not.
    """
    names = {_row(native, is_better=is_better): native for native in natives}
    new = {name: native for name, native in names.items() if not is_linked(name)}
    if new:
        with _lock:
            _compile_rows(new, Effort.NONE if is_better else Effort.QUICK)
    return keys_of(list(names))


def _compile_rows(new: dict[str, Native], effort: Effort) -> None:
    key = object_cache.key_of("rows", " ".join(new).encode())
    if kept_functions(key) is None:
        compiler = _the_compiler()
        functions = {f'"{PREFIX}{ROW}{name}"': native for name, native in new.items()}
        text = rows_text(functions, masks=compiler.has_masks())
        code = compiler.object_code(text, effort)
        keep(key, Kept(code), linked(code, text))


def assembly(native: Native) -> str:
    """What a segment became, in assembly language."""
    return Work(partial(_assembly, native)).result()


def _assembly(native: Native) -> str:
    with _lock:
        return _the_compiler().assembly(native)
