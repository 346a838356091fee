"""The sampler: ``backend`` is the algorithm, ``partial`` the same with another sweep.

A corpus in tokens (``flat.token_layout``); ``chains`` on ``chain_kernels``, moved by
``sweep_kernels`` and ``move_kernels`` or by ``partial_kernels``; ``hyperparameters``;
``infer_kernels`` for new documents.
"""
