"""Tests of `frame_hook/`, a folder for each of its rooms."""
