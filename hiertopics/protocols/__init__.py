"""``eval --heldout``: the held-out scores, one module each (interface section 4).

A protocol is a module and a line in the table. The module has ``Options``, a NamedTuple of what
the user may choose, every field with its default, and ``score(request, options) -> Result``.
"""

from __future__ import annotations

PROTOCOLS = {
    "completion": "hiertopics.protocols.completion",
    "tokens": "hiertopics.protocols.tokens",
    "full": "hiertopics.protocols.full",
    "path": "hiertopics.protocols.path",
    "empirical": "hiertopics.protocols.empirical",
    "density": "hiertopics.protocols.density",
}
