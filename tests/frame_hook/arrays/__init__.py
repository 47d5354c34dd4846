"""Tests of `frame_hook/arrays/`."""
