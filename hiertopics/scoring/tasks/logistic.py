"""One-vs-rest logistic regression, what a model of labels is to be compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

MAX_STEPS = 1000


def logistic_scores(
    train: sparse.csr_array, labels: NDArray[np.bool_], test: sparse.csr_array
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return p(label) of training and test documents [n_docs, n_labels], each label by itself.

    labels: bool [n_train, n_labels]; one that all or no training documents have keeps that share.
    The counts of words are the features. None where scikit-learn is missing (extra ``text``).
    """
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        return None
    sides = [_features(counts) for counts in (train, test)]
    found = [np.tile(labels.mean(axis=0), (side.shape[0], 1)) for side in sides]
    for label in np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0)):
        model = LogisticRegression(solver="liblinear", max_iter=MAX_STEPS)
        model.fit(sides[0], labels[:, label])
        for scores, side in zip(found, sides, strict=True):
            scores[:, label] = model.predict_proba(side)[:, 1]
    return found[0], found[1]


def _features(counts: sparse.csr_array) -> sparse.csr_matrix:
    """Return counts as scikit-learn takes them: with indices of 32 bits."""
    places = (counts.indices.astype(np.int32), counts.indptr.astype(np.int32))
    return sparse.csr_matrix((counts.data.astype(np.float64), *places), shape=counts.shape)
