"""The contract of a backend: its functions, its states, the engines, the table of backends.

The names that most backends need are offered here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hiertopics.base.faces import homes_of, offer

if TYPE_CHECKING:
    from hiertopics.contract.chains import Chains as Chains
    from hiertopics.contract.cluster.coordinator import (
        Cluster as Cluster,
        WorkersLost as WorkersLost,
    )
    from hiertopics.contract.cluster.joining import engine_of as engine_of
    from hiertopics.contract.engine import (
        Each as Each,
        Engine as Engine,
        Pieces as Pieces,
        Shared as Shared,
        Workers as Workers,
        as_given as as_given,
        cut as cut,
        joined as joined,
        stacked as stacked,
    )
    from hiertopics.contract.model import (
        NONE_DRAWN as NONE_DRAWN,
        AnyBackend as AnyBackend,
        Backend as Backend,
        Components as Components,
        Context as Context,
        Hyperparameters as Hyperparameters,
        Migration as Migration,
        PathMixture as PathMixture,
        Paths as Paths,
        PerChain as PerChain,
        Posterior as Posterior,
        Settings as Settings,
        Sharded as Sharded,
        Sizes as Sizes,
        Summary as Summary,
        value_of as value_of,
    )
    from hiertopics.contract.observed import kind_of as kind_of, observed_by as observed_by
    from hiertopics.contract.states import Arrays as Arrays, of_pieces as of_pieces
else:
    HOMES = homes_of(
        {
            "chains": "Chains",
            "cluster.coordinator": "Cluster WorkersLost",
            "cluster.joining": "engine_of",
            "engine": "Each Engine Pieces Shared Workers as_given cut joined stacked",
            "model": "AnyBackend Backend Components Context Hyperparameters Migration "
            "NONE_DRAWN PathMixture Paths PerChain Posterior Settings Sharded Sizes "
            "Summary value_of",
            "observed": "kind_of observed_by",
            "states": "Arrays of_pieces",
        }
    )
    __getattr__ = offer(__name__, HOMES)
