"""The model families, a package each, on two floors: ``flat`` topics and ``nested`` topics.

Families never import each other: what more than one of them uses stands on a floor.
"""
