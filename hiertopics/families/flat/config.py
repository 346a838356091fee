"""What can be set of truncated models of flat topics: single keys, and the records of the HDP."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings
from hiertopics.corpus.data.seedwords import check
from hiertopics.settings.config import InferenceConfig, Iterations

HyperStart = Annotated[
    int,
    Meta(
        ge=0,
        description="Iterations during which concentrations and topic weights keep their start "
        "values; learning them while topics are diffuse leaves the corpus in few topics.",
    ),
]

Gamma = Annotated[
    float, Meta(gt=0, description="Start value: how many topics the corpus tends to have.")
]

Eta = Annotated[
    float, Meta(gt=0, description="Start value: pseudo-count of each word in each topic.")
]

Truncation = Annotated[
    int,
    Meta(ge=1, le=1_000_000, description="Largest number of topics kept; take more than are used."),
]

ReorderSticks = Annotated[
    bool,
    Meta(
        description="Redraw which topic has which stick, too; without it topics keep the places "
        "that the start gave them, and gamma is drawn too large."
    ),
]

Sweep = Annotated[
    Literal["sparse", "dense"],
    Meta(
        description="How a token's topic is drawn, topics integrated out: sparse looks at the "
        "topics that its word has tokens in, and at the rest as one sum; dense at all. The same "
        "law."
    ),
]

SeedWeight = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="As how many tokens of its topic each seed word counts, which no document has.",
    ),
]

BranchSeeds = Annotated[
    dict[str, list[str]] | None,
    Meta(
        description="Names of branches, each with words that it is to have: the path of a YAML "
        "file of lines such as space: [orbit, nasa], or that itself; null: none."
    ),
]


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Start values of what is learned, and the largest number of topics."""

    alpha: Annotated[
        float,
        Meta(gt=0, description="Start value: how closely documents follow the corpus's topics."),
    ] = 1.0
    gamma: Gamma = 1.0
    eta: Eta = 0.01
    prior: Annotated[
        Literal["AS", "AA"],
        Meta(description="AS: all words alike beforehand; AA: word frequencies are learned too."),
    ] = "AS"
    truncation: Truncation = 500
    seeds: Annotated[
        dict[str, list[str]] | None,
        Meta(
            description="Names of topics, each with words that it is to have: the path of a YAML "
            "file of lines such as space: [orbit, nasa], or that itself; null: none."
        ),
    ] = None
    seed_weight: SeedWeight = 50

    def __post_init__(self) -> None:
        """Check seed words."""
        check(self.seeds, self.truncation)


class VariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of the variational methods."""

    iterations: Iterations = 200
    hyper_start: HyperStart = 15
    reorder_sticks: Annotated[
        bool, Meta(description="Give larger topics the earlier sticks before each stick update.")
    ] = True


class PointInference(VariationalInference, frozen=True, kw_only=True):
    """The schedule of those with point estimates."""

    hyper_steps: Annotated[
        int, Meta(ge=1, description="Steps of alpha and eta per iteration once they are learned.")
    ] = 1


class PosteriorInference(VariationalInference, frozen=True, kw_only=True):
    """The schedule of those with whole posteriors."""

    hyper_every: Annotated[
        int,
        Meta(
            ge=1,
            description="Iterations between two updates of sticks and hyperparameters, which "
            "cost about a sweep; 1: at every one, as published.",
        ),
    ] = 20
    denominator: Annotated[
        Literal["E", "G"],
        Meta(
            description="What stands for eta V in the denominator of q(z): E, its mean, as the "
            "derivation gives; G, its geometric mean, as printed in the 2012 paper."
        ),
    ] = "E"


ModelSettings = Settings[Model, InferenceConfig]
PosteriorSettings = Settings[Model, PosteriorInference]
