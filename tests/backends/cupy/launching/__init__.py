"""Launches: in C, alone, again, on streams."""
