"""Shared code of families whose data take paths in a tree of unknown shape.

``slots`` are the truncated tree, its path slots and sticks, and where data are in it;
``tree_state`` is what each variational state on it has; ``simulate`` draws one.
"""
