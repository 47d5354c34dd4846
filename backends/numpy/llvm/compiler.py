"""LLVM text to machine code. llvmlite is imported at the first use; without it nothing is native."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import partial
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

from ufuse.backends.numpy.llvm.background import Work, at_end
from ufuse.backends.numpy.llvm.functions import Native, function_text
from ufuse.backends.numpy.llvm.nest_rows import rows_text

# For scalar code in variables. No vectoriser: it would gain little where floating point is strict. No NewGVN, which is
# all the value numbering that llvmlite offers: it failed an assertion of its own, which ends the process.
PASSES = ("sroa", "simplify_cfg", "instruction_combine", "simplify_cfg")


# What a machine with masks for vectors of any elements has.
WITH_MASKS = ("avx512bw", "avx512vl", "avx512dq")


class Effort(Enum):
    """What is done to make code better."""

    QUICK = auto()  # nothing, in a fifth of the time
    NONE = auto()  # the text is good, and its code is to be
    USUAL = auto()  # PASSES


class Function:
    """Machine code that lives as long as this object's owner, the process-wide compiler."""

    def __init__(self, address: int, owner: object) -> None:
        self.address = address
        self.owner = owner


class Compiler:
    """The process's LLVM: one engine, and every function it has made by its name, which its text decides."""

    def __init__(self) -> None:
        binding: Any = import_module(
            "llvmlite.binding"
        )  # a tenth of a second, only where it is needed

        self._binding = binding
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self._features = binding.get_host_cpu_features()
        self._machine = self._new_machine(2)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), self._machine)
        # Compiles at once, into code that is good where the text is.
        self._quick = binding.create_mcjit_compiler(
            binding.parse_assembly(""), self._new_machine(0)
        )
        self._made: dict[str, Function] = {}
        self._rows: dict[Native, Function] = {}

    def leave(self) -> None:
        """Leave what LLVM holds to the end of the process: llvmlite does so only where it was imported early enough."""
        for reference in (self._engine, self._quick, self._machine):
            reference.detach()

    def _new_machine(self, level: int) -> Any:
        return self._binding.Target.from_default_triple().create_target_machine(
            cpu=self._binding.get_host_cpu_name(),
            features=self._features.flatten(),
            opt=level,
            jit=True,
        )

    def row_functions(self, natives: Sequence[Native]) -> list[Function]:
        """The machine code of segments of array statements; one module for all that are new."""
        new = {
            f"ufuse_row_{len(self._rows) + place}": native
            for place, native in enumerate(dict.fromkeys(natives) - self._rows.keys())
        }
        if new:
            masks = all(self._features.get(name) for name in WITH_MASKS)
            made = self._add(rows_text(new, masks=masks), new, self._quick)
            self._rows.update(zip(new.values(), made, strict=True))
        return [self._rows[native] for native in natives]

    def function(self, native: Native) -> Function:
        """The machine code of a segment."""
        return self.text_function(function_text(native, "NAME"), Effort.NONE)

    def text_function(self, text: str, effort: Effort) -> Function:
        """The machine code of a module's only function, which is called NAME in the text."""
        name = "ufuse_" + blake2b(text.encode(), digest_size=12).hexdigest()
        if name not in self._made:
            text = text.replace("@NAME(", f"@{name}(", 1)
            engine = self._quick if effort is Effort.QUICK else self._engine
            (self._made[name],) = self._add(text, [name], engine, effort)
        return self._made[name]

    def _add(
        self, text: str, names: Iterable[str], engine: Any, effort: Effort = Effort.NONE
    ) -> list[Function]:
        """The machine code of a module's functions."""
        module = self._binding.parse_assembly(text)
        if effort is Effort.USUAL:
            self._improve(module)
        engine.add_module(module)
        engine.finalize_object()
        made = [Function(engine.get_function_address(name), engine) for name in names]
        # The machine code stays; the text it was made from would take three times its memory.
        engine.remove_module(module)
        module.close()
        return made

    def _improve(self, module: Any) -> None:
        passes = self._binding.create_new_module_pass_manager()
        for name in PASSES:
            getattr(passes, f"add_{name}_pass")()
        options = self._binding.create_pipeline_tuning_options(speed_level=2)
        passes.run(module, self._binding.create_pass_builder(self._machine, options))

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


def compiled(segments: list[Native]) -> list[Function]:
    """The machine code of segments; called in `Work`, as a signal handler that raises could leave the lock taken."""
    with _lock:
        return [_the_compiler().function(native) for native in segments]


def compiled_rows(natives: Sequence[Native]) -> list[Function]:
    """The machine code of segments of array statements; called in `Work`, as `compiled` is."""
    with _lock:
        return _the_compiler().row_functions(natives)


def compiled_text(text: str, effort: Effort) -> Function:
    """The machine code of a text; called in `Work`, as `compiled` is."""
    with _lock:
        return _the_compiler().text_function(text, effort)


def assembly(native: Native) -> str:
    """What a segment became, in assembly language."""
    return Work(partial(_assembly, native)).result()


def _assembly(native: Native) -> str:
    with _lock:
        return _the_compiler().assembly(native)
