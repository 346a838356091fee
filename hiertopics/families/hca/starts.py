"""First trees (theory/ncrp 7, initialisation).

Rows are put on paths, and axes are laid through them level by level: each is the leading
principal axis of what the axes above it leave.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from hiertopics.base.arrays import F64, I64
from hiertopics.contract.model import Context
from hiertopics.corpus.data.tree import ROOT
from hiertopics.families.hca.config import Model, Settings
from hiertopics.families.hca.draft import VectorTreeDraft, state_of_draft
from hiertopics.families.hca.state import Data, State, in_pieces

DOCS_PER_LEAF = 10
KMEANS_ROUNDS = 20


def first_state(kind: type[State], data: Data, settings: Settings, context: Context) -> State:
    """Return the first state by the start of the config."""
    model, inference = settings.model, settings.inference
    centre = data.total / max(data.n_docs, 1)
    nowhere = np.zeros(data.n_docs, dtype=np.int64)
    axes = [np.zeros(data.n_columns)]
    draft = VectorTreeDraft([ROOT], axes, nowhere, data.rows - centre, model.depth)
    if inference.start == "clusters":
        _from_clusters(draft, widths(model, data.n_docs), context.rng("clusters"))
    elif inference.start == "residuals":
        _from_residuals(draft, widths(model, data.n_docs), context.rng("residuals"))
    else:
        _add_levels(draft, [1] * min(model.depth, model.max_nodes))
        draft.slot[:] = len(draft.parent) - 1
    draft.lay_from(0)
    return _made(kind, draft, data, centre, settings, context)


def widths(model: Model, n_docs: int) -> list[int]:
    """Return the number of nodes of each level: a nearly constant factor, the rest to leaves.

    No leaf without ten rows to itself, as far as one leaf allows.
    """
    depth = min(model.depth, model.max_nodes)
    low, high = 1.0, float(model.max_nodes)
    for _ in range(60):
        factor = 0.5 * (low + high)
        if sum(factor**level for level in range(depth)) <= model.max_nodes:
            low = factor
        else:
            high = factor
    found = [round(low**level) for level in range(depth)]
    found[-1] = max(1, min(model.max_nodes - sum(found[:-1]), n_docs // DOCS_PER_LEAF))
    return [min(width, found[-1]) for width in found]


def _add_levels(draft: VectorTreeDraft, level_widths: list[int]) -> list[int]:
    """Add the levels below the root, children spread evenly; return the nodes of the last one."""
    above = [0]
    for width in level_widths[1:]:
        above = [draft.add(above[place * len(above) // width]) for place in range(width)]
    return above


def _from_clusters(
    draft: VectorTreeDraft, level_widths: list[int], rng: np.random.Generator
) -> None:
    """Cut rows into as many clusters as there are leaves, like ones under the same parents."""
    cluster = _clusters(draft.rows, level_widths[-1], rng)
    n_clusters = int(cluster.max(initial=0)) + 1
    leaves = np.array(_add_levels(draft, [min(width, n_clusters) for width in level_widths]))
    rank = np.zeros(n_clusters, dtype=np.int64)
    if n_clusters > 2:
        centres = np.array([draft.rows[cluster == each].mean(axis=0) for each in range(n_clusters)])
        rank[leaves_list(linkage(centres, "ward"))] = np.arange(n_clusters)
    else:
        rank = np.arange(n_clusters)
    draft.slot[:] = leaves[rank[cluster]]


def _from_residuals(
    draft: VectorTreeDraft, level_widths: list[int], rng: np.random.Generator
) -> None:
    """From the root down, cut the rows of each node into clusters of what its axes leave."""
    draft.lay(0)
    for level, width in enumerate(level_widths[1:]):
        nodes = draft.at(level)
        for place, node in enumerate(nodes):
            n_children = (place + 1) * width // len(nodes) - place * width // len(nodes)
            docs = draft.docs(node)
            rest = draft.residual(draft.rows[docs], draft.path(node))
            cluster = _clusters(rest, n_children, rng)
            for each in range(int(cluster.max(initial=0)) + 1):
                child = draft.add(node)
                draft.slot[docs[cluster == each]] = child
                draft.lay(child)


def _clusters(rows: F64, n_clusters: int, rng: np.random.Generator) -> I64:
    """Return a cluster per row by k-means, int64 in 0 .. n_used, none of them empty."""
    found = np.zeros(len(rows), dtype=np.int64)
    if not len(rows):
        return found
    centres = _far_apart(rows, n_clusters, rng)
    for _ in range(KMEANS_ROUNDS):
        distance = (centres**2).sum(axis=1) - 2 * rows @ centres.T
        found = np.unique(distance.argmin(axis=1), return_inverse=True)[1].ravel()
        sums = np.zeros((int(found.max()) + 1, rows.shape[1]))
        np.add.at(sums, found, rows)
        centres = sums / np.bincount(found)[:, None]
    return found.astype(np.int64)


def _far_apart(rows: F64, n_wanted: int, rng: np.random.Generator) -> F64:
    """Draw rows one by one, by their squared distance to the nearest drawn so far (k-means++)."""
    drawn = [rows[int(rng.integers(len(rows)))]]
    distance = ((rows - drawn[0]) ** 2).sum(axis=1)
    while len(drawn) < n_wanted and distance.sum() > 0:
        drawn.append(rows[int(rng.choice(len(rows), p=distance / distance.sum()))])
        distance = np.minimum(distance, ((rows - drawn[-1]) ** 2).sum(axis=1))
    return np.array(drawn)


def _made(
    kind: type[State],
    draft: VectorTreeDraft,
    data: Data,
    centre: F64,
    settings: Settings,
    context: Context,
) -> State:
    """Return the state of a draft; noise is the variance of the rows around the axes."""
    model = settings.model
    n_docs, n_columns = data.rows.shape
    left = sum(
        float((draft.residual(draft.rows[draft.slot == node], draft.path(node)) ** 2).sum())
        for node in draft.live
    )
    noise_a, noise_b = model.noise_prior.posterior(0.5 * n_docs * n_columns, 0.5 * left)
    base = kind(
        local=in_pieces(kind, data, context),
        parent=np.array([ROOT], dtype=np.int32),
        mean=np.zeros((1, n_columns)),
        cov=np.full((1, 1), min(noise_b / noise_a / max(n_docs, 1), model.vector_variance)),
        stick_a=np.ones(1),
        stick_b=np.ones(1),
        mu=centre,
        mu_variance=1.0 / (1.0 / model.mean_variance + n_docs * noise_a / noise_b),
        noise_a=noise_a,
        noise_b=noise_b,
        depth=model.depth,
    )
    return state_of_draft(draft, base, model.gamma)
