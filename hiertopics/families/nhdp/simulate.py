"""The story of the nested HDP on a tree of given shape, run forwards (theory/nhdp 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.contract.model import (
    NONE_DRAWN,
    Context,
    Hyperparameters,
    Settings,
    Sizes,
    value_of,
)
from hiertopics.corpus.data import Corpus, default_vocab, seeds_in
from hiertopics.families.flat import seats
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.families.flat.drawing import draw_words
from hiertopics.families.nhdp import mixing
from hiertopics.families.nhdp.config import most_leaves
from hiertopics.families.nhdp.layout import Shape
from hiertopics.families.nhdp.learning import levels_of
from hiertopics.families.nhdp.prediction import draw_mixtures
from hiertopics.families.nhdp.shapes import nested, numbered

SMALLEST = 1e-300


def simulate(
    settings: Settings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus; truth: parent, share [K], theta [n_docs, K], phi [K, n_words].

    drawn: concentration [K], eta, and stop weights by depth [n_levels, 2], where they are not the
    config's, with ``model.bursts`` burst_discount and burst_concentration, too. Each document then
    draws its words around its mixture (theory/bursts 1).
    """
    model, rng = settings.model, context.rng("simulate")
    begun = mixing.even(even_tree(settings), model.concentration, *model.stop_prior)
    shape = begun.shape
    concentration = np.where(
        shape.n_children > 0, drawn.get("concentration", begun.concentration), 0.0
    )
    if "stop" in drawn:
        for nodes, weights in zip(levels_of(shape), drawn["stop"], strict=True):
            begun.stop_a[nodes], begun.stop_b[nodes] = weights
    share = np.ones(shape.n_nodes)
    for node in shape.inner:
        children = shape.children(int(node))
        n_children = children.stop - children.start
        share[children] = rng.dirichlet(np.full(n_children, model.gamma / n_children))
    share = np.maximum(share, SMALLEST)
    theta = draw_mixtures(begun._replace(share=share, concentration=concentration), sizes[0], rng)
    eta = value_of("eta", model, drawn)
    phi = rng.dirichlet(np.full(sizes.n_words, eta), shape.n_nodes)
    vocab = default_vocab(sizes.n_words)
    seeds = seeds_in(model, vocab)
    priors = np.full((sizes.n_words, shape.n_nodes), eta)
    seeds.add_to(priors, seeds.branches)
    for node in seeds.branches:
        phi[node] = rng.dirichlet(priors[:, node])
    corpus = Corpus(draw_words(theta, phi, sizes.doc_length, model, rng, drawn), vocab)
    truth: dict[str, NDArray[Any]] = {
        "parent": shape.parent,
        "share": share,
        "theta": theta,
        "phi": phi,
    }
    return corpus, truth


def even_tree(settings: Settings) -> Shape:
    """Return a tree with ``most_leaves`` leaves and the config's branches, as even as can be.

    Without branches there is one level of them, as many as make it as wide as it is deep, and as
    have names.
    """
    n_leaves = most_leaves(settings.model)
    branches = settings.model.branches
    if branches == "auto":
        branches = [max(round(n_leaves**0.5), len(settings.model.seeds or {}))]
    leaves = np.arange(n_leaves)
    cuts = [n for n in branches if 1 < n < n_leaves]
    return numbered(nested([leaves * n // n_leaves for n in cuts], n_leaves)).shape


def draw_hyperparameters(settings: Settings, sizes: Sizes, context: Context) -> Hyperparameters:
    """Draw the parameters of a fit from the priors of nhdp-gibbs, concentrations first.

    With ``model.bursts`` burst_discount and burst_concentration, too.
    """
    shape, rng = even_tree(settings), context.rng("hyperparameters")
    drawn = {"concentration": CONCENTRATION_PRIOR.draw_many(shape.n_nodes, rng)}
    if "eta" not in settings.inference.hold:
        drawn["eta"] = np.asarray(CONCENTRATION_PRIOR.draw(rng) / sizes.n_words)
    if "stop" not in settings.inference.hold:
        drawn["stop"] = CONCENTRATION_PRIOR.draw_many((len(levels_of(shape)), 2), rng)
    return drawn | seats.draw_bursts(settings, rng)
