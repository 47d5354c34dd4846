"""Tests of the whole product, on programs of every origin."""
