"""Settings under which a fit of any backend is small."""

from __future__ import annotations

from functools import cache

from hiertopics.contract import registry

SMALL_MODEL = {"truncation": 5, "n_topics": 5, "max_nodes": 20}
SMALL_SCHEDULE = {
    "hyper_start": 2,
    "burn_in": 2,
    "keep_every": 2,
    "moves_every": 2,
    "trials": 4,
    "trial_sweeps": 10,
    "start_iterations": 20,
}
DRAWN = {"nhdp-variational": "inference.start=random", "nhdp-gibbs": "inference.start=random"}
"""Topics from clusters of nine words would be two, whatever the seed."""


@cache
def small_settings(backend: str) -> tuple[str, ...]:
    """Return the ``key=value`` settings that make a fit of a backend small."""
    module = registry.load(backend)
    return tuple(
        f"{section}.{key}={value}"
        for section, kind, values in (
            ("model", module.Model, SMALL_MODEL),
            ("inference", module.Inference, SMALL_SCHEDULE),
        )
        for key, value in values.items()
        if key in kind.__struct_fields__
    ) + ((DRAWN[backend],) if backend in DRAWN else ())
