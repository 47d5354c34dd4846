"""Compiles C and C++ of the test device, and keeps what was compiled by the text it came from."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from tests.support.sources import ROOT

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
CACHE = ROOT / "build" / "cupy_host"
# No contraction: host and device agree on plain IEEE operations only. -O0: kernels run a few times.
KERNEL_FLAGS = (
    "-std=c++17", "-O0", "-w", "-fPIC", "-ffp-contract=off", "-fno-threadsafe-statics",
    "-fno-gnu-unique", "-fno-strict-aliasing", "-fno-stack-protector",
)  # fmt: skip
# Without the C library's start files, a unit's uninitialised variables are its kernels' shared ones.
LINK_FLAGS = ("-shared", "-nostdlib", "-lgcc", "-Wl,-Bsymbolic")
HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "float16.cuh", "bfloat16.cuh")  # of CuPy
# What CuPy's headers define outside of classes would be compiled into every unit, for longer than most kernels are.
DEFINED = re.compile(r"^__device__ (?!.*\binline\b)", re.MULTILINE)


class CompilationError(Exception):
    """The compiler's words about a text that it refuses."""


def why_no_compiler() -> str | None:
    """Say what is missing for compiling kernels on this machine."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    return None


def key_of(*parts: str) -> str:
    """A name for what is made from these texts by this version of the compiler and of the headers."""
    return hashlib.sha256("\0".join((*parts, surroundings())).encode()).hexdigest()[:24]


@functools.cache
def surroundings() -> str:
    """What every compiled thing depends on beside its own text."""
    version = subprocess.run(
        [shutil.which("g++"), "--version"], check=True, capture_output=True, text=True
    )
    headers = [path.read_text() for path in sorted(INCLUDE.rglob("*.*h"))]
    flags = (*KERNEL_FLAGS, *HEADERS, DEFINED.pattern)
    return "\0".join([version.stdout, *flags, *headers, version_of_cupy()])


def version_of_cupy() -> str:
    """What CuPy's file of its version says, or nothing where CuPy is not installed."""
    found = importlib.util.find_spec("cupy_backends")
    if found is None or found.origin is None:
        return ""
    return Path(found.origin).parents[1].joinpath("cupy", "_version.py").read_text()


def compiled(path: Path, text: str, suffix: str, *command: str) -> Path:
    """The file `path`, made from `text` by a command that ends in its source and `-o` its result, unless it is there."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source, result = Path(folder, f"source{suffix}"), Path(folder, path.name)
        source.write_text(text)
        run = subprocess.run(
            [*command, str(source), "-o", str(result)], check=False, capture_output=True, text=True
        )
        if run.returncode != 0:
            raise CompilationError(run.stderr)
        source.replace(path.with_name(path.name + suffix))
        result.replace(path)
    return path


def threads_library() -> Path:
    """The library that runs the threads of a launch."""
    text = (HERE / "threads.cpp").read_text()
    path = CACHE / f"threads-{key_of(text)}.so"
    return compiled(
        path, text, ".cpp",
        "g++", "-std=c++17", "-O2", "-Wall", "-fPIC", "-shared", f"-I{INCLUDE}",
    )  # fmt: skip


def extension(text: str) -> Path:
    """A module of this Python, from its C text."""
    include = sysconfig.get_path("include")
    tag = sysconfig.get_config_var("EXT_SUFFIX")
    path = CACHE / f"{key_of(text, tag, include)}" / f"_capsules{tag}"
    return compiled(path, text, ".c", "gcc", "-O1", "-Wall", "-fPIC", "-shared", f"-I{include}")


@functools.cache
def common_header(cupy_include: str) -> Path:
    """CUDA's words and CuPy's headers, precompiled; beside it lie those headers of CuPy's that define functions."""
    of_cupy = (f"cupy/{name}" for name in (*HEADERS, "math_constants.h"))
    names = ("cuda_words.h", "cuda_entries.h", *of_cupy)
    text = "".join(f"#include <{name}>\n" for name in names)
    folder = CACHE / key_of(text, cupy_include)
    (folder / "cupy").mkdir(parents=True, exist_ok=True)
    for name in HEADERS:
        inlined = DEFINED.sub("__device__ inline ", Path(cupy_include, "cupy", name).read_text())
        written(folder / "cupy" / name, inlined)
    header = written(folder / "common.h", text)
    compiled(
        folder / "common.h.gch", text, ".h",
        "g++", *KERNEL_FLAGS, *including(folder, cupy_include), "-x", "c++-header",
    )  # fmt: skip
    return header


def written(path: Path, text: str) -> Path:
    """The file `path` with a text; another process may be reading it."""
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as new:
            new.write(text)
        Path(new.name).replace(path)
    return path


def including(folder: Path, cupy_include: str) -> tuple[str, ...]:
    """Where headers are found; `folder`: that of the common one."""
    return tuple(f"-I{place}" for place in (folder, INCLUDE, cupy_include))


def kernels(path: Path, text: str, cupy_include: str, options: tuple[str, ...]) -> Path:
    """A library of the kernels in a text."""
    header = common_header(cupy_include)
    return compiled(
        path, text, ".cpp",
        "g++", *KERNEL_FLAGS, "-include", str(header), *including(header.parent, cupy_include),
        *options, *LINK_FLAGS,
    )  # fmt: skip
