"""A short slice of NumPy's own tests, compiled. `make test-numpy` runs them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.whole.numpy_tests.modules import SUITE

SLICE = ("lib.stride_tricks", "lib.ufunclike", "polynomial.polyutils")


@pytest.mark.any_python
@pytest.mark.parametrize("module", SLICE)
def test_the_tests_of_numpy_pass_compiled(module: str, tmp_path: Path) -> None:
    """A module of NumPy's own tests ends as it does without ufuse, and something of it is compiled."""
    found = SUITE.compared(module, tmp_path, timeout=120)
    if found.skipped:
        pytest.skip(found.skipped)
    assert found.differences == {}
    assert found.tests > 3
    assert found.counts["graphs"] > 0


@pytest.mark.any_python
def test_they_pass_where_what_does_not_pay_is_given_back(tmp_path: Path) -> None:
    """As users have it, which is what is timed."""
    found = replace(SUITE, how="measured").compared("lib.stride_tricks", tmp_path, timeout=120)
    if found.skipped:
        pytest.skip(found.skipped)
    assert found.differences == {}
    assert found.ratio > 0
