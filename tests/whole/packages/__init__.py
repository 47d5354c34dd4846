"""Functions of packages that nobody here wrote, plain against compiled: differences, times, and the packages' own tests."""
