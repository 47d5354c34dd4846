"""Machine code of loop nests, as LLVM text."""
