"""Tests of `frame_hook/nests/loops/`."""
