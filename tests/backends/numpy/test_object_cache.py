"""Machine code that is kept on disk."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code, array
from ufuse.__main__ import main
from ufuse.backends.numpy import BACKEND
from ufuse.backends.numpy.llvm import apart, compiler, link, object_cache
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.llvm.object_cache import Cache, Info, Kept
from ufuse.backends.numpy.nest_code import nests
from ufuse.backends.numpy.nest_passes.key import description
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest

pytestmark = pytest.mark.skipif(not link.IS_OURS, reason="nothing is kept on this machine")
KEY = "ab" * 20
CODE = Kept(b"\0code\xff", "ufuse_f", ("cd" * 20,))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty one, which nobody uses."""
    made = Cache(tmp_path / "cache")
    assert made.why_not() is None
    return made


@pytest.fixture
def in_use(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cache]:
    """An empty one, which this process uses."""
    forget(monkeypatch)
    assert object_cache.environment() is not None  # it would be kept, too
    object_cache.configure(cache.folder)
    yield cache
    object_cache.configure(None)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin as a new process does, which has compiled nothing."""
    for name in ("_loaded", "_rows", "_row_keys"):
        monkeypatch.setattr(link, name, {})
    for module in (compiler, apart):
        monkeypatch.setattr(module, "_made", {})


def files(cache: Cache) -> list[Path]:
    """What is in the folder."""
    return sorted(cache.folder.iterdir())


def test_what_was_kept_is_found(cache: Cache) -> None:
    """Under its own key, all of it."""
    assert cache.load(KEY) is None
    cache.save(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert cache.load("cd" * 20) is None
    assert [path.stat().st_mode & 0o777 for path in files(cache)] == [0o600]
    assert cache.folder.stat().st_mode & 0o777 == 0o700


def cut_off(path: Path) -> None:
    """Half of the file is missing."""
    path.write_bytes(path.read_bytes()[:-3])


def damage(path: Path) -> None:
    """One bit is another one."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 4
    path.write_bytes(data)


def older(path: Path) -> None:
    """The file is of another version."""
    path.write_bytes(b"UFUSE\0\0\0" + path.read_bytes()[8:])


def empty(path: Path) -> None:
    """Nothing is in it."""
    path.write_bytes(b"")


def open_to_all(path: Path) -> None:
    """Others may write it."""
    path.chmod(0o622)


def link_elsewhere(path: Path) -> None:
    """It is a symbolic link."""
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


def make_folder(path: Path) -> None:
    """It is no file."""
    path.unlink()
    path.mkdir()


def make_pipe(path: Path) -> None:
    """It is a pipe, at which a reader would wait."""
    path.unlink()
    os.mkfifo(path)


def rename(path: Path) -> None:
    """It was kept under another key."""
    (path.parent / f"{'cd' * 20}.code").write_bytes(path.read_bytes())


