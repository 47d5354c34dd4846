"""What a trace knows of a frame so far: symbols, guards, the graph being built, changes to do behind it."""
