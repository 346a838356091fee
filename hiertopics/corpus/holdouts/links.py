"""Links put aside: a corpus whose documents are its words is a graph, a bag the links of a node.

Of every node with many links a share is withheld and as many nodes as it keeps links to are
drawn that it is not linked to: the task is to tell the two apart. Protocol of I. Sato,
K. Kurihara, H. Nakagawa: Practical collapsed variational Bayes inference for hierarchical
Dirichlet process, KDD 2012; details in theory/hdp 7.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.archives import pack_csr, unpack_csr
from hiertopics.base.arrays import I32, I64, Bools
from hiertopics.base.axes import require_below, require_whole
from hiertopics.base.errors import DataError
from hiertopics.base.stretches import ends_of, rows_of
from hiertopics.corpus.data.corpus import Corpus

LINKS_OF_OTHERS = 20
"""A query node has more links than this."""


@dataclass(frozen=True)
class Links:
    """The query nodes and the candidates to be ranked for each.

    query: int64 [n_queries], ascending. positives, negatives: int32 CSR [n_queries, n_nodes],
    withheld links and drawn nodes without a link. mirror: ``keep`` or ``drop``, whether a
    withheld link j to l stays in the bag of l.
    """

    query: I64
    positives: sparse.csr_array
    negatives: sparse.csr_array
    mirror: str

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that split.npz has for links, CSR matrices in parts (``pack_csr``)."""
        plain = {"query": self.query, "mirror": np.asarray(self.mirror)}
        return plain | pack_csr("positives", self.positives) | pack_csr("negatives", self.negatives)

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Links:
        """Inverse of ``to_arrays``.

        Raises KeyError where an array is missing, ValueError where they do not fit one another.
        """
        links = Links(
            query=arrays["query"],
            positives=unpack_csr("positives", arrays, marks=True),
            negatives=unpack_csr("negatives", arrays, marks=True),
            mirror=str(arrays["mirror"]),
        )
        require_whole("query", links.query)
        n_nodes = links.positives.shape[1]
        require_below("query", links.query, n_nodes)
        for name, matrix in (("positives", links.positives), ("negatives", links.negatives)):
            if matrix.shape != (len(links.query), n_nodes):
                raise ValueError(f"{name} is not of {len(links.query)} queries")
        return links


def withhold_links(
    corpus: Corpus, share: float, seed: int, drop_mirrors: bool
) -> tuple[sparse.csr_array, sparse.csr_array, Links]:
    """Return the counts to train on, the withheld counts (both [n_nodes, n_nodes]) and the queries.

    A query loses round(share * n) of its n links, at least one and never all. Its draw depends
    on (seed, its number) and its own links alone, not on ``drop_mirrors``. Raises DataError for
    a corpus that is no graph, or without a query node.
    """
    _refuse_other_corpora(corpus)
    counts = corpus.counts
    n_nodes = corpus.n_docs
    lengths = np.diff(counts.indptr)
    query = np.flatnonzero(lengths > LINKS_OF_OTHERS).astype(np.int64)
    if not len(query):
        raise DataError(
            "corpus",
            f"no node has more than {LINKS_OF_OTHERS} links, so that none can be withheld; "
            "choose another --holdout",
        )
    known = _known_pairs(counts)
    withheld = np.zeros(counts.nnz, dtype=bool)
    drawn = []
    for node in query:
        rng = seeds.derive(seed, "holdout-links", int(node))
        n_links = int(lengths[node])
        n_withheld = min(n_links - 1, max(1, int(share * n_links + 0.5)))
        withheld[counts.indptr[node] + rng.permutation(n_links)[:n_withheld]] = True
        own = known.indices[known.indptr[node] : known.indptr[node + 1]]
        drawn.append(_draw_others(own, n_nodes, n_links - n_withheld, rng))
    scored = _cells(counts, withheld)
    kept = ~withheld & ~_mirrors(counts, withheld) if drop_mirrors else ~withheld
    links = Links(
        query,
        sparse.csr_array(scored[query]),
        _rows(drawn, n_nodes),
        "drop" if drop_mirrors else "keep",
    )
    return _cells(counts, kept), scored, links


def _refuse_other_corpora(corpus: Corpus) -> None:
    """Refuse a corpus whose documents are not its words."""
    if corpus.n_docs != corpus.n_words:
        found = f"it has {corpus.n_docs} documents and {corpus.n_words} words"
    elif corpus.doc_ids is not None:
        found = "" if corpus.doc_ids == corpus.vocab else "its document ids are not its words"
    else:
        pattern = corpus.counts.astype(bool)
        found = "its documents have no ids and its links no mirrors" * bool(
            (pattern != pattern.T).nnz
        )
    if found:
        raise DataError(
            "corpus",
            "holdout links needs a corpus whose documents are its words, such as an edge list "
            f"(--from edges) with every word kept; {found}",
        )


def _known_pairs(counts: sparse.csr_array) -> sparse.csr_array:
    """Return as sorted CSR each node's links in either direction, and the node itself."""
    pattern = counts.astype(bool)
    both = sparse.csr_array(pattern + pattern.T + sparse.eye_array(counts.shape[0], dtype=bool))
    both.sort_indices()
    return both


def _draw_others(own: I32, n_nodes: int, n_wanted: int, rng: np.random.Generator) -> I64:
    """Draw nodes that are not in ``own`` (ascending) without replacement, all if they are fewer."""
    n_free = n_nodes - len(own)
    places = np.sort(rng.choice(n_free, min(n_wanted, n_free), replace=False))
    # The p-th free node stands behind those of its own with at most p free nodes before them.
    free_before = own - np.arange(len(own))
    others: I64 = places + np.searchsorted(free_before, places, side="right")
    return others


def _mirrors(counts: sparse.csr_array, withheld: Bools) -> Bools:
    """Return which entries are mirrors (l, j) of a withheld entry (j, l), bool [nnz]."""
    n_nodes = counts.shape[0]
    rows = rows_of(counts.indptr)
    columns = counts.indices.astype(np.int64)
    mirrored = columns[withheld] * n_nodes + rows[withheld]
    return np.isin(rows * n_nodes + columns, mirrored)


def _cells(counts: sparse.csr_array, chosen: Bools) -> sparse.csr_array:
    ends = ends_of(chosen)[counts.indptr].astype(counts.indptr.dtype)
    parts = (counts.data[chosen], counts.indices[chosen], ends)
    return sparse.csr_array(parts, shape=counts.shape)


def _rows(columns: list[I64], n_columns: int) -> sparse.csr_array:
    ends = np.cumsum([0, *map(len, columns)], dtype=np.int32)
    indices = np.concatenate(columns).astype(np.int32)
    ones = np.ones(len(indices), dtype=np.int32)
    return sparse.csr_array((ones, indices, ends), shape=(len(columns), n_columns))
