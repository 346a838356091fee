"""What the program works on: corpora, rows of numbers, trees of topics."""
