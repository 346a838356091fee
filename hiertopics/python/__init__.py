"""A run as Python holds it, the scikit-learn estimator, other forms, trees that are cut anew."""
