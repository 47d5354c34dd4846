"""NumPy's code on a GPU: what is sent, and how near its results are."""
