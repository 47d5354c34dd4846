"""Functions that are read in the place of their calls, and what loops go over."""
