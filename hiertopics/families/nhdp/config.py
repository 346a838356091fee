"""The config records of the nested HDP's backends: their common model, the schedule of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal, NamedTuple

from msgspec import Meta, Struct, structs

from hiertopics.base.errors import FieldError
from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.corpus.data.seedwords import check
from hiertopics.families.flat.bursts import (
    ASIDE,
    FORMER_PROCESS,
    PROCESS,
    START,
    BurstAside,
    BurstProcess,
    Bursts,
    BurstStart,
    DrawnProcess,
)
from hiertopics.families.flat.config import BranchSeeds, Eta, SeedWeight, Sweep, WordPseudoCount
from hiertopics.numeric.priors import Positive
from hiertopics.settings.config import (
    HELD,
    UNOFFERED,
    BurnIn,
    InferenceConfig,
    Iterations,
    KeepEvery,
    SamplerConfig,
)
from hiertopics.settings.former import Former, ListEntry, Switch

MOST_LEAVES, DOCS_PER_LEAF = 500, 2
"""Leaves at most where their number is auto, and the documents of the corpus for each of them."""


class StopPrior(NamedTuple):
    """The Beta prior of the chance to stop at an inner node."""

    stop: Positive = 1.0
    go: Positive = 1.0


FORMER_STOP: Former = {
    f"model.{name}_weight": ListEntry("model.stop_prior", name, StopPrior())
    for name in StopPrior._fields
}


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The priors and the shape of the tree; raises ValueError where branches do not rise."""

    branches: Annotated[
        Literal["auto"] | list[Annotated[int, Meta(ge=2)]],
        Meta(
            description="Nodes at each level between the root and the leaves, coarse to fine, as "
            "[12, 70], [] for none; auto: found from the corpus.",
            examples=["[8,30]"],
        ),
    ] = "auto"
    least_children: Annotated[
        int,
        Meta(
            ge=2,
            description="Smallest number of children of a node between the root and the leaves. A "
            "node with fewer is replaced by its children when the fit begins.",
        ),
    ] = 2
    truncation: Annotated[
        Literal["auto"] | Annotated[int, Meta(ge=1, le=1_000_000)],
        Meta(description="Largest number of leaves. auto: half as many as documents, at most 500."),
    ] = "auto"
    gamma: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of a node's shares: a larger value shares "
            "documents more evenly among its children.",
        ),
    ] = 1.0
    concentration: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of documents: how closely a document follows the "
            "shares of the children. The start value where it is learned.",
        ),
    ] = 1.0
    eta: WordPseudoCount = 0.015
    stop_prior: Annotated[
        StopPrior,
        Meta(
            description="Pseudo-counts of stopping at an inner node and of going on from it. The "
            "start values where they are learned."
        ),
    ] = StopPrior()
    seeds: BranchSeeds = None
    seed_weight: SeedWeight = 50

    def __post_init__(self) -> None:
        """Check that levels grow downwards, and have room for the branches that have names."""
        check(self.seeds, most_leaves(self))
        levels = [] if self.branches == "auto" else list(self.branches)
        if any(upper >= lower for upper, lower in zip(levels, levels[1:], strict=False)):
            raise FieldError("branches", f"must rise from level to level, as [8, 30], got {levels}")
        n_names = len(self.seeds or {})
        if levels and n_names > levels[0]:
            asked = f"branches asks for {levels[0]} below the root"
            raise FieldError("seeds", f"names {n_names} branches, but {asked}")


def most_leaves(model: Model) -> int:
    """Return the largest number of leaves in a corpus of any size."""
    return MOST_LEAVES if model.truncation == "auto" else model.truncation


