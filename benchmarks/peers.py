"""The peers behind one interface: trained sweep by sweep on counts, on one thread.

Words are handed over as the numbers of their columns and found again by them, because tomotopy
renumbers words by frequency and drops those it never saw. Such words get what the peer's own
prior gives to a word without a count. A sweep is one pass over the training tokens.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from benchmarks.scorer import TopicModel, unigram
from hiertopics.base.arrays import F64


class Peer(Protocol):
    """One peer in training."""

    def sweep(self, n_sweeps: int = 1) -> None:
        """Pass ``n_sweeps`` times over the training tokens."""

    def live_topics(self) -> int:
        """Return the number of topics that hold at least one training token."""

    def model(self) -> TopicModel:
        """Return the current state as the scorer wants it."""


class Entry(NamedTuple):
    """How a peer starts on (counts, seed), and how many sweeps its score is taken after."""

    start: Callable[[sparse.csr_array, int], Peer]
    n_sweeps: int


class TomotopyModel:
    """What tomotopy's models have in common."""

    def __init__(self, untrained: Any, counts: sparse.csr_array) -> None:
        self._model = untrained
        self._n_words = counts.shape[1]
        self._n_docs = counts.shape[0]
        self._rows = [doc for doc in range(self._n_docs) if self._add(counts, doc)]

    def _add(self, counts: sparse.csr_array, doc: int) -> bool:
        """Hand over a document; False if it is empty, which tomotopy does not take."""
        row = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words = np.repeat(counts.indices[row], counts.data[row]).astype(str).tolist()
        return self._model.add_doc(words, ignore_empty_words=True) is not None

    def sweep(self, n_sweeps: int = 1) -> None:
        """See Peer."""
        self._model.train(n_sweeps, workers=1)

    def live_topics(self) -> int:
        """See Peer."""
        return len(self._live())

    def _live(self) -> list[int]:
        tokens = self._model.get_count_by_topics()
        return [topic for topic in range(self._model.k) if tokens[topic] > 0]

    def phi(self, topics: Sequence[int]) -> F64:
        """Return the word distributions of ``topics`` over the whole vocabulary."""
        column = np.array(list(self._model.used_vocabs), dtype=np.int64)
        phi = np.full((len(topics), self._n_words), self._model.eta)
        for row, topic in enumerate(topics):  # unnormalised: a word's count plus eta
            phi[row, column] = self._model.get_topic_word_dist(topic, normalize=False)
        phi /= phi.sum(axis=1, keepdims=True)
        return phi

    def model(self) -> TopicModel:
        """See Peer."""
        live = self._live()
        shares = np.array(self._model.get_count_by_topics(), dtype=np.float64)[live]
        return TopicModel(
            self.phi(live), shares / shares.sum(), self._theta(live), self._doc_prior()
        )

    def _theta(self, live: list[int]) -> F64:
        theta = np.full((self._n_docs, len(live)), 1 / len(live))
        for row, document in zip(self._rows, self._model.docs, strict=True):
            theta[row] = np.asarray(document.get_topic_dist())[live]
        theta /= theta.sum(axis=1, keepdims=True)
        return theta

    def _doc_prior(self) -> float:
        return float(np.sum(self._model.alpha))


def start_tomotopy_lda(counts: sparse.csr_array, seed: int, n_topics: int) -> Peer:
    """LDAModel with its own defaults (alpha is learned, eta is 0.01)."""
    import tomotopy

    return TomotopyModel(tomotopy.LDAModel(k=n_topics, seed=seed), counts)


def start_tomotopy_hdp(counts: sparse.csr_array, seed: int) -> Peer:
    """HDPModel from 100 topics on: its default start of 2 never leaves a handful of topics."""
    import tomotopy

    model = tomotopy.HDPModel(initial_k=100, eta=0.05, alpha=1, gamma=1, seed=seed)
    return TomotopyModel(model, counts)


def gensim_bags(counts: sparse.csr_array) -> list[list[tuple[int, int]]]:
    """Return documents as gensim takes them: pairs of word and count."""
    rows = (slice(*counts.indptr[doc : doc + 2]) for doc in range(counts.shape[0]))
    return [
        list(zip(counts.indices[row].tolist(), counts.data[row].tolist(), strict=True))
        for row in rows
    ]


def gensim_words(counts: sparse.csr_array) -> dict[int, str]:
    """Return the vocabulary as gensim takes it."""
    return {word: str(word) for word in range(counts.shape[1])}


