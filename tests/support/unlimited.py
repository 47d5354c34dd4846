"""Traces that may take what they need where calls are timed, however many programs a process has run."""

from __future__ import annotations

import pytest

from ufuse.frame_hook import budget
from ufuse.frame_hook.budget import Allowance


def lift_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every session capture at the first call, for one test."""
    for name in ("OF_SESSION", "OF_PROCESS", "IN_A_ROW", "ALTOGETHER"):
        monkeypatch.setattr(budget, name, Allowance(6000.0, 1.0))
    for name in ("ROW", "ALL"):
        monkeypatch.setattr(budget, name, budget.Row(6000.0))
