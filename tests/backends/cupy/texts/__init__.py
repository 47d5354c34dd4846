"""CUDA kernels: their text, and what they compute."""
