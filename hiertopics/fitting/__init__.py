"""From a config to a run directory: the loop, and those who watch it."""
