"""The cooperative hierarchical Dirichlet process: documents with several parents."""
