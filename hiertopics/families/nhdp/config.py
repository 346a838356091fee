"""The config records of the nested HDP's backends: their common model, the schedule of each."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.corpus.data.seedwords import check
from hiertopics.families.flat.bursts import (
    ASIDE,
    CONCENTRATION,
    DISCOUNT,
    START,
    BurstAside,
    BurstConcentration,
    BurstDiscount,
    Bursts,
    BurstStart,
)
from hiertopics.families.flat.config import BranchSeeds, SeedWeight, Truncation
from hiertopics.settings.config import InferenceConfig, Iterations, SamplerConfig


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The priors and the shape of the tree; raises ValueError where branches do not rise."""

    branches: Annotated[
        Literal["auto"] | list[Annotated[int, Meta(ge=2)]],
        Meta(
            description="Nodes at each level between the root and the leaves, coarse to fine, as "
            "[12, 70], [] for none; auto: found from the corpus."
        ),
    ] = "auto"
    least_children: Annotated[
        int,
        Meta(
            ge=2,
            description="Children of a node between the root and the leaves, at least: the "
            "children of one with fewer take its place when the fit begins.",
        ),
    ] = 2
    truncation: Truncation = 500
    gamma: Annotated[
        float, Meta(gt=0, description="How evenly the children of a node share its documents.")
    ] = 1.0
    concentration: Annotated[
        float,
        Meta(gt=0, description="Start value: how closely documents follow the children's shares."),
    ] = 1.0
    eta: Annotated[float, Meta(gt=0, description="Pseudo-count of each word in each topic.")] = (
        0.015
    )
    stop: Annotated[
        Literal["fixed", "learned"],
        Meta(
            description="Whether the weights of stopping and of going on are fixed or learned "
            "for each level; learned ones empty the inner nodes."
        ),
    ] = "fixed"
    stop_weight: Annotated[
        float, Meta(gt=0, description="Pseudo-count of stopping at an inner node.")
    ] = 1.0
    go_weight: Annotated[
        float, Meta(gt=0, description="Pseudo-count of going on from an inner node.")
    ] = 1.0
    seeds: BranchSeeds = None
    seed_weight: SeedWeight = 50

    def __post_init__(self) -> None:
        """Check that levels grow downwards, and have room for the branches that have names."""
        check(self.seeds, self.truncation)
        levels = [] if self.branches == "auto" else list(self.branches)
        if any(upper >= lower for upper, lower in zip(levels, levels[1:], strict=False)):
            raise ValueError(f"branches must rise from level to level, got {levels}")
        n_names = len(self.seeds or {})
        if levels and n_names > levels[0]:
            asked = f"branches asks for {levels[0]} below the root"
            raise ValueError(f"seeds names {n_names} branches, but {asked}")


class VariationalModel(Model, frozen=True, kw_only=True):
    """The priors and the shape of the tree, and whether documents are bursty."""

    bursts: Bursts = "none"
    burst_discount: BurstDiscount = DISCOUNT
    burst_concentration: BurstConcentration = CONCENTRATION


class GibbsModel(Model, frozen=True, kw_only=True):
    """The priors and the shape of the tree, of which a sampler draws more."""

    eta: Annotated[
        float, Meta(gt=0, description="Start value: pseudo-count of each word in each topic.")
    ] = 0.015
    stop: Annotated[
        Literal["fixed", "learned"],
        Meta(
            description="Whether the weights of stopping and of going on are fixed or drawn for "
            "each level."
        ),
    ] = "learned"


HyperEvery = Annotated[
    int,
    Meta(
        ge=1,
        description="Iterations between two updates of shares and concentrations, which cost "
        "about three sweeps.",
    ),
]
StartIterations = Annotated[
    int, Meta(ge=0, description="Iterations of the flat topics that the tree starts from.")
]
Start = Annotated[
    Literal["groups", "branches", "words", "random"],
    Meta(
        description="What the tree begins with. groups: few branches by factorisations of the "
        "corpus, topics of what each of them holds, and groups of branches. branches: the same "
        "from few topics, without groups. words: topics from clusters of words by context. "
        "random: topics from a draw. All but the last are the same for every seed."
    ),
]
Responsibilities = Annotated[
    Literal["auto", "few", "all"],
    Meta(
        description="What is kept of the flat topics' responsibilities: few entries of each pair, "
        "those of little weight chosen at random; or all of them, 4 bytes for each pair and topic. "
        "auto: all up to a gibibyte, else few."
    ),
]
InnerShare = Annotated[
    float,
    Meta(
        ge=0,
        lt=1,
        description="How much of a token the start offers to the nodes above its topic's leaf.",
    ),
]


Least = Annotated[
    float,
    Meta(
        ge=0,
        description="Expected tokens that a document has at a node when the sweeps begin, for "
        "them to look for its words there; 0: they look everywhere.",
    ),
]

Trials = Annotated[
    int,
    Meta(
        ge=0,
        description="Rounds in which a small tree (up to 100 nodes, branches auto) is tried in "
        "other shapes before the sweeps: nodes hung elsewhere, or merged; 0: none.",
    ),
]


class VariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of nhdp-variational."""

    iterations: Iterations = 25
    hyper_every: HyperEvery = 5
    start: Start = "groups"
    start_iterations: StartIterations = 200
    responsibilities: Responsibilities = "auto"
    inner_share: InnerShare = 0.8
    least: Least = 0.1
    trials: Trials = 12
    burst_start: BurstStart = START
    burst_aside: BurstAside = ASIDE


class GibbsInference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule of nhdp-gibbs."""

    iterations: Iterations = 500
    burn_in: Annotated[
        int, Meta(ge=0, description="Iterations before the first draw that is kept.")
    ] = 60
    keep_every: Annotated[int, Meta(ge=1, description="Iterations between two kept draws.")] = 40
    start: Start = "groups"
    start_iterations: StartIterations = 200
    responsibilities: Responsibilities = "auto"
    variational_sweeps: Annotated[
        int, Meta(ge=0, description="Variational sweeps on the tree before tokens are drawn.")
    ] = 40
    inner_share: InnerShare = 0.8
    least: Least = 0.1
    trials: Trials = 12
    sample_eta: Annotated[bool, Meta(description="Draw eta too; model.eta is where it starts.")] = (
        True
    )


VariationalSettings = SettingsOf[Model, VariationalInference]
GibbsSettings = SettingsOf[GibbsModel, GibbsInference]
