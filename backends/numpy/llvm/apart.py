"""LLVM text to machine code by a compiler of its own, which needs the GIL and llvmlite's lock only to begin.

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

# As `runtime/llvm.c` takes them.
FUNCTIONS = (
    "ParseAssembly", "buildPerModuleDefaultPipeline", "RunNewModulePassManager", "DisposeNewModulePassManger",
    "AddModule", "FinalizeObject", "GetFunctionAddress", "RemoveModule", "DisposeModule", "DisposeString",
)  # fmt: skip


class ApartCompiler:
    """An engine with all that LLVM has to make code better."""

    def __init__(self) -> None:
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
        options.loop_vectorization = options.slp_vectorization = True
        context = binding.create_context()
        builder = binding.create_pass_builder(machine, options)
        engine = binding.create_mcjit_compiler(binding.parse_assembly("", context), machine)
        self.head = (
            f'target triple = "{machine.triple}"\ntarget datalayout = "{engine.target_data}"\n'
        )
        self._parts = [context, engine, builder, options, machine]
        self._tools = _words(each._ptr for each in self._parts[:3])
        library = ctypes.CDLL(binding.ffi.lib._name, handle=binding.ffi.lib._handle)
        self._functions = _words(getattr(library, f"LLVMPY_{name}") for name in FUNCTIONS)

    def leave(self) -> None:
        """Leave what LLVM holds to the end of the process."""
        for part in self._parts:
            part.detach()

    def address(self, text: str, name: str) -> int:
        """The address of a function of a module."""
        given = (self.head + text).encode(), name.encode()
        return _tiles.compiled_address(self._functions, self._tools, *given)


def _words(parts: Any) -> bytes:
    addresses = [ctypes.cast(part, ctypes.c_void_p).value for part in parts]
    return b"".join(int(address or 0).to_bytes(8, "little") for address in addresses)


_lock = Lock()
_compiler: list[ApartCompiler] = []
_made: dict[str, int] = {}


def _leave() -> None:
    for one in _compiler:
        one.leave()


at_end.append(_leave)


def best_code(text: str) -> tuple[int, object]:
    """The address of the function that is called NAME in the text, and what keeps it in memory."""
    name = "ufuse_" + blake2b(text.encode(), digest_size=12).hexdigest()
    with _lock:
        if not _compiler:
            _compiler.append(ApartCompiler())
        if name not in _made:
            _made[name] = _compiler[0].address(text.replace("@NAME(", f"@{name}(", 1), name)
    return _made[name], _compiler[0]
