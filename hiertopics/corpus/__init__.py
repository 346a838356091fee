"""Text in: corpora and trees as values, their files, the choice of words, held-out documents."""
