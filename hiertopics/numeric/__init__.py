"""Compiled functions that the kernels of every family share."""
