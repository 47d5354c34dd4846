"""NVIDIA's own compiler and disassembler, where their wheels are installed; neither needs a GPU."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
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
        return self._compiled(text, options, "CUBIN")

    def ptx(self, text: str, options: Sequence[str]) -> str:
        """The assembly of a text, from which machine code is made."""
        return self._compiled(text, options, "PTX").rstrip(b"\0").decode()

    def _compiled(self, text: str, options: Sequence[str], kind: str) -> bytes:
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
            getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
            made = ctypes.create_string_buffer(size.value)
            getattr(nvrtc, f"nvrtcGet{kind}")(program, made)
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
    return Counter(name for name, _ in listing(cubin, folder))


ARITHMETIC = tuple("DFMA DMUL DADD FFMA FMUL FADD MUFU".split())


def signed_arithmetic(cubin: bytes, folder: Path) -> Counter[tuple[str, bool, bool]]:
    """How often each instruction that rounds is there, and of fused ones whether product and sum are negated.

    What is called for rare operands is left out: it is there once, whoever calls it.
    """
    found: Counter[tuple[str, bool, bool]] = Counter()
    for name, operands in listing(cubin, folder, called=False):
        if name.startswith(ARITHMETIC):
            signs = [one.startswith("-") for one in operands[1:4]]
            fused = len(signs) == 3
            found[name, fused and signs[0] != signs[1], fused and signs[2]] += 1
    return found


def listing(cubin: bytes, folder: Path, *, called: bool = True) -> Iterator[tuple[str, list[str]]]:
    """The machine instructions: names with modifiers, and operands; `called`: those of the compiler's functions too."""
    for line in _code(cubin, folder).splitlines():
        if line.startswith("$") and not called:
            return
        yield from _instruction(line)


def _code(cubin: bytes, folder: Path) -> str:
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    program = disassembler()
    assert program is not None
    run = subprocess.run(
        [program, "--print-code", str(path)], capture_output=True, text=True, check=True
    )
    return run.stdout


def _instruction(line: str) -> Iterator[tuple[str, list[str]]]:
    words = line.replace(";", " ").split()
    # /*0010*/  [@[!]P0]  NAME.MODIFIERS operands
    if len(words) > 1 and words[0].startswith("/*") and words[0].endswith("*/"):
        name, *operands = words[2:] if words[1].startswith("@") and len(words) > 2 else words[1:]
        if name[0].isalpha():
            yield name, "".join(operands).split(",")


# What reads or writes the device's memory, or goes elsewhere.
REACHES = re.compile("(?!LDC)(LD|ST|ATOM|RED|BRA|BRX|JMP|CALL|RET|EXIT)")


def waits(cubin: bytes, folder: Path) -> list[bool]:
    """Of each kernel, whether it waits for those before it before it reaches for anything."""
    found = []
    for kernel in re.split(r"^\.text\.", _code(cubin, folder), flags=re.MULTILINE)[1:]:
        names = [name for line in kernel.splitlines() for name, _ in _instruction(line)]
        first = next(name for name in names if name == "ACQBULK" or REACHES.match(name))
        found.append(first == "ACQBULK")
    return found


Formula = tuple[Any, ...]
ASSIGNED = re.compile(r"(?P<name>\S+)\s+(?P<made>\{[^}]*\}|%\w+), (?P<given>.*);")
STORED = re.compile(r"st\.global\S*\s+\[[^]]*\], \{?(?P<values>[^};]*)\}?;")
READ = re.compile(r"%\w+|\w*_param_\d+")


def formulas(ptx: str) -> list[Formula]:
    """What a kernel without branches stores, in order, as formulas of what it loads.

    A leaf is ("read", the number of the parameter, which part of it). A product is written in one way. What inline
    assembly does is left out.
    """
    values: dict[str, Formula] = {}
    stored: list[Formula] = []

    def value(text: str) -> Formula:
        found = values.get(text)
        return (text,) if found is None else found

    for line in map(str.strip, ptx[ptx.index(".entry") :].splitlines()):
        if one := STORED.match(line):
            stored += map(value, READ.findall(one["values"]))
        one = ASSIGNED.match(line)
        if one is None or line.startswith("{"):
            continue
        name, made = one["name"], READ.findall(one["made"])
        if name.startswith("ld."):
            places = [
                place for text in READ.findall(one["given"]) for place in _places(value(text))
            ]
            offset = int((re.findall(r"\+(\d+)", one["given"]) or [0])[0])
            first = offset // (4 if name.endswith("32") else 8)
            given = [("read", min(places, default=-1), first + part) for part in range(len(made))]
            values.update(zip(made, given, strict=True))
            continue
        parts = [value(text.strip()) for text in one["given"].split(",")]
        if name.startswith(("mul", "fma", "add")):
            parts[:2] = sorted(parts[:2], key=repr)
        values.update(dict.fromkeys(made, parts[0] if name.startswith("mov") else (name, *parts)))
    return stored


def _places(formula: Formula) -> Iterator[int]:
    """The parameters that a formula reads."""
    if formula[0] == "read":
        yield formula[1]
    elif isinstance(formula[0], str) and "_param_" in formula[0]:
        yield int(formula[0].rpartition("_")[2])
    for part in formula:
        if isinstance(part, tuple):
            yield from _places(part)


def composed(formula: Formula, given: Sequence[Sequence[Formula]]) -> Formula:
    """A formula of other formulas: those of the parts of each parameter."""
    if formula[0] == "read":
        return given[formula[1]][formula[2]]
    name, *parts = formula
    parts = [composed(part, given) if isinstance(part, tuple) else part for part in parts]
    if name.startswith(("mul", "fma", "add")):
        parts[:2] = sorted(parts[:2], key=repr)
    return (name, *parts)
