"""The generative story of the binary model (theory/tssb 1 and 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hiertopics.data.vectors import Vectors, default_columns
from hiertopics.families.tssb.binary_kernels import Diffusion, offset_of
from hiertopics.families.tssb.config import Model, ends
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.starts import seated
from hiertopics.model import Hyperparameters, Sizes


def simulate(
    model: Model,
    sizes: Sizes,
    process: Process,
    rng: np.random.Generator,
    drawn: Hyperparameters,
) -> tuple[Vectors, dict[str, NDArray[Any]]]:
    """Draw rows of ``n_words`` columns, sticks integrated out.

    Truth: parent int32 [n_nodes] of the tree, parents first; node int32 [n_docs]; value
    [n_nodes, P], the parameters, and mean [n_nodes, P], the chances of a 1; variance [P];
    theta [n_docs, n_nodes]. Variances that are not drawn lie amid their range.
    """
    variance = drawn.get("variance", np.full(sizes.n_words, sum(ends(model.variance)) / 2))
    spread = np.sqrt(variance if model.root_variance is None else model.root_variance)
    root = (spread * rng.standard_normal(sizes.n_words)).astype(np.float32)
    law = Diffusion(model.persistence, np.sqrt(variance))
    nodes, node = seated(sizes.n_docs, root, offset_of(root), process, law, rng)
    n = int(nodes.size[0])
    value = nodes.value[:n].astype(np.float64)
    mean = expit(value)
    theta = np.zeros((sizes.n_docs, n))
    theta[np.arange(sizes.n_docs), node] = 1.0
    rows = (rng.random((sizes.n_docs, sizes.n_words)) < mean[node]).astype(np.float64)
    return Vectors(rows, default_columns(sizes.n_words)), {
        "parent": nodes.parent[:n],
        "node": node,
        "value": value,
        "mean": mean,
        "variance": variance,
        "theta": theta,
    }
