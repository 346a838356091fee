"""Which topics of an HDP are shown, and how many documents they have."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.contract.registry import OWN
from hiertopics.testing.bench import bench_of
from hiertopics.testing.corpora import varied


@pytest.mark.parametrize("name", [name for name in OWN if name.startswith("hdp-")])
def test_a_flat_model_shows_nodes_with_a_token_and_the_documents_that_use_them(
    name: str,
) -> None:
    """For the HDP: a live topic has at least one expected token."""
    bench, corpus = bench_of((name,)), varied()
    summary = bench.having("model.truncation=300").summarise(corpus, 12)
    tree, theta = summary.tree, summary.theta.toarray()
    assert 0 < len(tree.shown) < 300
    assert tree.n_tokens[tree.shown].min() >= 1
    assert (np.diff(tree.n_tokens[tree.shown]) <= 0).all()
    lengths = corpus.doc_lengths[:, None]
    assert tree.n_docs.tolist() == (theta >= 1 / lengths).sum(axis=0).tolist()
