"""The config records of lda-gibbs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.flat.config import Sweep
from hiertopics.settings.config import Iterations, SamplerConfig


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


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule."""

    iterations: Iterations = 500
    sweep: Sweep = "dense"
    sample_alpha: Annotated[
        bool,
        Meta(
            description="Draw alpha too, its sum over topics uniform from 0.1 to 1000 beforehand; "
            "model.alpha is where it starts."
        ),
    ] = True
    sample_eta: Annotated[bool, Meta(description="Draw eta too; model.eta is where it starts.")] = (
        True
    )
    hyper_start: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations during which alpha and eta keep their start values: drawn "
            "while topics are diffuse, alpha would run away.",
        ),
    ] = 15


Settings = SettingsOf[Model, Inference]


def start_alpha(model: Model) -> float:
    """Return alpha of the config: 50/n_topics where it is left open."""
    return 50.0 / model.n_topics if model.alpha is None else model.alpha
