"""Tests of `frame_hook/trace/`."""
