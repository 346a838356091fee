"""A run as Python holds it, the scikit-learn estimator, other packages' forms."""
