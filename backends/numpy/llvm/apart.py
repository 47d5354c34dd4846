"""LLVM text to machine code in a thread beside the program, which needs the GIL and llvmlite's lock only to begin.

A busy main thread gives up the GIL every few milliseconds at best, and llvmlite would ask for it some thirty times.
LLVM itself takes no notice of other threads where contexts and engines are apart.
"""

from __future__ import annotations

import ctypes
from hashlib import blake2b
from importlib import import_module
from threading import Lock
from typing import Any

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm.background import at_end
from ufuse.backends.numpy.llvm.link import keep, linked
from ufuse.backends.numpy.llvm.object_cache import Kept

# As `runtime/llvm.c` takes them.
FUNCTIONS = (
    "ParseAssembly", "buildPerModuleDefaultPipeline", "CreateNewModulePassManager", "RunNewModulePassManager",
    "DisposeNewModulePassManger", "TargetMachineEmitToMemory", "GetBufferStart", "GetBufferSize", "DisposeMemoryBuffer",
    "DisposeModule", "DisposeString",
)  # fmt: skip
# For scalar code in variables. No vectoriser: it would gain little where floating point is strict. No NewGVN, which is
# all the value numbering that llvmlite offers: it failed an assertion of its own, which ends the process.
PASSES = ("SROA", "SimplifyCFG", "InstCombine", "SimplifyCFG")
WHOLE = ()  # all that LLVM has, in its order


class ApartCompiler:
    """LLVM, for code that may take its time, by some passes or the WHOLE pipeline."""

    def __init__(self, passes: tuple[str, ...]) -> None:
        binding: Any = import_module("llvmlite.binding")
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
            opt=2,
            jit=True,
        )
        options = binding.create_pipeline_tuning_options(speed_level=2)
        # Straight code is not looked through for vectors: that takes a tenth of the time, and helps hardly a program.
        options.loop_vectorization, options.slp_vectorization = True, False
        context = binding.create_context()
        builder = binding.create_pass_builder(machine, options)
        self._head = (
            f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
        )
        self._parts = [context, machine, builder, options]
        library = ctypes.CDLL(binding.ffi.lib._name, handle=binding.ffi.lib._handle)
        self._functions = _words(getattr(library, f"LLVMPY_{name}") for name in FUNCTIONS)
        adders = (getattr(library, f"LLVMPY_module_Add{name}Pass") for name in passes)
        self._tools = _words((*(each._ptr for each in self._parts[:3]), *adders)) + bytes(8)

    def leave(self) -> None:
        """Leave what LLVM holds to the end of the process."""
        for part in self._parts:
            part.detach()

    def object_code(self, text: str) -> bytes:
        """The object code of a module."""
        return _tiles.compiled_object(self._functions, self._tools, (self._head + text).encode())


def _words(parts: Any) -> bytes:
    addresses = [ctypes.cast(part, ctypes.c_void_p).value for part in parts]
    return b"".join(int(address or 0).to_bytes(8, "little") for address in addresses)


_lock = Lock()
# A whole pipeline may take half a second, for which the other code does not wait.
_turns = {WHOLE: Lock(), PASSES: Lock()}
_compilers: dict[tuple[str, ...], ApartCompiler] = {}
_made: dict[str, int] = {}


def _leave() -> None:
    for one in _compilers.values():
        one.leave()


at_end.append(_leave)


def best_code(text: str, key: str | None = None, needs: tuple[str, ...] | None = ()) -> int:
    """The address of the function that is called NAME in the text; kept under a key, unless what it `needs` is not."""
    return _code("best", WHOLE, text, key, needs)


def tuned_code(text: str, key: str | None, needs: tuple[str, ...] | None) -> int:
    """As `best_code`, by fewer passes: some that change no flag of floating point."""
    return _code("tuned", PASSES, text, key, needs)


def _code(
    tier: str, passes: tuple[str, ...], text: str, key: str | None, needs: tuple[str, ...] | None
) -> int:
    name = f"ufuse_{tier}_{blake2b(text.encode(), digest_size=12).hexdigest()}"
    with _turns[passes]:
        if name not in _made:
            text = text.replace("@NAME(", f"@{name}(", 1)
            code = _compiler(passes).object_code(text)
            found = linked(code, text)
            if needs is not None:
                keep(key, Kept(code, name, needs), found)
            _made[name] = found[name]
    return _made[name]


def _compiler(passes: tuple[str, ...]) -> ApartCompiler:
    with _lock:
        if passes not in _compilers:
            _compilers[passes] = ApartCompiler(passes)
    return _compilers[passes]
