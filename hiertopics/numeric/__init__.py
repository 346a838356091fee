"""Numbers only: what several families compute with, for kernels compiled, for the rest in numpy."""
