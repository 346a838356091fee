"""A run as Python holds it, the scikit-learn estimator, other forms, a tree cut anew with a price."""
