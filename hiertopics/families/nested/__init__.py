"""What lives on a tree of unknown shape, for every family whose data take paths of one.

``slots`` are the truncated tree, its path slots and sticks, and where data are in it;
``tree_state`` is what each variational state on it has; ``simulate`` draws one.
"""
