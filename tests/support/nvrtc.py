"""NVIDIA's own compiler and disassembler, where their wheels are installed; neither needs a GPU."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
HEADERS = "nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl"  # which CuPy's headers include
TEST_DEVICE = "tests/support/cupy_host/include"


class CompilationError(Exception):
    """What the compiler says of a text that it does not take."""


@dataclass(frozen=True)
class Compiler:
    """NVRTC."""

    library: Any
    include: Path | None  # headers of CUDA, where they are installed

    def cubin(self, text: str, options: Sequence[str]) -> bytes:
        """The machine code of a text."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        nvrtc = self.library
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        given = (ctypes.c_char_p * len(options))(*(one.encode() for one in options))
        try:
            if nvrtc.nvrtcCompileProgram(program, len(options), given):
                nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                nvrtc.nvrtcGetProgramLog(program, log)
                raise CompilationError(f"{log.value.decode()}\n{text}")
            nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
            made = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetCUBIN(program, made)
            return made.raw
        finally:
            nvrtc.nvrtcDestroyProgram(ctypes.byref(program))

    def options(self, given: Sequence[str], architecture: str) -> tuple[str, ...]:
        """The options that CuPy gives on the test device, for another architecture and with CUDA's headers."""
        kept = [one for one in given if not one.startswith("-arch") and TEST_DEVICE not in one]
        headers = [f"-I{self.include}"] if self.include else []
        return (f"-arch={architecture}", *kept, *headers)


def _folders() -> Iterator[Path]:
    found = importlib.util.find_spec("nvidia")
    for folder in (found and found.submodule_search_locations) or ():
        yield from sorted(path for path in Path(folder).iterdir() if path.is_dir())


@functools.cache
def compiler() -> Compiler | None:
    """NVRTC, if it is installed."""
    for folder in _folders():
        for path in sorted(folder.glob("lib/libnvrtc.so.*")):
            for builtins in folder.glob("lib/libnvrtc-builtins.so.*"):
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            include = folder / "include"
            has_headers = all((include / name).exists() for name in ("cuda_fp16.h", "crt"))
            return Compiler(ctypes.CDLL(str(path)), include if has_headers else None)
    return None


@functools.cache
def disassembler() -> str | None:
    """The path of nvdisasm, if it is installed."""
    found = [str(path) for folder in _folders() for path in folder.glob("bin/nvdisasm")]
    return found[0] if found else shutil.which("nvdisasm")


def instructions(cubin: bytes, folder: Path) -> Counter[str]:
    """How often each machine instruction is in the code, by its name with its modifiers."""
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    program = disassembler()
    assert program is not None
    run = subprocess.run(
        [program, "--print-code", str(path)], capture_output=True, text=True, check=True
    )
    found: Counter[str] = Counter()
    for line in run.stdout.splitlines():
        words = line.replace(";", " ").split()
        # /*0010*/  [@[!]P0]  NAME.MODIFIERS operands
        if len(words) > 1 and words[0].startswith("/*") and words[0].endswith("*/"):
            name = words[2] if words[1].startswith("@") and len(words) > 2 else words[1]
            if name[0].isalpha():
                found[name] += 1
    return found
