"""Measures calls in a process of its own, and says what became of each as it goes: a crash or a hang costs one call.

`python -c … worker.py's main` is started by `running.py`, which tells it on standard input what to do.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from dataclasses import asdict
from typing import TextIO

import numpy as np

import ufuse
from tests.support.comparing.outcomes import Failures
from tests.whole.packages.calls import parsed
from tests.whole.packages.measure import Row, Wanted, measured


def answers() -> TextIO:
    """Where answers go; whatever the functions print goes nowhere."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return out


def say(out: TextIO, row: Row) -> None:
    """One line of JSON."""
    out.write(json.dumps(asdict(row)) + "\n")
    out.flush()


def main() -> None:
    """Measure the calls that standard input names, until it ends."""
    faulthandler.enable()
    out = answers()
    orders = json.loads(sys.stdin.readline())
    wanted, timeout = Wanted(**orders["wanted"]), orders["timeout"]
    failures = Failures()
    # What a process needs once: the compiler's own modules. Which function comes first is chance.
    ufuse.compile(lambda x: np.exp(x) + 1.0)(np.ones(3))
    for text in orders["calls"]:
        line = parsed(text)
        faulthandler.dump_traceback_later(timeout, exit=True)
        try:
            row = measured(line, wanted)
        except Exception as error:  # noqa: BLE001  the judge cannot compare everything
            row = Row(line.text, line.path, line.package, line.strict)
            row.difference = f"not comparable: {type(error).__name__}: {error}"[:1000]
        faulthandler.cancel_dump_traceback_later()
        if failures.found:
            inside = (f"inside: {text}" for text in failures.found)
            row.difference = "\n".join([row.difference, *inside]).strip()
            failures.found.clear()
        say(out, row)


if __name__ == "__main__":
    main()
