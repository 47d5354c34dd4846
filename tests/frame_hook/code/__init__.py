"""Tests of `frame_hook/code/`."""
