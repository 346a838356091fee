"""Nested hierarchical Dirichlet process: trees of topics in which a document mixes paths.

``layout`` is the tree as kernels want it, ``state`` what an iteration moves. ``starts`` makes the
first state from flat topics, whose tree ``shapes`` finds; ``learning`` refits shares and
concentrations; ``prediction`` folds new documents in; ``summary`` is what users see.
"""
