"""The graph: nodes, types, ops, text, checker, reference executor, passes. Knows no frame and no backend."""
