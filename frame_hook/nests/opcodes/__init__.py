"""What each opcode does in a loop that is read as a nest."""
