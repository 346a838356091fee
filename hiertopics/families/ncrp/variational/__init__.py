"""The variational method: ``backend`` is the algorithm.

A corpus in cells and the truncated tree with its path slots (``nested.slots``) in a ``state``;
local steps in ``structured_kernels`` on ``slot_kernels``, given ``expectations`` of topics. Around
it: ``starts``, the ``bound``.

``moves`` of the tree: on a ``draft`` of it, ``draft_moves`` are made by what they promise;
``splits`` and joins are tried, documents settling anew.
"""
