"""Tests of `frame_hook/entries/`."""
