"""Numerical code of several families: compiled kernels, and numpy."""
