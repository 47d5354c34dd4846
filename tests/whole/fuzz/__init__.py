"""Random NumPy programs as source text, run plain and compiled."""
