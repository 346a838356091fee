"""Settings of truncated models of flat topics: single keys, and the records of the HDP."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings
from hiertopics.corpus.data.seedwords import check
from hiertopics.settings.config import HELD, UNOFFERED, InferenceConfig, Iterations
from hiertopics.settings.former import Constant, Former

HyperStart = Annotated[
    int,
    Meta(
        ge=0,
        description="Number of first iterations during which concentrations and topic weights keep "
        "their start values. If they were learned while topics are diffuse, few topics would "
        "remain.",
    ),
]

Gamma = Annotated[
    float,
    Meta(
        gt=0,
        description="Concentration of the corpus: a larger value favours more "
        "topics. The start value where it is learned.",
    ),
]

Eta = Annotated[
    float,
    Meta(
        gt=0,
        description="Pseudo-count of each word in each topic. The start value where it is learned.",
    ),
]

WordPseudoCount = Annotated[
    float, Meta(gt=0, description="Pseudo-count of each word in each topic.")
]

Truncation = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="Largest number of topics; choose it larger than the "
        "number that the corpus uses.",
    ),
]

ReorderSticks = Annotated[
    bool,
    Meta(
        description="Also redraw the order of topics on the sticks. Without it topics keep the "
        "places of the start, and gamma is drawn too large.",
        extra_json_schema=UNOFFERED,
    ),
]

Hold = Annotated[
    tuple[Literal["alpha", "eta", "gamma"], ...],
    Meta(description=f"{HELD} The start of the topics keeps to it, too."),
]

Sweep = Annotated[
    Literal["sparse", "dense"],
    Meta(
        description="Evaluation of a token's conditional distribution with topics integrated out. "
        "sparse: visit the topics in which the word has tokens, and take the others as one sum; "
        "dense: visit all topics. Both draw from the same distribution.",
        extra_json_schema=UNOFFERED,
    ),
]

SeedWeight = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="Pseudo-count of each seed word in its topic, in tokens.",
    ),
]

BranchSeeds = Annotated[
    dict[str, list[str]] | None,
    Meta(
        description="Seed words by branch: a mapping such as {space: [orbit, nasa]}, or the path "
        "of a YAML file that holds one; null: none."
    ),
]


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Start values of learned parameters, and the largest number of topics."""

    alpha: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of documents: how closely a document's topic shares "
            "follow the corpus's. The start value where it is learned.",
        ),
    ] = 1.0
    gamma: Gamma = 1.0
    eta: Eta = 0.01
    prior: Annotated[
        Literal["AS", "AA"],
        Meta(
            description="Prior over words: AS (symmetric) gives all words one pseudo-count; AA "
            "(asymmetric) learns word frequencies.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "AS"
    truncation: Truncation = 500
    seeds: Annotated[
        dict[str, list[str]] | None,
        Meta(
            description="Seed words by topic: a mapping such as {space: [orbit, nasa]}, or the "
            "path of a YAML file that holds one; null: none."
        ),
    ] = None
    seed_weight: SeedWeight = 50

    def __post_init__(self) -> None:
        """Check seed words."""
        check(self.seeds, self.truncation)


class FlatVariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of the variational methods."""

    iterations: Iterations = 200
    hyper_start: HyperStart = 15
    hold: Hold = ()
    reorder_sticks: Annotated[
        bool,
        Meta(
            description="Sort topics by size before each update of the sticks.",
            extra_json_schema=UNOFFERED,
        ),
    ] = True


class PointInference(FlatVariationalInference, frozen=True, kw_only=True):
    """The schedule of those with point estimates."""

    former: ClassVar[Former] = {"inference.hyper_steps": Constant(1)}


class PosteriorInference(FlatVariationalInference, frozen=True, kw_only=True):
    """The schedule of those with whole posteriors."""

    hyper_every: Annotated[
        int,
        Meta(
            ge=1,
            description="Iterations between two updates of sticks and hyperparameters, each of "
            "which costs about a sweep; 1: every iteration, as published.",
        ),
    ] = 20
    denominator: Annotated[
        Literal["E", "G"],
        Meta(
            description="Estimate of eta V in the denominator of q(z). E: its mean, as derived; G: "
            "its geometric mean, as printed in the 2012 paper.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "E"


ModelSettings = Settings[Model, InferenceConfig]
PosteriorSettings = Settings[Model, PosteriorInference]
