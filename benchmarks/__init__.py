"""Benchmarks: `python -m benchmarks` pairs compiled functions with eager ones, and with rivals."""

import os

# First calls are timed as they are where no code is kept yet.
os.environ.setdefault("UFUSE_CACHE", "0")
