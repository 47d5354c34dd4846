"""What is known of values, of places in the bytecode, and of the tries to read a loop."""
