"""Tests of the code base itself: layers, tables, documents."""
