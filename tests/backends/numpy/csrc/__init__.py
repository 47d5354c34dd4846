"""Tests of the executor in C."""
