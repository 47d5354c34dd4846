"""Tests of `frame_hook/nests/containers/`."""
