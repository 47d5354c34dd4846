"""What `pyproject.toml` cannot say: where the packages lie, and how the C extensions are built."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import numpy as np
from setuptools import Extension, find_packages, setup

ROOT = Path(__file__).resolve().parent
PLACES = {
    "ufuse": "ufuse",
    "ufuse.frame_hook": "frame_hook",
    "ufuse.graph": "graph",
    "ufuse.backends": "backends",
}
EXTENSIONS = {
    "ufuse.frame_hook._hook": "frame_hook/csrc",
    "ufuse.backends.numpy._tiles": "backends/numpy/csrc",
    "ufuse.backends._launch": "backends/cupy/csrc",
}
SHARED = "graph/csrc"  # headers that several extensions include
DEVELOP = os.environ.get("UFUSE_DEVELOP") == "1"
SANITIZE = os.environ.get("UFUSE_SANITIZE") == "1"
# The Makefile builds extensions in place, so installing the folder need not compile them as well.
IN_PLACE = os.environ.get("UFUSE_IN_PLACE") == "1"


def packages() -> list[str]:
    """Name every package, its top-level folder mapped to where it installs."""
    found = []
    for name, folder in PLACES.items():
        if (ROOT / folder / "__init__.py").exists():
            found += [name, *(f"{name}.{inner}" for inner in find_packages(str(ROOT / folder)))]
    return found


def compile_flags() -> list[str]:
    """List the flags of every C file; the headers of Python and NumPy may warn, ours may not."""
    include = Path(sysconfig.get_path("include"))
    systems = [include, include / "internal", Path(np.get_include())]
    flags = ["-std=c11", "-O3", "-fvisibility=hidden", "-pthread"]
    flags += [word for folder in systems for word in ("-isystem", str(folder))]
    if DEVELOP:
        # CPython has the same two exceptions: few C functions use `self`; tables end in {NULL}.
        flags += ["-Wall", "-Wextra", "-Werror"]
        flags += ["-Wno-unused-parameter", "-Wno-missing-field-initializers"]
    if SANITIZE:
        flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        flags += ["-g", "-O1", "-fno-omit-frame-pointer"]
    return flags


def extension(name: str, folder: str) -> Extension:
    """Build `name` from every C file below `folder`, where includes start; again when a header changes."""
    return Extension(
        name,
        sources=sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.c")),
        depends=sorted(
            str(path.relative_to(ROOT))
            for headers in (folder, SHARED)
            for path in (ROOT / headers).rglob("*.h")
        ),
        include_dirs=[folder, SHARED],
        extra_compile_args=compile_flags(),
        extra_link_args=["-pthread"] + ["-fsanitize=address,undefined"] * SANITIZE,
        libraries=["m"],
    )


setup(
    packages=packages(),
    package_dir=PLACES,
    ext_modules=[
        extension(name, folder)
        for name, folder in EXTENSIONS.items()
        if any((ROOT / folder).rglob("*.c")) and not IN_PLACE
    ],
)
