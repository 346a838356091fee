"""``eval --heldout``: the held-out scores, one module each (interface section 4).

A protocol is a module and a line in the table. The module has ``Options``, a NamedTuple of what
the user may choose, every field with its default, and ``score(request, options) -> Result``.
"""

from __future__ import annotations

PROTOCOLS = {
    "completion": "hiertopics.scoring.protocols.completion",
    "tokens": "hiertopics.scoring.protocols.tokens",
    "full": "hiertopics.scoring.protocols.full",
    "path": "hiertopics.scoring.protocols.path",
    "empirical": "hiertopics.scoring.protocols.empirical",
    "density": "hiertopics.scoring.protocols.density",
}
