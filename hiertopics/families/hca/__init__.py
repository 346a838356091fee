"""Backends for continuous rows: hierarchical component analysis."""
