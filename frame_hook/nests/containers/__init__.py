"""Tuples, texts, lists, dicts, sets and objects with attributes; elements of arrays and of these."""
