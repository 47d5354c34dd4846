"""Machine code kept on disk: a file for each piece, in a folder that is the user's own.

Laws:

1. A key is a digest of all that the code depends on: what it was made of, ufuse's sources, NumPy, llvmlite, the
   processor. So a file under a key never changes, and whoever writes it last writes the same.
2. A file appears under its name at once and whole. What was cut off, damaged, or may be another user's is not read.
3. Nothing here raises because of the disk: a cache that cannot be used is one without files.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex

import numpy as np

from ufuse.backends import planning
from ufuse.backends.numpy import _tiles
from ufuse.graph import ops
from ufuse.graph.records import record

MOST_BYTES = 256 << 20
LEFT = 0.9  # of MOST_BYTES, once files were removed
MAGIC = b"UFUSE\0\0\1"
DIGEST = 32  # bytes
SUFFIX, UNFINISHED = ".code", ".new"
STALE = 3600.0  # seconds after which nobody goes on writing a file
TOUCHED = 86400.0  # seconds for which a file counts as just used
LARGEST = 64 << 20
JUST_NOW = 2.0  # seconds
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Of the first processor in /proc/cpuinfo: what LLVM's choice of instructions depends on.
PROCESSOR = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")

_llvmlite = find_spec("llvmlite")
LLVMLITE = None if _llvmlite is None else _llvmlite.origin
_log = logging.getLogger("ufuse.kernels")


@record
class Kept:
    """Object code, the name of its function, and the keys of what has functions that it calls."""

    code: bytes
    function: str = ""
    needs: tuple[str, ...] = ()


@record
class Info:
    """What a cache holds."""

    files: int
    size: int  # bytes


class Cache:
    """A folder of code."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder = folder
        self.most_bytes = most_bytes

    def why_not(self) -> str | None:
        """Why the folder cannot be used, or None; it is made where there is none."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _why_not_own(self.folder.stat(), stat.S_ISDIR)
        except OSError as error:
            return str(error)

    def load(self, key: str) -> Kept | None:
        """What is kept under a key."""
        path = self.folder / (key + SUFFIX)
        try:
            data = _read(path)
            return None if data is None else _unpacked(key, data)
        except (OSError, ValueError) as error:
            _log.info("kept code is not used: %s: %s", path, error)
            return None

    def save(self, key: str, kept: Kept) -> None:
        """Keep code under a key."""
        new = self.folder / f".{os.getpid()}-{token_hex(8)}{UNFINISHED}"
        try:
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "wb") as writable:
                writable.write(_packed(key, kept))
            new.rename(self.folder / (key + SUFFIX))
            if key[0] == "0":  # one in sixteen
                self.trim()
        except OSError as error:
            _log.info("code is not kept: %s", error)
            new.unlink(missing_ok=True)

    def trim(self) -> None:
        """Remove what was not used for longest where there is too much, and what was never finished."""
        found = sorted((one.st_mtime, one.st_size, path) for path, one in self._files())
        size = sum(bytes_ for _, bytes_, _ in found)
        left = size if size <= self.most_bytes else int(LEFT * self.most_bytes)
        for used, bytes_, path in found:
            is_old = used < time.time() - STALE
            is_needless = is_old if path.suffix == UNFINISHED else size > left
            if is_needless:
                path.unlink(missing_ok=True)
                size -= bytes_

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.folder.iterdir():
            if path.suffix in {SUFFIX, UNFINISHED}:
                try:
                    yield path, path.lstat()
                except FileNotFoundError:  # another process removed it
                    continue

    @cached_property
    def had_code(self) -> bool:
        """Whether there was any when this was first asked."""
        try:
            return any(path.suffix == SUFFIX for path in self.folder.iterdir())
        except OSError:
            return False

    def info(self) -> Info:
        """How much there is."""
        sizes = [one.st_size for _, one in self._files()] if self.folder.is_dir() else []
        return Info(len(sizes), sum(sizes))

    def clear(self) -> Info:
        """Remove everything; what there was."""
        info = self.info()
        if self.folder.is_dir():
            for path, _ in self._files():
                path.unlink(missing_ok=True)
        return info


def _why_not_own(found: os.stat_result, is_kind: Callable[[int], bool]) -> str | None:
    """Why a file or folder may be another user's work, or None."""
    if not is_kind(found.st_mode):
        return "it is of another kind"
    if found.st_uid != os.geteuid():
        return "it is another user's"
    return "others may write it" if found.st_mode & OTHERS_WRITE else None


