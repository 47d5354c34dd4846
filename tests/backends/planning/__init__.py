"""Tests of what every backend shares."""