CHANGES = (
    cut_off, damage, older, empty, open_to_all, link_elsewhere, make_folder, make_pipe, rename,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_wrong_is_not_used(
    change: Callable[[Path], None], cache: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    """It is as if it were not there, and the log says so."""
    caplog.set_level(logging.INFO, "ufuse.kernels")
    cache.save(KEY, CODE)
    change(files(cache)[0])
    assert cache.load("cd" * 20 if change is rename else KEY) is None
    assert "kept code is not used" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
def test_what_others_own_is_not_used(cache: Cache) -> None:
    """Neither a file nor a folder."""
    cache.save(KEY, CODE)
    os.chown(files(cache)[0], 12345, 12345)
    assert cache.load(KEY) is None
    os.chown(cache.folder, 12345, 12345)
    assert cache.why_not() == "it is another user's"


def test_a_folder_that_others_may_write_is_not_used(
    in_use: Cache, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is kept then."""
    caplog.set_level(logging.INFO, "ufuse.kernels")
    in_use.folder.chmod(0o777)
    assert object_cache.key_of("first", b"") is None
    assert "others may write it" in caplog.text


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    """Why it cannot be used."""
    (tmp_path / "cache").write_text("")
    assert Cache(tmp_path / "cache").why_not() is not None
    assert "File exists" in str(Cache(tmp_path / "cache").why_not())


def test_a_full_disk_keeps_nothing(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where writing fails nothing is left, and nothing is raised."""

    def fail(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(object_cache, "_packed", fail)
    cache.save(KEY, CODE)
    assert not files(cache)


def test_what_is_not_used_goes_first(cache: Cache) -> None:
    """The folder has a largest size; what was read lately stays."""
    cache.most_bytes = 10_000
    kept = Kept(bytes(900))
    keys = [f"f{number:039x}" for number in range(14)]
    for number, key in enumerate(keys):
        cache.save(key, kept)
        long_ago = time.time() - 1e6 + number
        os.utime(cache.folder / f"{key}.code", (long_ago, long_ago))
    assert cache.load(keys[0]) == kept
    left_behind = cache.folder / ".1-2.new"
    left_behind.write_text("")
    cache.trim()
    assert left_behind.exists()  # perhaps it is being written
    os.utime(left_behind, (0, 0))
    cache.trim()
    assert not left_behind.exists()
    info = cache.info()
    assert 0 < info.size <= 9000
    assert cache.load(keys[0]) == kept
    assert cache.load(keys[1]) is None
    assert cache.load(keys[-1]) == kept


def test_files_are_read_again_where_they_change(in_use: Cache, tmp_path: Path) -> None:
    """What is in the sources is kept by their times, unless they have changed just now."""
    path = tmp_path / "source.py"
    path.write_text("one")
    fresh = object_cache._contents([str(path)])
    assert in_use.info().files == 0
    time.sleep(object_cache.JUST_NOW)
    assert object_cache._contents([str(path)]) == fresh
    assert object_cache._contents([str(path)]) == fresh
    assert in_use.info().files == 1
    path.write_text("two")
    assert object_cache._contents([str(path)]) != fresh


def simple_nest(constant: float) -> Nest:
    """A loop over an array."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("add", code.load(0, i), code.real(constant)))
    code.end("jump", "header")
    return code.nest()


def test_unlike_nests_have_unlike_keys() -> None:
    """Also where their texts are the same: zeros by their sign, NaNs by their bits."""
    odd = [
        0.0,
        -0.0,
        1.0,
        float("nan"),
        -float("nan"),
        float(np.uint64(0x7FF8000000000001).view("f8")),
    ]
    found = {description(simple_nest(number)) for number in odd}
    assert None not in found
    assert len(found) == len(odd)
    assert description(simple_nest(1.0)) == description(simple_nest(1.0))


def test_the_same_code_without_llvm(in_use: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it was compiled it comes from the disk: own code and better code."""
    nest = simple_nest(1.0)
    first = Work(lambda: nests.compiled_nest(nest)).result()
    better = Work(lambda: nests.improved_nest(nest)).result()
    assert better is not None
    assert in_use.info().files == 2
    forget(monkeypatch)
    monkeypatch.setattr(compiler, "_the_compiler", None)
    monkeypatch.setattr(apart, "_compilers", None)
    assert Work(lambda: nests.kept_improvement(nest)).result() not in {None, better}
    again = Work(lambda: nests.compiled_nest(nest)).result()
    assert again != first
    monkeypatch.setattr(compiler, "_compiler", [])
    monkeypatch.delitem(sys.modules, "llvmlite.binding")
    assert BACKEND.nest_seconds() < 0.02
    forget(monkeypatch)
    assert BACKEND.nest_seconds() < 0.02
    monkeypatch.setattr(object_cache, "_caches", [])
    assert BACKEND.nest_seconds() > 0.05
    with pytest.raises(TypeError):
        Work(lambda: nests.compiled_nest(simple_nest(2.0))).result()


def test_the_same_code_twice_in_a_process(in_use: Cache) -> None:
    """What this process has made and kept is found again, own code and better code."""
    nest = simple_nest(1.0)
    first = Work(lambda: nests.compiled_nest(nest)).result()
    better = Work(lambda: nests.improved_nest(nest)).result()
    assert Work(lambda: nests.compiled_nest(nest)).result() == first
    assert Work(lambda: nests.kept_improvement(nest)).result() == better
    assert in_use.info().files == 2


def test_code_made_with_more_effort_is_kept(in_use: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later process begins with it."""
    nest = simple_nest(1.0)
    assert Work(lambda: nests.kept_tuning(nest)).result() is None
    tuned = Work(lambda: nests.tuned_nest(nest)).result()
    forget(monkeypatch)
    monkeypatch.setattr(apart, "_compilers", None)
    assert Work(lambda: nests.kept_tuning(nest)).result() not in {None, tuned}
    made: Any = nest_object(nest)
    assert made.tuner is None


def test_damaged_code_is_compiled_again(in_use: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """And kept again."""
    nest = simple_nest(1.0)
    Work(lambda: nests.compiled_nest(nest)).result()
    (path,) = files(in_use)
    kept = path.read_bytes()
    damage(path)
    forget(monkeypatch)
    Work(lambda: nests.compiled_nest(nest)).result()
    assert path.read_bytes() == kept


PROGRAM = """
import sys
import numpy as np
import ufuse

def smooth(x, alpha):
    out = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = alpha * x[i] + (1 - alpha) * level + np.exp(-x[i])
        out[i] = level
    return out

def relax(u, sweeps):
    for _ in range(sweeps):
        for i in range(1, len(u) - 1):
            u[i, 1:-1] = 0.25 * (u[i - 1, 1:-1] + u[i + 1, 1:-1]) + u[i].sum() + np.sin(u[i, 1:-1])
    return u

def walk(rng, count):
    total = 0.0
    for _ in range(count):
        total += rng.normal(0.5, 2.0) * rng.integers(3, 17)
    return total

def chain(x, y):
    return ((x - y) * 2.0 + x * y - 0.5) * x

x = np.random.default_rng(0).random(3000)
def results(of):
    rng = np.random.default_rng(5)
    return [
        of(smooth)(x, 0.3).tobytes(), of(relax)(np.ones((20, 20)), 3).tobytes(), of(walk)(rng, 3000).hex(),
        [of(chain)(x, y).tobytes() for y in (x, x + 1.0)],
    ]

compiled = {}
def compile(f):
    return compiled.setdefault(f, ufuse.compile(f))

expected = results(lambda f: f)
for _ in range(3):
    assert results(compile) == expected
loops = [loop.why_not for f in (smooth, relax, walk) for loop in compiled[f].loops]
assert not any(loops), loops
print(int("llvmlite.binding" in sys.modules))
"""


def run(folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Begin to run the program in a process of its own."""
    given = {"UFUSE_CACHE": "1", "UFUSE_CACHE_DIR": str(folder), "UFUSE_MEASURE": "0"}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", PROGRAM],
        env={**os.environ, **given, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen[str]) -> str:
    """What it printed, once it has ended well."""
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return printed.strip() + errors


def test_later_processes_need_no_llvm(tmp_path: Path) -> None:
    """Results are the same, and llvmlite is not imported."""
    assert outcome(run(tmp_path)) == "1"
    kept = Cache(tmp_path).info()
    assert kept.files > 3
    assert outcome(run(tmp_path)) == "0"
    assert Cache(tmp_path).info() == kept
    assert outcome(run(tmp_path, UFUSE_CACHE="0")) == "1"


def test_five_processes_at_once(tmp_path: Path) -> None:
    """All over one empty cache, some of them killed in the midst: what is kept then is right."""
    begun = [run(tmp_path) for _ in range(5)]
    until = time.monotonic() + 60
    while not list(tmp_path.glob("*.code")) and time.monotonic() < until:
        time.sleep(1e-3)
    for process in begun[::3]:
        process.send_signal(signal.SIGKILL)
    for number, process in enumerate(begun):
        if number % 3:
            assert outcome(process) in {"0", "1"}
        else:
            process.communicate()
    cache = Cache(tmp_path)
    assert all(cache.load(path.stem) is not None for path in tmp_path.glob("*.code"))
    outcome(run(tmp_path))
    assert outcome(run(tmp_path)) == "0"


def test_the_command_line(in_use: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    """How much is kept; nothing any more; nowhere."""
    in_use.save(KEY, CODE)
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.startswith(
        "machine code kept: 1 files, 0.0 MiB, 256 MiB at most"
    )
    assert main(["cache", "clear"]) == 0
    assert "1 files" in capsys.readouterr().out
    assert in_use.info() == Info(0, 0)
    object_cache.configure(None)
    assert main(["cache", "info"]) == main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "no machine code is kept\n" * 2
