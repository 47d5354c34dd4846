"""The comparer: recorded runs of two callables, and what a user could tell them apart by."""