def sized(settings: SettingsOf, n_docs: int) -> SettingsOf:
    """Return settings with a number of leaves in place of auto, for so many documents.

    A name of seed words needs a leaf, and so does what has no name.
    """
    model: Model = settings.model
    if model.truncation != "auto":
        return settings
    fewest = len(model.seeds or {}) + 1
    n_leaves = min(max(n_docs // DOCS_PER_LEAF, fewest), MOST_LEAVES)
    return replace(settings, model=structs.replace(model, truncation=n_leaves))


class VariationalModel(Model, frozen=True, kw_only=True):
    """The priors and the shape of the tree, and bursts of documents."""

    bursts: Bursts = "none"
    burst_process: BurstProcess = PROCESS


class GibbsModel(Model, frozen=True, kw_only=True):
    """The priors and the shape of the tree for a sampler, and the bursts of documents."""

    eta: Eta = 0.015
    bursts: Bursts = "none"
    burst_process: DrawnProcess = PROCESS


STOP = (
    "stop: the weights of stopping at a node and of going on, for each level. Learned weights "
    "leave few tokens at inner nodes."
)

LEARNED_STOP = Switch("stop", "fixed", "learned")

HyperEvery = Annotated[
    int,
    Meta(
        ge=1,
        description="Iterations between two updates of shares and concentrations, each of which "
        "costs about three sweeps.",
    ),
]
StartIterations = Annotated[
    int,
    Meta(ge=0, description="Number of iterations of the flat topics from which the start is made."),
]
Start = Annotated[
    Literal["groups", "branches", "words", "random"],
    Meta(
        description="First tree. groups: few branches by factorisations of the corpus, topics "
        "within each branch, and groups of branches; branches: few branches from few topics, "
        "without groups; words: topics from clusters of words by context; random: topics drawn by "
        "the seed. All but random give the same tree for every seed."
    ),
]
Responsibilities = Annotated[
    Literal["auto", "few", "all"],
    Meta(
        description="Storage of the responsibilities of the start's flat topics. few: few entries "
        "per pair of document and word, small ones sampled; all: 4 bytes for each pair and topic; "
        "auto: all up to a gibibyte, else few.",
        extra_json_schema=UNOFFERED,
    ),
]
InnerShare = Annotated[
    float,
    Meta(
        ge=0,
        lt=1,
        description="Share of each token that the start offers to the nodes above its topic.",
    ),
]

StartPasses = Annotated[
    int,
    Meta(
        ge=1,
        description="Largest number of passes of each factorisation that finds branches. It ends "
        "earlier if a pass changes little.",
    ),
]

StartWords = Annotated[
    int,
    Meta(
        ge=4,
        description="Largest number of words for each topic in the clustering that makes the first "
        "topics: the most frequent words, at most 3000 at a time.",
    ),
]

Least = Annotated[
    float,
    Meta(
        ge=0,
        description="Sweeps visit a node for a document if the document has at least this expected "
        "number of tokens at the node when the sweeps begin; 0: they visit all nodes.",
    ),
]

StartBurst = Annotated[
    int,
    Meta(
        ge=0,
        description="Bursts: number of first iterations of the start's flat topics that ignore "
        "bursts.",
    ),
]

StartAside = Annotated[
    int,
    Meta(
        ge=0,
        description="Bursts: training documents that are set aside while the start finds topics, "
        "to learn the concentration of bursts from words that the topics do not know. The sampler "
        "then holds discount and concentration; 0: none is set aside, and both are drawn.",
    ),
]

Trials = Annotated[
    int,
    Meta(
        ge=0,
        description="Number of rounds of trial moves before the sweeps, for trees of at most 100 "
        "nodes with branches: auto. A trial moves a node to another parent or merges two nodes. "
        "0: none.",
    ),
]


class NhdpVariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of nhdp-variational."""

    former: ClassVar[Former] = {"model.stop": LEARNED_STOP, **FORMER_STOP, **FORMER_PROCESS}

    iterations: Iterations = 25
    hyper_every: HyperEvery = 5
    hold: Annotated[tuple[Literal["stop"], ...], Meta(description=f"{HELD} {STOP}")] = ("stop",)
    start: Start = "groups"
    start_iterations: StartIterations = 200
    start_passes: StartPasses = 50
    start_words: StartWords = 3000
    responsibilities: Responsibilities = "auto"
    inner_share: InnerShare = 0.8
    least: Least = 0.1
    trials: Trials = 12
    burst_start: BurstStart = START
    burst_aside: BurstAside = ASIDE


class NhdpGibbsInference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule of nhdp-gibbs."""

    former: ClassVar[Former] = {
        "model.stop": LEARNED_STOP,
        "inference.sample_eta": Switch("eta"),
        **FORMER_STOP,
        **FORMER_PROCESS,
    }

    iterations: Iterations = 500
    burn_in: BurnIn = 60
    keep_every: KeepEvery = 40
    start: Start = "groups"
    start_iterations: StartIterations = 200
    responsibilities: Responsibilities = "auto"
    variational_sweeps: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of variational sweeps on the tree before sampling.",
        ),
    ] = 40
    inner_share: InnerShare = 0.8
    least: Least = 0.1
    trials: Trials = 12
    sweep: Sweep = "sparse"
    hold: Annotated[tuple[Literal["eta", "stop"], ...], Meta(description=f"{HELD} {STOP}")] = ()
    burst_start: StartBurst = START
    burst_aside: StartAside = ASIDE


VariationalSettings = SettingsOf[Model, NhdpVariationalInference]
GibbsSettings = SettingsOf[GibbsModel, NhdpGibbsInference]
