"""The config records of lda-gibbs."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.flat.bursts import (
    FORMER_PROCESS,
    PROCESS,
    START,
    Bursts,
    BurstStart,
    DrawnProcess,
)
from hiertopics.families.flat.config import Sweep, WordPseudoCount
from hiertopics.settings.config import HELD, UNOFFERED, IdleShards, Iterations, SamplerConfig
from hiertopics.settings.former import Former, Switch


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The number of topics, the priors or where they start, and bursts."""

    alpha: (
        Annotated[
            float,
            Meta(gt=0, description="Pseudo-count of each topic in a document; null: 50/n_topics."),
        ]
        | None
    ) = None
    eta: WordPseudoCount = 0.1
    prior: Annotated[
        Literal["symmetric", "asymmetric"],
        Meta(
            description="symmetric: one alpha for all topics; asymmetric: an alpha for each topic. "
            "All start equal, and are sampled unless inference.hold has alpha.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "symmetric"
    n_topics: Annotated[int, Meta(ge=1, le=1_000_000, description="Number of topics.")] = 100
    bursts: Bursts = "none"
    burst_process: DrawnProcess = PROCESS


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule."""

    former: ClassVar[Former] = {
        "inference.sample_alpha": Switch("alpha"),
        "inference.sample_eta": Switch("eta"),
        **FORMER_PROCESS,
    }

    iterations: Iterations = 500
    shards: IdleShards = 1
    sweep: Sweep = "dense"
    hold: Annotated[
        tuple[Literal["alpha", "eta"], ...],
        Meta(
            description=f"{HELD} The prior of the sum of alpha over topics is uniform on 0.1 to "
            "1000."
        ),
    ] = ()
    hyper_start: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of first iterations during which alpha and eta keep their start "
            "values. If alpha were sampled while topics are diffuse, it would diverge.",
        ),
    ] = 15
    burst_start: BurstStart = START


Settings = SettingsOf[Model, Inference]


def start_alpha(model: Model) -> float:
    """Return alpha of the config: 50/n_topics where it is left open."""
    return 50.0 / model.n_topics if model.alpha is None else model.alpha
