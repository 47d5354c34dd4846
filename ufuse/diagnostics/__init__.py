"""What was captured, in words: for `ufuse.explain`, `signatures()` and notebooks."""
