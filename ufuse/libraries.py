"""Which functions are traced when plain Python calls them: the user's, not those of libraries."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from types import CodeType

# Folders as they are imported, and with symbolic links resolved: code objects may name either.
LIBRARIES = (
    sysconfig.get_path("stdlib"),
    *(
        str(folder)
        for name in ("numpy", "ufuse", "ufuse.graph", "ufuse.frame_hook", "ufuse.backends")
        for file in [Path(sys.modules[name].__file__ or "")]
        for folder in dict.fromkeys((file.parent, file.resolve().parent))
    ),
)


def should_trace(code: CodeType) -> bool:
    """Whether a function that plain Python calls is worth tracing: not the standard library's, NumPy's or ours."""
    file = code.co_filename
    if file.startswith("<frozen"):
        return False
    if any(file.startswith(folder + os.sep) for folder in LIBRARIES):
        return "site-packages" in file and not any(
            file.startswith(f + os.sep) for f in LIBRARIES[1:]
        )
    return True
