"""Quality of topics by their top words: NPMI coherence and diversity against a corpus."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.shelf import Bags
from hiertopics.data.tree import Tree

COHERENCE_WORDS = 10
DIVERSITY_WORDS = 25


class Quality(NamedTuple):
    """coherence_npmi: mean over topics, in [-1, 1]. diversity: share of distinct top words.

    Both are None where there is no topic.
    """

    n_topics: int
    coherence_npmi: float | None
    diversity: float | None


def topic_quality(tree: Tree, corpus: Bags) -> Quality:
    """Return the quality of a tree's nodes against the training corpus."""
    nodes = tree.shown
    tops = np.array([tree.top_words(node, COHERENCE_WORDS) for node in nodes])
    wide = np.array([tree.top_words(node, DIVERSITY_WORDS) for node in nodes])
    per_topic = npmi(tops, corpus)
    return Quality(
        len(nodes),
        float(per_topic.mean()) if len(nodes) else None,
        len(np.unique(wide)) / wide.size if wide.size else None,
    )


def npmi(tops: NDArray[np.int64], corpus: Bags) -> NDArray[np.float64]:
    """Return the mean NPMI over pairs of each topic's top words, float64 [n_topics].

    tops: word ids [n_topics, n_top]. Probabilities are document frequencies: NPMI(a, b) =
    log(p(a, b) / (p(a) p(b))) / -log p(a, b), and -1 where a and b never meet
    (G. Bouma, Normalized (pointwise) mutual information in collocation extraction, 2009).
    """
    words, place = np.unique(tops, return_inverse=True)
    place = place.reshape(tops.shape)
    together = documents_with_both(corpus, words) / max(corpus.n_docs, 1)
    alone = together.diagonal()
    scores = np.empty(len(tops))
    first, second = np.triu_indices(tops.shape[1], 1) if tops.ndim == 2 else ((), ())
    for topic, row in enumerate(place):
        joint = together[row[first], row[second]]
        product = alone[row[first]] * alone[row[second]]
        scores[topic] = npmi_of_pairs(joint, product).mean() if len(joint) else 0.0
    return scores


def documents_with_both(corpus: Bags, words: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return in how many documents each two of some words are, float64 [n, n]."""
    together = np.zeros((len(words), len(words)))
    for block in corpus.blocks():
        present = block[:, words].astype(bool).astype(np.float64)
        together += (present.T @ present).toarray()
    return together


def npmi_of_pairs(joint: NDArray[np.float64], product: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return NPMI of pairs of words, in the shape of joint = p(a, b) and product = p(a) p(b)."""
    value = np.full(joint.shape, -1.0)
    met = joint > 0
    always = joint >= 1.0
    value[always] = 1.0
    some = met & ~always
    value[some] = np.log(joint[some] / product[some]) / -np.log(joint[some])
    return value
