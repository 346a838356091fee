"""The topics as a scikit-learn estimator, for pipelines and searches over parameters."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.contract import Workers, kind_of, registry
from hiertopics.corpus.corpora.inmemory import FROM_PAIRS, are_texts, holds_pairs
from hiertopics.corpus.data import NODE, Corpus, default_vocab
from hiertopics.corpus.holdouts.partition import partition
from hiertopics.python.run import fit
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.newdocs import place
from hiertopics.scoring.scores import Score, log_likelihoods, pool, word_chances
from hiertopics.settings.layers import Overrides

SEEDS = 2**31


class HierarchicalTopics(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Topics of documents as features: a row of counts becomes the weights of the tree's nodes.

    Nothing of a fitted estimator lies on disk; it can be pickled and cloned. The parameters are
    kept as they are given; wrong ones are told by ``fit``.

    Parameters
    ----------
    backend : str
        One that observes counts; see ``hiertopics.backends()``.
    iterations : int or None
        None takes the backend's own.
    overrides : mapping or sequence of str
        Settings of the backend, such as ``{"model.eta": 0.1}`` or ``["model.eta=0.1"]``.
    random_state : int, RandomState or None
        An int is the seed of the fit, so that it ends in the same numbers as ``hiertopics.fit``.
    workers : int
        Threads; the result does not depend on them.

    Attributes
    ----------
    tree_ : TopicTree
        The node table; its words are the names of the features, or w0, w1, ...
    components_ : ndarray of float64 [n_nodes, n_features]
        The words of each node; rows sum to 1.
    theta_ : csr_array of float64 [n_samples, n_nodes]
        Where the fit itself has put the training documents.
    objective_ : float
        What the fit has reached.
    n_iter_ : int
        Iterations done.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X is a data frame

    Raises
    ------
    ValueError
        By each method for an X that is no table of counts (whole numbers from 0).
    HiertopicsError
        By ``fit`` for parameters that cannot be.
    """

    def __init__(
        self,
        backend: str = registry.DEFAULT,
        *,
        iterations: int | None = None,
        overrides: Overrides = (),
        random_state: Any = 0,
        workers: int = 1,
    ) -> None:
        self.backend = backend
        self.iterations = iterations
        self.overrides = overrides
        self.random_state = random_state
        self.workers = workers

    def fit(self, X: Any, y: Any = None) -> HierarchicalTopics:
        """Fit the topics to counts X [n_samples, n_features]; y is ignored."""
        counts = self._counts(X, reset=True)
        names = getattr(self, "feature_names_in_", default_vocab(counts.shape[1]))
        self._refuse_other_kinds()
        run = fit(
            Corpus(counts, tuple(map(str, names))),
            backend=self.backend,
            seed=self._seed(),
            iterations=self.iterations,
            overrides=self.overrides,
            holdout="none",
            workers=self.workers,
            quiet=True,
        )
        self.experiment_ = run.experiment
        self.tree_, self.theta_ = run.tree, run.theta
        self.components_ = self.tree_.phi
        self.objective_, self.n_iter_ = run.objective, run.iterations
        return self

    def transform(self, X: Any) -> F64:
        """Return the weights of the nodes in each document, float64 [n_samples, n_nodes].

        Rows sum to 1; ``transform(X) @ components_`` are the documents' words. The training
        documents are placed as new ones are; ``theta_`` is where the fit has put them.
        """
        check_is_fitted(self)
        theta = self._place(self._counts(X, reset=False)).toarray()
        return np.asarray(theta)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the log likelihood per word (natural logs) of a fifth of each document.

        The other four fifths are seen before, as by ``eval --protocol completion``; the cut is
        drawn from seed 0. nan where there is no word to score. y is ignored.
        """
        return self._completion(X).log_likelihood_per_word

    def perplexity(self, X: Any) -> float:
        """Return exp(-score(X)): smaller is better."""
        return self._completion(X).perplexity

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of ``transform``: node0, node1, ..., outside.

        Objects [n_nodes]. Raises NotFittedError before ``fit``.
        input_features is ignored.
        """
        check_is_fitted(self)
        kinds = self.tree_.kind
        names = [f"node{node}" if kind == NODE else "outside" for node, kind in enumerate(kinds)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # What scikit-learn calls categories are whole numbers, as counts are.
        tags.input_tags.categorical = True
        return tags

    def _counts(self, X: Any, *, reset: bool) -> sparse.csr_array:
        """Return X as CSR of whole numbers; raises ValueError where it is no table of counts."""
        _refuse_documents(X)
        found = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_non_negative=True
        )
        counts = sparse.csr_array(found, copy=sparse.issparse(found))
        counts.sum_duplicates()
        counts.eliminate_zeros()
        if (counts.data != np.floor(counts.data)).any():
            raise ValueError("expected counts, whole numbers from 0; got fractions")
        return counts

    def _refuse_other_kinds(self) -> None:
        experiment = read_experiment({"backend": self.backend}, None, self.overrides)
        if kind_of(experiment.backend, experiment.model) != "counts":
            raise UsageError(f"{self.backend} observes rows of numbers; choose one for counts")

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(SEEDS))

    def _place(self, counts: sparse.csr_array) -> sparse.csr_array:
        corpus = Corpus(counts, self.tree_.vocab)
        with Workers(self.workers) as engine:
            return place(self.experiment_, self.tree_, corpus, engine=engine).theta

    def _completion(self, X: Any) -> Score:
        check_is_fitted(self)
        counts = Corpus(self._counts(X, reset=False), self.tree_.vocab).counts
        seen, scored = partition(counts, range(counts.shape[0]), 0)
        chances = word_chances(self._place(seen), self.components_, scored)
        return pool(log_likelihoods(chances, scored), scored)


def _refuse_documents(X: Any) -> None:
    """Raise ValueError where X holds documents that are no rows of a table."""
    if getattr(X, "ndim", 1) == 1 and are_texts(X):
        raise ValueError(
            "expected a table of counts, got texts: scikit-learn's "
            "CountVectorizer().fit_transform(texts) makes one; hiertopics.fit(texts) takes texts"
        )
    if holds_pairs(X):
        raise ValueError(f"expected a table of counts, got lists of pairs: {FROM_PAIRS}")
