"""The calls, read from the text files in `calls/`: a function and how its arguments are made anew."""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.support.comparing.recording import Call, arguments
from tests.whole.packages import inputs

FOLDER = Path(__file__).resolve().parent / "calls"
PACKAGES = ("programs", "scipy", "skimage", "sklearn", "statsmodels", "pandas")
STRICT = "-W error "
PROGRAMS = "tests.whole.packages.programs"


class Unavailable(Exception):  # noqa: N818 - a reason, not an error
    """A function that this version of its package does not have, or that is not written in Python."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: the call of a function."""

    text: str
    path: str  # of the function, dotted
    strict: bool  # warnings are errors around it
    code: CodeType = field(repr=False)

    @property
    def package(self) -> str:
        """What the function is a part of."""
        return self.path.partition(".")[0]

    def function(self) -> FunctionType:
        """The function itself.

        Raises:
            Unavailable: it is not there, or not a Python function.
        """
        found = resolved(self.path)
        if not isinstance(found, FunctionType):
            message = f"{self.path} is a {type(found).__name__}, not a Python function"
            raise Unavailable(message)
        return found

    def arguments(self) -> Call:
        """Its arguments, made anew: whatever a call does to them is seen by no other."""
        names = inputs.namespace() | {"arguments": arguments, self.package: root(self.package)}
        given: Call = eval(self.code, names)  # noqa: S307  the repository's own text
        return given


def root(package: str) -> Any:
    """The module that the first word of a call stands for."""
    return importlib.import_module(PROGRAMS if package == "programs" else package)


def resolved(path: str) -> Any:
    """The object that a dotted path leads to, its modules imported on the way."""
    package, *names = path.split(".")
    found = root(package)
    for name in names:
        if not hasattr(found, name) and hasattr(found, "__path__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(f"{found.__name__}.{name}")
        if not hasattr(found, name):
            message = f"{found.__name__} has no {name}"
            raise Unavailable(message)
        found = getattr(found, name)
    return found


def parsed(text: str) -> Line:
    """A line of a file."""
    strict = text.startswith(STRICT)
    tree = ast.parse(text.removeprefix(STRICT), mode="eval")
    call = tree.body
    if not isinstance(call, ast.Call):
        message = f"not a call: {text}"
        raise TypeError(message)
    path = ast.unparse(call.func)
    call.func = ast.copy_location(ast.Name("arguments", ast.Load()), call.func)
    return Line(text, path, strict, compile(tree, path, "eval"))


@functools.cache
def lines_of(package: str) -> tuple[Line, ...]:
    """Every call of a package's file."""
    text = (FOLDER / f"{package}.txt").read_text(encoding="utf-8")
    rows = (row.strip() for row in text.splitlines())
    return tuple(parsed(row) for row in rows if row and not row.startswith("#"))


def chosen(packages: Sequence[str], pattern: str, every: int = 1, first: int = 0) -> Iterator[Line]:
    """The calls of some packages whose functions match a pattern, or contain it; of these each `every`th from `first`."""
    wanted = pattern if set(pattern) & set("*?[") else f"*{pattern}*"
    for package in packages:
        found = [line for line in lines_of(package) if fnmatch.fnmatchcase(line.path, wanted)]
        yield from found[first::every]


def takes_decorator(function: Callable[..., Any]) -> bool:
    """Whether a program compiles what it makes itself: it is then given what it decorates with."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount][:1] == ("decorate",)
