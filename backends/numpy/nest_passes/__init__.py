"""Loop nests made faster before they are machine code: copies without checks, batches, shared turns, windows."""
