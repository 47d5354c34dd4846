"""What is written is true: examples in docstrings, README and documents run."""

from __future__ import annotations

import builtins
import doctest
import importlib
import linecache
import pkgutil
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import ufuse
from tests.support.sources import ROOT

DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WITH_CODE = [path for path in DOCUMENTS if "```python" in path.read_text(encoding="utf-8")]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(ufuse.__path__, "ufuse.")
    if not module.name.endswith("__main__")
)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#]+)[^)]*\)")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    """Every `>>>` of a module gives what it says."""
    # Some modules have builtins of their own; examples are what users write.
    failed, _ = doctest.testmod(
        importlib.import_module(name), extraglobs={"__builtins__": builtins}
    )
    assert failed == 0


def test_package_example_runs() -> None:
    """And that of the package itself."""
    failed, tried = doctest.testmod(ufuse)
    assert failed == 0
    assert tried > 0


@pytest.mark.parametrize("path", WITH_CODE, ids=relative)
def test_document_runs(path: Path) -> None:
    """The Python blocks of a document run, one after another, as one program."""
    source = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": path.stem}
    linecache.checkcache(str(path))
    for block in FENCE.finditer(source):
        above = source[: block.start(1)].count("\n")
        exec(compile("\n" * above + block[1], str(path), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(path: Path) -> None:
    """A link to a file of the repository has that file."""
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_reading_order_names_files_that_exist() -> None:
    """Every file named in docs/reading-order.md is there, and every module of ours is named."""
    text = (ROOT / "docs" / "reading-order.md").read_text(encoding="utf-8")
    folder = ROOT
    named: set[Path] = set()
    for line in text.splitlines():
        if heading := re.match(r"## `(\w+)/`", line):
            folder = ROOT / heading[1]
        for name in re.findall(r"`([\w/]+\.(?:py|c))`", line):
            places = [
                folder / name,
                ROOT / name,
                folder / "csrc" / name,
                folder / "numpy" / "csrc" / name,
            ]
            found = [place for place in places if place.exists()]
            assert found, f"{name} in: {line}"
            named.add(found[0])
    passes = set((ROOT / "graph" / "passes").glob("*.py"))
    for package in ("graph", "frame_hook", "backends", "ufuse"):
        files = {p for p in (ROOT / package).rglob("*.py") if not p.name.startswith("__")}
        assert sorted(map(relative, files - named - passes)) == [], package


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda path: path.name)
def test_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every example runs to its end; each compares with plain NumPy by itself."""
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
