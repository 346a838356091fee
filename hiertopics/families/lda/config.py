"""The config records of lda-gibbs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.flat.bursts import (
    CONCENTRATION,
    DISCOUNT,
    START,
    BurstConcentration,
    Bursts,
    BurstStart,
    DrawnDiscount,
)
from hiertopics.families.flat.config import Sweep
from hiertopics.settings.config import Iterations, SamplerConfig


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The number of topics, the priors or where they start, and bursts."""

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
            description="symmetric: one alpha for all topics; asymmetric: an alpha for each topic. "
            "All start equal; with inference.sample_alpha they are sampled."
        ),
    ] = "symmetric"
    n_topics: Annotated[int, Meta(ge=1, le=1_000_000, description="Number of topics.")] = 100
    bursts: Bursts = "none"
    burst_discount: DrawnDiscount = DISCOUNT
    burst_concentration: BurstConcentration = CONCENTRATION


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule."""

    iterations: Iterations = 500
    sweep: Sweep = "dense"
    sample_alpha: Annotated[
        bool,
        Meta(
            description="Sample alpha, starting from model.alpha; the prior of its sum over topics "
            "is uniform on 0.1 to 1000."
        ),
    ] = True
    sample_eta: Annotated[bool, Meta(description="Sample eta, starting from model.eta.")] = True
    hyper_start: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of first iterations during which alpha and eta keep their start "
            "values. Sampled while topics are diffuse, alpha would diverge.",
        ),
    ] = 15
    burst_start: BurstStart = START


Settings = SettingsOf[Model, Inference]


def start_alpha(model: Model) -> float:
    """Return alpha of the config: 50/n_topics where it is left open."""
    return 50.0 / model.n_topics if model.alpha is None else model.alpha