def _read(path: Path) -> bytes | None:
    """The contents of a file of ours; None where there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as readable:
        found = os.fstat(file)
        why = _why_not_own(found, stat.S_ISREG)
        if why is not None or found.st_size > LARGEST:
            raise ValueError(why or "it is too large")
        if found.st_mtime < time.time() - TOUCHED:
            os.utime(file)
        return readable.read()


def _packed(key: str, kept: Kept) -> bytes:
    head = json.dumps([key, kept.function, kept.needs]).encode()
    rest = len(head).to_bytes(4, "little") + head + kept.code
    return MAGIC + blake2b(rest, digest_size=DIGEST).digest() + rest


def _unpacked(key: str, data: bytes) -> Kept:
    begin = len(MAGIC) + DIGEST
    rest = data[begin:]
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("it is not of this version")
    if blake2b(rest, digest_size=DIGEST).digest() != data[len(MAGIC) : begin]:
        raise ValueError("it is damaged")
    past = 4 + int.from_bytes(rest[:4], "little")
    owner, function, needs = json.loads(rest[4:past])
    if owner != key:
        raise ValueError("it was kept under another name")
    return Kept(rest[past:], function, tuple(needs))


# The cache of this process


_caches: list[Cache] = []


def configure(folder: Path | None) -> None:
    """Set where code is kept; None for nowhere."""
    _caches[:] = [] if folder is None else [Cache(folder)]


def cache_in_use() -> Cache | None:
    """The cache; None where nothing is kept."""
    if not _caches:
        return None
    why = _caches[0].why_not()
    if why is None and environment() is None:
        why = "what it depends on is not known"
    if why is None:
        return _caches[0]
    _log.info("no code is kept in %s: %s", _caches[0].folder, why)
    _caches.clear()
    return None


def key_of(kind: str, what: bytes) -> str | None:
    """The key of code that is made of something; None where nothing is kept."""
    if cache_in_use() is None:
        return None
    head = (environment() or b"") + kind.encode() + b"\0"
    return blake2b(head + what, digest_size=20).hexdigest()


def load(key: str | None) -> Kept | None:
    """What is kept under a key."""
    return _caches[0].load(key) if key is not None and _caches else None


def save(key: str | None, kept: Kept) -> None:
    """Keep code under a key."""
    if key is not None and _caches:
        _caches[0].save(key, kept)


@cache
def environment() -> bytes | None:
    """A digest of what machine code depends on beside what it is made of; None where that is not known."""
    try:
        processor = _processor()
        paths = _sources()
        return _digest(np.__version__.encode(), *processor, _contents(paths)) if processor else None
    except OSError:
        return None


def _digest(*parts: bytes) -> bytes:
    found = blake2b(digest_size=DIGEST)
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def _contents(paths: list[str]) -> bytes:
    """A digest of what is in files, which is kept: reading them all takes ten times as long as asking for their times.

    The system sets the time of a file's last change, to some milliseconds; so one that changed just now is read.
    """
    stats = [Path(path).stat() for path in paths]
    words = [
        (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in stats
    ]
    key = _digest(repr((paths, words)).encode()).hex()
    kept = load(key)
    if kept is not None:
        return kept.code
    found = _digest(*(Path(path).name.encode() + b"\0" + Path(path).read_bytes() for path in paths))
    if max(one.st_ctime for one in stats) < time.time() - JUST_NOW:
        save(key, Kept(found))
    return found


def _processor() -> list[bytes]:
    """What the system says of the first processor."""
    with Path("/proc/cpuinfo").open("rb") as text:
        first = text.read(16384).partition(b"\n\n")[0]
    lines = [line for line in first.split(b"\n") if line.partition(b"\t")[0] in PROCESSOR]
    return lines if len(lines) == len(PROCESSOR) else []


def _sources() -> list[str]:
    """The files that decide what code is made, and what it calls; LLVM's version among them."""
    found = [_tiles.__file__]
    for module in (_tiles, planning, ops):
        for folder, _, names in sorted(os.walk(Path(module.__file__ or "").parent)):
            found += [f"{folder}/{name}" for name in sorted(names) if name.endswith(".py")]
    if LLVMLITE is not None:
        found.append(str(Path(LLVMLITE).with_name("_version.py")))
    return found
