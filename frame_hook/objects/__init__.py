"""Python's object model on symbols: classes, attributes, instances."""
