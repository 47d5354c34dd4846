"""What operators and statements do to symbols."""
