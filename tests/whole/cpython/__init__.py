"""CPython's own test modules, run plain and with every frame sent through the tracer."""
