"""Compiles CuPy's kernel texts for the host: what CuPy asks of NVRTC."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.cupy_host import build
from tests.support.cupy_host.capsules import of_cuda
from tests.support.cupy_host.texts import Text, text_of

IMAGE = b"compiled for the host: "


@dataclass
class Program:
    """A text on its way through NVRTC's functions."""

    source: str
    name_expressions: list[str] = field(default_factory=list)
    text: Text | None = None
    log: str = ""


class NVRTCError(RuntimeError):
    """The compiler refuses a text."""

    def __init__(self, status: int) -> None:
        super().__init__(f"NVRTC_ERROR_COMPILATION ({status})")


@dataclass
class Compiler:
    """NVRTC's functions as methods."""

    counts: Counter[str]
    cupy_include: str
    gathered: dict[str, Text] | None = (
        None  # texts to compile together, while their launches are left out
    )
    programs: dict[int, Program] = field(default_factory=dict)
    texts: dict[str, Text] = field(default_factory=dict)
    tokens: Iterator[int] = field(default_factory=lambda: itertools.count(1 << 24, 16))

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Compile the texts met here together at the end; meanwhile no kernel is launched."""
        self.gathered = {}
        try:
            yield
        finally:
            gathered, self.gathered = self.gathered, None
        compile_together(list(gathered.values()), self.cupy_include)

    @of_cuda
    def getVersion(self) -> tuple[int, int]:
        """A version that has everything CuPy asks for."""
        return 13, 0

    @of_cuda
    def createProgram(self, source: str, name: str, headers: object, names: object) -> int:
        """A program of a text."""
        number = next(self.tokens)
        self.programs[number] = Program(source)
        return number

    @of_cuda
    def destroyProgram(self, program: int) -> None:
        """Forget a program."""
        self.programs.pop(program, None)

    @of_cuda
    def addNameExpression(self, program: int, name: str) -> None:
        """Ask for an instance of a template."""
        self.programs[program].name_expressions.append(name)

    @of_cuda
    def compileProgram(self, number: int, options: tuple[str, ...]) -> None:
        """Compile a text, or keep it to be compiled with others."""
        program = self.programs[number]
        text = text_of(program.source, tuple(options), tuple(program.name_expressions))
        program.text = text
        self.texts[text.key] = text
        if text.undeclared:
            program.log = f"incomplete type: {', '.join(text.undeclared)}"
            raise NVRTCError(6)
        if not text.source or library_path(text).exists():
            return
        if self.gathered is not None:
            self.gathered[text.unit_key] = text
            return
        self.counts["compile"] += 1
        try:
            build.kernels(library_path(text), text.unit(), self.cupy_include, text.host_options)
        except build.CompilationError as error:
            program.log = str(error)
            raise NVRTCError(6) from None

    @of_cuda
    def getCUBIN(self, program: int) -> bytes:
        """What stands for the compiled text."""
        return IMAGE + self.programs[program].text.key.encode()

    @of_cuda
    def getPTX(self, program: int) -> bytes:
        """What stands for the compiled text."""
        return self.getCUBIN(program)

    @of_cuda
    def getLoweredName(self, program: int, name: str) -> str:
        """Kernels are found by the expression itself."""
        return name

    @of_cuda
    def getProgramLog(self, program: int) -> str:
        """What the compiler said."""
        return self.programs[program].log


def library_path(text: Text) -> Path:
    """Where a compiled text lies, or a link to the unit that it is a part of."""
    return build.CACHE / "kernels" / f"{text.unit_key}.so"


def compile_together(texts: list[Text], cupy_include: str, most: int = 100) -> None:
    """Compile texts, those that can with others in one unit; one that fails is met again when it is used."""
    for text in texts:
        if not text.can_share_a_unit:
            compile_alone(text, cupy_include)
    together = [text for text in texts if text.can_share_a_unit]
    for first in range(0, len(together), most):
        group = together[first : first + most]
        unit = "".join(text.part() for text in group)
        path = build.CACHE / "kernels" / f"unit-{build.key_of(unit)}.so"
        try:
            build.kernels(path, unit, cupy_include, group[0].host_options)
        except build.CompilationError:
            if most == 1:
                compile_alone(group[0], cupy_include)
            else:
                compile_together(group, cupy_include, max(1, most // 4))
            continue
        for text in group:
            link = library_path(text)
            with suppress(FileExistsError):  # another process was faster
                link.symlink_to(path.name)


def compile_alone(text: Text, cupy_include: str) -> None:
    """Compile a text if it can be."""
    with suppress(build.CompilationError):
        build.kernels(library_path(text), text.unit(), cupy_include, text.host_options)
