"""The command line: `python -m ufuse demo`, `python -m ufuse info`."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path

import numpy as np

import ufuse
from ufuse.backends import protocol
from ufuse.backends.numpy import threads


def info() -> str:
    """Versions, processor, threads and backends, as text."""
    lines = [
        f"ufuse {ufuse.__version__}, NumPy {np.__version__}, Python {platform.python_version()}",
        f"processor: {platform.machine()}, {os.cpu_count()} cores, {threads()} threads used",
    ]
    for name in protocol.BACKENDS:
        try:
            protocol.backend_named(name)
            lines.append(f"backend {name}: found")
        except protocol.BackendUnavailable as missing:
            lines.append(f"backend {name}: {missing}")
    try:
        llvmlite = importlib.import_module("llvmlite")
        lines.append(f"native code: llvmlite {llvmlite.__version__}")
    except ImportError:
        lines.append("native code: none; pip install llvmlite for it")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: as on the command line; None takes those of this process.

    Returns:
        The exit status.

    """
    parser = argparse.ArgumentParser(
        prog="python -m ufuse", description="NumPy code, made fast and nothing else."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="five programs, compiled against plain NumPy")
    demo.add_argument(
        "--folder", type=Path, default=Path.cwd(), help="where the picture goes (default: here)"
    )
    commands.add_parser("info", help="versions, processor, threads and backends")
    chosen = parser.parse_args(arguments)
    if chosen.command == "info":
        print(info())
        return 0
    if not chosen.folder.is_dir():
        parser.error(f"--folder {chosen.folder} is not a folder")
    try:
        return importlib.import_module("ufuse.demo").run(chosen.folder)  # type: ignore[no-any-return]
    except ufuse.UfuseError as error:
        print(f"ufuse: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
