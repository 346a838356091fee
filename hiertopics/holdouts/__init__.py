"""What is put aside before training, and told from what is not."""
