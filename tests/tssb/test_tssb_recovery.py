"""Planted trees are found again (T10), and the order of documents does not matter (T8)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from stepping import advance, begin, corpus_of

from hiertopics.base.arrays import I64
from hiertopics.contract.model import Settings
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.tssb import text
from hiertopics.settings.config import build

N_TOPICS = 10
PARENTS = (-1, 0, 0, 1, 1, 2, 2)
BRANCH = (0, 1, 2, 1, 1, 2, 2)
MAIN = ((0, 1), (0, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7))


def settings_of(settle_every: int, **model: object) -> Settings:
    inference = {"start_sweeps": 60, "burn_in": 0, "settle_every": settle_every}
    layer = {"backend": "tssb-mcmc", "model": model, "inference": inference}
    built = build([("test", layer)], model_type=text.one.Model, inference_type=text.one.Inference)
    return Settings(built.model, built.inference)


def planted(n_docs: int, n_tokens: int) -> tuple[Corpus, I64]:
    """Return documents at seven nodes, each of two main topics, and the node of each."""
    rng = np.random.default_rng(1)
    topics = np.full((N_TOPICS, 60), 0.02 / 60)
    for topic in range(N_TOPICS):
        topics[topic, 6 * topic : 6 * topic + 6] += 0.98 / 6
    node = np.arange(n_docs) % len(PARENTS)
    shares = np.full((len(PARENTS), N_TOPICS), 0.01)
    for place, main in enumerate(MAIN):
        shares[place, list(main)] += 0.45
    rates = shares[node] @ topics
    rows = [rng.multinomial(n_tokens, rate / rate.sum()) for rate in rates]
    return corpus_of(rows), node


@pytest.mark.parametrize("settle_every", [0, 1])
@pytest.mark.parametrize("seed", [0, 2])
def test_documents_of_a_planted_node_share_a_node(seed: int, settle_every: int) -> None:
    """T10: seven nodes, 200 documents of 100 tokens."""
    corpus, node = planted(200, 100)
    settings = settings_of(settle_every, n_topics=N_TOPICS, kappa=5.0)
    state, data = begin(text.one, corpus, settings, seed=seed)
    state = advance(text.one, state, data, settings, 150, seed=seed)
    found = state.node
    assert adjusted_rand_score(node, found) > 0.8
