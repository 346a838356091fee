"""Backends for continuous rows: hierarchical component analysis.

``variational`` is the backend. Its ``state`` is a truncated tree of the nested CRP (its slots,
sticks and story come from ``nested``) with a vector at each node. A sweep is a pass of
local steps over the rows (``kernels``), then global updates. ``meanfield``, the paper's, is a
backend of its own, in which coordinates and path are apart.

``starts`` and ``moves`` change a ``draft`` of the tree; moves are tried on the bound.
"""
