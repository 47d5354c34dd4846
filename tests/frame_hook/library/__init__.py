"""Tests of `frame_hook/library/`."""
