"""Tests of `frame_hook/opcodes/`."""
