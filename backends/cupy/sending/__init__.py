"""NumPy's graphs on a device: what has a counterpart there, operation by operation."""
