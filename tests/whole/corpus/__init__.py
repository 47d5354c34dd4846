"""Functions with arguments, of many kinds: what `make break-everywhere` cuts into pieces of every size."""
