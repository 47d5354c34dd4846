"""The shape of the code base: which folder may import which, and within a folder which room."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAY_IMPORT = {
    "graph": {"graph"},
    "backends": {"graph", "backends"},
    "frame_hook": {"graph", "frame_hook"},
    "ufuse": {"graph", "backends", "frame_hook", "ufuse"},
}
# The rooms of a folder (a file may be one), each importing only those before it; "" are its other files.
ROOMS = {
    "graph": ("", "typing", "text", "semantics", "passes"),
    "backends": ("", "numpy"),
    "frame_hook": (
        "code", "trace", "interpreter", "objects", "arrays", "operations", "library", "opcodes", "entries", "",
    ),
    "ufuse": ("errors", "graphs", "diagnostics", ""),
}  # fmt: skip
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def sources() -> list[tuple[str, Path, ast.Module]]:
    """Parse every Python file of the product."""
    return [
        (folder, path, ast.parse(path.read_text(), str(path)))
        for folder in MAY_IMPORT
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.is_symlink()
    ]


def statements(tree: ast.AST) -> list[ast.stmt]:
    """List every statement, at any depth."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def modules_imported(node: ast.stmt) -> list[str]:
    """Name what a statement imports of ours, dotted, below `ufuse`; modules and what is taken from them alike."""
    match node:
        case ast.Import(names=names):
            found = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            found = [f"{module}.{alias.name}" for alias in names]
        case _:
            return []
    return [name.partition(".")[2] for name in found if name.split(".")[0] == "ufuse"]


def imported_folders(node: ast.stmt) -> set[str]:
    """Name the folders of ours that a statement imports from."""
    firsts = {name.partition(".")[0] for name in modules_imported(node)}
    return {first if first in MAY_IMPORT else "ufuse" for first in firsts}


def rooms_entered(node: ast.stmt, folder: str) -> set[str]:
    """Name the rooms of one folder that a statement imports from; "" is the folder itself."""
    paths = [name.split(".") for name in modules_imported(node)]
    if folder == "ufuse":
        inside = [path for path in paths if path[0] not in MAY_IMPORT]
    else:
        inside = [path[1:] for path in paths if path[0] == folder]
    return {
        path[0] if path and path[0] in ROOMS[folder] else ""
        for path in inside
        if path[:1] != ["_hook"]
    }


def test_imports_point_one_way() -> None:
    """Each folder imports only itself and the folders below it."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {target}"
        for folder, path, tree in sources()
        for node in statements(tree)
        for target in imported_folders(node) - MAY_IMPORT[folder]
    ]
    assert not wrong, "\n".join(wrong)


def test_rooms_import_only_rooms_before_them() -> None:
    """Within a folder a room imports itself and the rooms before it."""
    wrong = []
    for folder, path, tree in sources():
        if folder not in ROOMS:
            continue
        order = ROOMS[folder]
        room = path.relative_to(ROOT / folder).parts[0].removesuffix(".py")
        allowed = order[: order.index(room if room in order else "") + 1]
        wrong += [
            f"{path.relative_to(ROOT)}:{node.lineno} imports {target or folder}"
            for node in statements(tree)
            for target in rooms_entered(node, folder) - set(allowed)
        ]
    assert not wrong, "\n".join(wrong)


def test_every_room_is_in_the_order() -> None:
    """A new folder gets a place in the order before it gets code."""
    for folder, order in ROOMS.items():
        rooms = {path.parent.name for path in (ROOT / folder).glob("*/__init__.py")}
        files = {path.stem for path in (ROOT / folder).glob("*.py")}
        assert rooms <= set(order) <= rooms | files | {""}, folder


def test_no_function_hides_an_import_of_ours() -> None:
    """An import of our own code sits at the top of its file."""
    hidden = [
        f"{path.relative_to(ROOT)}:{node.lineno} in {function.name}()"
        for _, path, tree in sources()
        for function in ast.walk(tree)
        if isinstance(function, FUNCTION)
        for node in statements(function)
        if imported_folders(node)
    ]
    assert not hidden, "\n".join(hidden)


def test_every_test_says_what_it_holds() -> None:
    """A test has one sentence that states its fact."""
    silent = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}()"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text(), str(path)))
        if isinstance(node, FUNCTION)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert not silent, "\n".join(silent)
