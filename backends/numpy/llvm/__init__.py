"""Runs of exact operations as machine code, through LLVM."""
