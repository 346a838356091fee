"""The generative story of hierarchical component analysis (theory/ncrp 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.contract.model import Context, Sizes
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.families.hca.config import Settings
from hiertopics.families.nested.simulate import draw_tree


def simulate(
    settings: Settings, sizes: Sizes, context: Context
) -> tuple[Vectors, dict[str, NDArray[Any]]]:
    """Draw rows under the config's values, sticks integrated out; n_words: columns.

    The noise precision is the mean of its prior: a draw from a vague one would be 0 or nearly so.
    Truth: parent int32 [n_nodes], parents first; path int32 [n_docs, L], nodes from the root
    down; mean [n_nodes, n_columns], the vectors; coordinates [n_docs, L]; mu [n_columns]; tau [1].
    """
    model = settings.model
    rng = context.rng("simulate")
    n_docs, n_columns = sizes.n_docs, sizes.n_words
    parent, path = draw_tree(n_docs, model.depth, model.gamma, rng)
    mean = np.sqrt(model.vector_variance) * rng.standard_normal((len(parent), n_columns))
    mu = np.sqrt(model.mean_variance) * rng.standard_normal(n_columns)
    coordinates = rng.standard_normal((n_docs, model.depth))
    tau = model.noise_prior.mean
    noise = rng.standard_normal((n_docs, n_columns)) / np.sqrt(tau)
    rows = mu + np.einsum("nl,nlp->np", coordinates, mean[path]) + noise
    return Vectors(rows, default_columns(n_columns)), {
        "parent": parent,
        "path": path,
        "mean": mean,
        "coordinates": coordinates,
        "mu": mu,
        "tau": np.array([tau]),
    }
