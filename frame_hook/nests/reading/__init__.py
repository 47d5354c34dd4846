"""What reads a loop, as rules see it, and what is done with items by their classes."""
