"""The command line: `python -m ufuse`, which says what it can do."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path

import numpy as np

import ufuse
from ufuse import script
from ufuse.backends import protocol
from ufuse.backends.numpy import threads
from ufuse.backends.numpy.llvm import object_cache


def info() -> str:
    """Versions, processor, threads and backends, as text."""
    lines = [
        f"ufuse {ufuse.__version__}, NumPy {np.__version__}, Python {platform.python_version()}",
        f"processor: {platform.machine()}, {os.cpu_count()} cores, {threads()} threads used",
    ]
    for name in protocol.BACKENDS:
        try:
            found = protocol.backend_named(name)
            why = found.why_unavailable() if isinstance(found, protocol.NeedsDevice) else None
            lines.append(f"backend {name}: {'found' if why is None else f'it needs a GPU: {why}'}")
        except protocol.BackendUnavailable as missing:
            lines.append(f"backend {name}: {missing}")
    try:
        llvmlite = importlib.import_module("llvmlite")
        lines.append(f"native code: llvmlite {llvmlite.__version__}")
    except ImportError:
        lines.append("native code: none; pip install llvmlite for it")
    return "\n".join([*lines, cache_info()])


def cache_info() -> str:
    """What machine code is kept, and where."""
    cache = object_cache.cache_in_use()
    if cache is None:
        return "no machine code is kept"
    kept = cache.info()
    most = f"{cache.most_bytes / 2**20:g} MiB at most"
    return f"machine code kept: {kept.files} files, {kept.size / 2**20:.1f} MiB, {most}, in {cache.folder}"


def clear_cache() -> str:
    """Remove what is kept; says how much that was."""
    cache = object_cache.cache_in_use()
    if cache is None:
        return cache_info()
    was = cache.clear()
    return f"{was.files} files, {was.size / 2**20:.1f} MiB, removed from {cache.folder}"


def run_program(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Run the program of a command line."""
    if not chosen.program:
        parser.error("it needs a program: a file, or a module behind -m")
    report = chosen.report
    if report is not None:
        report = report.absolute()  # the program may change folders
        if not report.parent.is_dir():
            parser.error(f"--report {chosen.report}: the folder {report.parent} does not exist")
    name, *rest = chosen.program
    try:
        return script.run(name, rest, is_module=chosen.is_module, report=report)
    except ufuse.UfuseError as error:
        print(f"ufuse: {error}", file=sys.stderr)
    return 2


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: as on the command line; None takes those of this process.

    Returns:
        The exit status.

    """
    parser = argparse.ArgumentParser(
        prog="python -m ufuse",
        description="Makes NumPy code fast, and changes nothing else. In a program: @ufuse.compile above a function.",
        epilog="In Python: help(ufuse.compile); ufuse.explain(function, *arguments) says what is captured.",
    )
    parser.add_argument("--version", action="version", version=f"ufuse {ufuse.__version__}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    demo = commands.add_parser("demo", help="run five programs, compiled against plain NumPy")
    demo.add_argument(
        "--output", type=Path, default=Path(), metavar="PATH",
        help="where the picture goes: a file, or a folder that exists (default: here)",
    )  # fmt: skip
    run = commands.add_parser(
        "run",
        usage="python -m ufuse run [--report FILE] SCRIPT [ARGUMENTS]\n"
        "       python -m ufuse run [--report FILE] -m MODULE [ARGUMENTS]",
        help="run a program, with the functions that it calls compiled",
        description="Run a program as Python does, with the functions that it calls compiled: those that take arrays, "
        "and those with loops. What stands outside of functions runs as plain Python.",
    )
    run.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write what was captured to a file: HTML, or text where it ends otherwise",
    )
    run.add_argument(
        "-m",
        dest="is_module",
        action="store_true",
        help="run a module by its name, as `python -m` does",
    )
    run.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="SCRIPT",
        help="a file, and the arguments of the program",
    )
    commands.add_parser("info", help="print versions, processor, threads and backends")
    cache = commands.add_parser("cache", help="machine code that is kept on disk")
    cache.add_argument(
        "what",
        choices=("info", "clear"),
        metavar="info|clear",
        help="say how much there is, and where; remove it",
    )
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0].endswith(".py"):
        parser.error(f"to run a program: python -m ufuse run {' '.join(given)}")
    chosen = parser.parse_args(given)
    if chosen.command is None:
        parser.print_help()
        return 0
    if chosen.command == "info":
        print(info())
        return 0
    if chosen.command == "cache":
        print(cache_info() if chosen.what == "info" else clear_cache())
        return 0
    if chosen.command == "run":
        return run_program(chosen, run)
    try:
        demonstration = importlib.import_module("ufuse.demo")
    except ImportError as missing:
        print(f"ufuse: the demo needs {missing.name}: pip install 'ufuse[demo]'", file=sys.stderr)
        return 2
    try:
        return demonstration.run(demonstration.picture_at(chosen.output))  # type: ignore[no-any-return]
    except ValueError as error:
        demo.error(f"--output {error}")
    except ufuse.UfuseError as error:
        print(f"ufuse: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
