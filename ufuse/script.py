"""`python -m ufuse run`: a program as `python` runs it, with the functions that it calls compiled."""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ufuse.decorator import compiled_alone
from ufuse.errors import UfuseError
from ufuse.explain import program_report

INTERRUPTED = 130  # the exit status that shells give to what Ctrl-C has ended


def run(name: str, arguments: list[str], *, is_module: bool, report: Path | None = None) -> int:
    """Run a program in place of this one; functions that it calls with arrays, or that have loops, are compiled.

    Args:
        name: the file of a program, or with `is_module` the name of a module, as for `python -m`.
        arguments: what the program finds in `sys.argv[1:]`.
        is_module: what `name` is.
        report: where to write what was captured, as HTML where its name ends in .html.

    Returns:
        The exit status.

    Raises:
        UfuseError: there is no such program.
        SystemExit: the program raises it.

    """
    code, module = _of_module(name) if is_module else _of_file(name)
    sys.modules["__main__"] = module
    sys.argv[:] = [str(module.__file__) if is_module else name, *arguments]
    compiled = compiled_alone(_program)
    started = time.perf_counter()
    try:
        compiled(code, vars(module))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  told as Python tells what a program leaves behind
        _tell(error, code)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        if report is not None:
            seconds = time.perf_counter() - started
            program_report(compiled, name, name, 1, seconds).save(report)
    return 0


def _program(code: CodeType, namespace: dict[str, Any]) -> None:
    exec(code, namespace)  # noqa: S102  the program that the user asks for


def _of_file(name: str) -> tuple[CodeType, ModuleType]:
    file = os.path.abspath(name)  # noqa: PTH100  links stay as they are, as for Python
    try:
        with io.open_code(file) as opened:
            source = opened.read()
    except OSError as error:
        raise UfuseError(f"cannot open {name}: {error.strerror}") from None
    code = compile(source, file, "exec", dont_inherit=True)
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(file))  # noqa: PTH120
    return code, _main_module(file, __loader__=SourceFileLoader("__main__", file))


def _of_module(name: str) -> tuple[CodeType, ModuleType]:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        raise UfuseError(f"no module named {error.name}") from None
    get_code = getattr(spec and spec.loader, "get_code", None)
    code = get_code(spec.name) if spec is not None and get_code is not None else None
    if spec is None or code is None:
        raise UfuseError(f"no module named {name} that can be run")
    more = {"__loader__": spec.loader, "__spec__": spec, "__package__": spec.parent}
    return code, _main_module(spec.origin, **more)


def _main_module(file: str | None, **more: Any) -> ModuleType:
    """A module as Python makes it for a program."""
    module = ModuleType("__main__")
    vars(module).update(__file__=file, __builtins__=builtins, **more)
    spec = more.get("__spec__")
    if "__cached__" in vars(sys.modules["__main__"]):  # not from Python 3.15 on
        vars(module)["__cached__"] = None if spec is None else spec.cached
    if sys.version_info < (3, 14):
        vars(module)["__annotations__"] = {}
    return module


def _tell(error: BaseException, code: CodeType) -> None:
    """Show an error that nothing has caught, from the program's own frames on."""
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code is not code:
        found = found.tb_next
    shown = error.with_traceback(found or error.__traceback__)
    sys.excepthook(type(shown), shown, shown.__traceback__)
