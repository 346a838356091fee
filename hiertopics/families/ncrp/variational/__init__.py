"""The variational method: ``backend`` is the algorithm.

A corpus in ``cells``; the truncated tree and its path slots (``nested.slots``) in a ``state``;
local steps in ``structured_kernels`` on ``slot_kernels`` and ``level_kernels``, given
``expectations`` of topics. Around it: ``starts`` (``sampled_starts``), ``minibatch``, the
``bound``, ``prediction``.

``moves`` of the tree: on a ``draft`` of it, ``reshaping`` is made by what it promises; ``splits``
and joins by ``trials``, in which documents settle anew.
"""
