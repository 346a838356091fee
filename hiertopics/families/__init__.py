"""The model families, one package each; they never import each other."""
