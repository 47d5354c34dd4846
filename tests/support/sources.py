"""The project's own files, as text."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def texts(folder: str) -> list[str]:
    """Every Python file of a folder."""
    return [path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))]
