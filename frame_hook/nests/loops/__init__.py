"""Every path through the bytecode of a loop, to its nest."""
