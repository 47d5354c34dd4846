"""Tests of the CUDA backend, on the test device."""
