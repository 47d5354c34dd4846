"""Random Python programs: a grammar of templates, classes, functions, and how failing programs get small."""
