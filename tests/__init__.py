"""The tests; `tests.support` is what they share."""

import os

# Code that was kept would hide what is compiled; tests of the keeping ask for it.
os.environ.setdefault("UFUSE_CACHE", "0")
