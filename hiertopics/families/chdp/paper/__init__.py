"""The paper's own algorithms: a mean field over sticks, an international restaurant process."""
