"""Whole programs on a device."""
