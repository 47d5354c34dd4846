"""Tests of `frame_hook/operations/`."""
