"""Tests of `frame_hook/nests/entries/`."""
