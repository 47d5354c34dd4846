"""The shape of the code base: which folder may import which, and within a folder which room."""

from __future__ import annotations

import ast
import functools
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.sources import ROOT

MAY_IMPORT = {
    "graph": {"graph"},
    "backends": {"graph", "backends"},
    "frame_hook": {"graph", "frame_hook"},
    "ufuse": {"graph", "backends", "frame_hook", "ufuse"},
}
# The rooms of a folder (a file may be one), each importing only those before it; "" are its other files.
ROOMS = {
    "graph": ("", "typing", "memory", "text", "semantics", "passes"),
    "backends": ("", "planning", "numpy", "cupy"),
    "frame_hook": (
        "code", "trace", "interpreter", "objects", "arrays", "devices", "operations", "library", "opcodes", "entries",
        "nests", "",
    ),
    "frame_hook/nests": (
        "known", "numbers", "given", "reading", "arrays", "containers", "calls", "opcodes", "loops",
        "entries",
    ),
    "backends/numpy": ("loops", "llvm", "nest_passes", "nest_code", ""),
    "backends/cupy": ("operations", "texts", "steps", "launching", "sending", ""),
    "ufuse": ("errors", "diagnostics", ""),
}  # fmt: skip
# The folders of each C extension, in the same way.
C_ROOMS: dict[str, tuple[str, ...]] = {
    "frame_hook/csrc": ("values", "python", "guards", "run"),
    "backends/numpy/csrc": ("runtime", "loops", "scalars", "kernel", "nest", "program"),
    "backends/numpy/csrc/nest": ("form", "called", "given", "saved", "containers", "run", "type"),
    "backends/cupy/csrc": ("device", "kernel", "program"),
}
# What is no code; a function that other files may call, as clang-format lays it out; an include of ours.
C_TEXT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
C_FUNCTION = re.compile(r"^(?!static\b)[A-Za-z_][\w \t*]*\n(\w+)\(", re.MULTILINE)
C_BODY = re.compile(r"^\{$.*?^\}$", re.MULTILINE | re.DOTALL)
C_INCLUDE = re.compile(r'^#\s*include "([^"]+)"', re.MULTILINE)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
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


def modules_imported(node: ast.stmt, package: str = "ufuse") -> list[str]:
    """Name what a statement imports of ours, dotted, below the package; modules and what is taken from them alike."""
    match node:
        case ast.Import(names=names):
            found = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            found = [f"{module}.{alias.name}" for alias in names]
        case _:
            return []
    return [name.partition(".")[2] for name in found if name.split(".")[0] == package]


def imported_folders(node: ast.stmt) -> set[str]:
    """Name the folders of ours that a statement imports from."""
    firsts = {name.partition(".")[0] for name in modules_imported(node)}
    return {first if first in MAY_IMPORT else "ufuse" for first in firsts}


def rooms_entered(node: ast.stmt, folder: str) -> set[str]:
    """Name the rooms of one folder that a statement imports from; "" is the folder itself."""
    paths = [name.split(".") for name in modules_imported(node)]
    outer = folder.split("/")
    if folder == "ufuse":
        inside = [path for path in paths if path[0] not in MAY_IMPORT]
    else:
        inside = [path[len(outer) :] for path in paths if path[: len(outer)] == outer]
    return {
        path[0] if path and path[0] in ROOMS[folder] else ""
        for path in inside
        if not (path and (ROOT / folder / path[0]).with_suffix(".pyi").exists())  # C
    }


def c_uses(root: Path) -> dict[Path, set[Path]]:
    """Say which files each C file below `root` includes, and which others define the functions it uses."""
    texts = {path: path.read_text() for path in sorted(root.rglob("*.[ch]"))}
    code = {path: C_TEXT.sub(" ", text) for path, text in texts.items()}
    defined = {name: path for path in texts for name in C_FUNCTION.findall(code[path])}
    # Includes start there.
    top = next(path for path in (root, *root.parents) if path.name == "csrc")
    uses = {path: {top / name for name in C_INCLUDE.findall(text)} for path, text in texts.items()}
    for path, text in code.items():
        used = (
            "".join(C_BODY.findall(text)) if path.suffix == ".h" else text
        )  # not what it declares
        files = {defined[word] for word in re.findall(r"\w+", used) if word in defined}
        uses[path] |= {file for file in files if file.with_suffix("") != path.with_suffix("")}
    return uses


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
    for folder, order in ROOMS.items():
        for _, path, tree in sources():
            if not path.is_relative_to(ROOT / folder):
                continue
            room = path.relative_to(ROOT / folder).parts[0].removesuffix(".py")
            if room == "__init__":
                continue
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
        files = {path.stem for path in (ROOT / folder).glob("*.py")} - {"__init__"}
        assert rooms <= set(order) <= rooms | files | {""}, folder
        assert "" in order or not files, folder


def test_no_circle_of_modules() -> None:
    """No two modules import each other, not even by way of others, or for types alone."""
    trees = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        .removeprefix("ufuse.")
        .removesuffix(".__init__"): tree
        for _, path, tree in sources()
    }
    uses: dict[str, set[str]] = {}
    for name, tree in trees.items():
        imported = {
            one
            for node in statements(tree)
            for one in modules_imported(node)
            if not (ROOT / one.replace(".", "/")).with_suffix(".pyi").exists()  # C
        }
        found = {one if one in trees else one.rpartition(".")[0] for one in imported}
        uses[name] = (found & trees.keys()) - {name}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        pytest.fail(" uses ".join(reversed(error.args[1])))


@pytest.mark.parametrize("folder", C_ROOMS)
def test_no_circle_of_c_files(folder: str) -> None:
    """No two C files, each with its header, include or call each other, not even by way of others."""
    units: dict[Path, set[Path]] = {}
    for path, used in c_uses(ROOT / folder).items():
        unit = path.with_suffix("")
        units.setdefault(unit, set()).update({one.with_suffix("") for one in used} - {unit})
    try:
        TopologicalSorter(units).prepare()
    except CycleError as error:
        pytest.fail(" uses ".join(str(path.relative_to(ROOT)) for path in reversed(error.args[1])))


@pytest.mark.parametrize("folder", C_ROOMS)
def test_rooms_of_c_use_only_rooms_before_them(folder: str) -> None:
    """A folder of C files includes and calls itself and those before it; every folder is in the order."""
    order, root = C_ROOMS[folder], ROOT / folder
    assert {path.name for path in root.iterdir() if path.is_dir()} == set(order)
    place = {path: order.index(path.relative_to(root).parts[0]) for path in root.rglob("*/*.[ch]")}
    wrong = [
        f"{path.relative_to(ROOT)} uses {used.relative_to(root)}"
        for path, all_used in c_uses(root).items()
        for used in all_used
        if place.get(used, -1) > place.get(path, len(order))
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


def test_no_test_imports_another_test() -> None:
    """What several tests use stands in tests/support: a file of tests can be moved or removed alone."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in statements(ast.parse(path.read_text(), str(path)))
        for name in modules_imported(node, "tests")
        if any(part.startswith("test_") for part in name.split("."))
    ]
    assert not wrong, "\n".join(wrong)


def test_folders_of_tests_are_folders_of_the_product() -> None:
    """A test of a room stands in the folder of that name."""
    own = {"benchmarks", "programs", "shape", "support", "whole"}
    wrong = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("__init__.py"))
        for folder in [path.parent.relative_to(ROOT / "tests")]
        if folder.parts and folder.parts[0] not in own and not (ROOT / folder).is_dir()
    ]
    assert not wrong, "\n".join(wrong)


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
