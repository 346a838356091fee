"""Trees of topics whose shape is unknown: mixtures under the nested Chinese restaurant process.

Two backends, ``gibbs`` and ``variational``, share the ``config``, the story (``simulate``), first
``clustering`` of documents, and the ``summary`` that users see.

The sampler: a corpus in tokens (``flat.token_layout``); ``chains`` on ``chain_kernels``, moved by
sweeps (``gibbs_kernels``), ``leap_kernels`` and ``graft_kernels``, which weigh nodes by
``path_kernels``; or by ``partial`` with its own kernels and ``gamma_kernels``. Around a chain:
``hyperparameters``, ``restarts``, ``joint_kernels``, ``gibbs_state``, ``gibbs_prediction``.

The variational method: a corpus in ``cells``; the truncated tree and its path slots
(``nested.slots``) in a ``state``; local steps in ``structured_kernels`` on
``slot_kernels`` and ``level_kernels``, or in ``meanfield_kernels``, given ``expectations`` of
topics. Around it: ``starts`` (``one_by_one``, ``sampled_starts``), ``learning``, ``minibatch``, the
``bound``, ``prediction``.

``moves`` of the tree: ``paper_moves`` and, on a ``draft`` of it, ``reshaping`` are made by what
they promise; ``splits`` and ``joins`` by ``trials``, in which documents settle anew.
"""
