"""The config records of the nested CRP's backends: their common model, the schedule of each."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.corpus.data.seedwords import check
from hiertopics.families.flat.config import BranchSeeds, SeedWeight
from hiertopics.families.nested.tree_state import MaxNodes, MovesEvery
from hiertopics.settings.config import InferenceConfig, Iterations, SamplerConfig, Summarise


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tree's depth and the concentrations; raises ValueError where they do not fit together."""

    depth: Annotated[
        int, Meta(ge=2, le=30, description="Levels of the tree, the root among them.")
    ] = 3
    level_prior: Annotated[
        list[Annotated[float, Meta(gt=0)]] | None,
        Meta(
            description="Pseudo-counts of each level in a document, root first, one per level; "
            "null: 1 for every level."
        ),
    ] = None
    gamma: Annotated[
        float, Meta(gt=0, description="How readily documents open new branches of the tree.")
    ] = 1.0
    eta: Annotated[float, Meta(gt=0, description="Pseudo-count of each word in each topic.")] = 0.1

    def __post_init__(self) -> None:
        """Check that the level prior has an entry for each level."""
        if self.level_prior is not None and len(self.level_prior) != self.depth:
            raise ValueError(
                f"level_prior must have depth = {self.depth} entries, got {len(self.level_prior)}"
            )


class SeededModel(Model, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The model of hlda-gibbs, in which branches may have names."""

    seeds: BranchSeeds = None
    seed_weight: SeedWeight = 5

    def __post_init__(self) -> None:
        """Check seed words, too."""
        super().__post_init__()
        check(self.seeds)


class VariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of hlda-variational."""

    iterations: Iterations = 40
    mode: Annotated[
        Literal["structured", "meanfield"],
        Meta(
            description="structured: levels depend on the path, a tighter bound; meanfield: "
            "levels and path apart, as in Wang and Blei 2009."
        ),
    ] = "structured"
    start: Annotated[
        Literal["clusters", "crp", "one_path_per_doc", "overcomplete", "gibbs", "root"],
        Meta(
            description="First tree: the best draw of a short Gibbs run from clusters of documents "
            "(clusters) or from documents seated one by one (gibbs); paths opened by documents "
            "one by one, where needed or for each; fifteen random paths; the root alone."
        ),
    ] = "clusters"
    start_sweeps: Annotated[
        int,
        Meta(
            ge=0,
            description="Sweeps of the Gibbs run that the starts clusters and gibbs make; 0: none.",
        ),
    ] = 100
    start_leaves: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Paths that the start clusters has; null: one per 4 documents, to 450."),
    ] = None
    max_nodes: MaxNodes = 1000
    local_rounds: Annotated[
        int, Meta(ge=1, description="Rounds of levels and paths per document and iteration.")
    ] = 8
    batch_size: Annotated[
        int,
        Meta(
            ge=0,
            description="Documents after which topics move, for corpora too large to wait for a "
            "sweep; 0: all, and the bound never falls.",
        ),
    ] = 0
    batch_delay: Annotated[
        float, Meta(ge=0, description="Batches: how much the first ones are held back.")
    ] = 10.0
    batch_decay: Annotated[
        float,
        Meta(
            gt=0.5,
            le=1,
            description="Batches: batch t moves topics by (batch_delay + t) to minus this power.",
        ),
    ] = 0.7
    moves: Annotated[
        Literal["all", "paper", "none"],
        Meta(
            description="Moves of the tree. paper: grow, prune and merge; all: also splits, "
            "merges and transfers of branches by their gain."
        ),
    ] = "all"
    moves_every: MovesEvery = 5
    guard_moves: Annotated[
        bool,
        Meta(description="Undo a round of moves after which the bound is lower three sweeps on."),
    ] = True
    learn_gamma: Annotated[
        bool, Meta(description="Fit gamma too; model.gamma is where it starts.")
    ] = False
    learn_eta: Annotated[
        bool,
        Meta(
            description="Fit eta too; model.eta is where it starts. The bound asks for a smaller "
            "eta than predicts new documents best."
        ),
    ] = False
    learn_level_prior: Annotated[
        bool, Meta(description="Fit the level prior too; model.level_prior is where it starts.")
    ] = False
    hyper_start: Annotated[
        int, Meta(ge=0, description="Iterations before gamma, eta and level prior are learned.")
    ] = 15


class GibbsInference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule of hlda-gibbs; raises ValueError where restarts reach beyond the burn-in."""

    iterations: Iterations = 500
    start: Annotated[
        Literal["clusters", "sequential"],
        Meta(
            description="First paths: those of a tree of clusters of documents, or documents "
            "seated one by one in random order, as all restarts are."
        ),
    ] = "clusters"
    collapse: Annotated[
        Literal["full", "partial"],
        Meta(
            description="full: topics and branches stay integrated out, documents are redrawn one "
            "after the other; partial: seven tenths of them side by side, in inference.shards "
            "parts, given drawn topics and branches, which are float32. Both are exact but for "
            "that."
        ),
    ] = "full"
    leap_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations between two at which each document may also leap to another "
            "path and other levels at once; 0: never.",
        ),
    ] = 2
    graft_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations between two at which each branch may also move to another "
            "parent as a whole; 0: never.",
        ),
    ] = 1
    sample_gamma: Annotated[
        bool, Meta(description="Draw gamma too; model.gamma is where it starts.")
    ] = False
    sample_eta: Annotated[bool, Meta(description="Draw eta too; model.eta is where it starts.")] = (
        False
    )
    sample_level_prior: Annotated[
        bool, Meta(description="Draw the level prior too; model.level_prior is where it starts.")
    ] = False
    restarts: Annotated[
        int, Meta(ge=1, description="Starts that are tried; the most probable one goes on.")
    ] = 1
    restart_iterations: Annotated[
        int, Meta(ge=1, description="Iterations of a try; the second half of them is compared.")
    ] = 50
    summarise: Summarise = "map"

    def __post_init__(self) -> None:
        """Check that no draw is kept while starts are tried."""
        tries = self.restarts * self.restart_iterations
        if self.restarts > 1 and tries > self.burn_in:
            raise ValueError(
                f"burn_in must be >= restarts * restart_iterations = {tries}, got {self.burn_in}"
            )


def level_prior(model: Model) -> F64:
    """Return the level prior, float64 [depth], the default filled in."""
    return np.array(model.level_prior or [1.0] * model.depth)


VariationalSettings = SettingsOf[Model, VariationalInference]
GibbsSettings = SettingsOf[SeededModel, GibbsInference]
