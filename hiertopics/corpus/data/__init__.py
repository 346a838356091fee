"""Data of the program: values that depend on no file and no backend.

corpus, vectors: counts of words, rows of numbers. tree: the nodes of a model. groups: what a tree
says of authors or labels. discretise: rows as words; pruning: words left out. shape: sizes, told.
"""
