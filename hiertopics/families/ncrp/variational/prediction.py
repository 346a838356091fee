"""What a variational fit says of documents: the summary of training, inference on new ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import NODE, Tree
from hiertopics.families.ncrp import summary as common
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.variational import expectations
from hiertopics.families.ncrp.variational.cells import Data, lay_out
from hiertopics.families.ncrp.variational.infer_kernels import infer_structured
from hiertopics.families.ncrp.variational.state import State
from hiertopics.families.nested.posteriors import RARE, place, sparse_rows
from hiertopics.families.nested.slots import mean_masses, nodes_of
from hiertopics.model import Context, Posterior, Summary

ROUNDS = 100
TOLERANCE = 1e-5


def summarise(state: State, data: Data) -> Summary:
    """Return the tree of live nodes, and theta and best paths of the training documents."""
    n_wn = np.maximum(np.asarray(state.lam, dtype=np.float64) - state.eta, 0.0)
    fitted = common.Fitted(
        parent=state.parent,
        n_wn=n_wn,
        slot_probs=sparse_rows(state.slot_chances()),
        level_weights=state.tau / state.tau.sum(axis=1, keepdims=True),
        log_mass=np.log(mean_masses(state.nodes, state.sticks)),
        eta=state.eta,
        level_prior=state.level_prior,
        n_tokens=float(data.doc_lengths.sum()),
        extra={"gamma": np.array([state.gamma])},
    )
    return common.summarise(fitted)


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and the best paths of new documents, the tree held fixed (theory/ncrp 6).

    Topics enter by their means, not by exp E log as in training: new words are predicted by the
    means, and paths found by the same measure score better on unseen words. Levels depend on the
    path, whatever family the tree was fitted in, for the same reason.
    """
    shown = tree.kind == NODE
    level_prior = tree.extra["level_prior"]
    depth = len(level_prior)
    order = np.argsort(tree.depth[shown], kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    above = tree.parent[shown][order]
    nodes = nodes_of(np.where(above < 0, -1, rank[above]).astype(np.int32), depth)
    log_mass = tree.extra["log_mass"][shown][order]
    phi = tree.phi[shown][order]
    given = expectations.plug_in_tables(phi, nodes, log_mass, level_prior)
    data = lay_out(corpus, 1)

    def fit(doc: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        tau = level_prior * (1.0 + data.doc_lengths[doc] / level_prior.sum())
        chances, weights = np.empty(nodes.n_nodes), np.empty((nodes.n_nodes, depth))
        scratch = expectations.scratch_for(nodes.n_nodes, np.float64)
        infer_structured(data.cells, doc, given, scratch, tau, ROUNDS, TOLERANCE, chances, weights)
        chances, weights = chances[rank], weights[rank]
        return chances, weights[chances > RARE]

    rows = context.map(fit, range(corpus.n_docs))
    chances = np.array([row[0] for row in rows]).reshape(-1, nodes.n_nodes)
    weights = np.concatenate([np.empty((0, depth)), *(row[1] for row in rows)])
    return place(tree.parent[shown], depth, sparse_rows(chances), weights)
