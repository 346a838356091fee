"""Held-out data: put aside before training, and distinguished from the rest.

spec: ``--holdout`` as it is written. split: a corpus or table cut into training and held-out
documents, and the hash by which scores are comparable. partition: tokens drawn from documents.
links: links drawn from a graph.
"""
