"""Programs that tests compare with themselves compiled, by subject."""
