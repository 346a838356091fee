"""Trees in which data sit at any node: mixtures by tree-structured stick breaking.

``mcmc`` is the algorithm; its chains (``state``) hold a tree in flat arrays (``layout``). A step
moves data by ``assign_kernels``, which find nodes and break sticks on the way, or by the urn
(``urn_kernels``), packs and reorders the tree (``trees`` on ``stick_kernels``), and redraws the
process. ``trees`` plants the first tree, too.

What a node's parameters are is up to a likelihood, which makes a backend: ``text``
(``text_kernels``) or ``binary`` (``binary_kernels``). ``summary`` is what users see.
"""
