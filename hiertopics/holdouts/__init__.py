"""What is put aside before training, and told from what is not.

spec: ``--holdout`` as it is written. split: a corpus cut into training and held-out documents, and
the hash by which scores are comparable. partition: tokens drawn from documents. links: links drawn
from a graph. rows: the split of a table of numbers.
"""
