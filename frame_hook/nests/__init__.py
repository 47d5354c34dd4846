"""Loops over ranges, read from bytecode as nests: code over numbers and elements of arrays that a backend compiles."""
