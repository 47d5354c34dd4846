"""The rivals: what each is installed from, and how it runs a plain NumPy function."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.cases import Case
    from benchmarks.programs import Program

ROOT = Path(__file__).resolve().parent.parent
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
LONGEST = 600  # seconds for one program at one size: some compile for minutes


@dataclass(frozen=True, slots=True)
class Peer:
    """A rival: its name, the packages it needs, and a note on what it is given."""

    name: str
    packages: tuple[str, ...]
    given: str


# fmt: off
PEERS = {
    peer.name: peer
    for peer in (
        #    name       packages                  given
        Peer("numba",   ("numba", "scipy"),       "numba.njit of the same function"),
        Peer("jax",     ("jax",),                 "jax.jit with np = jax.numpy, 64 bits on, arrays on its device"),
        Peer("numexpr", ("numexpr",),             "a string written by hand"),
        Peer("torch",   ("torch",),               "torch.compile of the same function"),
    )
}
# fmt: on


def python_of(peer: Peer) -> Path:
    """Give the path of the rival's interpreter, whether or not it was made."""
    return ROOT / ".venv" / f"bench-{peer.name}-{TAG}" / "bin" / "python"


def installed() -> list[str]:
    """Name the rivals whose environments stand."""
    return [name for name, peer in PEERS.items() if (python_of(peer).parents[1] / ".done").exists()]


def install(name: str) -> str:
    """Make the environment of a rival; give the reason where that fails, or nothing."""
    peer = PEERS[name]
    folder = python_of(peer).parents[1]
    if (folder / ".done").exists():
        return ""
    maker = str(ROOT / ".ci" / "environment")
    command = [maker, sys.executable, str(folder), "numpy>=2", *peer.packages]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return f"{name} could not be installed: {(done.stderr.strip() or '?').splitlines()[-1]}"
    (folder / ".done").touch()
    return ""


def result_of(name: str, case: Case | Program, size: int, seconds: float) -> dict[str, Any]:
    """Time a rival in its own environment; `failed` says why there is no figure, empty if unasked."""
    if name == "numexpr" and getattr(case, "numexpr", None) is None:
        return {"failed": ""}
    python = str(python_of(PEERS[name]))
    command = [python, "-m", "benchmarks.peer", name, case.name, str(size)]
    try:
        done = subprocess.run(
            [*command, str(seconds)],
            check=False,
            capture_output=True,
            cwd=ROOT,
            text=True,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {LONGEST} s"}
    if done.returncode:
        return {
            "failed": (done.stderr.strip() or f"exit {done.returncode}")
            .splitlines()[-1]
            .replace(f"{ROOT}", ".")
        }
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome
