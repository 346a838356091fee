"""What the paper published for the variational method: mean field, its ``moves`` and its starts."""
