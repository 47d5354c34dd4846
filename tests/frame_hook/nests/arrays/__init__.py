"""Tests of `frame_hook/nests/arrays/`."""
