"""Benchmarks: `python -m benchmarks` pairs compiled functions with eager ones, and with rivals."""
