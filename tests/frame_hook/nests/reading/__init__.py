"""Tests of `frame_hook/nests/known/`."""
