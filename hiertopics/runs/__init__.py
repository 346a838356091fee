"""The run directory: what a fit leaves there, and what any command finds in it."""
