"""Frames in tests: suspended and resumed anywhere, and programs that take every way through one."""
