"""A run as Python holds it, the scikit-learn estimator, other forms, trees cut anew with a price."""
