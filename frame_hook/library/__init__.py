"""The rules of Python's own C functions and methods."""
