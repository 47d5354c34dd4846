"""What operations of a graph are made of on a device, and in which order CuPy's libraries fold."""
