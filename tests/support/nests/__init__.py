"""Nests and native loops in tests: written by hand, drawn by chance, run by the reference or as better code."""
