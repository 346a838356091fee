"""``eval --heldout``: the held-out scores, one module each.

A protocol is a module and a line in the table. The module has ``Options``, a NamedTuple of what
the user may choose, every field with its default, and ``score(request, options) -> Result``.

job: what of which documents is seen before what is scored. predicting: theta and what it predicts.
mixtures: mixtures over paths. pseudo_documents: documents drawn from the model.
"""

from __future__ import annotations

from importlib import import_module

PROTOCOLS = {
    "completion": "hiertopics.scoring.protocols.completion",
    "tokens": "hiertopics.scoring.protocols.tokens",
    "full": "hiertopics.scoring.protocols.full",
    "path": "hiertopics.scoring.protocols.path",
    "empirical": "hiertopics.scoring.protocols.empirical",
    "density": "hiertopics.scoring.protocols.density",
}


def averages(protocol: str) -> bool:
    """Return whether a protocol can score the mean over a sampler's kept draws."""
    return "average" in import_module(PROTOCOLS[protocol]).Options._fields
