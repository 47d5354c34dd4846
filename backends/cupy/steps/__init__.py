"""What of a graph CuPy's own calls do, and what kernels do: streams, calls, and the rules of the plan."""
