"""The tables of native loops are filled by modules that are named, not by chance."""

from __future__ import annotations

import re
from pathlib import Path

from ufuse.frame_hook.nests.loops import loop_reader
from ufuse.frame_hook.nests.opcodes import dispatch

FOLDER = Path(dispatch.__file__).parent.parent
REGISTERS = re.compile(r"^@?(?:[A-Z_]+\.of|methods?_of|array_calls\.method|reads)\(", re.MULTILINE)


def test_modules_that_fill_tables_are_listed() -> None:
    """A module that says what is done with items of a class, or what an opcode does, is in one of two lists."""
    listed = {Path(one.__file__) for one in (*dispatch.OF_CLASSES, *loop_reader.HANDLING)}
    registers = {
        path for path in FOLDER.rglob("*.py") if REGISTERS.search(path.read_text(encoding="utf-8"))
    }
    assert registers == listed
