"""The sampler: ``backend`` is the algorithm.

A corpus in tokens (``flat.token_layout``); ``chains`` on ``chain_kernels``, moved by sweeps
(``sweep_kernels``), ``leap_kernels`` and ``graft_kernels``, which weigh nodes by ``path_kernels``;
or by ``partial`` with its own kernels and ``gamma_kernels``. Around a chain: ``hyperparameters``,
``restarts``, ``joint_kernels``, ``state``, ``prediction``.
"""
