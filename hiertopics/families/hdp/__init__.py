"""Hierarchical Dirichlet process topic models: flat topics whose number is learned."""