class _GensimHdp:
    """HdpModel: online variational inference; one sweep is one epoch of its chunks of 256."""

    def __init__(self, counts: sparse.csr_array, seed: int) -> None:
        self._corpus, self._words = gensim_bags(counts), gensim_words(counts)
        self._seed = seed
        self._model: Any = None

    def sweep(self, n_sweeps: int = 1) -> None:
        """See Peer."""
        from gensim.models import HdpModel

        for _ in range(n_sweeps):
            if self._model is None:  # the constructor cannot be kept from doing an epoch
                self._model = HdpModel(self._corpus, self._words, T=150, random_state=self._seed)
            else:
                self._model.m_num_docs_processed = 0  # else it stops after the first chunk
                self._model.update(self._corpus)

    def live_topics(self) -> int:
        """See Peer."""
        return int((self._model.m_lambda_sum >= 1).sum())

    def model(self) -> TopicModel:
        """See Peer."""
        return TopicModel(
            self._model.get_topics(),
            self._model.m_lambda_sum / self._model.m_lambda_sum.sum(),
            doc_prior=float(self._model.m_alpha),
        )


class _GensimLda:
    """LdaMulticore with its defaults: online variational inference, a sweep is a pass."""

    def __init__(self, counts: sparse.csr_array, seed: int, n_topics: int) -> None:
        from gensim.models import LdaMulticore

        self._corpus = gensim_bags(counts)
        self._model = LdaMulticore(
            num_topics=n_topics, id2word=gensim_words(counts), workers=1, random_state=seed
        )

    def sweep(self, n_sweeps: int = 1) -> None:
        """See Peer."""
        for _ in range(n_sweeps):
            self._model.update(self._corpus)

    def _tokens(self) -> F64:
        tokens: F64 = self._model.state.sstats.sum(axis=1, dtype=np.float64)
        return tokens

    def live_topics(self) -> int:
        """See Peer."""
        return int((self._tokens() >= 1).sum())

    def model(self) -> TopicModel:
        """See Peer."""
        tokens = self._tokens()
        phi = self._model.get_topics().astype(np.float64)
        return TopicModel(phi, tokens / tokens.sum(), doc_prior=float(np.sum(self._model.alpha)))


class _SklearnLda:
    """LatentDirichletAllocation with its defaults.

    ``partial_fit`` over one batch of all documents with a learning decay of 0 is its batch
    algorithm, one iteration at a time.
    """

    def __init__(self, counts: sparse.csr_array, seed: int, n_topics: int) -> None:
        from sklearn.decomposition import LatentDirichletAllocation

        self._counts = sparse.csr_matrix(counts)
        self._model = LatentDirichletAllocation(
            n_topics,
            learning_decay=0.0,
            batch_size=counts.shape[0],
            total_samples=counts.shape[0],
            random_state=seed,
        )

    def sweep(self, n_sweeps: int = 1) -> None:
        """See Peer."""
        for _ in range(n_sweeps):
            self._model.partial_fit(self._counts)

    def _tokens(self) -> F64:
        """Return expected training tokens per topic; scikit-learn's counts include the prior."""
        prior = self._model.topic_word_prior_ * self._counts.shape[1]
        tokens: F64 = self._model.components_.sum(axis=1) - prior
        return tokens

    def live_topics(self) -> int:
        """See Peer."""
        return int((self._tokens() >= 1).sum())

    def model(self) -> TopicModel:
        """See Peer."""
        phi = self._model.components_ / self._model.components_.sum(axis=1, keepdims=True)
        tokens = self._tokens().clip(min=0)
        theta = self._model.transform(self._counts)
        prior = self._model.doc_topic_prior_ * self._model.n_components
        return TopicModel(phi, tokens / tokens.sum(), theta, float(prior))


class _Unigram:
    """Word frequencies: what every model must beat."""

    def __init__(self, counts: sparse.csr_array, _: int) -> None:
        self._counts = counts

    def sweep(self, n_sweeps: int = 1) -> None:
        """See Peer; there is nothing to learn."""

    def live_topics(self) -> int:
        """See Peer."""
        return 1

    def model(self) -> TopicModel:
        """See Peer."""
        return unigram(self._counts)


PEERS = {
    "unigram": Entry(_Unigram, 0),
    "tomotopy-lda-20": Entry(partial(start_tomotopy_lda, n_topics=20), 500),
    "tomotopy-lda-100": Entry(partial(start_tomotopy_lda, n_topics=100), 500),
    "tomotopy-lda-300": Entry(partial(start_tomotopy_lda, n_topics=300), 500),
    "tomotopy-lda-500": Entry(partial(start_tomotopy_lda, n_topics=500), 500),
    "tomotopy-hdp": Entry(start_tomotopy_hdp, 300),
    "gensim-hdp": Entry(_GensimHdp, 5),
    "gensim-lda-100": Entry(partial(_GensimLda, n_topics=100), 5),
    "gensim-lda-500": Entry(partial(_GensimLda, n_topics=500), 5),
    "sklearn-lda-100": Entry(partial(_SklearnLda, n_topics=100), 40),
}


def train(name: str, counts: sparse.csr_array, seed: int, n_sweeps: int) -> Peer:
    """Return peer ``name`` after ``n_sweeps`` sweeps over ``counts``."""
    peer = PEERS[name].start(counts, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.sweep(n_sweeps)
    return peer
