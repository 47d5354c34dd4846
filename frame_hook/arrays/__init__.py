"""NumPy on symbols: arrays, and the rules of NumPy's functions."""
