"""What a fit of texts writes of nodes that several documents share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hiertopics.families.tssb.text import rows
from hiertopics.testing.bench import bench_of
from hiertopics.testing.corpora import varied


@pytest.mark.slow
def test_tokens_of_all_documents_of_a_node_are_written() -> None:
    """Documents of a small fit are each at a node of their own; here they are at two."""
    corpus, bench = varied(), bench_of(("tssb-mcmc", "inference.summarise=last"))
    data, state = bench.fit(corpus, 2)
    now = state.now[0]
    used = np.unique(now.node)[:2]
    halves = np.arange(corpus.n_docs) % 2
    shared = replace(now, node=used[halves].astype(now.node.dtype))
    written = rows(shared, used, data, bench.settings)
    lengths = corpus.doc_lengths
    assert written.n_tokens.tolist() == [lengths[halves == half].sum() for half in (0, 1)]
