"""Numbers written as the locale has them, which a program may change between calls."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import locale
import shutil
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ufuse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.any_python


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a locale with a comma for the point, made for this test."""
    maker = shutil.which("localedef")
    made = maker and subprocess.run(
        [maker, "-c", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")],
        check=False,
        capture_output=True,
    )
    monkeypatch.setenv("LOCPATH", str(tmp_path))
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "de_DE.UTF-8")
    except locale.Error:
        pytest.skip(f"no such locale can be made here: {made}")
    locale.setlocale(locale.LC_NUMERIC, before)
    yield "de_DE.UTF-8"
    locale.setlocale(locale.LC_NUMERIC, before)


def of_an_f_string(x, number):
    x += 1
    return f"{number:n}"


def of_format(x, number):
    x += 1
    return format(number, "n")


def of_a_nested_field(x, number):
    x += 1
    return "{:{}}".format(number, ".3n")


def of_a_mapping(x, number):
    x += 1
    return "{number:n}".format_map({"number": number})


def of_a_method(x, number):
    x += 1
    return float.__format__(number, "n")


@pytest.mark.parametrize(
    "function", [of_an_f_string, of_format, of_a_nested_field, of_a_mapping, of_a_method]
)
def test_the_locale_of_each_call_decides(function, german) -> None:
    """No text is kept from the first call."""
    compiled = ufuse.compile(function)
    for _ in range(2):
        assert compiled(np.ones(3), 1.5) == "1.5"
    with_comma = "1,5"
    locale.setlocale(locale.LC_NUMERIC, german)
    assert function(np.ones(3), 1.5) == with_comma
    assert compiled(np.ones(3), 1.5) == with_comma


def test_other_formats_are_followed() -> None:
    """A field that ends in n, or is part of another field, is no reason to end a graph."""

    def function(x, n):  # noqa: ANN202
        return x + 1, "{n:>{w}}".format(n=n, w=4), f"{n:03d}"

    compiled = ufuse.compile(function)
    assert compiled(np.ones(3), 5)[1:] == function(np.ones(3), 5)[1:]
    assert len(compiled.graphs) == 1
