"""Kernels compiled and launched."""
