"""The model families, one package each, on two floors: ``flat`` topics, and ``nested`` ones above.

Families never import each other: what more than one of them uses stands on a floor.
"""
