"""Starts processes that measure calls, and hears what they say; goes on behind a call that ends one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from tests.whole.packages.calls import Line
from tests.whole.packages.measure import Row, Wanted

ROOT = Path(__file__).resolve().parents[3]
START = "import runpy, sys; sys.path.append({!r}); runpy.run_module('tests.whole.packages.worker', run_name='__main__')"


def rows_of(lines: Sequence[Line], wanted: Wanted, timeout: float) -> Iterator[Row]:
    """What became of each call, in order; each package has a process of its own."""
    for _, group in groupby(lines, key=lambda line: line.package):
        waiting = list(group)
        while waiting:
            done = 0
            for row in rows_of_process(waiting, wanted, timeout):
                done += 1
                yield row
            waiting = waiting[done:]


def rows_of_process(lines: Sequence[Line], wanted: Wanted, timeout: float) -> Iterator[Row]:
    """What one process says; its last row is of the call that ended it, if one did."""
    orders = {"wanted": asdict(wanted), "timeout": timeout, "calls": [line.text for line in lines]}
    command = [sys.executable, "-P", "-c", START.format(str(ROOT))]
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder,
            env=os.environ | {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(orders) + "\n")
            process.stdin.close()
            done = 0
            for text in process.stdout:
                done += 1
                yield Row(**json.loads(text))
        if done < len(lines):
            line = lines[done]
            errors.seek(0)
            told = errors.read()[-3000:]
            yield Row(
                line.text, line.path, line.package, line.strict,
                difference=f"the process ended with {process.returncode} (a hang ends with 1 after {timeout:.0f} s)\n{told}",
            )  # fmt: skip
