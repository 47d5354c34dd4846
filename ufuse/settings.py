"""What the environment asks for; the one place that reads `os.environ`."""

from __future__ import annotations

import os
from pathlib import Path

from ufuse.errors import SettingError
from ufuse.graph.records import record
from ufuse.log import TOPICS


@record
class Settings:
    """The `UFUSE_…` variables.

    Attributes:
        log: names of what to log, as for `ufuse.set_log`.
        check: compare every result with the reference executor.
        eager: run everything as plain Python.
        measure: time calls compiled and plain, and give back what does not pay.
        threads: how many threads kernels use; None is one for each core this process may use.
        cache: the folder in which machine code is kept; None where it is not.
        cuda_graphs: replay launches that come again as one graph of CUDA's.

    """

    log: str = ""
    check: bool = False
    eager: bool = False
    measure: bool = True
    threads: int | None = None
    cache: Path | None = None
    cuda_graphs: bool = True


def from_environment() -> Settings:
    """The settings of this process.

    Raises:
        SettingError: a variable has a value that means nothing.

    """
    threads = os.environ.get("UFUSE_THREADS", "")
    if threads and not (threads.isdecimal() and int(threads) > 0):
        raise SettingError(f"UFUSE_THREADS must be a whole number above 0, not {threads!r}")
    log = os.environ.get("UFUSE_LOG", "")
    unknown = [name for name in map(str.strip, log.split(",")) if name not in (*TOPICS, "all", "")]
    if unknown:
        raise SettingError(
            f"UFUSE_LOG names {unknown[0]!r}, which is not one of {', '.join(TOPICS)} or all"
        )
    return Settings(
        log,
        _switch("UFUSE_CHECK"),
        _switch("UFUSE_EAGER"),
        _switch("UFUSE_MEASURE", default="1"),
        int(threads) if threads else None,
        _cache() if _switch("UFUSE_CACHE", default="1") else None,
        _switch("UFUSE_CUDA_GRAPHS", default="1"),
    )


def _cache() -> Path | None:
    """The folder for machine code: the user's own one for caches, as the XDG base directories say."""
    own = os.environ.get("UFUSE_CACHE_DIR")
    if own:
        return Path(own).absolute()
    places = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if places.is_absolute():
        return places / "ufuse"
    try:
        return Path.home() / ".cache" / "ufuse"
    except RuntimeError:  # no home
        return None


def _switch(name: str, default: str = "0") -> bool:
    value = os.environ.get(name) or default
    if value not in ("0", "1"):
        raise SettingError(f"{name} must be 0 or 1, not {value!r}")
    return value == "1"
