"""What the tests share: copies of arguments, recorded runs, and the comparer of the two."""
