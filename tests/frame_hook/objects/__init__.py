"""Tests of `frame_hook/objects/`."""
