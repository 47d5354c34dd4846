"""Object code in memory: `runtime/object.c`."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm import compiler, link
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.llvm.compiler import Effort

pytestmark = pytest.mark.skipif(not link.IS_OURS, reason="another machine's code")
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
# Two functions, one of which calls the other; a table of addresses; a constant; what others define.
TEXT = """
@other = external global i8
@table = private constant [2 x i64] [i64 5, i64 ptrtoint (ptr @inner to i64)]
define i64 @inner(i64 %x) {
  %y = sitofp i64 %x to double
  %z = fmul double %y, 1.5
  %w = fptosi double %z to i64
  ret i64 %w
}
define i64 @outer(i64 %x) {
  %at = getelementptr i64, ptr @table, i64 1
  %function = load volatile ptr, ptr %at
  %y = call i64 %function(i64 %x)
  %z = call i64 @other(i64 %y)
  ret i64 %z
}
"""


def code(text: str) -> bytes:
    """The object code of a text."""
    return Work(lambda: compiler._the_compiler().object_code(text, Effort.NONE)).result()


def test_code_calls_what_it_is_given() -> None:
    """Addresses are filled in, and constants lie where instructions look for them."""
    called = FUNCTION(lambda number: number + 1)
    address = ctypes.cast(called, ctypes.c_void_p).value or 0
    data = code(TEXT)
    assert _tiles.undefined_symbols(data) == ["other"]
    made = _tiles.load_object(data, {"other": address})
    assert sorted(made) == ["inner", "outer"]
    assert FUNCTION(made["inner"])(10) == 15
    assert FUNCTION(made["outer"])(10) == 16


def test_code_in_memory_cannot_be_written() -> None:
    """What can be written is not run, and the other way round."""
    made = _tiles.load_object(code("define i64 @f(i64 %x) { ret i64 %x }"), {})
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(word, 16) for word in line.split()[0].split("-"))
        if begin <= made["f"] < end:
            found.append(line.split()[1])
    assert found == ["r-xp"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@x = global i64 5\ndefine ptr @f() { ret ptr @x }", "section of another kind"),
        ("@x = thread_local global i64 5\ndefine ptr @f() { ret ptr @x }", "section of another"),
        (
            "declare void @g()\ndefine void @f() { call void @g() ret void }",
            "symbol that is unknown",
        ),
    ],
)
def test_what_is_not_loaded(text: str, why: str) -> None:
    """Variables, and what nobody defines."""
    with pytest.raises(ValueError, match=why):
        _tiles.load_object(code(text), {})


def test_symbols_are_addresses() -> None:
    """What is no number is an error of the caller's."""
    data = code(TEXT)
    wrong: Any = {"other": "x"}
    with pytest.raises(TypeError):
        _tiles.load_object(data, wrong)
    with pytest.raises(OverflowError):
        _tiles.load_object(data, {"other": -1})


def test_damaged_code_is_refused_or_loaded() -> None:
    """Whatever a byte becomes nothing is read or written outside; the sanitizer would say so."""
    data = code(TEXT)
    draw = np.random.default_rng(1)
    for _ in range(3000):
        damaged = bytearray(data)
        for place in draw.integers(len(data), size=draw.integers(1, 4)):
            damaged[place] = draw.choice([0, 1, 255, draw.integers(256)])
        cut = bytes(damaged[: draw.choice([len(data), draw.integers(len(data))])])
        for read in (_tiles.undefined_symbols, lambda code: _tiles.load_object(code, {"other": 8})):
            with suppress(ValueError):
                read(cut)


def test_llvm_loads_what_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """On another machine its own loader does."""
    text = TEXT.replace("@other", '@"ufuse.helper.patience"').replace("@outer", "@outer_by_llvm")
    text = text.replace("@inner", "@inner_by_llvm")
    data = code(text)
    monkeypatch.setattr(link, "IS_OURS", False)
    made = Work(lambda: link.linked(data, text)).result()
    assert sorted(made) == ["inner_by_llvm", "outer_by_llvm"]
    assert FUNCTION(made["inner_by_llvm"])(10) == 15
