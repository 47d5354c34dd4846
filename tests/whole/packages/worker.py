"""Measures calls in a process of its own, and says what became of each as it goes: a crash or a hang costs one call.

`python -c … worker.py's main` is started by `running.py`, which tells it on standard input what to do.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import sys
from dataclasses import asdict
from typing import Any, TextIO

import numpy as np

import ufuse
from tests.whole.packages.calls import parsed
from tests.whole.packages.measure import Row, Wanted, measured


class Failures(logging.Handler):
    """What ufuse says of failures inside it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a failure."""
        self.texts.append(record.getMessage()[-3000:])


def answers() -> TextIO:
    """Where answers go; whatever the functions print goes nowhere."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return out


def say(out: TextIO, kind: str, **content: Any) -> None:
    """One line of JSON."""
    out.write(json.dumps({"kind": kind, **content}) + "\n")
    out.flush()


def main() -> None:
    """Measure the calls that standard input names, until it ends."""
    faulthandler.enable()
    out = answers()
    orders = json.loads(sys.stdin.readline())
    wanted, timeout = Wanted(**orders["wanted"]), orders["timeout"]
    failures = Failures()
    logging.getLogger("ufuse").addHandler(failures)
    # What a process needs once: the compiler's own modules. Which function comes first is chance.
    ufuse.compile(lambda x: np.exp(x) + 1.0)(np.ones(3))
    for text in orders["calls"]:
        line = parsed(text)
        say(out, "begin", text=text)
        faulthandler.dump_traceback_later(timeout, exit=True)
        try:
            row = measured(line, wanted)
        except Exception as error:  # noqa: BLE001  the judge cannot compare everything
            row = Row(line.text, line.path, line.package, line.strict)
            row.difference = f"not comparable: {type(error).__name__}: {error}"[:1000]
        faulthandler.cancel_dump_traceback_later()
        if failures.texts:
            row.difference = "\n".join([row.difference, *(f"inside: {text}" for text in failures.texts)]).strip()  # fmt: skip
            failures.texts.clear()
        say(out, "row", row=asdict(row))


if __name__ == "__main__":
    main()
