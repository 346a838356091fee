"""Tests that every backend must pass, for packages that add one.

``python -m hiertopics.testing NAME`` runs them on an installed backend; pytest must be installed.
"""
