"""Programs that fork: no thread of ours is there where plain Python would have none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

FORKING = """
import os, threading, warnings
from pathlib import Path
import numpy as np
import ufuse

warnings.simplefilter("error")  # from 3.12 on a fork warns of threads

def threads():
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[17])

def fork(child):
    process = os.fork()
    if process == 0:
        os._exit(0 if child() else 1)
    left = threads()
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    return left

def plain(x, y):
    return np.sqrt(x * x + y * y) - x * 0.5 + np.abs(y - x * 3)

compiled = ufuse.compile(plain)
x, y = np.random.default_rng(0).random((2, 200_000))
wanted = plain(x, y)
seen = set()
for calls in (1, 1, 1, 2, 20, 20, 20, 400):  # on a busy machine 200 kernels are not shared
    for _ in range(calls):
        assert (compiled(x, y) == wanted).all()
        seen.add(threads())
        if max(seen) > 2 and calls == 400:
            break
    assert fork(lambda: (compiled(x, y) == wanted).all() and fork(lambda: True) == 1) == 1
    assert threading.enumerate() == [threading.main_thread()]
print(max(seen) > 2, len(compiled.graphs))
"""


def run(program: str, *options: str, **environment: str) -> Any:
    """Run a program in an interpreter of its own; what it prints."""
    done = subprocess.run(
        [sys.executable, "-P", *options, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it counts threads in /proc")
def test_a_fork_finds_no_thread_of_ours() -> None:
    """Those that share kernels, and the one that compiles, have ended when the process forks; others start later."""
    printed = run(FORKING, UFUSE_THREADS="4", UFUSE_MEASURE="0", OPENBLAS_NUM_THREADS="1")
    assert printed == "True 1\n"
