"""What the paper published for the variational method: ``meanfield``, a backend; moves, starts."""
