"""Corpora in and out: formats found by name, side files by the name of the corpus.

reading, writing: a corpus from its files and into them. source: what is asked for, the table of
formats, which files belong to a corpus. sidefiles: vocabulary, groups and labels. opening: files as
blocks of whole lines, unpacked. counting: numbers in text, limits, pairs, the matrix.

One module per format: ldac, svmlight, uci and matrixmarket (these two on triples), edges, npz,
h5ad, vectors, arff, text (on records).
"""
