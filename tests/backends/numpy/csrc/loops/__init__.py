"""Inner loops of C, and functions that C runs."""
