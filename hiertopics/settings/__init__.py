"""The settings of an experiment: what they mean, where they come from, how they are read."""
