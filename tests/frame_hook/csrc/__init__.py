"""Tests of `frame_hook/csrc/`."""
