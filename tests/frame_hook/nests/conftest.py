"""What tests of native loops ask of the session."""

from __future__ import annotations

import pytest

from tests.support.nests.native_loops import leave_loops


@pytest.fixture
def loops_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is unrolled in graphs."""
    leave_loops(monkeypatch)
