"""Shared code for counts by topic: without tree and without parents.

A corpus in ``layout`` (cells, in blocks for threads) or ``token_layout`` (tokens). Responsibilities
of topics and their counts: ``variational`` on the sweeps of ``kernels``, ``moments`` for the tables
that they are expected to make. Topics of tokens and the tables that these make: ``tokens`` on
``token_kernels``. Above documents: ``sticks`` and ``concentrations``. New documents by
``prediction``; what users see by ``summary``.
"""
