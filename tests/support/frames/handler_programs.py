"""Random functions that raise, catch and clean up in one another, as source."""

from __future__ import annotations

import random
import warnings
from typing import Any

from tests.support.frames import handler_cases

NAMES = ("ValueError", "KeyError", "TypeError", "IndexError")


class Writer:
    """Writes one function; every choice comes from one seed."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)  # noqa: S311 - the same on every run
        self.lines: list[str] = []
        self.left = 14  # blocks

    def write(self, depth: int, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * depth + text)

    def kind(self) -> str:
        """The name of some exception."""
        return self.choose.choice(NAMES)

    def block(self, depth: int, loops: bool, star: bool) -> None:
        """Some statements; in a handler of a group nothing may leave by itself."""
        for _ in range(self.choose.choice((1, 1, 2, 3))):
            self.statement(depth, loops, star)

    def statement(self, depth: int, loops: bool, star: bool) -> None:
        """One statement, which may be a block."""
        self.left -= 1
        if self.left > 0 and self.choose.random() < 0.7:
            blocks = (
                self.handlers,
                self.handlers,
                self.handlers,
                self.group,
                self.manager,
                self.loop,
            )
            self.choose.choice(blocks)(depth, loops, star)
            return
        choices = [
            "see(log, n)", "see(log, [see(log, i) for i in range(n % 3)])", f"if n % 3 == 0: fail({self.kind()}, n)",
            f"fail({self.kind()}, n)", "if n % 2: raise", f"if n % 3 == 1: raise {self.kind()}(n) from None",
            f"raise {self.kind()}(n) from sys.exc_info()[1]", "n += 1", "n = int(see(log) or n) + 1", "kept = sys.exc_info()[1]",
            "if kept is not None: raise kept", f"raise ExceptionGroup('g', [{self.kind()}(1), {self.kind()}(2)])",
        ]  # fmt: skip
        if not star:
            choices += ["return see(log, 'returns')", "if n % 2: return n"]
            choices += ["if n % 2: break", "continue"] if loops else []
        self.write(depth, self.choose.choice(choices))

    def handlers(self, depth: int, loops: bool, star: bool) -> None:
        """A `try`, with what may follow one."""
        self.write(depth, "try:")
        self.block(depth + 1, loops, star)
        catches = self.choose.random() < 0.8
        if catches:
            for _ in range(self.choose.choice((1, 1, 2))):
                name = self.choose.choice(("", " as error"))
                self.write(depth, f"except ({self.kind()}, {self.kind()}){name}:")
                self.block(depth + 1, loops, star)
            if self.choose.random() < 0.3:
                self.write(depth, "except:")
                self.block(depth + 1, loops, star)
            if self.choose.random() < 0.2:
                self.write(depth, "else:")
                self.block(depth + 1, loops, star)
        if not catches or self.choose.random() < 0.3:
            self.write(depth, "finally:")
            self.block(depth + 1, loops, star)

    def group(self, depth: int, loops: bool, star: bool) -> None:
        """A `try` for groups."""
        self.write(depth, "try:")
        self.block(depth + 1, loops, star)
        for _ in range(self.choose.choice((1, 2))):
            self.write(depth, f"except* ({self.kind()}, {self.kind()}) as error:")
            self.block(depth + 1, False, True)
        if self.choose.random() < 0.3:
            self.write(depth, "finally:")
            self.block(depth + 1, loops, star)

    def manager(self, depth: int, loops: bool, star: bool) -> None:
        """A `with`."""
        choices = ("Manager(log)", "Manager(log, n % 2)", "Manager(log, fails=n % 3 == 2)",
                   "managing(log, KeyError)", "Manager(log), Manager(log, True)")  # fmt: skip
        self.write(depth, f"with {self.choose.choice(choices)}:")
        self.block(depth + 1, loops, star)

    def loop(self, depth: int, loops: bool, star: bool) -> None:
        """A loop that ends."""
        self.write(
            depth, self.choose.choice(("for n in range(n, n + 3):", "while (n := n + 1) < 7:"))
        )
        self.block(depth + 1, True, star)


def random_function(seed: int) -> Any:
    """A function of a number and a log."""
    writer = Writer(seed)
    writer.write(0, "def function(n, log):")
    writer.write(1, "kept = error = None")
    while writer.left > 0:
        writer.block(1, False, False)
    space = dict(vars(handler_cases))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from 3.14 the compiler warns of leaving by `finally`
        exec(compile("\n".join(writer.lines), handler_cases.__file__, "exec"), space)
    function = space["function"]
    function.source = "\n".join(writer.lines)
    return function
