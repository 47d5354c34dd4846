"""The shape of the code base: which folder may import which."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "graph": {"graph"},
    "backends": {"graph", "backends"},
    "frame_hook": {"graph", "frame_hook"},
    "ufuse": {"graph", "backends", "frame_hook", "ufuse"},
}
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


def imported_folders(node: ast.stmt) -> set[str]:
    """Name the folders of ours that a statement imports from."""
    match node:
        case ast.Import(names=names):
            modules = [alias.name for alias in names]
        case ast.ImportFrom(module="ufuse", names=names, level=0):
            modules = [f"ufuse.{alias.name}" for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            modules = [module]
        case _:
            return set()
    parts = [name.split(".") for name in modules if name.split(".")[0] == "ufuse"]
    return {p[1] if len(p) > 1 and p[1] in MAY_IMPORT else "ufuse" for p in parts}


def test_imports_point_one_way() -> None:
    """Each folder imports only itself and the folders below it."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {target}"
        for folder, path, tree in sources()
        for node in statements(tree)
        for target in imported_folders(node) - MAY_IMPORT[folder]
    ]
    assert not wrong, "\n".join(wrong)


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
