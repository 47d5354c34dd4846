"""Tests of `frame_hook/nests/calls/`."""
