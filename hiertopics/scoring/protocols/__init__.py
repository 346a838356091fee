"""``eval --heldout``: the held-out scores. A protocol is a function, its options and a line here.

job: what of which documents is seen before what is scored. predicting: theta and paths, and what
they predict; rows of numbers. empirical: documents drawn from the model.
"""

from __future__ import annotations

from hiertopics.scoring.protocols import empirical
from hiertopics.scoring.protocols.job import CutOptions
from hiertopics.scoring.protocols.predicting import (
    CompletionOptions,
    DensityOptions,
    FullOptions,
    TokensOptions,
    completion,
    density,
    full,
    path,
    tokens,
)
from hiertopics.scoring.request import HeldoutResult, Scorer

PROTOCOLS: dict[str, Scorer[HeldoutResult]] = {
    "completion": Scorer(CompletionOptions, completion),
    "tokens": Scorer(TokensOptions, tokens),
    "full": Scorer(FullOptions, full),
    "path": Scorer(CutOptions, path),
    "empirical": Scorer(empirical.EmpiricalOptions, empirical.score),
    "density": Scorer(DensityOptions, density, ("vectors", "bits")),
}


def averages(protocol: str) -> bool:
    """Return whether a protocol can score the mean over a sampler's kept draws."""
    return "average" in PROTOCOLS[protocol].options._fields
