"""Backends: a graph goes in, a callable comes out. They know `ufuse.graph` and nothing else of ufuse."""
