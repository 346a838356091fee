"""Latent Dirichlet allocation: a fixed number of flat topics, a baseline."""
