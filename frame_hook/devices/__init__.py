"""Arrays, functions and objects of CuPy's: what is on a device, by CuPy's own rules."""
