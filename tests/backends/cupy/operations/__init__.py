"""What operations on arrays of a device come to."""
