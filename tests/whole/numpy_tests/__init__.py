"""NumPy's own test modules, which its wheels bring, run plain and with every test function compiled."""
