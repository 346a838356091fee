"""The config records that the backends of the nested CRP share."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tree's depth and the concentrations; raises ValueError where they do not fit together."""

    depth: Annotated[
        int, Meta(ge=2, le=30, description="Levels of the tree, the root among them.")
    ] = 3
    level_prior: Annotated[
        list[Annotated[float, Meta(gt=0)]] | None,
        Meta(
            description="Pseudo-counts of each level in a document, root first, one per level; "
            "null: 1 for every level."
        ),
    ] = None
    gamma: Annotated[
        float, Meta(gt=0, description="How readily documents open new branches of the tree.")
    ] = 1.0
    eta: Annotated[float, Meta(gt=0, description="Pseudo-count of each word in each topic.")] = 0.1

    def __post_init__(self) -> None:
        """Check that the level prior has an entry for each level."""
        if self.level_prior is not None and len(self.level_prior) != self.depth:
            raise ValueError(
                f"level_prior must have depth = {self.depth} entries, got {len(self.level_prior)}"
            )


def level_prior(model: Model) -> NDArray[np.float64]:
    """Return the level prior, float64 [depth], the default filled in."""
    return np.array(model.level_prior or [1.0] * model.depth)
