"""Array statements: views, expressions, reductions, functions and methods of arrays."""
