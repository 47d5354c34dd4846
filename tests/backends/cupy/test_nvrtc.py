"""Kernel texts are CUDA C++ for NVIDIA's own compiler too, where that is installed (nvidia-cuda-nvrtc); no GPU is needed."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host

from .test_folds import LENGTHS, layer_norm, scaled_rows, softmax
from .test_trees import columns

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")
RNG = np.random.default_rng(21)


def libraries() -> Iterator[Path]:
    """Where the compiler lies."""
    found = importlib.util.find_spec("nvidia")
    for folder in (found and found.submodule_search_locations) or ():
        yield from sorted(Path(folder).glob("*/lib/libnvrtc.so.*"))


def log_of(nvrtc: Any, text: str, options: tuple[str, ...]) -> str:
    """What the compiler says; empty if the text is compiled."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    given = (ctypes.c_char_p * len(options))(*(one.encode() for one in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), given)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return f"{status}: {log.value.decode()}" if status else ""


def totals(x: Any) -> Any:
    """Everything folded, in every way."""
    y = x * 2 + 1
    return y, y.sum(), y.max(), y.min(), y.prod(), (y > 0).all(), (y > 1).any()


def test_texts_are_compiled_by_nvrtc(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of every length and totals, for the architectures of five years."""
    found = next(libraries(), None)
    if found is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    from ufuse.backends.cupy import compile as compiling  # noqa: PLC0415  CuPy may be imported now
    from ufuse.backends.cupy import folding, launch, treeing  # noqa: PLC0415  the same

    texts: dict[str, tuple[str, ...]] = {}

    def gathered(text: str, dialect: Any) -> Any:
        texts[text] = dialect.options or ("-ftz=true", "-std=c++17")
        return compiling.compiled(text, dialect)

    for module in (folding, launch, treeing):
        monkeypatch.setattr(module, "compiled", gathered)
    cases: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    for length in (*LENGTHS[::2], 9000):
        for dtype in "fd":
            x = RNG.normal(size=(3, length)).astype(dtype)
            cases += [(softmax, (x,)), (layer_norm, (x, x[0])), (totals, (x,))]
        whole = host.cupy.asarray(RNG.integers(0, 9, (3, length)))
        cases += [(scaled_rows, (whole, whole)), (totals, (whole,))]
    for dtype in "fdi":
        x = host.cupy.asarray(RNG.normal(size=(33, 9)).astype(dtype))
        cases += [(columns, (x, x)), (columns, (x.T, x.T[:1])), (columns, (x.get(), x.get()))]
    for function, arguments in cases:
        ufuse.compile(function, backend="cupy")(*arguments)
    assert len(texts) > 20
    for builtins in found.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(found))
    for number, (text, options) in enumerate(texts.items()):
        architecture = ARCHITECTURES[number % len(ARCHITECTURES)]
        assert not log_of(nvrtc, text, (f"-arch={architecture}", *options)), text
