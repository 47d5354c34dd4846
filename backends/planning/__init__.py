"""What every backend shares: which operations run together, in which order, and the plan of steps and kernels."""
