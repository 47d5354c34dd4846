"""Machine code of nests."""
