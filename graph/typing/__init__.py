"""Types of results: dtypes, shapes and layouts, asked of NumPy where it can say."""
