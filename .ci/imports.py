"""Checks an installed tree: every module of the sources is there, and the extensions load."""

import importlib
import sys
from pathlib import Path

INSTALLED = Path(sys.argv[1]).resolve()
SOURCES = {".": "ufuse", "frame_hook": "frame_hook", "graph": "graph", "backends": "backends"}
DATA = {".py", ".pyi", ".cuh"}

wanted = {
    Path(place, path.relative_to(folder))
    for place, folder in SOURCES.items()
    for path in Path(folder).rglob("*")
    if path.suffix in DATA
}
if missing := sorted(str(path) for path in wanted if not (INSTALLED / path).exists()):
    sys.exit(f"not installed: {', '.join(missing)} (is there an __init__.py in every folder?)")
extensions = [path.relative_to(INSTALLED.parent) for path in INSTALLED.rglob("*.so")]
for path in extensions:
    module = importlib.import_module(".".join((*path.parts[:-1], path.name.split(".")[0])))
    if INSTALLED not in Path(module.__file__ or "").parents:
        sys.exit(f"{module.__name__} came from {module.__file__}")
print(f"installed as a wheel: {len(wanted)} modules, {len(extensions)} extensions")
