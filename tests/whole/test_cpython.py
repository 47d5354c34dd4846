"""A short slice of CPython's own tests with every frame traced. `make test-cpython` runs them all."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.whole.cpython.compare import SUITE

SLICE = ("unpack", "keywordonlyarg", "richcmp")


@pytest.mark.parametrize("module", SLICE)
def test_the_tests_of_cpython_pass_traced(module: str, tmp_path: Path) -> None:
    """A module of CPython's own tests ends as it does without ufuse, and nearly every frame is traced."""
    if sysconfig.get_config_var("WITH_PYMALLOC") is None and sys.flags.dev_mode:
        pytest.skip("made for the usual build of CPython")
    found = SUITE.compared(module, tmp_path, timeout=120)
    if found.skipped:
        pytest.skip(found.skipped)
    assert found.differences == {}
    frames = found.counts["frames"]
    assert frames["whole"] + frames["mixed"] > 20 * frames.get("eager", 0) / 10
