"""Entries that run nests: which loops have one, when, and how they ran."""
