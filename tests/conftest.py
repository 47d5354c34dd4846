"""Settings of every test run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hypothesis

# The same examples on every run, and no clock: a shared machine may stall in any test.
hypothesis.settings.register_profile(
    "ufuse", deadline=None, derandomize=True, database=None, max_examples=60
)
# For a long search: UFUSE_HYPOTHESIS=search make test
hypothesis.settings.register_profile("search", deadline=None, database=None, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("UFUSE_HYPOTHESIS", "ufuse"))

# Last on the path: `benchmarks` is found there, and `ufuse` still where it was installed.
sys.path.append(str(Path(__file__).resolve().parent.parent))
