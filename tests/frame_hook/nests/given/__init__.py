"""Tests of `frame_hook/nests/given/`."""
