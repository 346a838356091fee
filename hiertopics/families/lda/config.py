"""What the config says of the model."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The number of topics, and the priors or where they start."""

    alpha: (
        Annotated[
            float,
            Meta(gt=0, description="Pseudo-count of each topic in a document; null: 50/n_topics."),
        ]
        | None
    ) = None
    eta: Annotated[float, Meta(gt=0, description="Pseudo-count of each word in each topic.")] = 0.1
    prior: Annotated[
        Literal["symmetric", "asymmetric"],
        Meta(
            description="Whether all topics have one alpha, or each its own; these begin alike and "
            "differ with inference.sample_alpha."
        ),
    ] = "symmetric"
    n_topics: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Number of topics; it does not change.")
    ] = 100


def start_alpha(model: Model) -> float:
    """Return alpha of the config: 50/n_topics where it is left open."""
    return 50.0 / model.n_topics if model.alpha is None else model.alpha
