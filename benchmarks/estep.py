"""The E-step of the variational tree in units of one sparse-dense product of the same shape.

The unit is scipy's product of the documents [n_docs, n_words] with a table [n_words, n_nodes],
both float32: what merely weighing all nodes linearly for all documents would cost. The E-step
makes its tables from the topics, weighs every path slot, refits levels and paths, and adds up
the expected words.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import corpora
from benchmarks.machine import pinned
from benchmarks.records import Record
from benchmarks.splits import load_split
from benchmarks.timing import Timed, alternate, paired
from hiertopics.data.corpus import Corpus
from hiertopics.engine import Workers
from hiertopics.families.ncrp import clustering, starts, variational
from hiertopics.families.ncrp.state import Sums, csr_of, local_pass, refit
from hiertopics.model import Context, Settings

SHARES = (0.25, 0.5, 1.0)
LEAVES_PER_BRANCH = 7
BURN_IN = 8
SWEEPS = 3


class EStep:
    """Local passes over a tree of about ``n_nodes`` nodes; levels and paths move, topics do not."""

    def __init__(self, corpus: Corpus, n_nodes: int) -> None:
        """Start from clusters of documents and sweep until paths are settled."""
        self._settings = Settings(variational.Model(), variational.Inference(moves="none"))
        self._context = Context(0, 0, Workers())
        self._data = variational.prepare(corpus, self._settings)
        rows, rng = clustering.weighted_rows(csr_of(self._data)), self._context.rng("start")
        leaf = clustering.cluster(rows, n_nodes * LEAVES_PER_BRANCH // (LEAVES_PER_BRANCH + 1), rng)
        branch = np.column_stack([leaf // LEAVES_PER_BRANCH, leaf])
        self._state = starts.from_paths(branch, self._data, self._settings)
        for _ in range(BURN_IN):
            refit(self._state, self._pass())

    @property
    def n_nodes(self) -> int:
        """Nodes of the tree."""
        return self._state.n_nodes

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` E-steps."""
        for _ in range(n_sweeps):
            self._pass()

    def _pass(self) -> Sums:
        rounds = self._settings.inference.local_rounds
        return local_pass(self._state, self._data, self._context, rounds)


class Product:
    """scipy's product of the documents with a dense table, float32."""

    def __init__(self, corpus: Corpus, n_nodes: int) -> None:
        """Allocate the table."""
        self._counts = corpus.counts.astype(np.float32)
        self._table = np.ones((corpus.n_words, n_nodes), dtype=np.float32)
        self.sweep()

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` products."""
        for _ in range(n_sweeps):
            self._counts @ self._table


def measure(
    data: Path, corpus_name: str, split_spec: str, n_nodes: tuple[int, ...], n_rounds: int
) -> list[Record]:
    """Time E-steps and products in turn, over parts of the documents and sizes of the tree."""
    corpus, _ = load_split(corpora.load(data, corpus_name), split_spec)
    order = np.random.default_rng(0).permutation(corpus.n_docs)
    sizes = [(share, n_nodes[0]) for share in SHARES] + [(1.0, size) for size in n_nodes[1:]]
    parts = {
        share: corpus.select(np.sort(order[: round(share * corpus.n_docs)])) for share in SHARES
    }
    steps = {(share, size): EStep(parts[share], size) for share, size in sizes}
    systems = {}
    with pinned():
        for (share, size), step in steps.items():
            systems[f"step {share} {size}"] = Timed(step, SWEEPS)
            systems[f"product {share} {size}"] = Timed(Product(parts[share], step.n_nodes), SWEEPS)
        seconds, core_share = alternate(systems, n_rounds)
    whole, whole_nodes = seconds[f"step 1.0 {n_nodes[0]}"], steps[1.0, n_nodes[0]].n_nodes
    return [
        {
            "corpus": corpus_name,
            "split": split_spec,
            "share": share,
            "size": size,
            "nodes": steps[share, size].n_nodes,
            "core_share": core_share,
            "n_pairs": parts[share].n_pairs,
            "seconds": seconds[f"step {share} {size}"],
            "product_seconds": seconds[f"product {share} {size}"],
            "ratio": paired(seconds[f"step {share} {size}"], seconds[f"product {share} {size}"]),
            "relative_cost": paired(seconds[f"step {share} {size}"], whole)
            / (parts[share].n_pairs / corpus.n_pairs * steps[share, size].n_nodes / whole_nodes),
        }
        for share, size in sizes
    ]
