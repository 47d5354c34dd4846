"""Modules of CUDA C++ texts: compiled by NVRTC, or found in CuPy's cache of compiled kernels on disk."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import Any

import cupy

from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.backends.cupy.texts.text import Dialect

OF_CUPYS_HEADERS = re.compile(r"\bcomplex<|#include <cupy/")


def compiled(text: str, dialect: Dialect) -> Any:
    """The module of a text, compiled as CuPy compiles its own, or with the dialect's options alone.

    Raises:
        DoesNotFit: the compiler refuses the text; plain Python says so, where it refuses CuPy's own, too.

    """
    try:
        return _module_of(text, dialect)
    except cupy.cuda.compiler.CompileException as error:
        raise DoesNotFit from error


def _module_of(text: str, dialect: Dialect) -> Any:
    if dialect.options is None:
        return cupy._core.core.compile_with_cache(text, ())
    module = cupy.cuda.function.Module()
    module.load(cubin_of(*with_headers(text, dialect.options)))
    return module


def with_headers(text: str, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """A text with what CuPy has in front of its own, if it needs that, and options that find it.

    Raises:
        DoesNotFit: this version of CuPy does not say what that is.

    """
    if not OF_CUPYS_HEADERS.search(text):
        return text, options
    core = cupy._core.core
    names = getattr(core, "_cupy_header_list", None)
    if names is None or not hasattr(core, "assemble_cupy_compiler_options"):
        raise DoesNotFit("it has names of CuPy's headers, which this version of CuPy has elsewhere")
    includes = "".join(f"#include <{name}>\n" for name in names)
    return includes + text, tuple(core.assemble_cupy_compiler_options(options))


def cubin_of(text: str, options: tuple[str, ...]) -> bytes:
    """The machine code of a text for the current device."""
    cache, name = disk_cache(), key_of(text, options)
    found: bytes | None = None
    if cache is not None:
        with suppress(OSError):
            found = cache.load(name)
    if found is None:
        found, _ = cupy.cuda.compiler.compile_using_nvrtc(text, options, cache_in_memory=True)
        if cache is not None:
            with suppress(OSError):  # a full disk, or one that cannot be written
                cache.save(name, found, text)
    return found


def disk_cache() -> Any:
    """CuPy's cache on disk; None where it is switched off, or in a version that has it elsewhere."""
    compiler = cupy.cuda.compiler
    if compiler._get_bool_env_variable("CUPY_CACHE_IN_MEMORY", False):
        return None
    return getattr(compiler, "_kernel_cache_backend", None)


def architecture() -> int:
    """What texts are compiled for on the current device: 90 for compute capability 9.0."""
    (number,) = re.findall(r"\d+", cupy.cuda.compiler._get_arch())
    return int(number)


def key_of(text: str, options: tuple[str, ...]) -> str:
    """The name of a compiled text: it depends on the compiler and on the device's architecture."""
    compiler = cupy.cuda.compiler
    where = compiler._get_arch_for_options_for_nvrtc(None)
    facts = (cupy.__version__, compiler._get_nvrtc_version(), where, options, text)
    return hashlib.sha256(repr(facts).encode()).hexdigest() + ".cubin"
