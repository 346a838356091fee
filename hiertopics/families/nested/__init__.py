"""What lives on a tree of unknown shape, for every family whose data take paths of one.

``slots`` are the truncated tree, its path slots and sticks; ``tree_state`` is what each variational
state on it has; ``pairs`` are nodes to become one; ``posteriors`` say where data are in a tree;
``simulate`` draws one.
"""
