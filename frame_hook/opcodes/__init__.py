"""One handler for each opcode, and calls."""
