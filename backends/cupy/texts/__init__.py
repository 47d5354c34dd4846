"""Kernels as CUDA C++ texts."""
