"""Tests of `graph/`."""
