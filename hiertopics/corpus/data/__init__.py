"""What the program works on: values that know no files and no backend.

corpus, vectors: counts of words, rows of numbers. tree: the nodes of a model. groups: what a tree
says of authors or labels. discretise: rows as words; pruning: words left out. shape: sizes, told.
"""
