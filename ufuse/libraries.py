"""Which functions are traced when plain Python calls them: the user's, not those of NumPy, CuPy and the like."""

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
    """Whether a function that plain Python calls is worth tracing: not Python's own, NumPy's, CuPy's or ours."""
    file = code.co_filename
    if file.startswith("<frozen") or _is_of_cupy(file):
        return False
    if any(file.startswith(folder + os.sep) for folder in LIBRARIES):
        return "site-packages" in file and not any(
            file.startswith(f + os.sep) for f in LIBRARIES[1:]
        )
    return True


def _is_of_cupy(file: str) -> bool:
    """Whether a file is one of CuPy's own, which may be imported at any time; `cupyx` has loops over its functions."""
    package = getattr(sys.modules.get("cupy"), "__file__", None)
    return isinstance(package, str) and file.startswith(os.path.dirname(package) + os.sep)  # noqa: PTH120 (as it is written)
